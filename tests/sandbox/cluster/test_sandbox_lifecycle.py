"""Starting, killing, restarting and stopping control planes."""

from collections.abc import Callable

import psutil
import pytest

from sandbox.cluster import cluster
from sandbox.cluster.cluster import Sandbox
from sandbox.cluster.controlplane import START_ORDER
from sandbox.cluster.nodes import NodeSpec
from sandbox.core.paths import sandboxes_home
from tests.helpers.sandbox.cluster import GPU_TAINT, L4, namespace, pod_body, unique_name, until

pytestmark = [pytest.mark.engine, pytest.mark.timeout(240)]

CPU_NODE = NodeSpec(name="cpu-0", cpu=8, memory_mib=32768)


def _processes_under(home: str) -> list[str]:
    """Return the command lines of live processes that mention `home`."""
    found: list[str] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if home in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def test_two_sandboxes_run_at_once_and_leave_nothing(new_box: Callable[..., Sandbox]) -> None:
    """Tests, the dev stack and stand-in clusters of other regions share one machine."""
    one = new_box()
    other = new_box(nodes=(CPU_NODE,))
    assert one.server != other.server
    assert one.api().list("/api/v1/nodes") == []
    assert [node["metadata"]["name"] for node in other.api().list("/api/v1/nodes")] == ["cpu-0"]
    assert cluster.status(one.name).running
    for box in (one, other):
        cluster.stop(box.name, purge=True)
        assert _processes_under(str(box.home)) == []
        assert not box.home.exists()


def test_every_process_comes_back_after_a_kill(new_box: Callable[..., Sandbox]) -> None:
    """A machine that runs out of memory kills one process, not the sandbox."""
    box = new_box(nodes=(CPU_NODE,))
    space = namespace(box.api())
    for name in START_ORDER:
        pid = cluster.status(box.name).processes[name]
        assert pid is not None, f"{name} runs before it is killed"
        psutil.Process(pid).kill()
        until(lambda name=name: cluster.status(box.name).processes[name] is None, f"{name} dead")
        again = new_box(box.name, nodes=(CPU_NODE,))
        assert cluster.status(box.name).running, f"after a kill of {name}"
        assert again.server == box.server, "a kubeconfig must stay valid"
    api = box.api()
    assert api.get(f"/api/v1/namespaces/{space}") is not None, "etcd kept its data"
    path = f"/api/v1/namespaces/{space}/pods"
    api.create(path, pod_body("after", {"cpu": "1", "memory": "1Gi"}))

    def is_running() -> bool:
        return (api.get(f"{path}/after") or {})["status"].get("phase") == "Running"

    until(is_running, "a pod to run after all those kills")


def test_a_sandbox_starts_again_after_all_its_processes_were_killed(
    new_box: Callable[..., Sandbox],
) -> None:
    """A reboot: data and ports are there, processes and their ids are not."""
    box = new_box(nodes=(CPU_NODE,))
    for pid in cluster.status(box.name).processes.values():
        assert pid is not None
        psutil.Process(pid).kill()
    until(lambda: not any(cluster.status(box.name).processes.values()), "all processes dead")
    again = new_box(box.name, nodes=(CPU_NODE,))
    assert again.server == box.server
    assert again.kubeconfig.read_text() == box.kubeconfig.read_text()


def test_a_second_start_starts_nothing(new_box: Callable[..., Sandbox]) -> None:
    """`make up` runs it every time: it must cost a second, not a restart."""
    box = new_box(nodes=(CPU_NODE,))
    before = cluster.status(box.name).processes
    new_box(box.name, nodes=(CPU_NODE,))
    assert cluster.status(box.name).processes == before


def test_nodes_follow_the_given_specs(new_box: Callable[..., Sandbox]) -> None:
    """A pool that shrinks drains its node: pods may not stay Running on a vanished one."""
    gpu = NodeSpec(name="gpu-0", cpu=8, memory_mib=32768, gpu=L4, taints=(GPU_TAINT,))
    box = new_box(nodes=(gpu,))
    api = box.api()
    space = namespace(api)
    path = f"/api/v1/namespaces/{space}/pods"
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    body = pod_body("engine", {"nvidia.com/gpu": "1"}, tolerations=tolerations)
    api.create(path, body)

    def is_running() -> bool:
        return (api.get(f"{path}/engine") or {})["status"].get("phase") == "Running"

    until(is_running, "the pod on gpu-0")
    four = L4.model_copy(update={"count": 4})
    new_box(box.name, nodes=(gpu.model_copy(update={"gpu": four}), CPU_NODE))
    node = api.get("/api/v1/nodes/gpu-0") or {}
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert node["metadata"]["labels"]["nvidia.com/gpu.count"] == "4"
    new_box(box.name, nodes=(CPU_NODE,))
    assert api.get("/api/v1/nodes/gpu-0") is None
    assert api.get(f"{path}/engine") is None, "its pod went with it"


def test_stopping_what_does_not_exist_is_no_error_and_makes_nothing() -> None:
    """`make down` on a clean machine."""
    name = unique_name()
    cluster.stop(name, purge=True)
    assert not (sandboxes_home() / name).exists()


@pytest.mark.parametrize("name", ["", "Dev", "../up", "a" * 41, "-a"])
def test_a_name_that_could_leave_its_folder_is_refused(name: str) -> None:
    """The name becomes a path that `--purge` deletes."""
    with pytest.raises(cluster.SandboxError, match="is not allowed"):
        cluster.stop(name, purge=True)
