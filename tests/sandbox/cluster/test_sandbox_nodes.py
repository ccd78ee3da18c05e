"""What a node spec becomes."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox.cluster import nodes
from sandbox.cluster.nodes import NodeSpec
from sandbox.core.errors import SandboxError
from tests.helpers.sandbox.cluster import GPU_TAINT, L4

pytestmark = pytest.mark.pure

GPU_NODE = NodeSpec(
    name="l4-0",
    cpu=8,
    memory_mib=32768,
    reserved_cpu_milli=250,
    reserved_memory_mib=1024,
    gpu=L4,
    zone="a",
    labels={"pool": "gpu-l4-pool"},
    taints=(GPU_TAINT,),
)


def test_a_gpu_node_carries_what_feature_discovery_would_label() -> None:
    """Selectors and affinities of the platform name these labels."""
    labels = nodes.labels(GPU_NODE)
    assert labels["nvidia.com/gpu.present"] == "true"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L4"
    assert labels["nvidia.com/gpu.count"] == "2"
    assert labels["nvidia.com/gpu.memory"] == "23034"
    assert labels["nvidia.com/gpu.compute.major"] == "8"
    assert labels["nvidia.com/gpu.compute.minor"] == "9"
    assert labels["topology.kubernetes.io/zone"] == "a"
    assert labels["pool"] == "gpu-l4-pool"


def test_a_node_without_gpus_has_neither_labels_nor_capacity_for_them() -> None:
    """A zero would make the node match selectors that ask for presence."""
    spec = NodeSpec(name="cpu-0", cpu=4, memory_mib=8192)
    assert not [label for label in nodes.labels(spec) if label.startswith("nvidia.com/")]
    assert "nvidia.com/gpu" not in nodes.status(spec)["status"]["capacity"]


def test_allocatable_is_capacity_less_what_the_kubelet_keeps() -> None:
    """Pods that fill a node to its capacity do not fit a real one."""
    status = nodes.status(GPU_NODE)["status"]
    assert status["capacity"]["cpu"] == "8"
    assert status["allocatable"]["cpu"] == "7750m"
    assert status["allocatable"]["memory"] == "31744Mi"
    assert status["allocatable"]["nvidia.com/gpu"] == "2"


def test_the_manifest_has_the_taint_and_the_mark_that_kwok_selects_by() -> None:
    """Without the mark the node would never become Ready."""
    manifest = nodes.manifest(GPU_NODE)
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert manifest["spec"]["taints"] == [taint]
    assert manifest["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"


def test_a_node_that_keeps_everything_for_itself_is_refused() -> None:
    """It could never take a pod; the message says the numbers."""
    with pytest.raises(ValidationError, match=r"reserved_cpu_milli 8000 must be below 8000"):
        NodeSpec(name="n", cpu=8, memory_mib=1024, reserved_cpu_milli=8000)


def test_a_nodes_file_is_read_and_its_mistakes_are_named(tmp_path: Path) -> None:
    """`--nodes FILE` is written by hand."""
    path = tmp_path / "nodes.json"
    path.write_text('[{"name": "a", "cpu": 4, "memory_mib": 1024}]')
    assert [spec.name for spec in nodes.read_file(path)] == ["a"]
    path.write_text('[{"name": "a", "cpu": 4, "memory_gib": 1}]')
    with pytest.raises(SandboxError, match="memory_gib"):
        nodes.read_file(path)
    with pytest.raises(SandboxError, match="cannot be read"):
        nodes.read_file(tmp_path / "absent.json")
