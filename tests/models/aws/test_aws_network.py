"""The pure part of a region on AWS: subnets, names, kubeconfig, policy documents, checks."""

import ipaddress
import itertools
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from policy_sentry.querying.all import get_all_actions
from pydantic import ValidationError

from models.aws import cluster_policies, names
from models.aws.addons import AFTER_NODES, BEFORE_NODES
from models.aws.kubeconfig import kubeconfig
from models.aws.network import (
    CONTROL_PLANE_PREFIX,
    NODE_ADDRESSES,
    SubnetRole,
    nat_zone,
    nat_zones,
    node_room,
    of_role,
    service_cidr,
    subnets,
)
from models.engine.profiles import Environment
from models.plan.aws.checks import region_problems
from models.settings.eks import ZONE_LETTERS, EksClusterSettings
from models.settings.gateway import Gateway
from models.settings.regions import RegionSettings

pytestmark = pytest.mark.pure

REGION = "us-east-1"
ACCOUNT = "111122223333"
ADMIN = f"arn:aws:iam::{ACCOUNT}:role/platform-admin"


def eks_settings(**changes: Any) -> dict[str, Any]:
    """Return a cluster's settings as plain data."""
    return {
        "kind": "eks",
        "account_id": ACCOUNT,
        "aws_region": REGION,
        "version": "1.35",
        "cidr": "10.20.0.0/16",
        "zones": [f"{REGION}a", f"{REGION}b"],
        "private_cidrs": ["10.0.0.0/16"],
        "admins": [ADMIN],
        **changes,
    }


def eks(**changes: Any) -> EksClusterSettings:
    return EksClusterSettings.model_validate_json(json.dumps(eks_settings(**changes)))


def zones(letters: str) -> list[str]:
    return [f"{REGION}{letter}" for letter in letters]


def region(cluster: dict[str, Any], *pools: dict[str, Any]) -> RegionSettings:
    """Return a region with these pools; a CPU pool that carries the system where none is given."""
    system = {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 2, "max": 4}
    settings = {
        "name": "virginia",
        "cluster": cluster,
        "pools": list(pools) or [system],
        "storage": {
            "volumes": "existing-class",
            "storage_class": "shared",
            "objects": {"kind": "s3", "bucket": "weights"},
        },
    }
    return RegionSettings.model_validate_json(json.dumps(settings))


def vpc(prefix: int, second: int) -> str:
    return str(ipaddress.IPv4Network(f"10.{second}.0.0/{prefix}"))


cidrs = st.builds(vpc, st.integers(16, 20), st.integers(0, 255))
letters = st.lists(st.sampled_from(ZONE_LETTERS), min_size=2, max_size=8, unique=True)


@given(cidrs, letters)
def test_subnets_lie_in_the_vpc_and_never_overlap(cidr: str, chosen: list[str]) -> None:
    plan = subnets(eks(cidr=cidr, zones=zones("".join(chosen))))
    networks = [ipaddress.IPv4Network(each.cidr) for each in plan]
    assert len(plan) == 3 * len(chosen)
    assert all(each.subnet_of(ipaddress.IPv4Network(cidr)) for each in networks)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(networks, 2))
    # AWS takes subnets of /16 to /28 (VPC user guide, subnet sizing).
    assert all(16 <= each.prefixlen <= 28 for each in networks)


@given(cidrs, letters, st.randoms())
def test_the_order_of_zones_and_a_new_zone_move_nothing(
    cidr: str, chosen: list[str], random: Any
) -> None:
    """A subnet that moves is replaced, and with it every node in it."""
    whole = subnets(eks(cidr=cidr, zones=zones("".join(chosen))))
    shuffled = list(chosen)
    random.shuffle(shuffled)
    assert subnets(eks(cidr=cidr, zones=zones("".join(shuffled)))) == whole
    if len(chosen) > 2:
        fewer = subnets(eks(cidr=cidr, zones=zones("".join(chosen[:-1]))))
        assert set(fewer) < set(whole)


@pytest.mark.parametrize(("cidr", "nodes"), [("10.20.0.0/16", 4096), ("10.20.0.0/20", 256)])
def test_each_role_has_the_room_that_it_needs(cidr: str, nodes: int) -> None:
    plan = subnets(eks(cidr=cidr))
    sizes = {
        role: {ipaddress.IPv4Network(each.cidr).num_addresses for each in of_role(plan, role)}
        for role in SubnetRole
    }
    assert sizes[SubnetRole.NODES] == {nodes}
    assert sizes[SubnetRole.CONTROL_PLANE] == {2 ** (32 - CONTROL_PLANE_PREFIX)}
    assert min(sizes[SubnetRole.PUBLIC]) >= 32, "a load balancer takes subnets of /27 and larger"
    assert node_room(eks(cidr=cidr)) * NODE_ADDRESSES < nodes


def test_nat_gateways_are_one_a_zone_or_one_in_all() -> None:
    each = eks(zones=zones("ba"))
    assert nat_zones(each) == (f"{REGION}a", f"{REGION}b")
    assert nat_zone(each, f"{REGION}b") == f"{REGION}b"
    one = eks(zones=zones("cb"), single_nat=True)
    assert nat_zones(one) == (f"{REGION}b",)
    assert nat_zone(one, f"{REGION}c") == f"{REGION}b"


@given(cidrs)
def test_services_never_overlap_the_vpc(cidr: str) -> None:
    services = ipaddress.IPv4Network(service_cidr(cidr))
    assert not services.overlaps(ipaddress.IPv4Network(cidr))


def test_services_move_out_of_the_way_of_a_vpc_in_their_network() -> None:
    assert service_cidr("172.20.0.0/16") == "10.100.0.0/16"
    assert service_cidr("172.20.64.0/20") == "10.100.0.0/16"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"zones": ["us-east-1a", "us-west-2b"]}, "us-west-2b"),
        ({"zones": ["us-east-1a", "us-east-1-bos-1a"]}, "us-east-1-bos-1a"),
        ({"zones": ["us-east-1a", "us-east-1a"]}, "names a zone twice"),
        ({"zones": ["us-east-1a"]}, "at least 2"),
        ({"cidr": "10.20.0.0/24"}, "/16 to /20"),
        ({"cidr": "8.8.0.0/16"}, "private network"),
        ({"cidr": "169.254.0.0/16"}, "private network"),
        ({"cidr": "10.20.0.1/16"}, "host bits"),
        ({"public_cidrs": ["0.0.0.0/0"]}, "everybody"),
        ({"public_cidrs": ["300.1.1.0/24"]}, "300.1.1.0/24"),
        ({"private_endpoint": False, "private_cidrs": []}, "nothing reaches the API"),
        ({"private_endpoint": False, "public_cidrs": ["203.0.113.0/24"]}, "is false"),
        ({"private_cidrs": []}, "that pulumi runs in"),
        ({"private_cidrs": ["203.0.113.0/24"]}, "not a private network"),
        ({"admins": []}, "at least 1"),
        ({"admins": [ADMIN, f"arn:aws:iam::{ACCOUNT}:role/x/platform-admin"]}, "platform-admin"),
        ({"admins": [f"arn:aws:iam::{ACCOUNT}:user/somebody"]}, "pattern"),
        ({"account_id": "12345"}, "pattern"),
        ({"aws_region": "cn-north-1", "zones": ["cn-north-1a", "cn-north-1b"]}, "partition"),
        ({"log_retention_days": 91}, "90"),
        ({"domain": "ml.example.com"}, "zone_id"),
        ({"zone_id": "Z0123456789ABC"}, "domain"),
    ],
)
def test_settings_that_cannot_work_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace(".", r"\.")):
        eks(**change)


def test_names_fit_their_limits_in_the_longest_case() -> None:
    environment = max((each.value for each in Environment), key=len)
    name = names.cluster_name(environment, "r" * 20)
    assert len(name) <= 100, "EKS takes 100 characters"
    for purpose in (
        names.CLUSTER_ROLE,
        names.NODE_ROLE,
        names.FLOW_LOG_ROLE,
        names.CNI_ROLE,
        names.EBS_ROLE,
    ):
        assert len(names.role_name(name, purpose)) <= names.ROLE_NAME_MAX
    with pytest.raises(ValueError, match="more than 64"):
        names.role_name(name, "p" * 40)


def test_two_environments_and_two_regions_never_share_a_name() -> None:
    made = {
        names.cluster_name(environment.value, where)
        for environment in Environment
        for where in ("virginia", "oregon")
    }
    assert len(made) == 2 * len(Environment)


def test_the_kubeconfig_asks_the_aws_cli_and_holds_no_token() -> None:
    text = kubeconfig(
        cluster="triplane-prod-virginia",
        aws_region=REGION,
        endpoint="https://api.example",
        certificate="Q0E=",
    )
    read = yaml.safe_load(text)
    user = read["users"][0]["user"]
    assert list(user) == ["exec"], "neither token nor client key"
    assert user["exec"]["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert [user["exec"]["command"], *user["exec"]["args"]] == [
        *("aws", "eks", "get-token", "--cluster-name", "triplane-prod-virginia"),
        *("--region", REGION, "--output", "json"),
    ]
    context = next(c for c in read["contexts"] if c["name"] == read["current-context"])
    assert context["context"]["cluster"] == read["clusters"][0]["name"]
    assert context["context"]["user"] == read["users"][0]["name"]
    assert read["clusters"][0]["cluster"] == {
        "server": "https://api.example",
        "certificate-authority-data": "Q0E=",
    }


def documents() -> dict[str, cluster_policies.Document]:
    cluster = eks()
    name = names.cluster_name("prod", "virginia")
    return {
        "key": cluster_policies.key_policy(cluster, name),
        "flow-logs": cluster_policies.flow_log_policy(cluster, names.flow_logs(name)),
        "trust": cluster_policies.service_trust("eks.amazonaws.com", cluster),
    }


def test_every_action_exists() -> None:
    """A misspelt action is granted to nobody, and found out when a node does not start."""
    known = {action.lower() for action in get_all_actions()}
    used = {
        action
        for document in documents().values()
        for statement in document["Statement"]
        for action in _texts(statement["Action"])
    }
    plain = {action.lower() for action in used if "*" not in action}
    assert len(plain) > 8
    assert plain <= known
    for pattern in (action.lower() for action in used if action.endswith("*")):
        assert any(action.startswith(pattern[:-1]) for action in known), pattern


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_whoever_is_not_named_gets_nothing_from_the_key() -> None:
    """A principal of * is only right where a condition names the callers."""
    for statement in documents()["key"]["Statement"]:
        if statement["Principal"] == {"AWS": "*"}:
            assert statement["Condition"]["StringEquals"] == {"kms:CallerAccount": ACCOUNT}
            roles = statement["Condition"]["ArnEquals"]["aws:PrincipalArn"]
            assert roles
            assert not any("*" in arn for arn in roles)
        elif "Service" in statement["Principal"]:
            groups = statement["Condition"]["ArnEquals"]["kms:EncryptionContext:aws:logs:arn"]
            assert len(groups) == 2
            assert all(f":{ACCOUNT}:log-group:/" in arn for arn in groups)


def test_grants_on_the_key_are_for_aws_only() -> None:
    [grant] = [s for s in documents()["key"]["Statement"] if s["Action"] == "kms:CreateGrant"]
    assert grant["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}


def test_the_flow_logs_role_writes_to_its_own_group_only() -> None:
    [statement] = documents()["flow-logs"]["Statement"]
    group = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/triplane/triplane-prod-virginia/flow"
    assert statement["Resource"] == [group, f"{group}:*"]
    assert "logs:CreateLogGroup" not in statement["Action"]


def test_govcloud_has_its_own_partition() -> None:
    cluster = eks(aws_region="us-gov-west-1", zones=["us-gov-west-1a", "us-gov-west-1b"])
    assert names.role_arn(cluster, "x").startswith("arn:aws-us-gov:iam::")


def test_network_policies_are_enforced() -> None:
    """The CNI takes them and does nothing unless it is told to."""
    [cni] = [each for each in BEFORE_NODES if each.name == "vpc-cni"]
    assert json.loads(cni.configuration or "{}")["enableNetworkPolicy"] == "true"


def test_what_runs_as_a_deployment_waits_for_nodes() -> None:
    """EKS reports such an add-on degraded until its pods run, and the update would time out."""
    assert {each.name for each in AFTER_NODES} == {"coredns", "aws-ebs-csi-driver"}


def test_a_region_with_a_system_pool_has_no_problem() -> None:
    assert region_problems(region(eks_settings()), Gateway(), "regions[0]") == []


@pytest.mark.parametrize(
    "change",
    [
        {"min": 0},
        {"capacity_type": "spot"},
        {"taints": [{"key": "team", "value": "a"}]},
    ],
    ids=["may be empty", "may be taken away", "takes no system pod"],
)
def test_a_region_without_a_system_pool_is_refused(change: dict[str, Any]) -> None:
    """CoreDNS would wait for a node, and the autoscaler that makes one would wait for CoreDNS."""
    pool = {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 2, "max": 4, **change}
    [problem] = region_problems(region(eks_settings(), pool), Gateway(), "regions[0]")
    assert problem.path == "regions[0].pools"
    assert "CoreDNS" in problem.message


def test_more_nodes_than_addresses_are_refused_by_zone() -> None:
    pool = {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 2, "max": 24}
    cluster = eks_settings(cidr="10.20.0.0/20")
    room = node_room(eks(cidr="10.20.0.0/20"))
    fits = region(cluster, {**pool, "max": 2 * room})
    assert region_problems(fits, Gateway(), "regions[0]") == []
    found = region_problems(region(cluster, {**pool, "max": 2 * room + 1}), Gateway(), "regions[0]")
    assert [problem.allowed for problem in found] == [f"{room} nodes"] * 2
    bound = region(cluster, {**pool, "max": room + 1, "zones": [f"{REGION}a"]})
    [problem] = region_problems(bound, Gateway(), "regions[0]")
    assert f"zone {REGION}a" in problem.message


@pytest.mark.parametrize("hostname", [None, "ml.example.com", "api.other.com", "xml.example.com"])
def test_a_zone_without_a_name_in_it_is_refused(hostname: str | None) -> None:
    cluster = eks_settings(domain="ml.example.com", zone_id="Z0123456789ABC")
    [problem] = region_problems(region(cluster), Gateway(hostname=hostname), "regions[0]")
    assert problem.path == "regions[0].cluster.domain"
    good = Gateway(hostname="api.ml.example.com")
    assert region_problems(region(cluster), good, "regions[0]") == []


def test_a_cluster_that_exists_is_its_owners_affair() -> None:
    existing = {"kind": "existing", "context": "edge"}
    pool = {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 0, "max": 4}
    assert region_problems(region(existing, pool), Gateway(), "regions[0]") == []
