"""Rules are deaf to spelling and to unrelated objects: findings depend on what is meant.

Over every file of tests/check that is plain YAML, and the compliant stack with one field broken.
"""

import copy
import json
import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from test_policy_rules import BROKEN

from cli.reading.files import read_text
from models.core.findings import Finding
from policies.core.context import Context
from policies.frame.evaluate import findings
from tests.helpers.policies import compliant_stack, spelling
from tests.helpers.policies.compliant_stack import CONTEXT, Json

pytestmark = pytest.mark.pure

FILES: Final = Path(__file__).resolve().parents[2] / "check"
TOLD: Final = Context(whole=False)
Seen = frozenset[tuple[str, str, str]]


@cache
def documents(path: Path) -> tuple[Json, ...]:
    """Return a file's documents; none where it is a template."""
    try:
        held: list[Any] = [each for each in yaml.safe_load_all(path.read_text()) if each]
    except yaml.YAMLError:
        return ()
    return tuple(held) if all(isinstance(each, dict) for each in held) else ()


PLAIN: Final = [
    path
    for folder in ("clean", "faulty")
    for path in sorted((FILES / folder).iterdir())
    if documents(path)
]


def seen(found: Iterable[Finding]) -> Seen:
    """Return what must not change; paths and messages tell the spelling."""
    return frozenset((each.rule, each.severity.value, each.subject) for each in found)


def in_files(bodies: Sequence[Json], name: str) -> Seen:
    """Return what is found in a file of these documents, read as `triplane check` reads it."""
    text = "\n---\n".join(json.dumps(body, default=str) for body in bodies)
    manifests = read_text(text, name).manifests
    return seen(findings(manifests, TOLD))


def in_preview(stack: Iterable[Json]) -> Seen:
    """Return what is found in a stack of a Pulumi program."""
    return seen(findings([compliant_stack.manifest(body) for body in stack], CONTEXT))


def respelled(bodies: Iterable[Json], seed: int, ways: Iterable[str] = spelling.ALL) -> list[Json]:
    """Return the same objects in another order and other spellings."""
    chance = random.Random(seed)
    changed = [copy.deepcopy(body) for body in bodies]
    for body in changed:
        for way in ways:
            spelling.ALL[way](body, chance)
    chance.shuffle(changed)
    return changed


def test_nearly_every_file_is_plain_yaml() -> None:
    """What is skipped here are templates of charts."""
    assert len(PLAIN) >= 75


@pytest.mark.parametrize(
    ("way", "least"), [("keys", 75), ("lists", 7), ("quantities", 30), ("flags", 30), ("words", 4)]
)
def test_another_spelling_is_another_one(way: str, least: int) -> None:
    """A way that changes nothing would hold nothing."""
    changed = 0
    for path in PLAIN:
        bodies = list(documents(path))
        other = respelled(bodies, 1, [way])
        as_text = [json.dumps(each) for each in bodies]
        changed += sorted(json.dumps(each) for each in other) != sorted(as_text)
    assert changed >= least


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_means_the_same_in_another_spelling(path: Path) -> None:
    """Flags, quantities, words of a command, keys and lists, all at once."""
    bodies = documents(path)
    before = in_files(bodies, path.name)
    for seed in (1, 2):
        after = in_files(respelled(bodies, seed), path.name)
        assert after == before, f"seed {seed}: {after ^ before}"


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_unrelated_objects_change_nothing_for_others(path: Path) -> None:
    """Beside them, before or behind, in their namespace or in another."""
    bodies = [*documents(path)]
    before = in_files(bodies, path.name)
    others = [*spelling.bystanders("bystanders"), *spelling.bystanders(None)]
    after = in_files([*others[:4], *bodies, *others[4:]], path.name)
    assert {each for each in after if "bystander" not in each[2]} == before


ROWS: Final = {f"{row[0]}:{row[1][-40:]}": row for row in BROKEN}


@pytest.mark.parametrize("name", ROWS)
def test_a_broken_stack_means_the_same_in_another_spelling(name: str) -> None:
    """Each refusal of the pack, in a preview."""
    _, path, value, _ = ROWS[name]
    stack = list(compliant_stack.broken(path, value).values())
    assert in_preview(respelled(stack, seed=len(name))) == in_preview(stack)


def test_unrelated_objects_change_nothing_in_a_preview() -> None:
    """The compliant stack stays compliant, a broken one is refused for the same reasons."""
    others = [*spelling.bystanders("bystanders"), *spelling.bystanders(compliant_stack.NAMESPACE)]
    for _, path, value, _ in list(ROWS.values())[::7]:
        stack = list(compliant_stack.broken(path, value).values())
        after = in_preview([*others[:4], *stack, *others[4:]])
        assert {each for each in after if "bystander" not in each[2]} == in_preview(stack), path


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(PLAIN),
    st.integers(0, 2**32),
    st.lists(st.sampled_from(sorted(spelling.ALL)), min_size=1, max_size=5, unique=True),
)
def test_any_spelling_of_any_file_means_the_same(path: Path, seed: int, ways: list[str]) -> None:
    """Other choices than the fixed ones above, in each run."""
    bodies = documents(path)
    assert in_files(respelled(bodies, seed, ways), path.name) == in_files(bodies, path.name)
