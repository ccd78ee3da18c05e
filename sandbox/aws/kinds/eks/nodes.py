"""EKS managed node groups: settings in moto, simulated nodes in the cluster's control plane."""

from collections.abc import Iterator
from typing import Any, Final

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.clusters import planes
from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import AwsError, InitError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import UNKNOWN, Props, part
from sandbox.aws.kinds.eks.cluster import GONE, settle_tags
from sandbox.aws.kinds.eks.machines import Machines, instance_types, nodes
from sandbox.aws.kinds.eks.values import IMAGES
from sandbox.aws.kinds.eks.versions import VERSIONS
from sandbox.aws.kinds.iam import require_role
from sandbox.aws.kinds.scaling import delete_group, make_group, resize_group
from sandbox.aws.kinds.tools import chosen, one, wanted_tags

_TEMPLATES: Final = (
    "InvalidLaunchTemplateId.NotFound",
    "InvalidLaunchTemplateName.NotFoundException",
)
_DIRECT: Final = (
    "amiType",
    "capacityType",
    "diskSize",
    "instanceTypes",
    "labels",
    "nodeRepairConfig",
    "releaseVersion",
    "scalingConfig",
    "taints",
    "updateConfig",
    "version",
)
_SIZES: Final = ("minSize", "maxSize", "desiredSize")


def check(inputs: Props) -> Iterator[Finding]:
    """Find machine types and versions that nobody here knows, and sizes that make no sense."""
    yield from _kinds(inputs)
    yield from _numbers(inputs)


def _kinds(inputs: Props) -> Iterator[Finding]:
    known = instance_types()
    given = inputs.get("instanceTypes") or ()
    if given != UNKNOWN and len(given) > 1:
        yield Finding(
            path="instanceTypes",
            message="a node group here has machines of one type",
            value=shown(given),
            remedy="give one type; of several AWS would choose one by what is there",
        )
    for index, each in enumerate(() if given == UNKNOWN else given):
        if each not in (UNKNOWN, *known):
            yield Finding(
                path=f"instanceTypes[{index}]",
                message="the catalog has no such machine",
                value=shown(each),
                allowed=", ".join(sorted(known)),
                remedy="add it to catalog/accelerators.yaml or catalog/instances.yaml",
            )
        elif each != UNKNOWN and not _fits(each, str(inputs.get("amiType") or "CUSTOM")):
            yield Finding(
                path="amiType",
                message=f"{each} has another processor than this image is for",
                value=shown(inputs["amiType"]),
                allowed=", ".join(name for name in IMAGES if _fits(each, name)),
            )
    if inputs.get("version") not in (None, UNKNOWN, *VERSIONS):
        yield Finding(
            path="version",
            message="EKS does not offer this Kubernetes version",
            value=shown(inputs["version"]),
            allowed=", ".join(VERSIONS),
        )


def _numbers(inputs: Props) -> Iterator[Finding]:
    sizes = inputs["scalingConfig"]
    if sizes != UNKNOWN and UNKNOWN not in (found := [sizes[each] for each in _SIZES]):
        least, most, now = found
        if not 0 <= least <= now <= most or most < 1:
            yield Finding(
                path="scalingConfig",
                message="minSize <= desiredSize <= maxSize is asked for, and a maxSize above 0",
                value=shown(sizes),
            )


def _template(aws: Aws, inputs: Props) -> dict[str, Any] | None:
    """Return the launch template's data; raises what EKS says where it does not exist."""
    given = inputs.get("launchTemplate")
    if not given:
        return None
    who = chosen(given, {"id": "LaunchTemplateId", "name": "LaunchTemplateName"})
    version = str(given["version"])
    found = one(
        aws,
        "describe_launch_template_versions",
        "LaunchTemplateVersions",
        _TEMPLATES,
        Versions=[version],
        **who,
    )
    if found is None:
        message = (
            f"Launch template {given.get('id') or given.get('name')} version {version} not found"
        )
        raise AwsError("CreateNodegroup", "InvalidParameterException", message)
    return found["LaunchTemplateData"]


def _create(aws: Aws, inputs: Props) -> str:
    require_role(aws, str(inputs["nodeRoleArn"]), "CreateNodegroup")
    template = _template(aws, inputs)
    if template is not None and template.get("ImageId") and inputs.get("amiType"):
        message = "You cannot specify an AMI Type when specifying a custom image ID"
        raise AwsError("CreateNodegroup", "InvalidParameterException", message)
    machines = _machines(aws, inputs)
    cluster, name = str(inputs["clusterName"]), str(inputs["nodeGroupName"])
    given = chosen(inputs, {each: each for each in _DIRECT})
    if "launchTemplate" in inputs:
        given["launchTemplate"] = inputs["launchTemplate"]
    aws.call(
        "eks",
        "create_nodegroup",
        clusterName=cluster,
        nodegroupName=name,
        nodeRole=inputs["nodeRoleArn"],
        subnets=sorted(inputs["subnetIds"]),
        tags=wanted_tags(inputs),
        **{**given, "instanceTypes": [machines.instance_type]},
    )
    return f"{cluster}:{name}"


def describe(aws: Aws, identity: str) -> dict[str, Any] | None:
    """Return EKS's description of a node group; None where there is none."""
    cluster, name = identity.split(":")
    told = aws.find("eks", "describe_nodegroup", GONE, clusterName=cluster, nodegroupName=name)
    return None if told is None else told["nodegroup"]


def _machines(aws: Aws, inputs: Props) -> Machines:
    """Return what the group's machines are; raises what EC2 says where there are none such."""
    template = _template(aws, inputs) or {}
    kinds = list(inputs.get("instanceTypes") or []) or [template.get("InstanceType", "t3.medium")]
    if kinds[0] not in instance_types():
        message = f"The following supplied instance types do not exist: [{kinds[0]}]"
        raise AwsError("CreateNodegroup", "InvalidParameterException", message)
    volumes = [each.get("Ebs", {}) for each in template.get("BlockDeviceMappings", [])]
    image = str(inputs.get("amiType") or _default_image(str(kinds[0]), template))
    _require_architecture(str(kinds[0]), image)
    disk = max((int(each.get("VolumeSize", 0)) for each in volumes), default=0)
    return Machines(
        group=str(inputs["nodeGroupName"]),
        region=aws.region,
        zones=tuple(sorted({_zone(aws, each) for each in inputs["subnetIds"]})),
        instance_type=str(kinds[0]),
        image=image,
        capacity=str(inputs.get("capacityType") or "ON_DEMAND"),
        disk_gib=disk or int(inputs.get("diskSize") or 20),
        count=int(inputs["scalingConfig"]["maxSize"]),
        labels=dict(inputs.get("labels") or {}),
        taints=tuple(inputs.get("taints") or ()),
    )


def _default_image(machine: str, template: Props) -> str:
    """Return the image type where none is given (CreateNodegroup, amiType: AL2023 by machine)."""
    if template.get("ImageId"):
        return "CUSTOM"
    arm = instance_types()[machine].architecture == "arm64"
    return "AL2023_ARM_64_STANDARD" if arm else "AL2023_x86_64_STANDARD"


def _require_architecture(machine: str, image: str) -> None:
    """Raise what EKS says of an image that the machine cannot start."""
    if not _fits(machine, image):
        message = f"[{machine}] is not a valid instance type for requested amiType {image}"
        raise AwsError("CreateNodegroup", "InvalidParameterException", message)


def _fits(machine: str, image: str) -> bool:
    """Tell whether a machine can start an image; of one that nobody knows here, it may."""
    wanted = IMAGES[image].architecture if image in IMAGES else None
    return wanted in (None, instance_types()[machine].architecture)


def _zone(aws: Aws, subnet: str) -> str:
    gone = ("InvalidSubnetID.NotFound",)
    found = one(aws, "describe_subnets", "Subnets", gone, SubnetIds=[subnet])
    if found is None:
        message = f"The subnet ID '{subnet}' does not exist"
        raise AwsError("CreateNodegroup", "InvalidParameterException", message)
    return str(found["AvailabilityZone"])


def _settle(aws: Aws, identity: str, inputs: Props) -> None:
    """Give the cluster the group's nodes, and moto its Auto Scaling group."""
    found = describe(aws, identity)
    if found is None:
        message = f"No node group found for name: {identity}."
        raise AwsError("DescribeNodegroup", GONE[0], message)
    if found["status"] == "CREATE_FAILED":
        issues = "; ".join(
            f"{each['code']}: {each['message']}" for each in found["health"]["issues"]
        )
        message = (
            f"unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: {issues}. "
            "EKS does not repair it: fix the cause, delete the group in AWS (aws eks "
            "delete-nodegroup; here python -m sandbox.aws delete-node-group), refresh, update"
        )
        raise InitError(identity, message)
    cluster, name = identity.split(":")
    make_group(aws, found, inputs)
    planes.set_nodes(aws, cluster, name, nodes(_machines(aws, inputs), aws.faults()))


def _read(aws: Aws, identity: str, _: Props) -> Props | None:
    found = describe(aws, identity)
    if found is None:
        return None
    template = part(found, "launchTemplate")
    resources = found["resources"]
    return {
        "amiType": found["amiType"],
        "arn": found["nodegroupArn"],
        "capacityType": found["capacityType"],
        "clusterName": found["clusterName"],
        "diskSize": found.get("diskSize"),
        "instanceTypes": found["instanceTypes"],
        "labels": found.get("labels") or None,
        "launchTemplate": {
            key: str(template[key]) for key in ("id", "name", "version") if key in template
        }
        or None,
        "nodeGroupName": found["nodegroupName"],
        "nodeRepairConfig": found.get("nodeRepairConfig"),
        "nodeRoleArn": found["nodeRole"],
        "releaseVersion": found["releaseVersion"],
        "resources": [
            {
                "autoscalingGroups": resources["autoScalingGroups"],
                "remoteAccessSecurityGroupId": "",
            }
        ],
        "scalingConfig": found["scalingConfig"],
        "status": found["status"],
        "subnetIds": sorted(found["subnets"]),
        "taints": found.get("taints") or None,
        "updateConfig": found.get("updateConfig"),
        "version": found["version"],
        "tagsAll": found.get("tags") or {},
    }


def _update(aws: Aws, identity: str, old: Props, new: Props) -> None:
    cluster, name = identity.split(":")
    both = {"clusterName": cluster, "nodegroupName": name}
    now = describe(aws, identity) or {}
    versions = chosen(new, {each: each for each in ("version", "releaseVersion", "launchTemplate")})
    if any(_differs(old, new, each) for each in ("version", "releaseVersion", "launchTemplate")):
        aws.call("eks", "update_nodegroup_version", **both, **versions)
    aws.call(
        "eks",
        "update_nodegroup_config",
        **both,
        labels=_label_changes(now.get("labels") or {}, new.get("labels") or {}),
        taints=_taint_changes(now.get("taints") or [], new.get("taints") or []),
        scalingConfig=new["scalingConfig"],
        **chosen(new, {"updateConfig": "updateConfig", "nodeRepairConfig": "nodeRepairConfig"}),
    )
    resize_group(aws, now, new)
    settle_tags(aws, str(now["nodegroupArn"]), now.get("tags") or {}, new)


def _differs(old: Props, new: Props, name: str) -> bool:
    return name in new and old.get(name) != new[name]


def _label_changes(now: dict[str, str], wanted: dict[str, str]) -> dict[str, Any]:
    return {
        "addOrUpdateLabels": wanted,
        "removeLabels": sorted(set(now) - set(wanted)),
    }


def _taint_changes(now: list[Props], wanted: list[Props]) -> dict[str, Any]:
    kept = {(each["key"], each["effect"]) for each in wanted}
    gone = [each for each in now if (each["key"], each["effect"]) not in kept]
    return {"addOrUpdateTaints": wanted, "removeTaints": gone}


def _delete(aws: Aws, identity: str, _: Props) -> None:
    cluster, name = identity.split(":")
    found = describe(aws, identity)
    if found is None:
        return
    planes.set_nodes(aws, cluster, name, None)
    delete_group(aws, found)
    aws.call("eks", "delete_nodegroup", clusterName=cluster, nodegroupName=name)


NODE_GROUP: Final = AwsKind(
    type="aws:eks/nodeGroup:NodeGroup",
    sdk="eks.NodeGroup",
    rules=Rules(
        source="internal/service/eks/node_group.go",
        replace=(
            "amiType",
            "capacityType",
            "clusterName",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeRoleArn",
            "subnetIds",
        ),
        update=(
            "labels",
            "launchTemplate.version",
            "nodeRepairConfig.enabled",
            "releaseVersion",
            "scalingConfig.desiredSize",
            "scalingConfig.maxSize",
            "scalingConfig.minSize",
            "taints.effect",
            "taints.key",
            "taints.value",
            "updateConfig.maxUnavailable",
            "updateConfig.maxUnavailablePercentage",
            "version",
        ),
        unverified=("updateConfig.updateStrategy",),
        sets=("subnetIds", "taints"),
        whole=("tags", "tagsAll", "labels"),
        inert={
            "nodeRepairConfig.enabled": "no node breaks of itself",
            "releaseVersion": "every image is the same here",
            "scalingConfig.minSize": "nodes are at the group's maximum",
            **dict.fromkeys(
                (
                    "updateConfig.maxUnavailable",
                    "updateConfig.maxUnavailablePercentage",
                    "updateConfig.updateStrategy",
                ),
                "an update takes no time",
            ),
        },
        enums={
            "amiType": tuple(IMAGES),
            "capacityType": ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK"),
            "taints.effect": ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"),
            "updateConfig.updateStrategy": ("DEFAULT", "MINIMAL"),
        },
        exclusive=(("launchTemplate", "diskSize"),),
        name="nodeGroupName",
        name_limit=63,
    ),
    create=_create,
    settle=_settle,
    update=_update,
    read=_read,
    delete=_delete,
    check=check,
)
KINDS: Final = (NODE_GROUP,)
