"""Longhorn reaches every node that uses volumes, and keeps shared ones on nodes that stay."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Final

from models.core.findings import Finding, Severity
from models.plan.storage.proofs import PoolFacts, StorageFacts, storage_problems
from models.settings.longhorn import PROVISIONER, RWX_SINCE
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.aws.resource import AwsPlaced, AwsResource, region_of
from policies.views.kubernetes.gpu_operator import tolerates, toleration
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.plan import PlanView

Toleration = Mapping[str, str]

_CHART: Final = re.compile(r"^longhorn(-v?\d[\w.+-]*\.tgz)?$")
_GPU_TAINT: Final = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
_PARTS: Final = ("longhornManager", "longhornDriver")
_SETTING: Final = "defaultSettings.taintToleration"


def is_longhorn(manifest: Manifest) -> bool:
    """Whether an object is a Helm release of Longhorn's chart."""
    options = manifest.options
    if options is None or "helm.sh" not in options.type:
        return False
    chart = manifest.body["chart"].text() or ""
    return _CHART.match(chart.rstrip("/").rsplit("/", 1)[-1]) is not None


@rule(
    "k8s-longhorn-reach-every-node",
    "Every part of Longhorn tolerates the same taints, those of GPU nodes among them.",
    remedy="give the same tolerations in longhornManager.tolerations, longhornDriver.tolerations "
    'and, as text, in defaultSettings.taintToleration ("key=value:effect;..."); change them only '
    "while all volumes are detached",
    weight=RuleWeight.CRITICAL,
    tags=("storage", "longhorn"),
)
def reach_every_node(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """LH-01: the setting alone reaches engine images, CSI plugins and instance managers."""
    if not is_longhorn(manifest):
        return
    values = manifest.body["values"]
    said = _said(values["defaultSettings"]["taintToleration"])
    for part in _PARTS:
        node = values[part]["tolerations"]
        given = [toleration(each) for each in node.items()]
        for each in (each for each in given if each not in said and not _covered(each, said)):
            yield Finding(node.path, f"{part} tolerates {_shown(each)}, and {_SETTING} does not")
        for each in (each for each in said if each not in given and not _covered(each, given)):
            yield Finding(node.path, f"{_SETTING} tolerates {_shown(each)}, and {part} does not")
        if context.pools and not tolerates(given, _GPU_TAINT):
            yield Finding(node.path, f"{part} does not run on GPU nodes (taint nvidia.com/gpu)")
    if context.pools and not tolerates(said, _GPU_TAINT):
        path = values["defaultSettings"].path
        yield Finding(path, "what Longhorn starts does not run on GPU nodes (taint nvidia.com/gpu)")


def _said(node: Node) -> list[Toleration]:
    """Return the tolerations of Longhorn's own text form."""
    found: list[Toleration] = []
    for part in filter(None, ((node.text() or "").replace(" ", "").split(";"))):
        left, _, effect = part.rpartition(":")
        key, equals, value = left.partition("=")
        rest = {"operator": "Equal", "value": value} if equals else {"operator": "Exists"}
        found.append({"key": key, **rest, "effect": effect})
    return found


def _covered(wanted: Toleration, given: list[Toleration]) -> bool:
    """Whether some toleration takes everything that another does."""
    taint = {key: wanted[key] for key in ("key", "value", "effect") if wanted.get(key)}
    if wanted.get("operator") == "Exists" or not {"key", "effect"} <= taint.keys():
        return any(
            each.get("operator") == "Exists"
            and each.get("key", "") in ("", wanted.get("key", ""))
            and each.get("effect", "") in ("", wanted.get("effect", ""))
            for each in given
        )
    return tolerates(given, {"value": "", **taint})


def _shown(each: Toleration) -> str:
    value = f"={each['value']}" if each.get("value") else ""
    return f"{each.get('key', '*')}{value}:{each.get('effect', '*')}"


@rule(
    "k8s-longhorn-share-safely",
    "No Longhorn is older than what shared volumes need.",
    remedy="install Longhorn 1.7.2 or newer",
    tags=("storage", "longhorn"),
)
def share_safely(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """LH-04: before it, losing a share manager's node restarted every pod on the volume."""
    if not is_longhorn(manifest):
        return
    version = manifest.body["version"].text()
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version or "")
    if found is not None and tuple(map(int, found.groups())) < RWX_SINCE:
        yield Finding("version", f"Longhorn {version} restarts all engines of a volume at once")


@rule(
    "k8s-class-keep-share-off-gpus",
    "Every shared volume of Longhorn is served from nodes that are chosen.",
    remedy='set parameters.shareManagerNodeSelector ("triplane.dev/pool:<pool>") to nodes without '
    "GPUs that are not spot machines",
    tags=("storage", "longhorn"),
)
def keep_share_off_gpus(placed: Placed, context: Context) -> Iterator[Finding]:
    """LH-04: its NFS server lands on any node, also on a spot GPU node, and goes with it."""
    manifest = placed.manifest
    if not manifest.is_kind("StorageClass") or manifest.fragment:
        return
    if manifest.body["provisioner"].text() != PROVISIONER:
        return
    parameters = manifest.body["parameters"]
    if (parameters["shareManagerNodeSelector"].text() or "").strip():
        return
    for claim in placed.stack.of_kind("PersistentVolumeClaim"):
        named = claim.spec["storageClassName"].text()
        if named == manifest.name and "ReadWriteMany" in claim.spec["accessModes"].words():
            yield Finding(
                parameters.path or "parameters",
                f"the share manager of {claim.label} may run on any node",
                Severity.ERROR if context.pulumi else Severity.WARNING,
            )


@rule(
    "k8s-class-suit-longhorn",
    "Every class of Longhorn has parameters that it takes together.",
    remedy='set numberOfReplicas to "1" with dataLocality strict-local, and write every parameter '
    "as text",
    tags=("storage", "longhorn"),
)
def suit_longhorn(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """The class is taken as it is, and every volume of it then fails."""
    if not manifest.is_kind("StorageClass") or manifest.fragment:
        return
    if manifest.body["provisioner"].text() != PROVISIONER:
        return
    parameters = manifest.body["parameters"]
    copies = parameters["numberOfReplicas"]
    if copies.present and not re.fullmatch(r"[1-9]\d?", copies.text() or ""):
        yield Finding(copies.path, f"numberOfReplicas {copies.text()!r} is not a count")
    elif parameters["dataLocality"].text() == "strict-local" and copies.text() != "1":
        yield Finding(copies.path, "strict-local keeps one copy only, on the node that uses it")


@rule(
    "aws-nodegroup-carry-longhorn",
    "Every node group of a cluster with Longhorn can attach its volumes.",
    remedy="use an AL2023 image and install iscsi-initiator-utils in the launch template's user "
    "data; on Bottlerocket use another storage driver (EBS, EFS)",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "storage", "longhorn"),
)
def carry_longhorn(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """LH-02: without an iSCSI client on every node the whole installation fails."""
    group = placed.resource
    if not group.is_kind("eks.NodeGroup"):
        return
    if not any(is_longhorn(each) for each in _of_region(placed, context)):
        return
    image = group.body["amiType"].text() or ""
    if image.startswith("BOTTLEROCKET"):
        yield Finding(group.body["amiType"].path, f"{image} has no iSCSI client, and takes none")
    elif image.startswith("AL2") and not _brings_client(placed):
        yield Finding(
            group.body["launchTemplate"].path or "launchTemplate",
            f"{image} has no iSCSI client, and no user data installs one",
        )


def _of_region(placed: AwsPlaced, context: Context) -> Iterator[Manifest]:
    """Yield the releases that may be in the node group's cluster, by the regions' names."""
    wanted = region_of(placed.resource.name, context.regions)
    for release in placed.stack.releases:
        urn = "" if release.options is None else release.options.urn
        if wanted is None or region_of(urn.rsplit("::", 1)[-1], context.regions) in (None, wanted):
            yield release


def _brings_client(placed: AwsPlaced) -> bool:
    sources = placed.stack.sources(placed.resource, "launchTemplate")
    templates = [each for each in sources if each.is_kind("ec2.LaunchTemplate")]
    return any("iscsi" in _user_data(each) for each in templates)


def _user_data(template: AwsResource) -> str:
    text = template.body["userData"].text() or ""
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return text


@rule(
    "plan-storage",
    "Every region's storage can be carried by its nodes.",
    remedy="correct the region's storage, or the pool whose nodes carry it",
    weight=RuleWeight.CRITICAL,
    tags=("plan", "storage"),
)
def storage(plan: PlanView, context: Context) -> Iterator[Finding]:
    """LH-02, LH-04, MINIO-02: the same proof as in the program, from the plan's plain values."""
    environment = plan.body["environment"].text() or ""
    for node in plan.body["regions"].items():
        found = node["storage"]
        if not found.present:
            continue
        facts = _facts(node, found, environment)
        yield from storage_problems(facts, found.path)


def _facts(region: Node, storage: Node, environment: str) -> StorageFacts:
    pools = {pool["name"].text(): pool for pool in region["pools"].items()}
    return StorageFacts(
        region=region["name"].text() or "",
        environment=environment,
        volumes=storage["volumes"].text() or "",
        pools=tuple(
            PoolFacts(
                name=each["name"].text() or "",
                gpus=pools[each["name"].text()]["gpusPerNode"].integer(),
                min=pools[each["name"].text()]["min"].integer(),
                capacity=each["capacityType"].text() or "",
                ami=each["ami"].text(),
            )
            for each in storage["pools"].items()
            if each["name"].text() in pools
        ),
        replicas=storage["replicas"].integer() if storage["replicas"].present else None,
        tenant=tuple(
            (each["servers"].integer(), each["volumesPerServer"].integer())
            for each in storage["tenant"].items()
        ),
        tenant_class=storage["tenantClass"].text(),
    )
