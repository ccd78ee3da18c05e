"""Images: pinned, and still there."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.rule import rule
from policies.views.kubernetes.images import image_of, references
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import Container

_FLOATING: Final = frozenset(
    {"latest", "nightly", "main", "master", "edge", "stable", "dev", "head", "release", "current"}
)


@rule(
    "k8s-container-pin-image",
    "Every container's image is pinned.",
    remedy="name a release tag, better with its digest (repository:tag@sha256:...)",
    tags=("images",),
    framework=("CIS Kubernetes Benchmark", "5.5"),
    fragments=True,
    house=True,
)
def pin_image(container: Container, context: Context) -> Iterator[Finding]:
    """Flags, metrics and memory of an engine depend on its release; a floating tag has none."""
    reference = container.image
    path = container.node["image"].path
    if reference is None:
        if not container.inherits and not container.pod.manifest.fragment:
            yield Finding(path, f"container {container.called} names no image")
        return
    image = image_of(reference)
    if image.digest is not None:
        return
    if image.tag is None:
        yield Finding(path, f"the image of container {container.called} has no tag")
    elif image.tag.lower().split("-")[0] in _FLOATING:
        yield Finding(path, f"the image of container {container.called} floats (tag {image.tag!r})")


_GONE: Final = (
    (
        ("minio/minio", "minio/mc"),
        "was deleted from Docker Hub in September 2026 and its project is archived",
        "use a mirror by digest (quay.io/minio/... or your registry), or another S3 store",
    ),
    (
        ("bitnami", "bitnamicharts"),
        "left Docker Hub; the free images moved to bitnamilegacy and get no updates",
        "use the upstream project's own image, or your registry's copy by digest",
    ),
)


@rule(
    "k8s-object-name-no-deleted-image",
    "No object names an image that no longer exists.",
    remedy="name an image that exists",
    tags=("images",),
    fragments=True,
)
def name_no_deleted_image(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """MINIO-03: anywhere in an object, also in chart values and custom resources."""
    for node, reference in references(manifest.body):
        image = image_of(reference)
        repository = image.repository.lower()
        if image.registry != "docker.io":
            continue
        for gone, why, remedy in _GONE:
            if any(repository == name or repository.startswith(f"{name}/") for name in gone):
                yield Finding(node.path, f"{image.repository!r} {why}", remedy=remedy)
