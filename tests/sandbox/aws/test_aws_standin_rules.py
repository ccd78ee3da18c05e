"""What the stand-in checks and compares, without any process: names, types, rules, differences."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from sandbox.aws import tables
from sandbox.aws.core.plain import bare, changes, document, project
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import UNKNOWN, Props
from sandbox.aws.kinds import CLASSES, KINDS
from sandbox.aws.kinds.tools import tag_changes
from sandbox.aws.plugin.checks import DEFAULTS, complete, problems, with_tags
from sandbox.aws.plugin.differ import compare
from sandbox.aws.plugin.work import ConfiguredProvider, KindCatalog
from sandbox.aws.schema.cache import load
from sandbox.aws.schema.types import InputShape, TypeSchema

pytestmark = pytest.mark.pure

VPC: Final = KINDS["aws:ec2/vpc:Vpc"]
SUBNET: Final = KINDS["aws:ec2/subnet:Subnet"]
CLUSTER: Final = KINDS["aws:eks/cluster:Cluster"]
NODES: Final = KINDS["aws:eks/nodeGroup:NodeGroup"]
RULE: Final = KINDS["aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"]
ROLE: Final = KINDS["aws:iam/role:Role"]
GROUP: Final = {
    "clusterName": "lab",
    "nodeRoleArn": "arn:aws:iam::111122223333:role/node",
    "subnetIds": ["subnet-1", "subnet-2"],
    "instanceTypes": ["g6.2xlarge"],
    "amiType": "AL2023_x86_64_NVIDIA",
    "launchTemplate": {"id": "lt-1", "version": "1"},
    "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2},
}


@pytest.fixture(scope="module")
def schemas() -> Mapping[str, TypeSchema]:
    """Return what the SDK says of each type; derived once, then read from the cache."""
    return load(CLASSES)


def refused(schemas: Mapping[str, TypeSchema], kind: Any, given: Props) -> dict[str, str]:
    """Return the problems of a resource's inputs, by path."""
    return {each.path: str(each) for each in problems(kind, schemas[kind.type], given)}


def _knows(shape: InputShape, path: str) -> bool:
    for part in path.split("."):
        while shape.kind == "list" and shape.element is not None:
            shape = shape.element
        if shape.kind in ("map", "any"):
            return True
        if part not in shape.properties:
            return False
        shape = shape.properties[part]
    return True


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.sdk)
def test_every_rule_is_about_something_the_sdk_has(
    schemas: Mapping[str, TypeSchema], kind: Any
) -> None:
    """A misspelt path would never match, so that a replacement would pass as an update."""
    rules: Rules = kind.rules
    named = [rules.name] if rules.name else []
    groups = [name for group in rules.exclusive for name in group]
    paths = (
        *rules.replace,
        *rules.update,
        *rules.unverified,
        *rules.sets,
        *rules.documents,
        *rules.defaults,
        *rules.enums,
        *rules.alternatives,
        *named,
        *groups,
    )
    inputs = schemas[kind.type].inputs
    assert [path for path in paths if not _knows(inputs, path)] == []
    assert set(rules.recomputed) <= set(schemas[kind.type].outputs)
    assert rules.tagged == ("tags" in inputs.properties)
    assert not set(rules.replace) & set(rules.update)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.sdk)
def test_every_required_property_is_acted_on(schemas: Mapping[str, TypeSchema], kind: Any) -> None:
    """What is required and then refused could never be created."""
    required = schemas[kind.type].inputs.required
    assert [name for name in required if not kind.rules.acts_on(name)] == []


def test_the_tables_of_the_guide_are_what_the_types_say() -> None:
    text = tables.DOCUMENT.read_text()
    assert tables.renewed(text) == text, "run python -m sandbox.aws.tables"


def test_a_misspelt_property_is_refused_with_its_mend(
    schemas: Mapping[str, TypeSchema],
) -> None:
    found = refused(schemas, VPC, {"cidrBlok": "10.0.0.0/16"})
    assert "did you mean cidrBlock?" in found["cidrBlok"]


def test_a_wrong_type_is_refused_deep_inside(schemas: Mapping[str, TypeSchema]) -> None:
    given = {**GROUP, "scalingConfig": {"minSize": "0", "desiredSize": 0, "maxSize": 2}}
    assert "a whole number" in refused(schemas, NODES, given)["scalingConfig.minSize"]


def test_a_missing_property_is_named(schemas: Mapping[str, TypeSchema]) -> None:
    given = {name: value for name, value in GROUP.items() if name != "nodeRoleArn"}
    assert "required" in refused(schemas, NODES, given)["nodeRoleArn"]


def test_what_is_not_known_yet_fits_everywhere(schemas: Mapping[str, TypeSchema]) -> None:
    given = {**dict.fromkeys(GROUP, UNKNOWN), "instanceTypes": [UNKNOWN]}
    assert refused(schemas, NODES, given) == {}


def test_a_property_that_nothing_acts_on_is_refused(schemas: Mapping[str, TypeSchema]) -> None:
    given = {**GROUP, "remoteAccess": {"ec2SshKey": "mine"}}
    assert (
        "does not act on this property" in refused(schemas, NODES, given)["remoteAccess.ec2SshKey"]
    )


def test_values_that_aws_does_not_know_are_refused(schemas: Mapping[str, TypeSchema]) -> None:
    given = {**GROUP, "amiType": "AL2_x86_64_GPU", "instanceTypes": ["p9.huge"]}
    found = refused(schemas, NODES, given)
    assert "AL2023_x86_64_NVIDIA" in found["amiType"]
    assert "g6.2xlarge" in found["instanceTypes[0]"]


def test_a_version_that_eks_does_not_offer_is_refused(schemas: Mapping[str, TypeSchema]) -> None:
    given: Props = {
        "roleArn": "arn:aws:iam::111122223333:role/x",
        "version": "1.29",
        "vpcConfig": {"subnetIds": ["a", "b"]},
    }
    assert "1.35" in refused(schemas, CLUSTER, given)["version"]
    assert refused(schemas, CLUSTER, {**given, "version": "1.35"}) == {}


def test_of_alternatives_one_is_taken(schemas: Mapping[str, TypeSchema]) -> None:
    given = {**GROUP, "diskSize": 100}
    assert "conflicts with diskSize" in refused(schemas, NODES, given)["launchTemplate"]


def test_a_type_that_is_not_covered_is_refused(schemas: Mapping[str, TypeSchema]) -> None:
    work = ConfiguredProvider(
        catalog=KindCatalog(kinds=KINDS, schemas=schemas), aws=None, default_tags={}, repeats=None
    )
    _, found = work.check("aws:sqs/queue:Queue", "urn", {}, {}, b"")
    assert "does not cover this resource type" in str(found[0])


def replaced(kind: Any, old: Props, new: Props) -> set[str]:
    return {bare(path) for path in compare(kind, old, new).replacing}


def changed(kind: Any, old: Props, new: Props) -> set[str]:
    return {bare(path) for path in compare(kind, old, new).paths}


def test_the_order_of_subnets_means_nothing() -> None:
    assert changed(NODES, GROUP, {**GROUP, "subnetIds": ["subnet-2", "subnet-1"]}) == set()


def test_other_subnets_make_a_new_group() -> None:
    assert replaced(NODES, GROUP, {**GROUP, "subnetIds": ["subnet-3"]}) == {"subnetIds"}


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("instanceTypes", ["g6.4xlarge"], "instanceTypes"),
        ("amiType", "BOTTLEROCKET_x86_64_NVIDIA", "amiType"),
        ("launchTemplate", {"id": "lt-2", "version": "1"}, "launchTemplate.id"),
        ("launchTemplate", None, "launchTemplate.id"),
        ("capacityType", "SPOT", "capacityType"),
    ],
)
def test_what_makes_a_new_node_group(name: str, value: object, path: str) -> None:
    assert path in replaced(NODES, GROUP, {**GROUP, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", {"a": "b"}),
        ("version", "1.36"),
        ("launchTemplate", {"id": "lt-1", "version": "2"}),
        ("scalingConfig", {"minSize": 1, "desiredSize": 1, "maxSize": 2}),
        ("tags", {"a": "b"}),
    ],
)
def test_what_is_changed_in_place(name: str, value: object) -> None:
    new = {**GROUP, name: value}
    assert changed(NODES, GROUP, new)
    assert replaced(NODES, GROUP, new) == set()


def test_an_unknown_value_counts_as_changed() -> None:
    assert replaced(NODES, GROUP, {**GROUP, "nodeRoleArn": UNKNOWN}) == {"nodeRoleArn"}


def test_empty_and_absent_are_the_same() -> None:
    assert changed(NODES, GROUP, {**GROUP, "labels": {}, "taints": [], "version": None}) == set()


def test_policies_are_compared_as_json() -> None:
    old = {"assumeRolePolicy": '{"Statement":[{"Action":["b","a"],"Effect":"Allow"}]}'}
    new = {"assumeRolePolicy": '{"Statement": {"Effect": "Allow", "Action": ["a", "b"]}}'}
    assert changed(ROLE, old, new) == set()
    other = {"assumeRolePolicy": '{"Statement": {"Effect": "Deny", "Action": ["a", "b"]}}'}
    assert changed(ROLE, old, other) == {"assumeRolePolicy"}
    assert document("not json") == "not json"


def test_another_kind_of_source_makes_a_new_rule() -> None:
    old = {"cidrIpv4": "10.0.0.0/16", "ipProtocol": "tcp"}
    new = {"referencedSecurityGroupId": "sg-1", "ipProtocol": "tcp"}
    assert replaced(RULE, old, new) == {"cidrIpv4", "referencedSecurityGroupId"}
    assert replaced(RULE, old, {**old, "cidrIpv4": "10.1.0.0/16"}) == set()


def test_the_old_one_goes_first_where_the_name_is_fixed() -> None:
    old = {**GROUP, "nodeGroupName": "fixed"}
    assert compare(NODES, old, {**old, "subnetIds": ["subnet-3"]}).delete_first
    named = {**GROUP, "nodeGroupName": "made-up", DEFAULTS: ["nodeGroupName"]}
    assert not compare(NODES, named, {**named, "subnetIds": ["subnet-3"]}).delete_first


def test_another_region_makes_a_new_resource() -> None:
    assert replaced(VPC, {"region": "us-east-1"}, {"region": "us-west-2"}) == {"region"}


def test_names_and_defaults_are_filled_in_and_kept() -> None:
    made = complete(NODES, "urn:x::nodes", GROUP, {}, b"seed")
    assert made["nodeGroupName"].startswith("nodes-")
    assert made[DEFAULTS] == ["nodeGroupName"]
    again = complete(NODES, "urn:x::nodes", GROUP, made, b"another seed")
    assert again["nodeGroupName"] == made["nodeGroupName"]
    assert complete(SUBNET, "urn", {}, {}, b"")["mapPublicIpOnLaunch"] is False


def test_default_tags_lie_under_the_resources_own() -> None:
    made = with_tags(VPC, {"tags": {"a": "own"}}, {"a": "default", "b": "default"})
    assert made["tagsAll"] == {"a": "own", "b": "default"}
    assert with_tags(VPC, {"tags": UNKNOWN}, {})["tagsAll"] == UNKNOWN


def test_a_refresh_looks_only_at_what_was_given() -> None:
    rules = Rules(source="", sets=("subnets",), whole=("labels",))
    given = {"size": {"min": 1}, "subnets": ["b", "a"], "labels": {"x": "y"}}
    actual = {"size": {"min": 1, "max": 9}, "subnets": ["a", "b"], "labels": {"x": "y", "z": "!"}}
    assert project(given, actual, rules) == {
        "size": {"min": 1},
        "subnets": ["b", "a"],
        "labels": {"x": "y", "z": "!"},
    }


def test_a_refresh_tells_what_was_added_to_a_set() -> None:
    rules = Rules(source="", sets=("rules",))
    given = {"rules": [{"port": 1}]}
    actual = {"rules": [{"port": 2, "id": "x"}, {"port": 1, "id": "y"}]}
    assert project(given, actual, rules) == {"rules": [{"port": 1}, {"port": 2, "id": "x"}]}


def test_changes_are_told_by_their_parts() -> None:
    rules = Rules(source="")
    old: Props = {"a": {"b": 1, "c": 2}, "tags": {"x.y": "1"}}
    new: Props = {"a": {"b": 1, "c": 3}, "tags": {}, "d": [1]}
    assert changes(old, new, rules) == {"a.c": "update", 'tags["x.y"]': "delete", "d": "add"}
    assert bare('tags["x.y"]') == "tags.x.y"
    assert bare("a[0].b[1]") == "a.b"


def test_the_longest_entry_decides_what_a_change_does() -> None:
    rules = Rules(source="", replace=("a.b",), update=("a",))
    assert rules.replaces("a.b.c")
    assert not rules.replaces("a.d")


def test_tags_are_for_types_that_have_them(schemas: Mapping[str, TypeSchema]) -> None:
    assert not Rules(source="", tagged=False).accepts("tags")
    assert Rules(source="").accepts("tags")


def test_a_part_that_nothing_acts_on_is_refused(schemas: Mapping[str, TypeSchema]) -> None:
    given = {**GROUP, "nodeRepairConfig": {"maxUnhealthyNodeThresholdCount": 1}}
    assert "nodeRepairConfig.maxUnhealthyNodeThresholdCount" in refused(schemas, NODES, given)


def test_a_made_up_name_fits_its_limit_and_goes_with_a_name_of_the_programs() -> None:
    made = complete(NODES, f"urn:x::{'n' * 80}", GROUP, {}, b"seed")["nodeGroupName"]
    assert len(made) == 63
    named = {"nodeGroupName": "given"}
    assert complete(NODES, "urn:x::nodes", GROUP, named, b"seed")["nodeGroupName"] != "given"


def test_nothing_goes_first_where_nothing_is_replaced() -> None:
    old = {**GROUP, "nodeGroupName": "fixed"}
    assert not compare(NODES, old, {**old, "labels": {"a": "b"}}).delete_first


@pytest.mark.parametrize(
    ("sizes", "good"),
    [((0, 0, 1), True), ((0, 0, 0), False), ((0, 3, 2), False), ((2, 1, 3), False)],
)
def test_sizes_are_in_order(
    schemas: Mapping[str, TypeSchema], sizes: tuple[int, int, int], good: bool
) -> None:
    least, now, most = sizes
    config = {"minSize": least, "desiredSize": now, "maxSize": most}
    assert ("scalingConfig" in refused(schemas, NODES, {**GROUP, "scalingConfig": config})) != good


def test_a_subnet_given_twice_is_one(schemas: Mapping[str, TypeSchema]) -> None:
    given: Props = {"roleArn": "arn", "vpcConfig": {"subnetIds": ["a", "a"]}}
    assert "vpcConfig.subnetIds" in refused(schemas, CLUSTER, given)


def test_true_is_no_number_and_null_is_missing(schemas: Mapping[str, TypeSchema]) -> None:
    assert "diskSize" in refused(
        schemas, NODES, {**GROUP, "launchTemplate": None, "diskSize": True}
    )
    assert "required" in refused(schemas, NODES, {**GROUP, "nodeRoleArn": None})["nodeRoleArn"]


def test_tags_that_are_not_wanted_any_more_are_removed() -> None:
    assert tag_changes({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == ({"b": "3", "c": "4"}, ["a"])
