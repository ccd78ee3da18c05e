"""The life of a plain pulumi_aws program on the stand-in, under the real engine.

The tests of this module share one stack and run in order.
"""

from collections.abc import Iterator

import pytest

from sandbox.aws.clusters import registry
from sandbox.aws.clusters.planes import entry_of
from sandbox.aws.core.errors import StandInError
from sandbox.aws.lifecycle import inventory
from sandbox.cluster import cluster
from tests.helpers.engine.aws_program import AwsLab, lab

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsLab]:
    with lab(tmp_path_factory.mktemp("aws")) as made:
        yield made


def test_a_first_preview_plans_everything_and_makes_nothing(stack: AwsLab) -> None:
    planned = stack.preview()
    assert planned["cluster"] == "create"
    assert planned["engine"] == "create"
    assert inventory.left(stack.aws()) == []


def test_up_ends_with_the_pod_on_the_groups_node(stack: AwsLab) -> None:
    stack.up()
    outputs = stack.outputs()
    assert outputs["caller"] == "111122223333"
    assert str(outputs["endpoint"]).startswith("https://127.0.0.1:")
    assert [name.startswith("nodes-") for name in stack.pods().values()] == [True]
    found = stack.nodes()
    assert len(found) == 2, "the group's maximum"
    zones = {each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in found}
    assert zones == {"us-east-1a", "us-east-1b"}
    capacity = found[0]["status"]["capacity"]
    assert capacity["nvidia.com/gpu"] == "1"
    assert capacity["ephemeral-storage"] == "200Gi", "the launch template's disk"


def test_a_second_up_changes_nothing(stack: AwsLab) -> None:
    stack.unchanged()


def test_a_refresh_finds_no_drift(stack: AwsLab) -> None:
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_drift_is_found_and_repaired(stack: AwsLab) -> None:
    """Somebody changes tags, a rule, a bucket's versions and a node group by hand."""
    aws, known = stack.aws(), stack.resources()
    vpc = known["vpc"]["id"]
    aws.call("ec2", "create_tags", Resources=[vpc], Tags=[{"Key": "who", "Value": "me"}])
    rule, group = known["https"]["id"], known["group"]["id"]
    aws.call("ec2", "revoke_security_group_ingress", GroupId=group, SecurityGroupRuleIds=[rule])
    aws.call(
        "s3",
        "put_bucket_versioning",
        Bucket="lab-weights",
        VersioningConfiguration={"Status": "Suspended"},
    )
    name = str(known["nodes"]["id"]).split(":")[1]
    aws.call(
        "eks",
        "update_nodegroup_config",
        clusterName="lab",
        nodegroupName=name,
        labels={"addOrUpdateLabels": {"pool": "mine"}},
        scalingConfig={"minSize": 0, "maxSize": 1, "desiredSize": 0},
    )
    seen = stack.run("refresh", "--yes", "--skip-preview")
    assert "1 deleted" in seen, "the rule"
    assert "3 updated" in seen, seen
    stack.up()
    told = aws.call("ec2", "describe_tags", Filters=[{"Name": "resource-id", "Values": [vpc]}])
    assert {each["Key"] for each in told["Tags"]} == {"Name", "project"}
    described = aws.call("eks", "describe_nodegroup", clusterName="lab", nodegroupName=name)
    assert described["nodegroup"]["labels"] == {"pool": "a"}
    assert described["nodegroup"]["scalingConfig"]["maxSize"] == 2
    versions = aws.call("s3", "get_bucket_versioning", Bucket="lab-weights")
    assert versions["Status"] == "Enabled"
    stack.unchanged()


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        ({"reversed": True}, {}),
        ({"name": "other"}, {"vpc": "update"}),
        ({"version": "1.35"}, {"cluster": "update"}),
        ({"pool": "b"}, {"nodes": "update"}),
        ({"max": 3}, {"nodes": "update"}),
    ],
)
def test_what_is_updated_in_place(
    stack: AwsLab, asked: dict[str, object], planned: dict[str, str]
) -> None:
    told = stack.preview(**asked)
    assert {
        name: how for name, how in told.items() if name in ("vpc", "cluster", "nodes")
    } == planned
    assert not any("replace" in how for how in told.values())


@pytest.mark.parametrize(
    "asked", [{"machine": "g6.4xlarge"}, {"image": "BOTTLEROCKET_x86_64_NVIDIA"}]
)
def test_what_makes_a_new_node_group(stack: AwsLab, asked: dict[str, object]) -> None:
    told = stack.preview(**asked)
    assert told["nodes"] in ("replace", "create-replacement")
    assert "cluster" not in told


def test_two_minor_versions_at_once_are_refused(stack: AwsLab) -> None:
    stack.asked["version"] = "1.36"
    text = stack.up(code=1)
    assert "Unsupported Kubernetes minor version update from 1.34 to 1.36" in text
    del stack.asked["version"]
    stack.unchanged()


def test_an_update_reaches_the_nodes(stack: AwsLab) -> None:
    stack.asked = {"pool": "b", "max": 3, "version": "1.35"}
    stack.up()
    labels = {each["metadata"]["labels"]["pool"] for each in stack.nodes()}
    assert labels == {"b"}
    assert len(stack.nodes()) == 3
    assert stack.aws().call("eks", "describe_cluster", name="lab")["cluster"]["version"] == "1.35"


def test_a_killed_control_plane_comes_back_with_its_nodes(stack: AwsLab) -> None:
    (entry,) = registry.of(stack.stand_in.home).entries()
    cluster.stop(entry.sandbox, say=lambda _: None)
    stack.start()
    assert len(stack.nodes()) == 3
    stack.unchanged()


def test_destroy_leaves_nothing(stack: AwsLab) -> None:
    stack.run("destroy", "--yes", "--skip-preview")
    assert inventory.left(stack.aws()) == []
    assert list(registry.of(stack.stand_in.home).entries()) == []


def test_entry_of_a_cluster_that_is_gone_is_refused(stack: AwsLab) -> None:
    aws = stack.aws()
    aws.home = stack.stand_in.home
    with pytest.raises(StandInError, match="has no control plane"):
        entry_of(aws, "lab")
