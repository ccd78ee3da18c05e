"""Manifests of engines: what each field case of the traps asks of them."""

from typing import Any, cast

import pytest

from components.render.cluster import namespaces
from components.render.engine import autoscaling, monitor
from components.render.engine import workload as engine
from components.render.gateway import entrance, routes
from components.render.storage import model_store as storage
from models.plan.plan import PlannedModel
from tests.helpers.plans.dev import dev_plan

pytestmark = pytest.mark.pure


PROGRAM = {"__main__.py": "a"}


def awq() -> PlannedModel:
    """Return the fixed model of dev."""
    return dev_plan().regions[0].models[0]


def qwen() -> PlannedModel:
    """Return the autoscaled model of dev."""
    return dev_plan().regions[0].models[1]


def pod(model: PlannedModel) -> dict[str, Any]:
    """Return the pod's spec as plain data."""
    spec = cast("dict[str, Any]", engine.stateful_set(model))
    return cast("dict[str, Any]", spec["template"]["spec"])


def container(model: PlannedModel) -> dict[str, Any]:
    """Return the only container."""
    (found,) = pod(model)["containers"]
    return cast("dict[str, Any]", found)


def test_requests_equal_limits_for_everything() -> None:
    """QOS-01: one missing limit makes the pod Burstable."""
    resources = container(awq())["resources"]
    assert resources["requests"] == resources["limits"]
    assert set(resources["limits"]) == {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"}


def test_shared_memory_is_mounted_and_inside_the_memory_limit() -> None:
    """VLLM-10: NCCL fails in the 64 MiB default."""
    volume = next(each for each in pod(awq())["volumes"] if each["name"] == "shm")
    assert volume["empty_dir"]["medium"] == "Memory"
    assert int(volume["empty_dir"]["size_limit"].removesuffix("Gi")) < awq().resources.memory_gib
    assert {"name": "shm", "mount_path": "/dev/shm"} in container(awq())["volume_mounts"]


def test_the_startup_probe_covers_reading_the_weights() -> None:
    """VLLM-11: a liveness delay kills a pod that still loads."""
    found = container(qwen())
    startup, liveness = found["startup_probe"], found["liveness_probe"]
    budget = startup["period_seconds"] * startup["failure_threshold"]
    assert budget == qwen().startup_sec
    assert budget * qwen().contract.load_gib_per_sec * 2**30 > qwen().weight_bytes
    assert "initial_delay_seconds" not in liveness
    assert liveness["period_seconds"] * liveness["failure_threshold"] >= 60
    assert all(
        found[probe]["timeout_seconds"] >= 5 for probe in ("liveness_probe", "readiness_probe")
    )


def test_a_non_root_pod_can_write_every_cache() -> None:
    """FB-03: Triton and Inductor write below HOME; a read-only root ends the first compile."""
    found = container(awq())
    assert found["security_context"]["read_only_root_filesystem"]
    mounts = {each["mount_path"] for each in found["volume_mounts"] if not each.get("read_only")}
    variables = {each["name"]: each["value"] for each in found["env"]}
    for name in (
        "HOME",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
        "VLLM_CACHE_ROOT",
        "HF_HOME",
    ):
        assert any(variables[name].startswith(mount) for mount in mounts), name


def test_service_links_are_off() -> None:
    """VLLM-13: a Service called vllm would set VLLM_PORT."""
    assert pod(awq())["enable_service_links"] is False


def test_tolerations_match_the_pools_taints_and_no_others() -> None:
    """GPUO-02: selector and toleration follow the pool."""
    assert pod(awq())["node_selector"] == {
        "triplane.dev/pool": "gpu-edge-pool",
        "nvidia.com/gpu.present": "true",
    }
    assert pod(awq())["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "effect": "NoSchedule", "value": "present"}
    ]


def test_the_termination_grace_outlasts_the_drain() -> None:
    assert pod(awq())["termination_grace_period_seconds"] > 300


def test_triggers_are_sums_per_replica_and_silence_is_not_zero() -> None:
    """KEDA-03, -08, -09: one series, AverageValue, and a lost target is a failure."""
    spec = autoscaling.scaled_object(qwen(), dev_plan().autoscaling)
    for trigger in spec["triggers"]:
        assert trigger["metadata"]["query"].startswith("sum(")
        assert trigger["metricType"] == "AverageValue"
        assert trigger["metadata"]["ignoreNullValues"] == "false"
        assert 'model_name="qwen3-8b"' in trigger["metadata"]["query"]
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
    assert spec["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "qwen3-8b",
    }


def test_every_metric_of_a_trigger_exists_in_the_pinned_engine() -> None:
    """VLLM-12, FB-01: a renamed metric never scales anything, silently."""
    spec = autoscaling.scaled_object(qwen(), dev_plan().autoscaling)
    exposed = {name for metric in qwen().contract.metrics for name in metric.exposed}
    for trigger in spec["triggers"]:
        query = trigger["metadata"]["query"]
        assert query.removeprefix("sum(").split("{")[0] in exposed


def test_a_client_name_leads_to_the_engine_by_one_name() -> None:
    """The field's most common failure: route, backend, Service and engine disagree."""
    model = qwen()
    route = routes.route(model, dev_plan().gateway)
    (rule,) = route["rules"]
    (match,) = rule["matches"]
    assert match["headers"][0]["value"] == model.name
    assert rule["backendRefs"][0]["name"] == model.name
    assert rule["backendRefs"][0]["modelNameOverride"] == model.arguments.served_model_name
    host = routes.backend(model)["endpoints"][0]["fqdn"]
    assert host == {"hostname": f"{model.name}.triplane-models.svc.cluster.local", "port": 8000}
    service = cast("dict[str, Any]", engine.service(model))
    labels = cast("dict[str, Any]", engine.stateful_set(model))["template"]["metadata"]["labels"]
    assert service["selector"].items() <= labels.items()
    assert f"--served-model-name={model.name}" in container(model)["args"]


def test_a_stream_is_bounded_by_idleness_only() -> None:
    """EAIG-02: a limit on the whole exchange cuts an answer in the middle."""
    route = routes.route(qwen(), dev_plan().gateway)
    assert route["rules"][0]["timeouts"]["request"] == "0s"
    assert route["rules"][0]["streamIdleTimeout"] == "300s"


def test_prompts_above_32_kib_pass_the_gateway() -> None:
    """EAIG-01: the default buffer answers 413."""
    assert entrance.client_policy(dev_plan().gateway)["connection"]["bufferLimit"] == "4Mi"


def test_the_monitor_selects_the_service_by_its_named_port() -> None:
    """PROM-02: a number or a pod label gives no targets."""
    spec = monitor.service_monitor(qwen(), 10)
    service = cast("dict[str, Any]", engine.service(qwen()))
    assert spec["endpoints"][0]["port"] in {port["name"] for port in service["ports"]}


def test_the_seeding_job_pins_model_revision_and_source() -> None:
    region = dev_plan().regions[0]
    spec = cast("dict[str, Any]", storage.seed_job(region, qwen(), PROGRAM, None))
    (found,) = spec["template"]["spec"]["containers"]
    variables = {each["name"]: each.get("value") for each in found["env"]}
    revision = qwen().entry.revision
    assert variables["TRIPLANE_REVISION"] == revision
    assert variables["TRIPLANE_SOURCE"] == f"s3://models/models/qwen3-8b/{revision}/"
    assert variables["TRIPLANE_TARGET"] == "/models/qwen3-8b"
    assert container(qwen())["args"][0] == f"/models/qwen3-8b/{revision}"


def test_a_new_revision_or_program_makes_a_new_job() -> None:
    """A Job's template cannot change."""
    assert storage.seed_name(qwen(), PROGRAM) != storage.seed_name(qwen(), {"__main__.py": "b"})
    assert storage.seed_name(qwen(), PROGRAM) != storage.seed_name(awq(), PROGRAM)
    assert len(storage.seed_name(qwen(), PROGRAM)) <= 63


def test_namespaces_are_restricted_and_closed() -> None:
    assert namespaces.labels()["pod-security.kubernetes.io/enforce"] == "restricted"
    assert "istio-injection" not in namespaces.labels()
    assert namespaces.deny_ingress().get("ingress") == []
