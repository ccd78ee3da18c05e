"""Pods, volumes and jobs on simulated nodes: what the real controllers make of them."""

import pytest

from sandbox.cluster.cluster import Sandbox
from sandbox.core.kube import Api, Object
from tests.helpers.sandbox.cluster import conditions, namespace, pod_body, until

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}
GPU_POD: Object = {"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "2"}


def _create_pod(api: Api, space: str, body: Object) -> str:
    api.create(f"/api/v1/namespaces/{space}/pods", body)
    return f"/api/v1/namespaces/{space}/pods/{body['metadata']['name']}"


def _is_running(api: Api, path: str) -> bool:
    pod = api.get(path)
    return pod is not None and pod["status"].get("phase") == "Running"


def test_a_shared_volume_claim_of_any_class_is_bound_and_its_pod_runs(shared_box: Sandbox) -> None:
    """The model store is a ReadWriteMany claim: without a provisioner nothing would ever start."""
    api = shared_box.api()
    space = namespace(api)
    api.create(
        "/apis/storage.k8s.io/v1/storageclasses",
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"class-{space}"},
            "provisioner": "driver.example.com",
        },
    )
    claims = f"/api/v1/namespaces/{space}/persistentvolumeclaims"
    for name, class_name in (("models", f"class-{space}"), ("lost", "no-such-class")):
        api.create(
            claims,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name},
                "spec": {
                    "accessModes": ["ReadWriteMany"],
                    "storageClassName": class_name,
                    "resources": {"requests": {"storage": "100Gi"}},
                },
            },
        )
    volumes = [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}]
    body = pod_body("reader", {"cpu": "1", "memory": "1Gi"}, volumes=volumes)
    path = _create_pod(api, space, body)
    until(lambda: _is_running(api, path), "the pod that mounts the claim")
    claim = api.get(f"{claims}/models") or {}
    assert claim["status"]["phase"] == "Bound"
    assert claim["status"]["capacity"] == {"storage": "100Gi"}
    lost = api.get(f"{claims}/lost") or {}
    assert lost["status"]["phase"] == "Pending", "a class that does not exist provisions nothing"

    volume = f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}"
    api.delete(path)
    api.delete(f"{claims}/models")
    until(lambda: api.get(volume) is None, "the volume to go with its claim")


def test_gpu_pods_go_where_gpus_are_free_and_taints_tolerated(shared_box: Sandbox) -> None:
    """The scheduler is real: its answer is the proof that the stack's placement works."""
    api = shared_box.api()
    space = namespace(api)
    for name in ("one", "two"):
        body = pod_body(name, GPU_POD, tolerations=[TOLERATION])
        path = _create_pod(api, space, body)
        until(lambda path=path: _is_running(api, path), f"pod {name}")
    pods = api.list(f"/api/v1/namespaces/{space}/pods")
    assert {pod["spec"]["nodeName"] for pod in pods} == {"l4-0", "l4-1"}
    assert {pod["status"]["qosClass"] for pod in pods} == {"Guaranteed"}

    third = _create_pod(api, space, pod_body("three", GPU_POD, tolerations=[TOLERATION]))
    until(lambda: "PodScheduled" in conditions(api.get(third)), "a verdict on the third pod")
    verdict = conditions(api.get(third))["PodScheduled"]
    assert verdict["status"] == "False"
    assert "3 Insufficient nvidia.com/gpu" in verdict["message"]
    for pod in ("one", "two", "three"):
        api.delete(f"/api/v1/namespaces/{space}/pods/{pod}")


def test_a_pod_without_the_toleration_stays_off_gpu_nodes(shared_box: Sandbox) -> None:
    """A taint that simulated nodes lacked would let a policy about it pass untested."""
    api = shared_box.api()
    space = namespace(api)
    selector = {"nvidia.com/gpu.product": "NVIDIA-L4"}
    body = pod_body("plain", {"cpu": "1", "memory": "1Gi"}, nodeSelector=selector)
    path = _create_pod(api, space, body)
    until(lambda: "PodScheduled" in conditions(api.get(path)), "a verdict")
    assert "untolerated taint" in conditions(api.get(path))["PodScheduled"]["message"]


def test_a_pod_too_large_for_any_node_stays_pending(shared_box: Sandbox) -> None:
    """An up that waits for such a pod must be able to say why."""
    api = shared_box.api()
    space = namespace(api)
    path = _create_pod(api, space, pod_body("huge", {"cpu": "64", "memory": "1Gi"}))
    until(lambda: "PodScheduled" in conditions(api.get(path)), "a verdict")
    pod = api.get(path) or {}
    assert pod["status"]["phase"] == "Pending"
    assert "Insufficient cpu" in conditions(pod)["PodScheduled"]["message"]


def test_a_stateful_set_becomes_ready_with_its_init_containers_done(shared_box: Sandbox) -> None:
    """Engines wait for their weights in an init container; a sidecar goes on running."""
    api = shared_box.api()
    space = namespace(api)
    labels = {"app": "engine"}
    template = pod_body(
        "unused",
        {"cpu": "1", "memory": "1Gi"},
        initContainers=[
            {"name": "wait-for-weights", "image": "registry.invalid/init:1"},
            {"name": "log", "image": "registry.invalid/log:1", "restartPolicy": "Always"},
        ],
    )
    sets = f"/apis/apps/v1/namespaces/{space}/statefulsets"
    spec: Object = {
        "replicas": 2,
        "serviceName": "engine",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
    }
    api.create(
        sets,
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "engine"},
            "spec": spec,
        },
    )

    def ready() -> bool:
        found = api.get(f"{sets}/engine") or {}
        return found["status"].get("readyReplicas") == 2

    until(ready, "both replicas to be ready")
    status = (api.get(f"/api/v1/namespaces/{space}/pods/engine-1") or {})["status"]
    first, sidecar = status["initContainerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 0
    assert "running" in sidecar["state"]
    assert status["containerStatuses"][0]["ready"] is True
    assert status["podIP"], "Services need an address to send to"


def test_a_job_completes_and_can_be_deleted_with_its_pods(shared_box: Sandbox) -> None:
    """Seeding is a Job; one whose pods kept their finalizers would hang every destroy."""
    api = shared_box.api()
    space = namespace(api)
    pod = pod_body("unused", {"cpu": "1", "memory": "1Gi"}, restartPolicy="Never")
    jobs = f"/apis/batch/v1/namespaces/{space}/jobs"
    for name in ("seed", "cut-short"):
        spec: Object = {"template": {"spec": pod["spec"]}}
        api.create(
            jobs,
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec},
        )
    api.delete(f"{jobs}/cut-short")
    until(lambda: "Complete" in conditions(api.get(f"{jobs}/seed")), "the job to complete")
    api.delete(f"{jobs}/seed")
    pods = f"/api/v1/namespaces/{space}/pods"
    until(lambda: not api.list(pods), "the pods of both jobs to go")


def test_a_privileged_pod_is_refused_in_a_restricted_namespace(shared_box: Sandbox) -> None:
    """Pod Security admission is on, so that a namespace's labels mean something."""
    api = shared_box.api()
    space = namespace(api)
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.merge(f"/api/v1/namespaces/{space}", {"metadata": {"labels": label}})
    with pytest.raises(RuntimeError, match="violates PodSecurity"):
        _create_pod(api, space, pod_body("root", {"cpu": "1", "memory": "1Gi"}))


def test_a_pod_is_not_ready_before_its_readiness_gates_are_opened(shared_box: Sandbox) -> None:
    """No controller runs here that would open one: a yes would be made up."""
    api = shared_box.api()
    space = namespace(api)
    gates = [{"conditionType": "example.com/one"}, {"conditionType": "example.com/other"}]
    body = pod_body("gated", {"cpu": "1", "memory": "1Gi"}, readinessGates=gates)
    path = _create_pod(api, space, body)
    until(lambda: _is_running(api, path), "the pod runs")
    told = conditions(api.get(path))
    assert (told["Ready"]["status"], told["Ready"]["reason"]) == ("False", "ReadinessGatesNotReady")
    assert told["ContainersReady"]["status"] == "True"
    assert not {"example.com/one", "example.com/other"} & told.keys()

    def open_gate(name: str) -> None:
        known = list(conditions(api.get(path)).values())
        gate = {"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        api.merge(f"{path}/status", {"status": {"conditions": [*known, gate]}})

    open_gate("example.com/one")
    until(lambda: "example.com/one" in conditions(api.get(path)), "the first gate")
    assert conditions(api.get(path))["Ready"]["status"] == "False"
    open_gate("example.com/other")
    until(lambda: conditions(api.get(path))["Ready"]["status"] == "True", "readiness")
