"""What the fields of an engine's manifests are for, each held by a value from elsewhere.

Snapshots say that a manifest changed; here stands what may not change without breaking something.
"""

import json
from typing import Any, cast

import pytest

from components.render.charts import aws
from components.render.charts import gateway as gateway_charts
from components.render.charts.gpu import gpu_operator
from components.render.engine import autoscaling
from components.render.engine import workload as engine
from components.render.gateway import entrance
from components.render.storage import model_store as storage
from models.plan.plan import PlannedModel
from models.settings.gateway import Gateway
from tests.helpers.plans.dev import dev_plan, dev_settings

pytestmark = pytest.mark.pure


def models() -> tuple[PlannedModel, ...]:
    """Return dev's models: one fixed, one autoscaled."""
    return dev_plan().regions[0].models


def pod(model: PlannedModel) -> dict[str, Any]:
    """Return the pod's spec as plain data."""
    spec = cast("dict[str, Any]", engine.stateful_set(model))
    return cast("dict[str, Any]", spec["template"]["spec"])


def named(members: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the only member of a list with a name."""
    [found] = [each for each in members if each["name"] == name]
    return found


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_an_engine_can_only_read_the_weights(model: PlannedModel) -> None:
    """All replicas of all models share the volume: one that writes spoils it for every other.

    The mount alone keeps the process out; the claim's own flag attaches the volume read-only.
    """
    spec = pod(model)
    assert named(spec["volumes"], "models")["persistent_volume_claim"]["read_only"] is True
    [container] = spec["containers"]
    mount = named(container["volume_mounts"], "models")
    assert (mount["mount_path"], mount["read_only"]) == ("/models", True)


def test_a_seeding_job_can_write_them_and_not_its_own_program() -> None:
    region = dev_plan().regions[0]
    job = storage.seed_job(region, region.models[0], {"__main__.py": "pass"}, None)
    spec = cast("dict[str, Any]", job)["template"]["spec"]
    assert "read_only" not in named(spec["volumes"], "models")["persistent_volume_claim"]
    [container] = spec["containers"]
    assert "read_only" not in named(container["volume_mounts"], "models")
    assert named(container["volume_mounts"], "program")["read_only"] is True


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_volumes_on_the_nodes_disk_fit_what_the_pod_may_take_of_it(model: PlannedModel) -> None:
    """The kubelet evicts a pod whose disk-backed volumes, logs and layers exceed its limit.

    16 GiB are asked for: 12 for compilation caches, 2 for /tmp, 2 left for logs.
    """
    spec = pod(model)
    [container] = spec["containers"]
    assert container["resources"]["limits"]["ephemeral-storage"] == "16Gi"
    sizes = {
        each["name"]: each["empty_dir"]["size_limit"]
        for each in spec["volumes"]
        if "empty_dir" in each and each["empty_dir"].get("medium") != "Memory"
    }
    assert sizes == {"cache": "12Gi", "tmp": "2Gi"}


def test_liveness_is_patient_and_readiness_is_not() -> None:
    """A saturated engine misses checks for a minute without being dead; it should get no requests
    after half of that.
    """
    [container] = pod(models()[0])["containers"]

    def silence(probe: dict[str, Any]) -> int:
        return probe["period_seconds"] * probe["failure_threshold"]

    assert silence(container["liveness_probe"]) == 120
    assert silence(container["readiness_probe"]) == 30
    assert "initial_delay_seconds" not in container["liveness_probe"]


def test_replicas_are_disrupted_one_by_one_and_broken_ones_at_any_time() -> None:
    """A minimum would block the drain of a node with a model's only replica forever, and so would
    a replica that never becomes ready (Kubernetes' default, IfHealthyBudget).
    """
    budget = cast("dict[str, Any]", engine.disruption_budget(models()[0]))
    assert budget["max_unavailable"] == 1
    assert "min_available" not in budget
    assert budget["unhealthy_pod_eviction_policy"] == "AlwaysAllow"


def test_every_replica_is_updated_and_they_start_together() -> None:
    """A partition of n would leave the first n replicas at the old revision."""
    spec = cast("dict[str, Any]", engine.stateful_set(models()[0]))
    assert spec["update_strategy"]["rolling_update"]["partition"] == 0
    assert spec["pod_management_policy"] == "Parallel"


def test_removing_the_autoscaler_leaves_the_replicas_that_are_there() -> None:
    """The count before the first ScaledObject was none: restoring it would end loaded replicas."""
    spec = autoscaling.scaled_object(models()[1], dev_plan().autoscaling)
    assert spec["advanced"]["restoreToOriginalReplicaCount"] is False


def test_scaling_grows_at_once_and_shrinks_slowly() -> None:
    """A replica takes minutes to load: growing late hurts, and so does shrinking early.

    With Kubernetes' tolerance of 0.1 a threshold of 0.85 would act from 0.935 on; with 0.02 it
    does from 0.867.
    """
    spec = autoscaling.scaled_object(models()[1], dev_plan().autoscaling)
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    up, down = behavior["scaleUp"], behavior["scaleDown"]
    assert (up["stabilizationWindowSeconds"], down["stabilizationWindowSeconds"]) == (0, 600)
    assert 0.85 * (1 + float(up["tolerance"])) == pytest.approx(0.867)
    assert [policy["value"] for policy in up["policies"]] == [2]
    assert [policy["value"] for policy in down["policies"]] == [1]
    assert spec["fallback"]["replicas"] == spec["minReplicaCount"] == 1
    assert spec["maxReplicaCount"] == 3


def test_only_routes_of_the_gateways_own_namespace_attach() -> None:
    """From `All`, whoever may make a route anywhere could take the hostname's requests."""
    for options in (Gateway(), Gateway(tls_secret="gateway-tls", hostname="models.example.com")):
        [listener] = entrance.gateway(options)["listeners"]
        assert listener["allowedRoutes"] == {"namespaces": {"from": "Same"}}


def test_a_certificate_makes_the_listener_https_alone() -> None:
    [plain] = entrance.gateway(Gateway())["listeners"]
    assert (plain["protocol"], plain["port"], "tls" in plain) == ("HTTP", 80, False)
    options = Gateway(tls_secret="gateway-tls")
    [secure] = entrance.gateway(options)["listeners"]
    assert (secure["protocol"], secure["port"]) == ("HTTPS", 443)
    assert secure.get("tls") == {
        "mode": "Terminate",
        "certificateRefs": [{"kind": "Secret", "name": "gateway-tls"}],
    }
    assert entrance.client_policy(options).get("tls") == {"minVersion": "1.2"}
    assert "tls" not in entrance.client_policy(Gateway())


def test_a_pod_that_asks_for_two_turns_of_a_card_is_refused() -> None:
    """Both would be the same card, and the engine would fail when its ranks meet on it."""

    def turns(settings: dict[str, Any]) -> None:
        settings["regions"][0]["pools"][1]["sharing"] = {"kind": "time-slicing", "replicas": 2}
        settings["models"][1]["engine"] = {"gpu_memory_utilization": 0.47}
        settings["models"][1].update(model="qwen3-06b")

    plan = dev_plan(turns)
    data = gpu_operator(plan, plan.regions[0])["devicePlugin"]["config"]["data"]
    sharing = json.loads(data["time-slicing-2"])["sharing"]["timeSlicing"]
    assert sharing["failRequestsGreaterThanOne"] is True
    assert sharing["renameByDefault"] is False
    assert sharing["resources"] == [{"name": "nvidia.com/gpu", "replicas": 2}]
    assert json.loads(data["whole"]) == {"version": "v1"}


def test_leader_worker_set_comes_from_the_mirror() -> None:
    """No stack can ask for it yet, so no snapshot shows its values."""

    def mirrored(settings: dict[str, Any]) -> None:
        settings["mirror"] = {"registry": "mirror.example"}

    plan = dev_plan(mirrored)
    assert gateway_charts.leader_worker_set(plan, plan.regions[0]) == {
        "enablePrometheus": False,
        "image": {"manager": {"repository": "mirror.example/lws/lws"}},
    }
    plain = dev_plan()
    assert gateway_charts.leader_worker_set(plain, plain.regions[0]) == {"enablePrometheus": False}


def test_what_works_on_aws_is_not_made_for_another_cluster() -> None:
    plan = dev_plan()
    assert dev_settings()["regions"][0]["cluster"]["kind"] == "existing"
    for values in (aws.cluster_autoscaler, aws.load_balancer_controller):
        with pytest.raises(ValueError, match="'local' is not on EKS"):
            values(plan, plan.regions[0])
