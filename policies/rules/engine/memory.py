"""Memory that ranks share, and directories that an engine must be able to write."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from models.core.quantities import parse
from policies.core.context import Context, strictness
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import parallelism
from policies.views.kubernetes.images import image_of
from policies.views.kubernetes.workload import Container

_SHM: Final = "/dev/shm"
_SHM_MIN: Final = parse("1Gi")


@rule(
    "k8s-container-share-memory",
    "Every engine on several GPUs has a shared memory that suffices.",
    remedy='mount an emptyDir {medium: Memory, sizeLimit: "2Gi" per GPU} at /dev/shm',
    weight=RuleWeight.CRITICAL,
    tags=("parallelism",),
)
def share_memory(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-10: ranks talk through /dev/shm, whose default of 64 MiB ends NCCL at its start."""
    if not container.is_engine or container.inherits:
        return
    # Of a group's ranks, those in this pod are as many as its GPUs.
    ranks = container.gpus() or parallelism(container)
    if ranks < 2 or _shares_otherwise(container):
        return
    path = f"{container.node.path}.volumeMounts"
    mount = container.mounts().get(_SHM)
    if mount is None:
        yield Finding(path, f"container {container.called} has {ranks} ranks and nothing at {_SHM}")
        return
    volume = container.pod.volume(mount["name"].text() or "")
    empty = None if volume is None else volume["emptyDir"]
    if empty is None or empty["medium"].text() != "Memory":
        yield Finding(mount.path, f"{_SHM} of container {container.called} is not memory")
        return
    yield from _size(container, empty["sizeLimit"], context)


def _shares_otherwise(container: Container) -> bool:
    """Whether ranks share the host's memory, or are none of NCCL's."""
    tpu = any(name.startswith("google.com/tpu") for name in container.accelerators())
    return tpu or bool(container.pod.spec["hostIPC"].flag())


def _size(container: Container, size: Node, context: Context) -> Iterator[Finding]:
    if not size.present:
        return
    amount = parse(size.text() or "")
    limit = container.quantity("limits", "memory")
    if amount < _SHM_MIN:
        yield Finding(size.path, f"{_SHM} of container {container.called} is smaller than 1Gi")
    elif limit is not None and amount >= limit:
        yield Finding(
            size.path,
            f"{_SHM} of container {container.called} counts into its memory limit and is as large",
            strictness(container.pod.namespace, context),
            remedy="raise the memory limit or lower the sizeLimit",
        )


_HOMES: Final = ("HOME",)
_CACHE_VARIABLES: Final = {
    "/.cache": ("XDG_CACHE_HOME", "VLLM_CACHE_ROOT"),
    "/.triton": ("TRITON_CACHE_DIR", "TRITON_HOME"),
    "/.config": ("XDG_CONFIG_HOME", "VLLM_CONFIG_ROOT"),
}


@rule(
    "k8s-container-write-caches",
    "Every engine that is not root, or has a read-only root, can write its caches.",
    remedy="mount an emptyDir and set HOME to it (or XDG_CACHE_HOME, TRITON_CACHE_DIR and "
    "XDG_CONFIG_HOME)",
    weight=RuleWeight.CRITICAL,
    tags=("storage",),
)
def write_caches(container: Container, context: Context) -> Iterator[Finding]:
    """FB-03: the engine dies in its first compilation."""
    if container.inherits or not container.is_engine or not _is_confined(container):
        return
    environment = container.environment()
    if any(_writable(container, environment.get(name, "")) for name in _HOMES):
        return
    for cache, variables in _CACHE_VARIABLES.items():
        moved = any(_writable(container, environment.get(name, "")) for name in variables)
        if not moved and not _writable(container, cache):
            sure = cache != "/.config" and _has_no_home(container)
            severity = Severity.ERROR if sure else Severity.WARNING
            yield Finding(
                f"{container.node.path}.env",
                f"container {container.called} cannot write {cache}",
                severity,
            )


def _has_no_home(container: Container) -> bool:
    """Whether the user has no home of its own: upstream's image, or a root that is read-only."""
    name = image_of(container.image or "").repository.rsplit("/", 1)[-1]
    read_only = container.node["securityContext"]["readOnlyRootFilesystem"].flag()
    return name == "vllm-openai" or bool(read_only)


def _is_confined(container: Container) -> bool:
    own = container.node["securityContext"]
    pod = container.pod.spec["securityContext"]
    user = own["runAsUser"].number() or pod["runAsUser"].number()
    return bool(
        own["readOnlyRootFilesystem"].flag()
        or own["runAsNonRoot"].flag()
        or pod["runAsNonRoot"].flag()
        or user
    )


def _writable(container: Container, directory: str) -> bool:
    """Whether a directory lies on a volume that the container may write."""
    over = [
        (path, mount)
        for path, mount in container.mounts().items()
        if directory.rstrip("/") == path or directory.startswith(f"{path}/")
    ]
    if not over:
        return False
    _, mount = max(over, key=lambda each: len(each[0]))
    if mount["readOnly"].flag():
        return False
    volume = container.pod.volume(mount["name"].text() or "") or Node(None)
    read_only = volume.at("persistentVolumeClaim", "readOnly").flag()
    return not (read_only or volume["configMap"].present or volume["secret"].present)
