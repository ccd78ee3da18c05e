"""Node groups: the settings that moto drops, and the version update."""

from collections.abc import Mapping
from typing import Any, Final

from moto.ec2.models import ec2_backends
from moto.eks.models import Nodegroup

from sandbox.aws.core import faults
from sandbox.aws.core.faults import Fault
from sandbox.aws.server.eks_store import EksStore, Object, invalid, update
from sandbox.aws.server.wire import AwsRequest

EXTRAS: Final = ("updateConfig", "nodeRepairConfig", "warmPoolConfig")


_SKEW: Final = 3
"""How many minor versions a node may be behind its control plane (Kubernetes, version skew)."""


def require_version(store: EksStore, request: AwsRequest, cluster: str) -> None:
    """Raise what EKS says of a node group that would be newer than its cluster, or far too old."""
    wanted = request.json().get("version")
    if wanted is None:
        return
    known = store.cluster(cluster).version
    behind = _minor(known) - _minor(str(wanted))
    if not 0 <= behind <= _SKEW:
        message = (
            f"Nodegroup Kubernetes version {wanted} is not valid for cluster version {known}: it "
            f"must not be newer, nor more than {_SKEW} minor versions older"
        )
        raise invalid(message)


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def keep(
    store: EksStore, request: AwsRequest, answer: Object, known_faults: tuple[Fault, ...]
) -> None:
    """Remember what moto dropped of a node group that it has just made; say if it came up."""
    group = answer["nodegroup"]
    body = request.json()
    key = (str(group["clusterName"]), str(group["nodegroupName"]))
    store.group_extras[key] = {each: body[each] for each in EXTRAS if each in body}
    made = store.group(*key)
    if "version" not in body:
        made.version = store.cluster(key[0]).version
    made.status, issues = _outcome(store, made, known_faults)
    made.health = {"issues": issues}
    told = {"version": made.version, "status": made.status, "health": made.health}
    answer["nodegroup"] |= {**told, **store.group_extras[key]}


def _outcome(
    store: EksStore, group: Nodegroup, known: tuple[Fault, ...]
) -> tuple[str, list[dict[str, Any]]]:
    """Return a new group's status and health, as injected faults have it.

    Where nothing is asked for at first (desired size 0) a lack of machines shows only later.
    """
    name = str(group.nodegroup_name)
    reason = faults.failing_reason(known, name)
    if reason is not None:
        return "CREATE_FAILED", [{"code": "NodeCreationFailure", "message": reason}]
    ec2 = ec2_backends[store.account][store.region]
    zones = sorted({str(ec2.get_subnet(each).availability_zone) for each in group.subnets})
    kind = str(group.instance_types[0])
    missing = list(faults.missing_zones(known, kind, zones))
    if len(missing) < len(zones) or not group.scaling_config["desiredSize"]:
        return "ACTIVE", []
    message = (
        "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not "
        f"have sufficient {kind} capacity in the Availability Zone you requested "
        f"({', '.join(missing)}). Launching EC2 instance failed."
    )
    return "CREATE_FAILED", [{"code": "AsgInstanceLaunchFailures", "message": message}]


def add(store: EksStore, cluster: str, name: str, answer: Object) -> None:
    """Complete moto's description of a node group."""
    answer["nodegroup"] |= store.group_extras.get((cluster, name), {})


def note_config(store: EksStore, request: AwsRequest, cluster: str, name: str) -> None:
    """Remember settings that an update changed."""
    body = request.json()
    known = store.group_extras.setdefault((cluster, name), {})
    known |= {each: body[each] for each in EXTRAS if each in body}


def update_version(store: EksStore, request: AwsRequest, names: Mapping[str, str]) -> Object:
    """Move a group to another Kubernetes version, release or launch template version."""
    group = store.group(names["name"], names["group"])
    body = request.json()
    require_version(store, request, names["name"])
    if "version" in body and _minor(str(body["version"])) < _minor(str(group.version)):
        message = f"Nodegroup {names['group']} cannot go back from {group.version}"
        raise invalid(message)
    if "version" in body:
        group.version = str(body["version"])
    if "releaseVersion" in body:
        group.release_version = str(body["releaseVersion"])
    if "launchTemplate" in body:
        group.launch_template = {**(group.launch_template or {}), **body["launchTemplate"]}
    return update("VersionUpdate", body)
