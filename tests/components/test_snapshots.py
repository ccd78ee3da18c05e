"""What every environment's program makes is what stands in tests/snapshots (docs/snapshots.md).

Nothing here writes: `make snapshots` renews them, so that a change is read before it is committed.
"""

import functools
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.helpers.plans.dev import ROOT
from tests.helpers.snapshots.recording import Recording, Registration
from tests.helpers.snapshots.stacks import (
    EVERYTHING,
    PLANTED,
    SETTINGS,
    SNAPSHOTS,
    difference,
    files,
    plan_of,
    recorded,
    written,
)
from tests.helpers.snapshots.text import lineage, objects, title

pytestmark = pytest.mark.mocks

_DATE: Final = re.compile(r"(?<!RELEASE\.)\b(19|20)\d\d-[01]\d-[0-3]\d")
_NAMES_OF_FORMATS: Final = {"2012-10-17"}
"""Dates that are a format's name: the version of the IAM policy language. MinIO's releases are
called by theirs, RELEASE.2025-..."""


@functools.cache
def updated(name: str) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return an environment's snapshot as it is made now, and the manifests among it."""
    plan = plan_of(name)
    recording = recorded(plan)
    # First: a snapshot shortens the texts that it shows.
    found = manifests(recording)
    return files(plan, recording), found


@pytest.mark.parametrize("name", SETTINGS)
def test_a_stack_makes_what_its_snapshot_says(name: str) -> None:
    """A change of any manifest is read by somebody before it reaches a cluster."""
    assert written(name), f"{name} has no snapshot: run `make snapshots`"
    wrong = difference(name, written(name), updated(name)[0])
    assert not wrong, wrong


def test_every_directory_of_snapshots_belongs_to_an_environment() -> None:
    """A snapshot that nothing makes any more would be believed, and hold nothing."""
    kept = {path.name for path in SNAPSHOTS.iterdir()}
    assert kept == {"dev", "staging", "prod", "everything", EVERYTHING.name}
    stacks = {path.stem.removeprefix("Pulumi.") for path in ROOT.glob("Pulumi.*.yaml")}
    assert stacks | {"everything"} == set(SETTINGS), "every stack file of the tree has a snapshot"


def test_a_snapshot_has_no_secret_no_path_and_no_date() -> None:
    """They are committed; and on another machine or day they would be other snapshots."""
    for name in SETTINGS:
        for path, text in written(name).items():
            where = f"{name}/{path}"
            assert PLANTED not in text, where
            assert str(ROOT) not in text, where
            assert str(Path.home()) not in text, where
            dates = {match.group() for match in _DATE.finditer(text)}
            assert dates <= _NAMES_OF_FORMATS, where


def test_secrets_are_given_and_their_places_are_shown() -> None:
    """Without a secret in the program's hands, its absence from snapshots would say nothing."""
    secret = written("everything")["site/storage.yaml"]
    assert re.search(r"^Secret triplane-models/object-store:$", secret, re.MULTILINE)
    assert "  stringData: '[secret]'\n" in secret


def test_a_difference_shows_the_lines_and_how_to_renew() -> None:
    text = difference(
        "dev",
        {"a.yaml": "Job x/y:\n  retries: 6\n", "old.yaml": "gone"},
        {"a.yaml": "Job x/y:\n  retries: 7\n", "new.yaml": "come\n"},
    )
    assert "make snapshots" in text
    assert "-  retries: 6\n+  retries: 7" in text
    assert "dev/old.yaml: nothing makes this file any more" in text
    assert "+come" in text
    assert difference("dev", {"a": "1"}, {"a": "1"}) == ""


def manifests(recording: Recording) -> dict[tuple[str, str], str]:
    """Return the objects that `make render` writes, as snapshots show them, by region and name."""
    above = lineage(recording)
    return {
        (above[each.urn][-2].name, title(each)): objects([each])
        for each in recording.registered.values()
        if each.type.startswith("kubernetes:") and not each.read
    }


def test_the_rendered_tree_has_the_objects_that_an_update_registers() -> None:
    """Snapshots show updates; `make render` writes the same objects, without the operators."""
    rendered = manifests(recorded(plan_of("everything"), render_to="build"))
    _, objects_of_update = updated("everything")
    assert len(rendered) > 100
    assert {key: text for key, text in rendered.items() if objects_of_update.get(key) != text} == {}


def example(**changes: Any) -> Registration:
    """Return a registration of a Service."""
    whole: dict[str, Any] = {
        "urn": "urn:pulumi:dev::triplane::kubernetes:core/v1:Service::x",
        "type": "kubernetes:core/v1:Service",
        "name": "x",
        "inputs": {"kind": "Service", "metadata": {"name": "engine", "namespace": "models"}},
        "parent": "",
        "dependencies": frozenset(),
        "provider": "",
        "options": {},
    }
    return Registration(**{**whole, **changes})


def test_an_object_stands_below_its_name_so_that_a_diff_says_whose_line_it_is() -> None:
    assert objects([example()]).splitlines()[0] == "Service models/engine:"
    bare = example(type="aws:ec2/vpc:Vpc", inputs={"cidrBlock": "10.0.0.0/16"})
    assert objects([bare]) == "aws:ec2/vpc:Vpc x:\n  cidrBlock: 10.0.0.0/16\n"


def test_two_objects_of_one_name_are_refused() -> None:
    """The second would hide the first."""
    with pytest.raises(AssertionError, match="Service models/engine"):
        objects([example(), example(urn="other")])
