"""A region's cluster on AWS under mocks: what is made, how open, in what order, what is kept."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.evaluate import aws_findings
from policies.views.aws.resource import AwsResource, kind_of
from tests.helpers.plans.aws_graph import ACCOUNT, AWS_REGION, CLUSTER, Graph, build, build_cluster

pytestmark = pytest.mark.mocks

GOLDEN: Final = Path(__file__).with_name("aws.urns")
PREFIX: Final = "triplane-virginia-cluster"
A, B, C = (f"{AWS_REGION}{letter}" for letter in "abc")


def region_of(settings: dict[str, Any]) -> dict[str, Any]:
    [region] = settings["regions"]
    return region


def cluster_of(settings: dict[str, Any]) -> dict[str, Any]:
    return region_of(settings)["cluster"]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return build_cluster()


def test_the_golden_list_of_resources(graph: Graph) -> None:
    """A logical name is state: changing one replaces a network, a cluster, a bucket."""
    lines = sorted(f"{each.type} {name}" for name, each in graph.resources.items())
    assert lines == GOLDEN.read_text().splitlines(), "write the new list if the change is meant"


def test_everything_on_aws_has_the_regions_provider(graph: Graph) -> None:
    """The default provider would take whatever account and region the environment has."""
    assert len(graph.aws()) > 60
    assert {each.provider for each in graph.aws().values()} == {f"{PREFIX}-aws"}


def test_another_account_is_refused_and_everything_is_tagged(graph: Graph) -> None:
    given = graph.one("providers:aws").inputs
    assert given["region"] == AWS_REGION
    assert json.loads(given["allowedAccountIds"]) == [ACCOUNT]
    assert json.loads(given["defaultTags"]) == {
        "tags": {
            "project": "triplane",
            "environment": "dev",
            "region": "virginia",
            "managed-by": "pulumi",
        }
    }


def test_the_cluster_is_private_encrypted_and_logged(graph: Graph) -> None:
    given = graph.one("eks/cluster:Cluster").inputs
    assert given["name"] == CLUSTER
    vpc = given["vpcConfig"]
    assert (vpc["endpointPrivateAccess"], vpc["endpointPublicAccess"]) == (True, False)
    assert "publicAccessCidrs" not in vpc
    assert given["encryptionConfig"] == {
        "provider": {"keyArn": f"arn:of:{PREFIX}-key-key"},
        "resources": ["secrets"],
    }
    assert set(given["enabledClusterLogTypes"]) == {
        *("api", "audit", "authenticator", "controllerManager", "scheduler"),
    }
    assert given["bootstrapSelfManagedAddons"] is False
    assert given["kubernetesNetworkConfig"] == {"serviceIpv4Cidr": "172.20.0.0/16"}


def test_nobody_is_admin_by_having_made_the_cluster(graph: Graph) -> None:
    """That grant would stand in no state, and be whoever's ran first."""
    access = graph.one("eks/cluster:Cluster").inputs["accessConfig"]
    assert access == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    }
    admin = f"arn:aws:iam::{ACCOUNT}:role/platform-admin"
    entry = graph.one("accessEntry:AccessEntry")
    association = graph.one("accessPolicyAssociation:AccessPolicyAssociation")
    assert entry.inputs["principalArn"] == association.inputs["principalArn"] == admin
    assert association.inputs["policyArn"].startswith("arn:aws:eks::aws:cluster-access-policy/")
    assert f"{PREFIX}-eks-admin-platform-admin" in association.dependencies


def test_a_public_endpoint_names_its_networks() -> None:
    def change(settings: dict[str, Any]) -> None:
        cluster_of(settings).update(public_cidrs=["203.0.113.0/24"], private_cidrs=[])

    opened = build_cluster(change)
    vpc = opened.one("eks/cluster:Cluster").inputs["vpcConfig"]
    assert vpc["publicAccessCidrs"] == ["203.0.113.0/24"]
    assert vpc["endpointPublicAccess"] is True
    assert not [name for name in opened.resources if "-access-api-" in name]


def test_no_security_group_is_open(graph: Graph) -> None:
    default = graph.one("defaultSecurityGroup:DefaultSecurityGroup").inputs
    assert set(default) == {"vpcId", "tags"}, "no rule at all"
    for group in graph.of_type("securityGroup:SecurityGroup").values():
        assert not {"ingress", "egress"} & set(group.inputs)
    rules = graph.of_type("IngressRule") | graph.of_type("EgressRule")
    networks = {name: rule.inputs.get("cidrIpv4") for name, rule in rules.items()}
    assert networks == {
        f"{PREFIX}-network-access-api-10.0.0.0-16": "10.0.0.0/16",
        f"{PREFIX}-network-access-efa-in": None,
        f"{PREFIX}-network-access-efa-out": None,
        f"{PREFIX}-network-access-endpoints-in": "10.20.0.0/16",
    }


def test_the_api_is_reached_from_the_networks_of_the_settings(graph: Graph) -> None:
    """EKS's own group lets nodes in only; pulumi itself would stand outside."""
    rule = graph.resources[f"{PREFIX}-network-access-api-10.0.0.0-16"].inputs
    assert (rule["fromPort"], rule["toPort"], rule["ipProtocol"]) == (443, 443, "tcp")
    given = graph.one("eks/cluster:Cluster").inputs["vpcConfig"]
    assert given["securityGroupIds"] == [rule["securityGroupId"]]


def test_machines_with_efa_reach_each_other_both_ways(graph: Graph) -> None:
    """A rule to every network does not count for EFA; it must name the group."""
    for way in ("in", "out"):
        rule = graph.resources[f"{PREFIX}-network-access-efa-{way}"].inputs
        assert rule["referencedSecurityGroupId"] == rule["securityGroupId"]
        assert rule["ipProtocol"] == "-1"


def test_only_pools_with_efa_are_in_its_group() -> None:
    def change(settings: dict[str, Any]) -> None:
        region_of(settings)["pools"].append(
            {
                "name": "gpu-h100-pool",
                "accelerator": "h100-80gb",
                "instance_type": "p5.48xlarge",
                "min": 0,
                "max": 1,
                "zones": [A],
                "efa": True,
            }
        )

    fast = build_cluster(change)
    group = f"{PREFIX}-network-access-efa-id"
    cards = fast.resources[f"{PREFIX}-gpu-h100-pool-template"].inputs["networkInterfaces"]
    assert len(cards) == 32
    assert all(card["securityGroups"] == ["sg-cluster", group] for card in cards)
    slow = fast.resources[f"{PREFIX}-gpu-l4-pool-template"].inputs
    assert slow["vpcSecurityGroupIds"] == ["sg-cluster"]


def test_every_log_and_every_secret_is_encrypted_with_the_regions_key(graph: Graph) -> None:
    key = graph.resources[f"{PREFIX}-key-key"].inputs
    assert key["enableKeyRotation"] is True
    groups = graph.of_type("logGroup:LogGroup")
    assert {each.inputs["name"] for each in groups.values()} == {
        f"/aws/eks/{CLUSTER}/cluster",
        f"/triplane/{CLUSTER}/flow",
    }
    for group in groups.values():
        assert group.inputs["kmsKeyId"] == f"arn:of:{PREFIX}-key-key"
        assert group.inputs["retentionInDays"] == 90


def test_policies_are_known_in_the_first_preview(graph: Graph) -> None:
    """What is unknown cannot be judged, and is refused: documents hold plain names only."""
    texts = [
        str(each.inputs[key])
        for each in graph.aws().values()
        for key in ("policy", "assumeRolePolicy")
        if key in each.inputs
    ]
    assert len(texts) >= 8
    for text in texts:
        assert "arn:of:" not in text, "an output of another resource"
        assert json.loads(text)["Version"] == "2012-10-17"


def test_nodes_and_control_plane_have_no_public_address(graph: Graph) -> None:
    subnets = graph.of_type("subnet:Subnet")
    assert len(subnets) == 6
    assert not any(each.inputs["mapPublicIpOnLaunch"] for each in subnets.values())
    routes = {
        name.removeprefix(f"{PREFIX}-network-route-"): set(route.inputs)
        for name, route in graph.of_type("route:Route").items()
    }
    assert "gatewayId" in routes.pop("public")
    assert sorted(routes) == [f"nodes-{A}", f"nodes-{B}"], "the control plane has no way out"
    assert all("natGatewayId" in keys for keys in routes.values())


def test_a_subnet_is_routed_by_the_table_of_its_role(graph: Graph) -> None:
    for name, link in graph.of_type("routeTableAssociation:RouteTableAssociation").items():
        subnet = name.removeprefix(f"{PREFIX}-network-association-")
        role = subnet.removesuffix(f"-{A}").removesuffix(f"-{B}")
        table = subnet if role == "nodes" else role
        assert link.inputs["subnetId"] == f"{PREFIX}-network-{subnet}-id"
        assert link.inputs["routeTableId"] == f"{PREFIX}-network-table-{table}-id"


def test_each_zone_has_its_nat_gateway_or_all_share_one(graph: Graph) -> None:
    assert len(graph.of_type("natGateway:NatGateway")) == 2
    for zone in (A, B):
        route = graph.resources[f"{PREFIX}-network-route-nodes-{zone}"].inputs
        assert route["natGatewayId"] == f"{PREFIX}-network-nat-{zone}-id"

    one = build_cluster(lambda settings: cluster_of(settings).update(single_nat=True))
    assert list(one.of_type("natGateway:NatGateway")) == [f"{PREFIX}-network-nat-{A}"]
    for zone in (A, B):
        route = one.resources[f"{PREFIX}-network-route-nodes-{zone}"].inputs
        assert route["natGatewayId"] == f"{PREFIX}-network-nat-{A}-id"


def test_endpoints_are_reached_by_their_public_names(graph: Graph) -> None:
    endpoints = graph.of_type("vpcEndpoint:VpcEndpoint")
    services = {
        each.inputs["serviceName"].rsplit(f"{AWS_REGION}.")[1] for each in endpoints.values()
    }
    assert services == {"s3", "ec2", "ecr.api", "ecr.dkr", "eks-auth", "sts"}
    for each in endpoints.values():
        if each.inputs["vpcEndpointType"] == "Interface":
            assert each.inputs["privateDnsEnabled"] is True
            assert len(each.inputs["subnetIds"]) == 2
        else:
            assert each.inputs["routeTableIds"] == [
                f"{PREFIX}-network-table-nodes-{zone}-id" for zone in (A, B)
            ]


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("eks-cluster", "eks-AmazonEKSClusterPolicy"),
        ("eks-cluster", "eks-logs"),
        ("base-vpc-cni", "eks-cluster"),
        ("base-vpc-cni", "base-cni-association"),
        ("base-cni-association", "eks-cluster"),
        (f"cpu-pool-{A}", "base-vpc-cni"),
        (f"cpu-pool-{A}", "base-eks-pod-identity-agent"),
        (f"cpu-pool-{A}", f"network-route-nodes-{A}"),
        (f"cpu-pool-{A}", "network-access-ecr-dkr"),
        (f"cpu-pool-{A}", "node-role-AmazonEKSWorkerNodePolicy"),
        ("system-coredns", f"cpu-pool-{B}"),
        ("system-aws-ebs-csi-driver", "system-ebs-csi-association"),
        ("provider", "system-coredns"),
        ("provider", f"gpu-l4-pool-{B}"),
        ("provider", "eks-admin-platform-admin-policy"),
        ("provider", "pod-roles-seeding-association"),
        ("provider", "objects-bucket"),
        (f"network-nat-{A}", "network-gateway"),
        ("network-logs-flow", "network-logs-policy"),
    ],
)
def test_what_comes_first_goes_last(graph: Graph, later: str, earlier: str) -> None:
    """Names are plain text, so that nothing but this order keeps creation and destruction right."""
    assert graph.waits_for(f"{PREFIX}-{later}", f"{PREFIX}-{earlier}")
    assert not graph.waits_for(f"{PREFIX}-{earlier}", f"{PREFIX}-{later}")


def test_the_kubernetes_provider_keeps_its_identity(graph: Graph) -> None:
    """With an unknown kubeconfig and no identifier, every object would be replaced."""
    given = graph.one("providers:kubernetes").inputs
    assert given["clusterIdentifier"] == f"arn:aws:eks:{AWS_REGION}:{ACCOUNT}:cluster/{CLUSTER}"
    # A secret is wrapped.
    read = yaml.safe_load(given["kubeconfig"]["value"])
    assert read["clusters"][0]["cluster"]["server"] == "https://api.example"


def test_the_kubeconfig_is_secret(graph: Graph) -> None:
    """Not for a token, which it has not, but for where the API is."""
    wrapped = graph.one("providers:kubernetes").inputs["kubeconfig"]
    assert set(wrapped) > {"value"}, "a plain text would be shown in every preview"


KEPT: Final = {
    f"{PREFIX}-eks-cluster",
    f"{PREFIX}-key-key",
    f"{PREFIX}-network-control-plane-{A}",
    f"{PREFIX}-network-control-plane-{B}",
}
BUCKET: Final = {f"{PREFIX}-objects-bucket", f"{PREFIX}-objects-key"}


def kept(graph: Graph) -> set[str]:
    return {name for name, each in graph.resources.items() if each.protect}


def test_what_holds_data_is_protected_and_nothing_else(graph: Graph) -> None:
    """Protection is inherited: one flag too high and no node group could ever be removed."""
    assert kept(graph) == KEPT | BUCKET
    assert graph.one("eks/cluster:Cluster").inputs["deletionProtection"] is True


@pytest.mark.parametrize(
    ("approved", "left"),
    [
        (["Cluster/virginia"], BUCKET),
        (["Bucket/virginia"], KEPT),
        (["Cluster/virginia", "Bucket/virginia"], set[str]()),
        (["Cluster/oregon", "Bucket/oregon"], KEPT | BUCKET),
    ],
)
def test_an_approval_lifts_protection_of_its_region_only(
    approved: list[str], left: set[str]
) -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["accept_data_loss"] = approved

    lifted = build_cluster(change)
    assert kept(lifted) == left
    protected = lifted.one("eks/cluster:Cluster").inputs["deletionProtection"]
    assert protected is (f"{PREFIX}-eks-cluster" in left)


@pytest.mark.parametrize("accepted", [(), ("Cluster/virginia", "Bucket/virginia")], ids=str)
def test_the_pack_finds_nothing_in_our_own_cluster(accepted: tuple[str, ...]) -> None:
    """Security, data, machines: what the program makes must pass what it is judged by."""

    def change(settings: dict[str, Any]) -> None:
        settings["accept_data_loss"] = list(accepted)

    made = build_cluster(change).aws()
    resources = [
        AwsResource(
            kind=kind_of(each.type),
            name=name,
            urn=name,
            body=Node(plain(each.inputs)),
            parent=each.parent,
            protect=each.protect,
            ignore_changes=each.ignored,
        )
        for name, each in made.items()
    ]
    links = {(name, key): urns for name, each in made.items() for key, urns in each.links.items()}
    context = Context(
        pulumi=True,
        environment="prod",
        regions=("virginia",),
        accept_data_loss=frozenset(accepted),
    )
    assert aws_findings(resources, context, links) == ()


def test_a_zone_more_changes_nothing_of_the_others(graph: Graph) -> None:
    def change(settings: dict[str, Any]) -> None:
        cluster_of(settings)["zones"] = [C, B, A]
        for pool in region_of(settings)["pools"]:
            pool["zones"] = [B, A]

    more = build_cluster(change)
    changed = {
        name
        for name, each in graph.resources.items()
        if more.resources[name].inputs != each.inputs and name in graph.aws()
    }
    # Endpoints get a leg in the new zone; the cluster ignores the subnet that it cannot take.
    endpoints = {n for n, e in graph.resources.items() if e.type.endswith(":VpcEndpoint")}
    assert changed == endpoints | {f"{PREFIX}-eks-cluster"}
    assert more.one("eks/cluster:Cluster").ignored == ("vpcConfig.subnetIds",)
    added = set(more.resources) - set(graph.resources)
    assert added
    assert all(C in name for name in added)


def test_a_hosted_zone_gets_the_gateways_name() -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["gateway"] = {"hostname": "api.ml.example.com"}
        cluster_of(settings).update(domain="ml.example.com", zone_id="Z0123456789ABC")

    record = build_cluster(change).one("route53/record:Record").inputs
    assert (record["name"], record["zoneId"]) == ("api.ml.example.com", "Z0123456789ABC")
    assert (record["type"], record["records"]) == ("CNAME", ["lb.example"])
    assert record["setIdentifier"] == "virginia", "several regions share the name"
    assert record["latencyRoutingPolicies"] == [{"region": AWS_REGION}]


def test_the_record_comes_last_and_nothing_waits_for_it() -> None:
    """Were it the cluster's child, the first wave would wait for it, and it for the gateway."""

    def change(settings: dict[str, Any]) -> None:
        settings["gateway"] = {"hostname": "api.ml.example.com"}
        cluster_of(settings).update(domain="ml.example.com", zone_id="Z0123456789ABC")

    whole = build(change)
    [name] = whole.of_type("route53/record:Record")
    assert whole.resources[name].links["records"] == ("triplane-virginia-gateway-gateway",)
    assert [each for each in whole.resources if whole.waits_for(each, name)] == []


def test_without_a_hosted_zone_there_is_no_record(graph: Graph) -> None:
    assert not graph.of_type("route53/record:Record")


def test_rendering_registers_nothing_on_aws() -> None:
    """Manifests are rendered without credentials of any cloud."""
    rendered = build(render_to="/nowhere")
    assert not rendered.aws()
    assert not rendered.of_type("providers:aws")
    assert len([e for e in rendered.resources.values() if e.type.startswith("kubernetes:")]) > 20


def test_workloads_wait_for_the_whole_cluster() -> None:
    """Region sees provider and kubeconfig; the order comes with the cluster as a wave."""
    whole = build()
    names = [n for n, e in whole.resources.items() if e.type == "kubernetes:core/v1:Namespace"]
    assert names
    for name in names:
        assert whole.resources[name].provider == f"{PREFIX}-provider"
        assert whole.waits_for(name, f"{PREFIX}-system-coredns")
