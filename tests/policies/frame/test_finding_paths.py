"""The path of a finding leads to a field that is there, or to the one that was broken."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import pytest

from tests.helpers.policies import aws_program, compliant_stack
from tests.policies.rules.aws.test_aws_security import BROKEN as AWS_BROKEN
from tests.policies.rules.operators import test_secret_rules as secret_rules
from tests.policies.rules.test_policy_rules import BROKEN

pytestmark = pytest.mark.pure

PART: Final = re.compile(r'\["([^"]+)"\]|\[(\d+)\]|([^.\[]+)')


def parts(path: str) -> list[str | int]:
    """Return the keys and indices of a path as findings write it."""
    return [
        int(match[2]) if match[2] is not None else match[1] or match[3]
        for match in PART.finditer(path)
    ]


def missing(body: Any, keys: list[str | int]) -> list[str | int]:
    """Return what of a path is not there: nothing where all of it is."""
    for at, key in enumerate(keys):
        if isinstance(body, Mapping) and key in body:
            body = cast("Mapping[str, Any]", body)[str(key)]
        elif isinstance(body, list) and isinstance(key, int) and key < len(cast("list[Any]", body)):
            body = cast("list[Any]", body)[key]
        else:
            return keys[at:]
    return []


def led_astray(
    rule: str, path: str, value: Any, whole: dict[str, compliant_stack.Json] | None = None
) -> Iterator[str]:
    """Yield paths of the rule's findings that lead neither to a field nor to what was broken."""
    first, *rest = path.split("|")
    name, *inside = [*first.split("."), *rest]
    broken = [int(key) if key.isdigit() else key for key in inside]
    stack = compliant_stack.broken(path, value, whole)
    labels = {compliant_stack.manifest(body).label: (key, body) for key, body in stack.items()}
    for each in compliant_stack.found(stack):
        if each.rule != rule or each.subject not in labels or not each.path:
            continue
        key, body = labels[each.subject]
        keys = parts(each.path)
        lacking = missing(body, keys)
        same = key == name and (broken[: len(keys)] == keys or keys[: len(broken)] == broken)
        if lacking and not same:
            yield f"{each.subject}: {each.path} ({lacking} is not there)"


@pytest.mark.parametrize(("rule", "path", "value", "label"), BROKEN)
def test_a_finding_leads_to_a_field(rule: str, path: str, value: Any, label: str) -> None:
    """A path that exists nowhere is one that nobody can open; a message's field may be absent."""
    assert list(led_astray(rule, path, value)) == []


@pytest.mark.parametrize(("rule", "path", "value", "target"), secret_rules.CASES)
def test_a_finding_about_secrets_leads_to_a_field(
    rule: str, path: str, value: Any, target: str
) -> None:
    assert list(led_astray(rule, path, value, secret_rules.compliant())) == []


def keys_in(value: Any) -> Iterator[str]:
    """Yield every key of plain data, those of documents in JSON text included."""
    if isinstance(value, str) and value.startswith("{"):
        with contextlib.suppress(ValueError):
            yield from keys_in(json.loads(value))
    elif isinstance(value, Mapping):
        for key, member in cast("Mapping[str, Any]", value).items():
            yield key
            yield from keys_in(member)
    elif isinstance(value, list):
        for member in cast("list[Any]", value):
            yield from keys_in(member)


@pytest.mark.parametrize(("rule", "path", "value", "label"), AWS_BROKEN)
def test_a_finding_on_aws_names_keys_that_resources_have(
    rule: str, path: str, value: Any, label: str
) -> None:
    """An input's key, or one of a policy document; or the key that was put there or taken away."""
    whole = aws_program.compliant()
    broken = compliant_stack.broken(path, value, aws_program.compliant())
    known = {*keys_in(whole), *keys_in(broken), *re.split(r"[.|]", path)}
    for each in aws_program.found(broken):
        if each.rule == rule:
            named = {key for key in parts(each.path) if isinstance(key, str)}
            assert named <= known, each.path


def test_a_path_is_read_as_it_is_written() -> None:
    assert parts('spec.template["a.b/c"].containers[0].args[12]') == [
        *("spec", "template", "a.b/c", "containers"),
        *(0, "args", 12),
    ]
    body = {"spec": {"args": ["a", "b"]}}
    assert missing(body, ["spec", "args", 1]) == []
    assert missing(body, ["spec", "args", 2]) == [2]
    assert missing(body, ["spec", "args0", 1]) == ["args0", 1]
