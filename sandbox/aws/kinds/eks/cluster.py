"""EKS clusters: settings in moto, the control plane in the sandbox."""

from collections.abc import Iterator
from typing import Any, Final

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.clusters import planes
from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import UNKNOWN, Props, items, part
from sandbox.aws.kinds.eks.versions import VERSIONS
from sandbox.aws.kinds.iam import require_role
from sandbox.aws.kinds.tools import chosen, one, require, tag_changes, wanted_tags

GONE: Final = ("ResourceNotFoundException",)
_LOGS: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_DIRECT: Final = (
    "accessConfig",
    "kubernetesNetworkConfig",
    "upgradePolicy",
    "zonalShiftConfig",
    "deletionProtection",
    "bootstrapSelfManagedAddons",
    "version",
)
"""Properties whose names and parts EKS's API spells alike."""


def check(inputs: Props) -> Iterator[Finding]:
    """Find versions that EKS does not have, and control planes in fewer than two subnets."""
    version = inputs.get("version")
    if version not in (None, UNKNOWN, *VERSIONS):
        yield Finding(
            path="version",
            message="EKS does not offer this Kubernetes version",
            value=shown(version),
            allowed=", ".join(VERSIONS),
        )
    subnets = inputs["vpcConfig"].get("subnetIds") if inputs["vpcConfig"] != UNKNOWN else UNKNOWN
    if subnets != UNKNOWN and len(set(subnets)) < 2 and UNKNOWN not in subnets:
        yield Finding(
            path="vpcConfig.subnetIds",
            message="an EKS control plane needs subnets in at least two zones",
            value=shown(subnets),
        )


def _require_what_it_names(aws: Aws, inputs: Props) -> None:
    require_role(aws, str(inputs["roleArn"]), "CreateCluster")
    vpc = inputs["vpcConfig"]
    zones = {_subnet(aws, each, "CreateCluster")["AvailabilityZone"] for each in vpc["subnetIds"]}
    if len(zones) < 2:
        message = "Subnets specified must be in at least two different AZs"
        raise AwsError("CreateCluster", "InvalidParameterException", message)
    for each in vpc.get("securityGroupIds") or ():
        _group(aws, each, "CreateCluster")
    key = part(part(inputs, "encryptionConfig"), "provider").get("keyArn")
    if key:
        found = aws.find("kms", "describe_key", ("NotFoundException",), KeyId=key)
        message = f"The KMS key {key} does not exist"
        require(found, "CreateCluster", "InvalidParameterException", message)


def _subnet(aws: Aws, identity: str, operation: str) -> dict[str, Any]:
    gone = ("InvalidSubnetID.NotFound",)
    found = one(aws, "describe_subnets", "Subnets", gone, SubnetIds=[identity])
    if found is None:
        message = f"The subnet ID '{identity}' does not exist"
        raise AwsError(operation, "InvalidParameterException", message)
    return found


def _group(aws: Aws, identity: str, operation: str) -> None:
    gone = ("InvalidGroup.NotFound",)
    found = one(aws, "describe_security_groups", "SecurityGroups", gone, GroupIds=[identity])
    message = f"The security group ID '{identity}' does not exist"
    require(found, operation, "InvalidParameterException", message)


def _create(aws: Aws, inputs: Props) -> str:
    _require_what_it_names(aws, inputs)
    name = str(inputs["name"])
    encryption = inputs.get("encryptionConfig")
    extra: dict[str, Any] = {} if not encryption else {"encryptionConfig": [encryption]}
    aws.call(
        "eks",
        "create_cluster",
        name=name,
        roleArn=inputs["roleArn"],
        resourcesVpcConfig=_vpc(inputs),
        logging=_logging(inputs),
        tags=wanted_tags(inputs),
        **chosen(inputs, {each: each for each in _DIRECT}),
        **extra,
    )
    return name


def _vpc(inputs: Props) -> dict[str, Any]:
    vpc = inputs["vpcConfig"]
    names = {
        "subnetIds": "subnetIds",
        "securityGroupIds": "securityGroupIds",
        "endpointPublicAccess": "endpointPublicAccess",
        "endpointPrivateAccess": "endpointPrivateAccess",
        "publicAccessCidrs": "publicAccessCidrs",
    }
    return {"endpointPublicAccess": True, "endpointPrivateAccess": False, **chosen(vpc, names)}


def _logging(inputs: Props) -> dict[str, Any]:
    on = sorted(items(inputs, "enabledClusterLogTypes"))
    off = [each for each in _LOGS if each not in on]
    both = ({"types": on, "enabled": True}, {"types": off, "enabled": False})
    return {"clusterLogging": [each for each in both if each["types"]]}


def _settle(aws: Aws, identity: str, inputs: Props) -> None:
    """Start the control plane and make the group that EKS makes for nodes and control plane."""
    planes.start(aws, identity)
    _own_group(aws, identity, inputs)


def _group_name(cluster: str) -> str:
    return f"eks-cluster-sg-{cluster}"


def _find_group(aws: Aws, cluster: str) -> dict[str, Any] | None:
    named = {"Name": "group-name", "Values": [_group_name(cluster)]}
    listed = aws.call("ec2", "describe_security_groups", Filters=[named])["SecurityGroups"]
    return listed[0] if listed else None


def _own_group(aws: Aws, cluster: str, inputs: Props) -> None:
    if _find_group(aws, cluster) is not None:
        return
    subnet = _subnet(aws, inputs["vpcConfig"]["subnetIds"][0], "CreateCluster")
    made = aws.call(
        "ec2",
        "create_security_group",
        GroupName=_group_name(cluster),
        Description="EKS created security group applied to ENI that is attached to EKS Control "
        "Plane master nodes, as well as any managed workloads.",
        VpcId=subnet["VpcId"],
    )
    itself = [{"GroupId": made["GroupId"]}]
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": itself}
    aws.call(
        "ec2", "authorize_security_group_ingress", GroupId=made["GroupId"], IpPermissions=[rule]
    )


def describe(aws: Aws, identity: str) -> dict[str, Any] | None:
    """Return EKS's description of a cluster; None where there is none."""
    told = aws.find("eks", "describe_cluster", GONE, name=identity)
    return None if told is None else told["cluster"]


def _read(aws: Aws, identity: str, _: Props) -> Props | None:
    found = describe(aws, identity)
    if found is None:
        return None
    server, certificate = planes.address(planes.entry_of(aws, identity))
    group = _find_group(aws, identity) or {}
    vpc = found["resourcesVpcConfig"]
    logs = [
        each
        for entry in found["logging"]["clusterLogging"]
        if entry["enabled"]
        for each in entry["types"]
    ]
    encryption = found.get("encryptionConfig") or [None]
    return {
        "accessConfig": found.get("accessConfig"),
        "arn": found["arn"],
        "certificateAuthority": {"data": certificate},
        "createdAt": found["createdAt"].isoformat(),
        "deletionProtection": bool(found.get("deletionProtection")),
        "enabledClusterLogTypes": sorted(logs),
        "encryptionConfig": encryption[0],
        "endpoint": server,
        "identities": [{"oidcs": [found["identity"]["oidc"]]}],
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", **found["kubernetesNetworkConfig"]},
        "name": identity,
        "platformVersion": found["platformVersion"],
        "roleArn": found["roleArn"],
        "status": found["status"],
        "upgradePolicy": found.get("upgradePolicy") or {"supportType": "EXTENDED"},
        "version": found["version"],
        "vpcConfig": {
            "publicAccessCidrs": ["0.0.0.0/0"] if vpc.get("endpointPublicAccess") else [],
            **vpc,
            "clusterSecurityGroupId": group.get("GroupId"),
            "vpcId": group.get("VpcId"),
        },
        "zonalShiftConfig": found.get("zonalShiftConfig"),
        "tagsAll": found.get("tags") or {},
    }


def _update(aws: Aws, identity: str, old: Props, new: Props) -> None:
    now = describe(aws, identity) or {}
    if new.get("version") not in (None, now.get("version")):
        aws.call("eks", "update_cluster_version", name=identity, version=new["version"])
    if new.get("encryptionConfig") and not now.get("encryptionConfig"):
        config = [new["encryptionConfig"]]
        aws.call(
            "eks", "associate_encryption_config", clusterName=identity, encryptionConfig=config
        )
    config = chosen(new, {each: each for each in _CHANGEABLE})
    if "accessConfig" in config:
        mode = new["accessConfig"].get("authenticationMode")
        config["accessConfig"] = {"authenticationMode": mode} if mode else {}
    aws.call(
        "eks",
        "update_cluster_config",
        name=identity,
        resourcesVpcConfig=_vpc(new),
        logging=_logging(new),
        **config,
    )
    settle_tags(aws, str(now["arn"]), now.get("tags") or {}, new)


_CHANGEABLE: Final = ("accessConfig", "upgradePolicy", "zonalShiftConfig", "deletionProtection")


def settle_tags(aws: Aws, arn: str, actual: dict[str, str], inputs: Props) -> None:
    """Make the tags of an EKS resource exactly what is wanted."""
    put, remove = tag_changes(actual, wanted_tags(inputs))
    if put:
        aws.call("eks", "tag_resource", resourceArn=arn, tags=put)
    if remove:
        aws.call("eks", "untag_resource", resourceArn=arn, tagKeys=remove)


def _delete(aws: Aws, identity: str, _: Props) -> None:
    if describe(aws, identity) is not None:
        aws.call("eks", "delete_cluster", name=identity)
    planes.stop(aws, identity)
    group = _find_group(aws, identity)
    if group is not None:
        aws.call("ec2", "delete_security_group", GroupId=group["GroupId"])


CLUSTER: Final = AwsKind(
    type="aws:eks/cluster:Cluster",
    sdk="eks.Cluster",
    rules=Rules(
        source="internal/service/eks/cluster.go",
        replace=(
            "name",
            "roleArn",
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
        ),
        update=(
            "accessConfig.authenticationMode",
            "enabledClusterLogTypes",
            "encryptionConfig.provider.keyArn",
            "encryptionConfig.resources",
            "upgradePolicy.supportType",
            "version",
            "vpcConfig.endpointPrivateAccess",
            "vpcConfig.endpointPublicAccess",
            "vpcConfig.publicAccessCidrs",
            "vpcConfig.securityGroupIds",
            "vpcConfig.subnetIds",
            "zonalShiftConfig.enabled",
        ),
        unverified=("deletionProtection",),
        sets=(
            "enabledClusterLogTypes",
            "encryptionConfig.resources",
            "vpcConfig.subnetIds",
            "vpcConfig.securityGroupIds",
            "vpcConfig.publicAccessCidrs",
        ),
        defaults={"bootstrapSelfManagedAddons": True},
        unread={"bootstrapSelfManagedAddons": "nothing: no API tells it"},
        inert={
            "accessConfig.bootstrapClusterCreatorAdminPermissions": (
                "whoever asks gets the administrator's token"
            ),
            "bootstrapSelfManagedAddons": "nothing of an add-on runs here",
            "enabledClusterLogTypes": "the control plane's logs stay with the sandbox",
            "encryptionConfig.resources": "the key must exist, and encrypts nothing",
            "kubernetesNetworkConfig.ipFamily": "there is one choice",
            "kubernetesNetworkConfig.serviceIpv4Cidr": "every sandbox has the same range",
            "upgradePolicy.supportType": "nothing is billed, and no support ends",
            **dict.fromkeys(
                (
                    "vpcConfig.endpointPrivateAccess",
                    "vpcConfig.endpointPublicAccess",
                    "vpcConfig.publicAccessCidrs",
                ),
                "the endpoint is on the loopback address",
            ),
            "zonalShiftConfig.enabled": "no traffic flows that could be shifted",
        },
        enums={
            "enabledClusterLogTypes": _LOGS,
            "accessConfig.authenticationMode": ("API", "API_AND_CONFIG_MAP", "CONFIG_MAP"),
            "upgradePolicy.supportType": ("STANDARD", "EXTENDED"),
            "encryptionConfig.resources": ("secrets",),
            # The control plane here has no other family.
            "kubernetesNetworkConfig.ipFamily": ("ipv4",),
        },
        name="name",
        name_limit=100,
    ),
    create=_create,
    settle=_settle,
    update=_update,
    read=_read,
    delete=_delete,
    check=check,
)
KINDS: Final = (CLUSTER,)
