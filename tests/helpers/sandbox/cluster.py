"""What the tests of the sandbox share: nodes, names, namespaces and waiting with a deadline."""

import os
import secrets
import time
from collections.abc import Callable

from sandbox.cluster.nodes import GpuSpec, NodeSpec, NodeTaint, NodeTaintEffect
from sandbox.core.kube import Api, Object
from sandbox.operators.standins.objects import entries, section

GPU_TAINT = NodeTaint(key="nvidia.com/gpu", value="present", effect=NodeTaintEffect.NO_SCHEDULE)
L4 = GpuSpec(count=2, product="NVIDIA-L4", memory_mib=23034, compute="8.9")
NODES = (
    NodeSpec(name="l4-0", cpu=16, memory_mib=65536, gpu=L4, zone="a", taints=(GPU_TAINT,)),
    NodeSpec(name="l4-1", cpu=16, memory_mib=65536, gpu=L4, zone="b", taints=(GPU_TAINT,)),
    NodeSpec(name="cpu-0", cpu=8, memory_mib=32768, zone="a"),
)
CRD_SETS = ("gateway-api-1.5", "envoy-gateway-1.8", "envoy-ai-gateway", "keda")


def unique_name() -> str:
    """Return a sandbox name that no other run of the tests uses."""
    return f"test-{os.getpid()}-{secrets.token_hex(3)}"


def until(check: Callable[[], object], what: str, timeout_sec: float = 20.0) -> None:
    """Wait until `check` answers something true; fail naming `what` when it never does."""
    deadline = time.monotonic() + timeout_sec
    while not check():
        assert time.monotonic() < deadline, f"not within {timeout_sec:.0f} s: {what}"
        time.sleep(0.1)


def namespace(api: Api) -> str:
    """Make a namespace with a new name, ready for pods."""
    name = f"t-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}, "kind": "Namespace"})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until(lambda: api.get(account), f"the default service account of {name}")
    return name


def pod_body(name: str, limits: Object, **spec: object) -> Object:
    """Return a pod with one container that asks for exactly `limits`."""
    container: Object = {"name": "main", "image": "registry.invalid/engine:1"}
    container["resources"] = {"limits": limits, "requests": limits}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def conditions(obj: Object | None) -> dict[str, Object]:
    """Return the conditions of an object by type."""
    status = section(obj or {}, "status")
    return {condition["type"]: condition for condition in entries(status, "conditions")}
