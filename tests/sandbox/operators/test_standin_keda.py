"""What KEDA refuses of a ScaledObject, and what nobody here can say of one."""

import re
from typing import Any

import pytest
import yaml

from sandbox.core.kube import Object
from sandbox.core.paths import PROJECT_ROOT
from sandbox.operators.standins import keda_triggers
from sandbox.operators.standins.objects import Objects
from tests.helpers.sandbox.standins import evaluate, picture, standin_object, with_spec

pytestmark = pytest.mark.pure

PROMETHEUS = {"serverAddress": "http://prom:9090", "query": "q", "threshold": "1"}
CRON = {"start": "0 6 * * *", "end": "0 20 * * *", "timezone": "Etc/UTC", "desiredReplicas": "2"}


def ready(triggers: list[Object], **spec: Any) -> Object:
    """Return the condition Ready of a ScaledObject with these triggers."""
    objects = Objects.of(picture())
    with_spec("ScaledObject", triggers=triggers, **spec)(objects)
    status = evaluate("ScaledObject", objects) or {}
    return {each["type"]: each for each in status["conditions"]}["Ready"]


def trigger(kind: str, metadata: Object, **more: Any) -> Object:
    """Return one trigger."""
    return {"type": kind, "metadata": metadata, **more}


@pytest.mark.parametrize("kind", ["promethues", "Prometheus", "vllm", "gcp-spanner", ""])
def test_a_type_that_keda_has_no_scaler_for_is_refused(kind: str) -> None:
    """`gcp-spanner` came after 2.20: the release that is installed decides."""
    found = ready([trigger(kind, PROMETHEUS)])
    assert found["status"] == "False"
    assert f"KEDA has no scaler for type {kind}" in found["message"]


@pytest.mark.parametrize("kind", ["kafka", "aws-sqs-queue", "external", "temporal"])
def test_metadata_that_nobody_here_reads_is_neither_good_nor_bad(kind: str) -> None:
    """A yes would be made up, and a no would be wrong."""
    found = ready([trigger("prometheus", PROMETHEUS), trigger(kind, {})])
    assert found["status"] == "Unknown"
    assert f"metadata of triggers of type {kind} is not judged" in found["message"]
    broken = ready([trigger("prometheus", {}), trigger(kind, {})])
    assert broken["status"] == "False", "what is known to be wrong is said first"


@pytest.mark.parametrize("value", ["many", "1O", "0,5", "NaN", "Infinity", "-Infinity", "1.", ".5"])
@pytest.mark.parametrize("name", ["threshold", "activationThreshold"])
def test_a_threshold_that_is_no_number_is_refused(name: str, value: str) -> None:
    """KEDA reads it as JSON into a float64 (scalersconfig/typed_config.go)."""
    found = ready([trigger("prometheus", {**PROMETHEUS, name: value})])
    assert found["status"] == "False"
    assert f"metadata.{name} must be a number, it is '{value}'" in found["message"]


@pytest.mark.parametrize("value", ["true", "null", '"1"', "[1]"])
def test_json_that_is_no_number_is_no_threshold_either(value: str) -> None:
    assert ready([trigger("prometheus", {**PROMETHEUS, "threshold": value})])["status"] == "False"


@pytest.mark.parametrize("value", ["1", "0.85", "-3", "1e3", "0"])
def test_numbers_are_thresholds(value: str) -> None:
    assert ready([trigger("prometheus", {**PROMETHEUS, "threshold": value})])["status"] == "True"


@pytest.mark.parametrize("name", ["serverAddress", "query", "threshold"])
@pytest.mark.parametrize("value", ["", None])
def test_what_the_prometheus_scaler_requires_is_named(name: str, value: str | None) -> None:
    metadata: Object = {**PROMETHEUS, name: value}
    if value is None:
        del metadata[name]
    assert f"metadata.{name} is missing" in ready([trigger("prometheus", metadata)])["message"]


@pytest.mark.parametrize("address", ["prom:9090", "prom", "ftp://prom", "http://"])
def test_an_address_is_a_url(address: str) -> None:
    found = ready([trigger("prometheus", {**PROMETHEUS, "serverAddress": address})])
    assert "metadata.serverAddress must be an http or https URL" in found["message"]


@pytest.mark.parametrize(
    ("kind", "metadata", "more", "message"),
    [
        ("prometheus", PROMETHEUS, {"metricType": "AverageValue"}, None),
        ("prometheus", PROMETHEUS, {"metricType": "Value"}, None),
        ("prometheus", PROMETHEUS, {"metricType": "Utilization"}, "for cpu and memory only"),
        ("cron", CRON, {}, None),
        ("cron", CRON, {"metricType": "Utilization"}, "for cpu and memory only"),
        ("cron", {**CRON, "end": CRON["start"]}, {}, "must not be the same"),
        ("cron", {**CRON, "start": "0 6 * *"}, {}, "start must have the five fields"),
        ("cron", {**CRON, "end": "0 6 * * * *"}, {}, "end must have the five fields"),
        ("cron", {**CRON, "start": "@daily"}, {}, None),
        ("cron", {**CRON, "desiredReplicas": "0"}, {}, "a whole number other than 0"),
        ("cron", {**CRON, "desiredReplicas": "2.5"}, {}, "a whole number other than 0"),
        ("cron", {**CRON, "timezone": ""}, {}, "metadata.timezone is missing"),
        ("cpu", {"value": "80"}, {"metricType": "Utilization"}, None),
        ("cpu", {"value": "80%"}, {"metricType": "Utilization"}, "must be a whole number"),
        ("cpu", {"value": "500m"}, {"metricType": "AverageValue"}, None),
        ("cpu", {"value": "500m"}, {"metricType": "Utilization"}, "must be a whole number"),
        ("memory", {"value": "2Gi"}, {"metricType": "AverageValue"}, None),
        ("memory", {"value": "two"}, {"metricType": "AverageValue"}, "must be a quantity"),
        ("memory", {}, {"metricType": "AverageValue"}, "metadata.value is missing"),
        ("memory", {"value": "80"}, {}, "must be Utilization or AverageValue, it is ''"),
        ("memory", {"value": "80"}, {"metricType": "Value"}, "must be Utilization or"),
        ("cpu", {"value": "80"}, {"metricType": "Utilization", "useCachedMetrics": True}, "Cached"),
        ("cron", CRON, {"useCachedMetrics": True}, "useCachedMetrics is not supported"),
        ("prometheus", PROMETHEUS, {"useCachedMetrics": True}, None),
    ],
)
def test_metadata_is_read_as_its_scaler_does(
    kind: str, metadata: Object, more: Object, message: str | None
) -> None:
    found = ready([trigger(kind, metadata, **more)])
    assert found["status"] == ("True" if message is None else "False"), found
    assert (message or "") in found["message"]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, None),
        ({"minReplicaCount": 0, "maxReplicaCount": 1}, None),
        ({"minReplicaCount": 0, "maxReplicaCount": 0}, "is above maxReplicaCount 0"),
        ({"maxReplicaCount": 0}, None),
        ({"minReplicaCount": 2, "maxReplicaCount": 2}, None),
        ({"minReplicaCount": 3, "maxReplicaCount": 2}, "minReplicaCount 3 is above"),
        ({"minReplicaCount": 100}, None),
        ({"minReplicaCount": 101}, "minReplicaCount 101 is above maxReplicaCount 100"),
        ({"minReplicaCount": 2, "idleReplicaCount": 1}, None),
        ({"minReplicaCount": 2, "idleReplicaCount": 2}, "idleReplicaCount 2 is not below"),
        ({"minReplicaCount": 0, "idleReplicaCount": 0}, None),
        ({"idleReplicaCount": 0}, "idleReplicaCount 0 is not below minReplicaCount 0"),
    ],
)
def test_replica_counts_are_bounded_as_keda_bounds_them(
    counts: dict[str, int], message: str | None
) -> None:
    """CheckReplicaCountBoundsAreValid: a least of 0 counts as 1, since the autoscaler's is; 100."""
    found = ready([trigger("prometheus", PROMETHEUS)], **counts)
    assert found["status"] == ("True" if message is None else "False"), found
    assert (message or "") in found["message"]


def test_triggers_of_one_name_are_refused() -> None:
    two = [trigger("prometheus", PROMETHEUS, name="load") for _ in range(2)]
    assert "several triggers are called load" in ready(two)["message"]
    other = trigger("prometheus", PROMETHEUS, name="more")
    assert ready([two[0], other, trigger("prometheus", PROMETHEUS)])["status"] == "True"


@pytest.mark.parametrize(
    ("ref", "space", "message"),
    [
        ({"name": "key"}, "llm", None),
        ({"name": "key"}, "other", "TriggerAuthentication key does not exist"),
        ({"name": "key", "kind": "ClusterTriggerAuthentication"}, "", None),
        ({"name": "key", "kind": "ClusterTriggerAuthentication"}, "llm", "does not exist"),
    ],
)
def test_an_authentication_is_looked_for_where_its_kind_lives(
    ref: Object, space: str, message: str | None
) -> None:
    objects = Objects.of(picture())
    kind = ref.get("kind", "TriggerAuthentication")
    objects.put(standin_object("keda.sh/v1alpha1", kind, "key", {}, space=space))
    triggers = [trigger("prometheus", PROMETHEUS, authenticationRef=ref)]
    with_spec("ScaledObject", triggers=triggers)(objects)
    condition = (evaluate("ScaledObject", objects) or {})["conditions"][0]
    assert condition["status"] == ("True" if message is None else "False")
    assert (message or "") in condition["message"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("StatefulSet", None),
        ("Deployment", "Deployment llm/engine does not exist"),
        (None, "Deployment llm/engine does not exist"),
        ("CronJob", "scaleTargetRef of kind CronJob is not known here"),
    ],
)
def test_the_target_is_a_deployment_unless_it_says_otherwise(
    kind: str | None, message: str | None
) -> None:
    ref = {"name": "engine"} | ({"kind": kind} if kind else {})
    found = ready([trigger("prometheus", PROMETHEUS)], scaleTargetRef=ref)
    assert (message or "is ready for scaling") in found["message"]


def test_the_autoscaler_that_keda_made_is_no_rival() -> None:
    objects = Objects.of(picture())
    ref = {"kind": "StatefulSet", "name": "engine"}
    hpa = standin_object("autoscaling/v2", "HorizontalPodAutoscaler", "x", {"scaleTargetRef": ref})
    objects.put(hpa)
    assert (evaluate("ScaledObject", objects) or {})["conditions"][0]["status"] == "False"
    hpa["metadata"]["ownerReferences"] = [{"kind": "ScaledObject"}]
    assert (evaluate("ScaledObject", objects) or {})["conditions"][0]["status"] == "True"
    del hpa["metadata"]["ownerReferences"]
    hpa["metadata"]["namespace"] = "other"
    objects.put(hpa)
    objects.items.pop(("HorizontalPodAutoscaler", "llm", "x"), None)
    assert (evaluate("ScaledObject", objects) or {})["conditions"][0]["status"] == "True"


def test_a_younger_rival_does_not_take_the_target_away() -> None:
    objects = Objects.of(picture())
    (mine,) = objects.all("ScaledObject")
    younger = standin_object("keda.sh/v1alpha1", "ScaledObject", "younger", mine["spec"])
    younger["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
    objects.put(younger)
    assert (evaluate("ScaledObject", objects) or {})["conditions"][0]["status"] == "True"


def test_the_list_of_scalers_is_that_of_the_chart_that_is_installed() -> None:
    """A newer KEDA has other scalers: the list must be read anew from its source."""
    read = yaml.safe_load(
        (PROJECT_ROOT / "sandbox/operators/standins/keda_scalers.yaml").read_text()
    )
    charts = yaml.safe_load((PROJECT_ROOT / "catalog" / "charts.yaml").read_text())
    (version,) = [each["version"] for each in charts["charts"] if each["name"] == "keda"]
    assert read["release"] == f"v{version}"
    assert read["source"].endswith(f"blob/v{version}/pkg/scaling/scalers_builder.go")
    assert len(read["types"]) == 77, "the cases of buildScaler in that file"
    assert read["types"] == sorted(set(read["types"]))
    assert keda_triggers.scalers().checked < keda_triggers.scalers().types


def test_what_our_rendering_writes_is_among_what_is_read() -> None:
    """A trigger of a type that is not judged would make every model of ours wait forever."""
    text = (PROJECT_ROOT / "components" / "render" / "engine" / "autoscaling.py").read_text()
    rendered = set(re.findall(r'^\s+"type": "(\w+)",$', text, re.MULTILINE))
    assert rendered == {"prometheus"}
    assert rendered <= keda_triggers.scalers().checked
