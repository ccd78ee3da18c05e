"""What is accepted acts, or is refused in AWS's words: the values that no read would show.

No process: moto answers within the test.
"""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.values import Props
from sandbox.aws.kinds import CLASSES, KINDS
from sandbox.aws.plugin.work import ConfiguredProvider, KindCatalog
from sandbox.aws.schema.cache import load
from tests.helpers.sandbox.aws_in_process import ACCOUNT, REGION, Planes, served

pytestmark = pytest.mark.pure

TOKENS = {sdk: token for token, sdk in CLASSES.items()}
TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole"}]}'
INLINE = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
SOMEBODY = f"arn:aws:iam::{ACCOUNT}:role/somebody"
ACTING = {
    ("ec2.LaunchTemplate", "updateDefaultVersion"),
    ("ec2.SecurityGroup", "revokeRulesOnDelete"),
    ("ec2.VpcEndpoint", "securityGroupIds"),
    ("iam.Role", "forceDetachPolicies"),
    ("kms.Key", "deletionWindowInDays"),
    ("s3.Bucket", "forceDestroy"),
}
"""Values that no read shows and that act: each has a test in this file."""


class Account:
    """Makes resources of one account, as the plugin does for the engine."""

    def __init__(self, aws: Aws, planes: Planes) -> None:
        self.aws, self.planes = aws, planes
        catalog = KindCatalog(kinds=KINDS, schemas=load(CLASSES))
        self.work = ConfiguredProvider(catalog=catalog, aws=aws, default_tags={}, repeats=None)

    def problems(self, sdk: str, /, **given: Any) -> list[str]:
        """Return what a preview says of a resource's inputs."""
        _, problems = self.work.check(TOKENS[sdk], "urn:x::one", given, {}, b"seed")
        return [str(each) for each in problems]

    def make(self, sdk: str, label: str, /, **given: Any) -> tuple[str, Props, Props]:
        """Make a resource; return its id, inputs and outputs."""
        token, urn = TOKENS[sdk], f"urn:x::{label}"
        inputs, problems = self.work.check(token, urn, given, {}, label.encode())
        assert [str(each) for each in problems] == []
        identity, outputs = self.work.create(token, urn, inputs)
        return identity, inputs, outputs

    def change(self, sdk: str, made: tuple[str, Props, Props], /, **given: Any) -> Props:
        """Change a resource in place; return its outputs."""
        new = {**made[1], **given}
        return self.work.update(TOKENS[sdk], made[0], made[1], new)

    def remove(self, sdk: str, made: tuple[str, Props, Props]) -> None:
        """Delete a resource."""
        self.work.delete(TOKENS[sdk], "urn:x::one", made[0], made[2])


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    """Return an account with a VPC, a role, and a cluster of version 1.34."""
    folder: Path = tmp_path_factory.mktemp("stand-in")
    with served(folder) as (aws, planes):
        made = Account(aws, planes)
        vpc = made.make("ec2.Vpc", "vpc", cidrBlock="10.0.0.0/16")[0]
        for index, zone in enumerate("ab"):
            block = {"cidrBlock": f"10.0.{index}.0/24", "availabilityZone": f"{REGION}{zone}"}
            made.make("ec2.Subnet", f"subnet-{zone}", vpcId=vpc, **block)
        made.make("iam.Role", "role", name="nodes", assumeRolePolicy=TRUST)
        made.make(
            "eks.Cluster",
            "cluster",
            name="lab",
            roleArn=role_arn(),
            version="1.34",
            vpcConfig={"subnetIds": subnets(made)},
            accessConfig={"authenticationMode": "API"},
        )
        made.make("eks.AccessEntry", "entry", clusterName="lab", principalArn=SOMEBODY)
        yield made


def role_arn() -> str:
    """Return the ARN of the role that everything here runs as."""
    return f"arn:aws:iam::{ACCOUNT}:role/nodes"


def vpc_of(account: Account) -> str:
    """Return the VPC's id."""
    listed = account.aws.call("ec2", "describe_vpcs")["Vpcs"]
    return next(each["VpcId"] for each in listed if each["CidrBlock"] == "10.0.0.0/16")


def subnets(account: Account) -> list[str]:
    """Return the ids of the VPC's subnets."""
    inside = [{"Name": "vpc-id", "Values": [vpc_of(account)]}]
    listed = account.aws.call("ec2", "describe_subnets", Filters=inside)["Subnets"]
    return sorted(each["SubnetId"] for each in listed)


def group(account: Account, /, **more: Any) -> Props:
    """Return the inputs of a node group."""
    return {
        "clusterName": "lab",
        "nodeRoleArn": role_arn(),
        "subnetIds": subnets(account)[:1],
        "instanceTypes": ["m7i.xlarge"],
        "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2},
        **more,
    }


def refusal(account: Account, sdk: str, label: str, /, **given: Any) -> str:
    """Return what AWS says where a resource is refused on its creation."""
    with pytest.raises(AwsError) as refused:
        account.make(sdk, label, **given)
    return str(refused.value)


def test_whatever_no_read_shows_acts_here_or_does_nothing_on_record() -> None:
    """A new type cannot accept a value silently: it is read back, tried here, or on record."""
    unread = {
        (kind.sdk, path)
        for kind in KINDS.values()
        for path in kind.rules.unread
        if path not in kind.rules.inert
    }
    assert unread == ACTING


@pytest.mark.parametrize(
    ("sdk", "given", "path"),
    [
        ("eks.Addon", {"preserve": True}, "preserve"),
        ("eks.Cluster", {"vpcConfig": {"controlPlaneEgressMode": "x"}}, "vpcConfig.controlPlane"),
        ("eks.Cluster", {"computeConfig": {"enabled": True}}, "computeConfig.enabled"),
        (
            "eks.NodeGroup",
            {"nodeRepairConfig": {"maxParallelNodesRepairedCount": 1}},
            "nodeRepairConfig.maxParallelNodesRepairedCount",
        ),
        (
            "s3.BucketVersioning",
            {"versioningConfiguration": {"mfaDelete": "Enabled"}},
            "versioningConfiguration.mfaDelete",
        ),
        (
            "s3.BucketLifecycleConfiguration",
            {"rules": [{"transitions": [{"days": 1, "storageClass": "GLACIER"}]}]},
            "rules[0].transitions[0].days",
        ),
        (
            "ec2.LaunchTemplate",
            {"networkInterfaces": [{"subnetId": "subnet-1"}]},
            "networkInterfaces[0].subnetId",
        ),
        ("ec2.LaunchTemplate", {"placement": {"tenancy": "host"}}, "placement.tenancy"),
    ],
)
def test_a_part_that_nothing_acts_on_is_refused(
    account: Account, sdk: str, given: Props, path: str
) -> None:
    """The other parts of the same object may be played: this one would be dropped."""
    told = [each for each in account.problems(sdk, **given) if "does not act on this" in each]
    assert any(path in each for each in told), told


def test_an_add_on_has_a_name_and_a_version_of_awss(account: Account) -> None:
    good = {"clusterName": "lab", "addonName": "coredns", "addonVersion": "v1.11.4-eksbuild.2"}
    assert account.problems("eks.Addon", **good) == []
    for version in ("1.11.4", "v1.11.4", "latest", "v1.11.4-eksbuild.2 "):
        (told,) = account.problems("eks.Addon", **{**good, "addonVersion": version})
        assert "not a version of an add-on as AWS writes them" in told
    (told,) = account.problems("eks.Addon", **{**good, "addonName": "core-dns"})
    assert "a value that AWS does not know" in told
    both = {"clusterName": "lab", "addonName": "coredns"}
    with pytest.raises(AwsError, match="is not supported"):
        account.aws.call("eks", "create_addon", **{**both, "addonName": "core-dns"})
    with pytest.raises(AwsError, match="Addon version specified is not supported: latest"):
        account.aws.call("eks", "create_addon", **both, addonVersion="latest")
    account.aws.call("eks", "create_addon", **both)
    with pytest.raises(AwsError, match="Addon version specified is not supported: newest"):
        account.aws.call("eks", "update_addon", **both, addonVersion="newest")
    account.aws.call("eks", "delete_addon", **both)


def test_an_access_policy_is_one_of_ekss(account: Account) -> None:
    """The page lists them; those that only service-linked roles may have are not among them."""
    given = {"clusterName": "lab", "principalArn": SOMEBODY, "accessScope": {"type": "cluster"}}
    sdk = "eks.AccessPolicyAssociation"
    assert account.problems(sdk, **given, policyArn=VIEW) == []
    for name in ("AmazonEKSViewerPolicy", "AmazonEKSComputePolicy", "AmazonEKSHybridPolicy"):
        arn = VIEW.replace("AmazonEKSViewPolicy", name)
        (told,) = account.problems(sdk, **given, policyArn=arn)
        assert "a value that AWS does not know" in told
        with pytest.raises(AwsError, match="The policyArn in the request is not valid"):
            account.aws.call("eks", "associate_access_policy", **given, policyArn=arn)


@pytest.mark.parametrize(
    ("version", "valid"),
    [("1.36", False), ("1.35", False), ("1.34", True), ("1.33", True), ("1.32", True)],
)
def test_a_node_group_is_not_newer_than_its_cluster(
    account: Account, version: str, valid: bool
) -> None:
    """Its kubelets would be newer than the API server, which Kubernetes does not support."""
    given = group(account, version=version, nodeGroupName=f"v{version.replace('.', '-')}")
    if valid:
        made = account.make("eks.NodeGroup", "group", **given)
        assert made[2]["version"] == version
        account.remove("eks.NodeGroup", made)
    else:
        told = refusal(account, "eks.NodeGroup", "group", **given)
        assert f"version {version} is not valid for cluster version 1.34" in told


def test_a_node_group_four_versions_behind_is_refused(account: Account) -> None:
    """Kubernetes' version skew: a kubelet may be three minor versions older."""
    both = {"clusterName": "lab", "nodegroupName": "old", "nodeRole": role_arn()}
    with pytest.raises(AwsError, match=r"1\.30 is not valid for cluster version 1\.34"):
        account.aws.call(
            "eks", "create_nodegroup", **both, subnets=subnets(account)[:1], version="1.30"
        )


def test_a_node_group_moves_up_to_its_cluster_and_never_back(account: Account) -> None:
    given = group(account, version="1.33", nodeGroupName="moving")
    made = account.make("eks.NodeGroup", "moving", **given)
    with pytest.raises(AwsError, match=r"1\.35 is not valid for cluster version 1\.34"):
        account.change("eks.NodeGroup", made, version="1.35")
    assert account.change("eks.NodeGroup", made, version="1.34")["version"] == "1.34"
    with pytest.raises(AwsError, match=r"moving cannot go back from 1\.34"):
        account.change("eks.NodeGroup", made, version="1.32")
    account.remove("eks.NodeGroup", made)


@pytest.mark.parametrize(
    ("image", "fits"),
    [
        ("AL2023_x86_64_STANDARD", True),
        ("AL2023_x86_64_NVIDIA", True),
        ("BOTTLEROCKET_x86_64", True),
        ("CUSTOM", True),
        ("AL2023_ARM_64_STANDARD", False),
        ("AL2023_ARM_64_NVIDIA", False),
        ("BOTTLEROCKET_ARM_64", False),
        ("BOTTLEROCKET_ARM_64_NVIDIA", False),
    ],
)
def test_an_image_is_for_the_processor_of_its_machine(
    account: Account, image: str, fits: bool
) -> None:
    """m7i is Intel's: EKS says that it is not a valid type for the image."""
    told = account.problems("eks.NodeGroup", **group(account, amiType=image))
    assert bool(told) is not fits
    assert all("m7i.xlarge has another processor" in each for each in told)


def test_the_machine_of_a_template_is_held_against_the_image_too(account: Account) -> None:
    """A preview does not see into the template: the creation is refused, in EKS's words."""
    template = account.make("ec2.LaunchTemplate", "arm", name="arm", instanceType="m7i.xlarge")
    given = group(
        account,
        amiType="AL2023_ARM_64_STANDARD",
        launchTemplate={"id": template[0], "version": "1"},
    )
    del given["instanceTypes"]
    told = refusal(account, "eks.NodeGroup", "arm-group", **given)
    assert (
        "[m7i.xlarge] is not a valid instance type for requested amiType AL2023_ARM_64_STANDARD"
        in told
    )


def test_of_several_machine_types_none_is_dropped(account: Account) -> None:
    given = group(account, instanceTypes=["m7i.xlarge", "m7i.2xlarge"])
    (told,) = account.problems("eks.NodeGroup", **given)
    assert "a node group here has machines of one type" in told


def test_nodes_are_what_the_group_asks_for(account: Account) -> None:
    """Every value that is not on record as doing nothing reaches the scheduler."""
    volume = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 300, "volumeType": "gp3"}}
    template = account.make("ec2.LaunchTemplate", "disk", name="d", blockDeviceMappings=[volume])
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    made = account.make(
        "eks.NodeGroup",
        "gpu",
        **group(
            account,
            nodeGroupName="gpu",
            instanceTypes=["g6.12xlarge"],
            amiType="AL2023_x86_64_NVIDIA",
            capacityType="SPOT",
            subnetIds=subnets(account),
            scalingConfig={"minSize": 0, "desiredSize": 1, "maxSize": 3},
            launchTemplate={"id": template[0], "version": "1"},
            labels={"pool": "gpu"},
            taints=[taint],
        ),
    )
    nodes = account.planes.nodes["gpu"]
    assert [each.zone for each in nodes] == ["us-east-1a", "us-east-1b", "us-east-1a"]
    first = nodes[0]
    # EC2's describe-instance-types: g6.12xlarge has 48 vCPUs, 192 GiB, four L4.
    assert (first.cpu, first.memory_mib, first.ephemeral_gib) == (48, 192 * 1024, 300)
    assert first.gpu is not None
    assert (first.gpu.count, first.gpu.product) == (4, "NVIDIA-L4")
    assert first.labels["pool"] == "gpu"
    assert first.labels["eks.amazonaws.com/capacityType"] == "SPOT"
    assert [(each.key, each.value, each.effect.value) for each in first.taints] == [
        ("nvidia.com/gpu", "present", "NoSchedule")
    ]
    account.remove("eks.NodeGroup", made)
    assert "gpu" not in account.planes.nodes


@pytest.mark.parametrize("image", ["AL2023_x86_64_STANDARD", "AL2023_x86_64_NEURON", "CUSTOM"])
def test_without_nvidias_driver_a_node_offers_no_gpu(account: Account, image: str) -> None:
    given = group(account, instanceTypes=["g6.xlarge"], amiType=image, nodeGroupName="bare")
    made = account.make("eks.NodeGroup", "bare", **given)
    assert account.planes.nodes["bare"][0].gpu is None
    assert account.planes.nodes["bare"][0].ephemeral_gib == 20, "EKS's default disk"
    account.remove("eks.NodeGroup", made)


@pytest.mark.parametrize("force", [True, False])
def test_a_bucket_with_objects_is_deleted_only_by_force(account: Account, force: bool) -> None:
    name = f"bucket-{str(force).lower()}"
    made = account.make("s3.Bucket", name, bucket=name, forceDestroy=force)
    account.make(
        "s3.BucketVersioning", name, bucket=name, versioningConfiguration={"status": "Enabled"}
    )
    for _ in range(2):
        account.aws.call("s3", "put_object", Bucket=name, Key="weights", Body=b"x")
    account.aws.call("s3", "delete_object", Bucket=name, Key="weights")
    if force:
        account.remove("s3.Bucket", made)
        assert account.aws.call("s3", "list_buckets")["Buckets"] == []
    else:
        with pytest.raises(AwsError, match="BucketNotEmpty"):
            account.remove("s3.Bucket", made)
        account.remove("s3.Bucket", (made[0], made[1], {**made[2], "forceDestroy": True}))


@pytest.mark.parametrize("force", [True, False])
def test_a_role_with_policies_is_deleted_only_by_force(account: Account, force: bool) -> None:
    name = f"role-{str(force).lower()}"
    given = {"assumeRolePolicy": TRUST, "forceDetachPolicies": force}
    made = account.make("iam.Role", name, name=name, **given)
    policy = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    account.make("iam.RolePolicyAttachment", name, role=name, policyArn=policy)
    account.make("iam.RolePolicy", name, role=name, name="inline", policy=INLINE)
    if force:
        account.remove("iam.Role", made)
        roles = [each["RoleName"] for each in account.aws.call("iam", "list_roles")["Roles"]]
        assert name not in roles
    else:
        with pytest.raises(AwsError, match="DeleteConflict"):
            account.remove("iam.Role", made)


@pytest.mark.parametrize("days", [7, 30])
def test_a_key_is_gone_after_its_window(account: Account, days: int) -> None:
    made = account.make("kms.Key", f"key-{days}", deletionWindowInDays=days)
    account.remove("kms.Key", made)
    told = account.aws.call("kms", "describe_key", KeyId=made[0])["KeyMetadata"]
    left = told["DeletionDate"] - datetime.now(UTC)
    assert days - 1 <= left.days <= days


@pytest.mark.parametrize("revoke", [True, False])
def test_rules_go_before_their_group_where_that_is_asked_for(
    account: Account, revoke: bool
) -> None:
    """Two groups that name each other could not be deleted otherwise."""
    place = {"vpcId": vpc_of(account)}
    names = (f"one-{revoke}", f"other-{revoke}")
    one, other = (
        account.make("ec2.SecurityGroup", each, name=each, revokeRulesOnDelete=revoke, **place)
        for each in names
    )
    for here, there in ((one, other), (other, one)):
        account.make(
            "vpc.SecurityGroupIngressRule",
            f"rule-{here[0]}",
            securityGroupId=here[0],
            referencedSecurityGroupId=there[0],
            ipProtocol="-1",
        )
    with pytest.raises(AwsError, match="DependencyViolation"):
        account.remove("ec2.SecurityGroup", one)
    if revoke:
        # The first took its own rules away; those of the other still name it.
        account.remove("ec2.SecurityGroup", other)
        account.remove("ec2.SecurityGroup", one)
    else:
        with pytest.raises(AwsError, match="DependencyViolation"):
            account.remove("ec2.SecurityGroup", other)


def test_a_new_version_of_a_template_becomes_the_default_where_that_is_asked_for(
    account: Account,
) -> None:
    made = account.make("ec2.LaunchTemplate", "up", name="up", updateDefaultVersion=True)
    changed = account.change("ec2.LaunchTemplate", made, userData="IyEvYmluL3No")
    assert (changed["latestVersion"], changed["defaultVersion"]) == (2, 2)
    other = account.make("ec2.LaunchTemplate", "stay", name="stay")
    changed = account.change("ec2.LaunchTemplate", other, userData="IyEvYmluL3No")
    assert (changed["latestVersion"], changed["defaultVersion"]) == (2, 1)
    same = account.change("ec2.LaunchTemplate", other, tags={"a": "b"})
    assert same["latestVersion"] == 3, "user data went away: that is a version, too"


def test_an_endpoints_security_groups_exist(account: Account) -> None:
    given = {"vpcId": vpc_of(account), "vpcEndpointType": "Interface"}
    service = {"serviceName": f"com.amazonaws.{REGION}.sts"}
    told = refusal(account, "ec2.VpcEndpoint", "e", **given, **service, securityGroupIds=["sg-0"])
    assert "The security group 'sg-0' does not exist" in told


def test_a_resource_may_lie_in_another_region(account: Account) -> None:
    """`region` is common to all types: it decides which API is asked."""
    made = account.make("kms.Key", "west", region="us-west-2")
    assert ":us-west-2:" in made[2]["arn"]
    here = {each["KeyId"] for each in account.aws.call("kms", "list_keys")["Keys"]}
    assert made[0] not in here
