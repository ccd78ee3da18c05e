"""Making the simulated nodes of a cluster match the specs: add, change, drain and remove."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from sandbox.cluster.nodes import (
    SIMULATED_LABEL,
    SPEC_ANNOTATION,
    NodeSpec,
    digest,
    manifest,
    status,
)
from sandbox.core.errors import SandboxError
from sandbox.core.kube import Api, Object

_READY_TIMEOUT_SEC: Final = 60.0
_DRAIN_TIMEOUT_SEC: Final = 30.0


def reconcile(api: Api, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:
    """Make the simulated nodes exactly `specs`: add, change, drain and remove; wait until Ready."""
    names = [spec.name for spec in specs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SandboxError(f"node names must be unique, given twice: {', '.join(twice)}")
    existing = {
        str(node["metadata"]["name"]): node
        for node in api.list("/api/v1/nodes", labelSelector=f"{SIMULATED_LABEL}=true")
    }
    for name in sorted(set(existing) - set(names)):
        say(f"removing node {name}")
        drain(api, name)
        api.delete(f"/api/v1/nodes/{name}")
        _delete_pods(api, name, force=True)
    for spec in specs:
        _ensure(api, spec, existing.get(spec.name))
    _wait_ready(api, names)


def _ensure(api: Api, spec: NodeSpec, node: Object | None) -> None:
    wanted = manifest(spec)
    path = f"/api/v1/nodes/{spec.name}"
    if node is not None:
        annotations = node["metadata"].get("annotations", {})
        if annotations.get(SPEC_ANNOTATION) == digest(spec):
            return
    api.apply(path, wanted)
    # A replaced map would lose what others wrote; the taints of the node controller come back by
    # themselves.
    api.merge(f"{path}/status", status(spec))


def drain(api: Api, name: str, timeout_sec: float = _DRAIN_TIMEOUT_SEC) -> None:
    """Cordon a node and delete its pods, waiting for those that no DaemonSet would bring back.

    Disruption budgets are not asked: the node is going away, as a failed one would.
    """
    api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
    deadline = time.monotonic() + timeout_sec
    while _delete_pods(api, name, force=False) and time.monotonic() < deadline:
        time.sleep(0.2)


def _delete_pods(api: Api, node: str, *, force: bool) -> int:
    """Delete the pods of `node`; return how many there were that are not a DaemonSet's."""
    pods = api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    count = 0
    for pod in pods:
        meta: Object = pod["metadata"]
        owners = [owner["kind"] for owner in meta.get("ownerReferences", [])]
        if "DaemonSet" in owners and not force:
            continue
        count += 1
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if force:
            api.delete(path, grace_sec=0)
        elif "deletionTimestamp" not in meta:
            api.delete(path)
    return count


def _wait_ready(api: Api, names: Sequence[str]) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_SEC
    while True:
        waiting = set(names) - _ready(api)
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise SandboxError(
                f"nodes {', '.join(sorted(waiting))} are not Ready after "
                f"{_READY_TIMEOUT_SEC:.0f} s: look at kwok's log (python -m sandbox status)"
            )
        time.sleep(0.1)


def _ready(api: Api) -> set[str]:
    ready: set[str] = set()
    for node in api.list("/api/v1/nodes", labelSelector=f"{SIMULATED_LABEL}=true"):
        conditions: list[Object] = node.get("status", {}).get("conditions") or []
        states = {condition["type"]: condition["status"] for condition in conditions}
        # The node controller's taint is what the scheduler looks at, and it follows the condition.
        taints: list[Object] = node.get("spec", {}).get("taints") or []
        if states.get("Ready") == "True" and not any(
            taint["key"] == "node.kubernetes.io/not-ready" for taint in taints
        ):
            ready.add(node["metadata"]["name"])
    return ready
