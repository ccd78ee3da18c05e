"""Every type of the stand-in for AWS against moto: made, read back as it was made, removed.

No engine: what the plugin does for each call is called directly. The tests share one account and
run in order.
"""

import os
import secrets
from collections.abc import Generator, Mapping
from typing import Final

import pytest
from aws_examples import EXAMPLES, ZONE_NAME, Made, World
from aws_lab import ACCOUNT, REGION

from sandbox import toolchain
from sandbox.aws import inventory
from sandbox.aws.api import Aws
from sandbox.aws.home import PlaneNeeds
from sandbox.aws.kind import Kind
from sandbox.aws.kinds import CLASSES, KINDS
from sandbox.aws.plain import bare, project
from sandbox.aws.plugin.checks import DEFAULTS
from sandbox.aws.plugin.work import Catalogue, Work
from sandbox.aws.schema.cache import load
from sandbox.aws.service import StandIn

pytestmark = pytest.mark.engine

TOKENS = {sdk: token for token, sdk in CLASSES.items()}
DEFAULT_TAGS = {"project": "kinds"}
BY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.sdk)


@pytest.fixture(scope="module")
def work() -> Generator[Work]:
    """Return a configured provider, with a moto server of its own."""
    label = f"test-{os.getpid()}-{secrets.token_hex(3)}"
    stand_in = StandIn(label=label, tools=toolchain.ensure(lambda _: None))
    try:
        stand_in.start({REGION: PlaneNeeds(crd_sets=())})
        _, endpoint = stand_in.home.read_config()
        home = stand_in.home
        aws = Aws(region=REGION, endpoint=endpoint, account=ACCOUNT, home=home, label=label)
        catalogue = Catalogue(kinds=KINDS, schemas=load(CLASSES))
        yield Work(catalogue=catalogue, aws=aws, default_tags=DEFAULT_TAGS, repeats=None)
    finally:
        stand_in.purge(lambda _: None)


def reached(work: Work) -> Aws:
    assert work.aws is not None
    return work.aws


@pytest.fixture(scope="module")
def made(work: Work) -> dict[str, Made]:
    """Make every example; return what came of it by its name here."""
    zone = reached(work).call(
        "route53", "create_hosted_zone", Name=ZONE_NAME, CallerReference="kinds"
    )
    found: dict[str, Made] = {}
    world = World(zone=zone["HostedZone"]["Id"].rpartition("/")[2], made=found)
    for example in EXAMPLES:
        token, urn = TOKENS[example.sdk], f"urn:pulumi:lab::lab::type::{example.name}"
        inputs, problems = work.check(token, urn, example.inputs(world), {}, b"seed")
        assert [str(each) for each in problems] == []
        identity, outputs = work.create(token, urn, inputs)
        found[example.name] = Made(
            type=token, urn=urn, identity=identity, inputs=inputs, outputs=outputs
        )
    return found


def of(kind: Kind, made: Mapping[str, Made]) -> list[Made]:
    """Return the examples of a type; a type without one has not been tried."""
    found = [each for each in made.values() if each.type == kind.type]
    assert found, f"{kind.sdk} has no example in tests/engine/aws_examples.py: add one"
    return found


@BY_KIND
def test_what_is_read_is_what_create_answered(
    kind: Kind, work: Work, made: Mapping[str, Made]
) -> None:
    """A refresh right after an update would tell drift that nobody caused."""
    for each in of(kind, made):
        read = work.read(kind.type, each.identity, each.inputs, each.outputs)
        assert read == (each.inputs, each.outputs)
        assert not work.diff(kind.type, each.inputs, each.inputs).paths


@BY_KIND
def test_an_import_finds_what_was_asked_for(
    kind: Kind, work: Work, made: Mapping[str, Made]
) -> None:
    """Without inputs all that is known of a resource comes from AWS: nothing is echoed."""
    differing: set[str] = set()
    for each in of(kind, made):
        read = work.read(kind.type, each.identity, {}, each.outputs)
        assert read is not None
        given = {name: value for name, value in each.inputs.items() if name != DEFAULTS}
        found = project(given, read[0], kind.rules)
        paths = work.diff(kind.type, found, given).paths
        differing |= {bare(path).partition(".")[0] for path in paths}
    assert differing == UNREAD.get(kind.sdk, set())


UNREAD: Final[Mapping[str, set[str]]] = {
    # How the provider deletes, waits or resolves: no API tells it.
    "ec2.DefaultSecurityGroup": {"revokeRulesOnDelete"},
    "ec2.SecurityGroup": {"revokeRulesOnDelete"},
    "eks.Addon": {"resolveConflictsOnCreate", "resolveConflictsOnUpdate"},
    "eks.Cluster": {"bootstrapSelfManagedAddons"},
    "iam.Role": {"forceDetachPolicies"},
    "kms.Key": {"deletionWindowInDays"},
    "s3.Bucket": {"forceDestroy"},
    # moto drops the groups; a template's data are only looked at for parts that are gone.
    "ec2.VpcEndpoint": {"securityGroupIds"},
    "ec2.LaunchTemplate": {
        "blockDeviceMappings",
        "metadataOptions",
        "tagSpecifications",
        "updateDefaultVersion",
        "vpcSecurityGroupIds",
    },
}
"""Given properties that are not read back (docs/stand-in.md)."""

STAYING: Final = ("ec2.DefaultSecurityGroup", "s3.BucketVersioning")
"""A VPC's own group cannot be deleted, and versioning only be suspended, on AWS as here."""


def test_deleting_everything_leaves_nothing(work: Work, made: Mapping[str, Made]) -> None:
    """What a delete forgets costs money for ever."""
    for each in reversed(list(made.values())):
        work.delete(each.type, each.urn, each.identity, each.outputs)
        work.delete(each.type, each.urn, each.identity, each.outputs)
        gone = work.read(each.type, each.identity, each.inputs, each.outputs)
        assert (gone is None) is (CLASSES[each.type] not in STAYING), each.type
    left = [line for line in inventory.left(reached(work)) if "hosted zone" not in line]
    assert left == []
