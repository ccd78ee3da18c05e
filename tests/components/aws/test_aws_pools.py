"""Pools, roles and bucket of an EKS region as they are registered, under mocks."""

import functools
import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from components.render.operators import VALUES
from tests.helpers.plans import aws_graph
from tests.helpers.plans.aws_graph import CLUSTER, Graph, build_cluster

pytestmark = pytest.mark.mocks

POOL: Final = "triplane-virginia-cluster-gpu-l4-pool"
Change = Callable[[dict[str, Any]], None]


@functools.cache
def region() -> Graph:
    """Return the region of the lab, seeded from a bucket that the stack makes."""
    return build_cluster(_with_bucket)


def _with_bucket(settings: dict[str, Any]) -> None:
    settings["operators"] = "managed"
    settings["regions"][0]["storage"]["objects"] = {
        "kind": "s3",
        "bucket": "weights-virginia",
        "region": "us-east-1",
    }


def with_pool(**values: Any) -> Graph:
    """Return the region with other values for its GPU pool."""

    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["pools"][0].update(values)

    return build_cluster(change)


def groups_of(graph: Graph, pool: str = "gpu-l4-pool") -> dict[str, dict[str, Any]]:
    """Return the inputs of a pool's node groups, by zone in order: registrations run in threads."""
    found = {
        name.removeprefix(f"triplane-virginia-cluster-{pool}-"): each.inputs
        for name, each in sorted(graph.of_type(":NodeGroup").items())
        if f"-{pool}-" in name
    }
    assert found
    return found


def template_of(graph: Graph, pool: str = "gpu-l4-pool") -> dict[str, Any]:
    """Return the inputs of a pool's launch template."""
    return graph.resources[f"triplane-virginia-cluster-{pool}-template"].inputs


def test_a_pool_has_a_group_in_each_zone() -> None:
    groups = groups_of(region())
    assert list(groups) == ["us-east-1a", "us-east-1b"]
    assert [each["scalingConfig"]["minSize"] for each in groups.values()] == [1, 0]
    assert [each["scalingConfig"]["maxSize"] for each in groups.values()] == [3, 3]
    for each in groups.values():
        assert each["amiType"] == "AL2023_x86_64_NVIDIA"
        assert each["instanceTypes"] == ["g6.2xlarge"]
        assert each["capacityType"] == "ON_DEMAND"
        assert each["version"] == "1.35"
        assert len(each["subnetIds"]) == 1
        assert each["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
        assert "imageId" not in template_of(region()), "never together with amiType (EKS-01)"


def test_the_autoscalers_number_is_left_alone() -> None:
    """EKS-05: an update must not end nodes that the autoscaler added."""
    for group in region().of_type(":NodeGroup").values():
        assert group.ignored == ("scalingConfig.desiredSize",)
        scaling = group.inputs["scalingConfig"]
        assert scaling["desiredSize"] == scaling["minSize"]


def test_empty_groups_say_what_their_nodes_would_be() -> None:
    """EKS-04: the tags are on the Auto Scaling group, for every label and taint of the group."""
    tags: dict[str, dict[str, str]] = {}
    for name, each in region().of_type(":Tag").items():
        assert each.inputs["autoscalingGroupName"] == "asg"
        assert each.inputs["tag"]["propagateAtLaunch"] is False
        tags.setdefault(name.split("-label-")[0].split("-taint-")[0].split("-resources-")[0], {})[
            each.inputs["tag"]["key"]
        ] = each.inputs["tag"]["value"]
    prefix = "k8s.io/cluster-autoscaler/node-template"
    for zone, group in groups_of(region()).items():
        said = tags[f"{POOL}-{zone}"]
        for key, value in group["labels"].items():
            assert said[f"{prefix}/label/{key}"] == value
        for taint in group["taints"]:
            assert said[f"{prefix}/taint/{taint['key']}"] == f"{taint['value']}:NoSchedule"
        assert said[f"{prefix}/resources/nvidia.com/gpu"] == "1"


def test_machines_are_closed_and_encrypted() -> None:
    for pool in ("gpu-l4-pool", "cpu-pool"):
        template = template_of(region(), pool)
        assert template["metadataOptions"] == {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
        }
        [disk] = template["blockDeviceMappings"]
        assert disk["ebs"]["encrypted"] == "true"
        assert disk["ebs"]["kmsKeyId"].startswith("arn:of:")
        assert disk["ebs"]["volumeSize"] == 200
        assert template["vpcSecurityGroupIds"] == ["sg-cluster"]
        assert "networkInterfaces" not in template
        kinds = {each["resourceType"]: each["tags"] for each in template["tagSpecifications"]}
        assert set(kinds) == {"instance", "volume", "network-interface"}
        assert all(tags["environment"] == "dev" for tags in kinds.values())


def test_a_replaced_group_has_another_name() -> None:
    before, after = groups_of(region()), groups_of(with_pool(instance_type="g6.12xlarge"))
    for zone, group in before.items():
        assert after[zone]["nodeGroupName"] != group["nodeGroupName"]


def test_fast_network_has_an_interface_on_every_card() -> None:
    graph = with_pool(
        accelerator="h100-80gb",
        instance_type="p5.48xlarge",
        efa=True,
        zones=["us-east-1b"],
        max=1,
    )
    template = template_of(graph)
    interfaces = template["networkInterfaces"]
    assert [each["networkCardIndex"] for each in interfaces] == list(range(32))
    assert [each["deviceIndex"] for each in interfaces] == [0] + [1] * 31
    assert [each["interfaceType"] for each in interfaces] == ["efa"] + ["efa-only"] * 31
    assert all(len(each["securityGroups"]) == 2 for each in interfaces)
    assert not any("associatePublicIpAddress" in each for each in interfaces)
    assert not any("subnetId" in each for each in interfaces)
    assert "vpcSecurityGroupIds" not in template
    assert list(groups_of(graph)) == ["us-east-1b"]


def test_a_capacity_block_has_its_type_in_the_template() -> None:
    reservation = "cr-0123456789abcdef0"
    graph = with_pool(
        capacity_type="capacity-block", capacity_reservation=reservation, zones=["us-east-1a"]
    )
    template = template_of(graph)
    assert template["instanceType"] == "g6.2xlarge"
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": reservation}
    [group] = groups_of(graph).values()
    assert group["capacityType"] == "CAPACITY_BLOCK"
    assert "instanceTypes" not in group


def test_a_reservation_is_filled_by_machines_on_demand() -> None:
    reservation = "cr-0123456789abcdef0"
    graph = with_pool(
        capacity_type="reserved", capacity_reservation=reservation, zones=["us-east-1a"]
    )
    template = template_of(graph)
    assert "capacityReservationSpecification" in template
    assert "instanceMarketOptions" not in template
    [group] = groups_of(graph).values()
    assert (group["capacityType"], group["instanceTypes"]) == ("ON_DEMAND", ["g6.2xlarge"])


def test_spot_machines_are_asked_for() -> None:
    assert {
        each["capacityType"] for each in groups_of(with_pool(capacity_type="spot")).values()
    } == {"SPOT"}


def test_nodes_may_join_and_pull_and_nothing_else() -> None:
    """The CNI's rights are its own pod's; a node has no shell access and no bucket."""
    attached = {
        each.inputs["policyArn"].rsplit("/", 1)[-1]
        for name, each in region().of_type(":RolePolicyAttachment").items()
        if "-node-role-" in name
    }
    assert attached == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"}
    role = region().resources["triplane-virginia-cluster-node-role-role"].inputs
    [trust] = json.loads(role["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "ec2.amazonaws.com"}


def test_every_pod_identity_has_its_rights_before_it_is_handed_out() -> None:
    """A pod that starts in between would be refused, and some never ask again."""
    graph = region()
    associations = graph.of_type(":PodIdentityAssociation")
    ours = {name for name in associations if "-pod-roles-" in name}
    assert {name.split("-pod-roles-")[1] for name in ours} >= {
        "seeding-association",
        "autoscaler-association",
        "load-balancers-association",
    }
    for name in ours:
        policy = name.replace("-association", "-policy")
        assert graph.waits_for(name, policy)
        assert graph.resources[name].inputs["clusterName"] == CLUSTER


def test_accounts_of_charts_are_those_that_have_roles() -> None:
    """A service account of another name runs without credentials, and nothing says why."""
    plan = aws_graph.aws_plan(_with_bucket)
    graph = region()
    names = {"cluster-autoscaler": ("rbac", "serviceAccount"), "aws-load-balancer-controller": ()}
    for chart, path in names.items():
        values = VALUES[chart](plan, plan.regions[0])
        for key in path[:1]:
            values = values[key]
        account = values["serviceAccount"]["name"]
        roles = [
            each.inputs
            for each in graph.of_type(":PodIdentityAssociation").values()
            if each.inputs["namespace"] == chart
        ]
        assert [each["serviceAccount"] for each in roles] == [account]


def test_charts_find_region_cluster_and_network_without_asking_the_machine() -> None:
    """With one hop the metadata service does not answer pods; controllers would not start."""
    plan = aws_graph.aws_plan(_with_bucket)
    autoscaler = VALUES["cluster-autoscaler"](plan, plan.regions[0])
    assert autoscaler["awsRegion"] == "us-east-1"
    assert autoscaler["autoDiscovery"] == {"clusterName": CLUSTER}
    controller = VALUES["aws-load-balancer-controller"](plan, plan.regions[0])
    assert (controller["region"], controller["clusterName"]) == ("us-east-1", CLUSTER)
    vpc = region().one(":Vpc").inputs["tags"]
    assert controller["vpcTags"].items() <= vpc.items(), "the VPC is found by its tags"


def test_load_balancers_are_private_and_nothing_else_is_made_public() -> None:
    plan = aws_graph.aws_plan(_with_bucket)
    controller = VALUES["aws-load-balancer-controller"](plan, plan.regions[0])
    assert controller["defaultLoadBalancerScheme"] == "internal"
    webhook = controller["serviceMutatorWebhookConfig"]
    assert webhook["failurePolicy"] == "Fail", "without it the cloud makes public ones"
    [selector] = webhook["namespaceSelectors"]
    assert set(selector["values"]) == {"envoy-gateway-system", "triplane-gateway"}


@pytest.mark.parametrize("chart", ["cluster-autoscaler", "aws-load-balancer-controller"])
def test_images_come_from_the_mirror_where_there_is_one(chart: str) -> None:
    def change(settings: dict[str, Any]) -> None:
        _with_bucket(settings)
        settings["mirror"] = {"registry": "registry.example:5000/mirror"}

    plain, mirrored = (aws_graph.aws_plan(each) for each in (_with_bucket, change))
    assert "image" not in VALUES[chart](plain, plain.regions[0])
    image = VALUES[chart](mirrored, mirrored.regions[0])["image"]["repository"]
    assert image.startswith("registry.example:5000/mirror/")
    assert image.endswith(f"/{chart}")


def test_the_bucket_is_private_kept_and_encrypted_with_its_own_key() -> None:
    graph = region()
    bucket = graph.one(":Bucket")
    assert bucket.protect
    assert graph.resources["triplane-virginia-cluster-objects-key"].protect
    access = graph.one(":BucketPublicAccessBlock").inputs
    assert [
        value for key, value in access.items() if key.startswith(("block", "ignore", "restrict"))
    ]
    assert all(access[key] for key in access if key != "bucket")
    assert graph.one(":BucketOwnershipControls").inputs["rule"] == {
        "objectOwnership": "BucketOwnerEnforced"
    }
    [rule] = graph.one(":BucketServerSideEncryptionConfiguration").inputs["rules"]
    assert rule["bucketKeyEnabled"] is True
    assert rule["applyServerSideEncryptionByDefault"] == {
        "sseAlgorithm": "aws:kms",
        "kmsMasterKeyId": "arn:of:triplane-virginia-cluster-objects-key",
    }
    assert graph.one(":BucketVersioning").inputs["versioningConfiguration"] == {"status": "Enabled"}
    [row] = graph.one(":BucketLifecycleConfiguration").inputs["rules"]
    assert row["noncurrentVersionExpiration"] == {"noncurrentDays": 30}
    assert row["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
    [denied] = json.loads(graph.one(":BucketPolicy").inputs["policy"])["Statement"]
    assert (denied["Effect"], denied["Principal"], denied["Action"]) == ("Deny", "*", ["s3:*"])
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_seeding_decrypts_with_the_key_that_the_alias_names() -> None:
    graph = region()
    alias = graph.resources["triplane-virginia-cluster-objects-alias"].inputs["name"]
    policy = graph.resources["triplane-virginia-cluster-pod-roles-seeding-policy"].inputs["policy"]
    assert alias in policy


def test_the_bucket_can_be_given_up() -> None:
    def change(settings: dict[str, Any]) -> None:
        _with_bucket(settings)
        settings["accept_data_loss"] = ["Bucket/virginia"]

    graph = build_cluster(change)
    assert not graph.one(":Bucket").protect
    assert not graph.resources["triplane-virginia-cluster-objects-key"].protect


@pytest.mark.parametrize(
    "objects",
    [
        {"kind": "s3", "bucket": "weights", "create": False},
        {"kind": "endpoint", "bucket": "weights", "endpoint": "http://s3.example:8333"},
    ],
)
def test_a_bucket_that_exists_is_left_alone(objects: dict[str, Any]) -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["storage"]["objects"] = objects

    assert not build_cluster(change).of_type(":Bucket")
