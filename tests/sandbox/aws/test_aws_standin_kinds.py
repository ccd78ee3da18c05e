"""Every type of the stand-in for AWS: made, read back as it was made, removed; and no value of any
type that is accepted and ignored.

No process: moto answers within the test. The tests share one account and run in order.
"""

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import pytest

from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.plain import canonical, project
from sandbox.aws.core.values import is_empty
from sandbox.aws.kinds import CLASSES, KINDS
from sandbox.aws.lifecycle import inventory
from sandbox.aws.plugin.checks import DEFAULTS
from sandbox.aws.plugin.work import ConfiguredProvider, KindCatalog
from sandbox.aws.schema.cache import load
from sandbox.aws.schema.types import InputShape
from tests.helpers.sandbox.aws_examples import EXAMPLES, ZONE_NAME, Made, World
from tests.helpers.sandbox.aws_in_process import Planes, served

pytestmark = pytest.mark.pure

TOKENS = {sdk: token for token, sdk in CLASSES.items()}
DEFAULT_TAGS = {"project": "kinds"}
BY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.sdk)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Aws, Planes]]:
    """Return an account of the stand-in, and what stands for its control planes."""
    folder: Path = tmp_path_factory.mktemp("stand-in")
    with served(folder) as found:
        yield found


@pytest.fixture(scope="module")
def work(place: tuple[Aws, Planes]) -> ConfiguredProvider:
    """Return a configured provider."""
    catalog = KindCatalog(kinds=KINDS, schemas=load(CLASSES))
    return ConfiguredProvider(
        catalog=catalog, aws=place[0], default_tags=DEFAULT_TAGS, repeats=None
    )


@pytest.fixture(scope="module")
def made(work: ConfiguredProvider, place: tuple[Aws, Planes]) -> dict[str, Made]:
    """Make every example; return what came of it by its name here."""
    zone = place[0].call("route53", "create_hosted_zone", Name=ZONE_NAME, CallerReference="kinds")
    found: dict[str, Made] = {}
    world = World(zone=zone["HostedZone"]["Id"].rpartition("/")[2], made=found)
    for example in EXAMPLES:
        token, urn = TOKENS[example.sdk], f"urn:pulumi:lab::lab::type::{example.name}"
        inputs, problems = work.check(token, urn, example.inputs(world), {}, b"seed")
        assert [str(each) for each in problems] == [], example.name
        identity, outputs = work.create(token, urn, inputs)
        found[example.name] = Made(
            type=token, urn=urn, identity=identity, inputs=inputs, outputs=outputs
        )
    return found


def of(kind: AwsKind, made: Mapping[str, Made]) -> list[Made]:
    """Return the examples of a type; a type without one has not been tried."""
    found = [each for each in made.values() if each.type == kind.type]
    assert found, f"{kind.sdk} has no example in tests/helpers/sandbox/aws_examples.py: add one"
    return found


def values(value: Any, shape: InputShape, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every single value by its path without indices."""
    if shape.kind == "list" and shape.element is not None and shape.element.properties:
        for each in cast("list[Any]", value or []):
            yield from values(each, shape.element, path)
    elif shape.properties:
        inside = cast("dict[str, Any]", value or {})
        for name, inner in shape.properties.items():
            yield from values(inside.get(name), inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


def accepted(work: ConfiguredProvider, kind: AwsKind) -> set[str]:
    """Return every value of the SDK's that may be given to a type, but for the common ones."""
    inputs = work.catalog.schemas[kind.type].inputs
    known = {path for path, _ in values(_one_of_each(inputs), inputs)}
    return {path for path in known if kind.rules.accepts(path)} - {"region", "tags"}


def _one_of_each(shape: InputShape) -> Any:
    if shape.kind == "list" and shape.element is not None and shape.element.properties:
        return [_one_of_each(shape.element)]
    return {name: _one_of_each(inner) for name, inner in shape.properties.items()}


@BY_KIND
def test_what_is_read_is_what_create_answered(
    kind: AwsKind, work: ConfiguredProvider, made: Mapping[str, Made]
) -> None:
    """A refresh right after an update would tell drift that nobody caused."""
    for each in of(kind, made):
        read = work.read(kind.type, each.identity, each.inputs, each.outputs)
        assert read == (each.inputs, each.outputs)
        assert not work.diff(kind.type, each.inputs, each.inputs).paths


@BY_KIND
def test_every_value_that_is_accepted_is_tried(
    kind: AwsKind, work: ConfiguredProvider, made: Mapping[str, Made]
) -> None:
    """What no example gives could be ignored, and nobody would see it."""
    inputs = work.catalog.schemas[kind.type].inputs
    given = {
        path
        for each in of(kind, made)
        for path, value in values(each.inputs, inputs)
        if not is_empty(value)
    }
    assert sorted(accepted(work, kind) - given) == []


@BY_KIND
def test_every_value_that_is_accepted_is_read_back_or_accounted_for(
    kind: AwsKind, work: ConfiguredProvider, made: Mapping[str, Made]
) -> None:
    """Without inputs all that is known of a resource comes from AWS: nothing is echoed.

    What is not read back stands in the type's rules with what it does, or why it does nothing.
    """
    schema, rules = work.catalog.schemas[kind.type], kind.rules
    differing: set[str] = set()
    for each in of(kind, made):
        read = work.read(kind.type, each.identity, {}, each.outputs)
        assert read is not None
        given = {name: value for name, value in each.inputs.items() if name != DEFAULTS}
        cut = project(given, read[0], rules)
        found = list(values(canonical(cut, rules), schema.inputs))
        wanted = list(values(canonical(given, rules), schema.inputs))
        for path in {path for path, value in wanted if not is_empty(value)}:
            if [v for p, v in wanted if p == path] != [v for p, v in found if p == path]:
                differing.add(path)
    assert differing - {"tags"} == set(rules.unread), kind.sdk


@BY_KIND
def test_what_does_nothing_or_is_not_told_is_accepted_at_all(
    kind: AwsKind, work: ConfiguredProvider
) -> None:
    """An entry about a value that is refused would be a lie in docs/stand-in.md."""
    accounted = {**kind.rules.unread, **kind.rules.inert}
    assert set(accounted) <= accepted(work, kind)
    assert all(text.strip() for text in accounted.values())


STAYING: Final = ("ec2.DefaultSecurityGroup", "s3.BucketVersioning")
"""A VPC's own group cannot be deleted, and versioning only be suspended, on AWS as here."""


def test_deleting_everything_leaves_nothing(
    work: ConfiguredProvider, place: tuple[Aws, Planes], made: Mapping[str, Made]
) -> None:
    """What a delete forgets costs money forever."""
    for each in reversed(list(made.values())):
        work.delete(each.type, each.urn, each.identity, each.outputs)
        work.delete(each.type, each.urn, each.identity, each.outputs)
        gone = work.read(each.type, each.identity, each.inputs, each.outputs)
        assert (gone is None) is (CLASSES[each.type] not in STAYING), each.type
    left = [line for line in inventory.left(place[0]) if "hosted zone" not in line]
    assert left == []
    assert (place[1].started, place[1].nodes) == ([], {})
