"""MinIO: drives that form erasure sets, images that still exist."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from models.settings.minio import topology_faults
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest

_DEV: Final = "dev"
_SERVER: Final = re.compile(r"^minio(-\d[\w.+-]*\.tgz)?$")
_TENANT: Final = re.compile(r"^tenant(-\d[\w.+-]*\.tgz)?$")
_BITNAMI: Final = ("charts.bitnami.com", "bitnamicharts")


@rule(
    "k8s-minio-form-erasure-sets",
    "Every pool of MinIO forms erasure sets of 4 to 16 drives, evenly over its servers.",
    remedy="for example 4 servers with 1 drive each; one server with one drive is for development",
    weight=RuleWeight.CRITICAL,
    tags=("storage", "minio"),
)
def form_erasure_sets(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """MINIO-02: the servers refuse to start, or start without any redundancy."""
    standalone = context.environment in ("", _DEV)
    if manifest.is_kind("Tenant") and manifest.group == "minio.min.io" and not manifest.fragment:
        yield from _faults(manifest.spec["pools"], "volumesPerServer", standalone=standalone)
    elif _is_release(manifest, _TENANT):
        pools = manifest.body["values"]["tenant"]["pools"]
        if pools.present:
            yield from _faults(pools, "volumesPerServer", standalone=standalone)
    elif _is_release(manifest, _SERVER):
        yield from _server(manifest.body["values"], standalone=standalone)


def _faults(pools: Node, key: str, *, standalone: bool) -> Iterator[Finding]:
    shapes = tuple((pool["servers"].integer(), pool[key].integer()) for pool in pools.items())
    if any(0 in shape for shape in shapes):
        yield Finding(pools.path, "a pool has no servers or no drives")
        return
    for fault in topology_faults(shapes, standalone=standalone):
        yield Finding(pools.path, fault)


def _server(values: Node, *, standalone: bool) -> Iterator[Finding]:
    """Judge the values of MinIO's own chart: mode, replicas, drivesPerNode, pools."""
    if (values["mode"].text() or "distributed") == "standalone":
        if not standalone:
            yield Finding(values["mode"].path, "standalone holds every object once")
        return
    servers, drives = values["replicas"].integer(16), values["drivesPerNode"].integer(1)
    pools = values["pools"].integer(1)
    for fault in topology_faults(((servers, drives),) * pools, standalone=False)[:1]:
        yield Finding(values["replicas"].path, f"mode distributed: {fault}")


def _is_release(manifest: Manifest, chart: "re.Pattern[str]") -> bool:
    options = manifest.options
    if options is None or "helm.sh" not in options.type:
        return False
    name = (manifest.body["chart"].text() or "").rstrip("/").rsplit("/", 1)[-1]
    return chart.match(name) is not None


@rule(
    "k8s-release-replace-lost-images",
    "No release of a chart takes default images that were deleted.",
    remedy="set image.repository and mcImage.repository to a mirror (quay.io/minio/..., or a copy "
    "in your own registry by digest), or use another S3 store",
    weight=RuleWeight.CRITICAL,
    tags=("images", "minio"),
)
def replace_lost_images(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """MINIO-03: what a chart's own values name is in no manifest that rules see."""
    options = manifest.options
    if options is None or "helm.sh" not in options.type:
        return
    chart = manifest.body["chart"].text() or ""
    repository = manifest.body["repositoryOpts"]["repo"].text() or ""
    bitnami = next((each for each in _BITNAMI if each in f"{repository} {chart}"), None)
    if bitnami is not None:
        yield Finding("chart", f"charts of {bitnami} take images that left Docker Hub")
    elif _is_release(manifest, _SERVER):
        for key in ("image", "mcImage"):
            node = manifest.body["values"][key]["repository"]
            if not node.present:
                yield Finding(node.path, f"{key} is the chart's own, of an archived project")
