"""Series that the pinned engine exports, in every place that holds PromQL."""

from typing import Any

import pytest

from tests.helpers.policies.engine_files import (
    alert,
    dashboard,
    engine,
    errors,
    found,
    scaler,
    severities,
)

pytestmark = pytest.mark.pure

RULE = "k8s-query-name-known-series"


@pytest.mark.parametrize("holder", [scaler, alert, dashboard])
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("avg(vllm:gpu_cache_usage_perc)", "did you mean vllm:kv_cache_usage_perc?"),
        ("rate(vllm:swap_out_blocks[5m])", "never a vLLM metric"),
        ("sum(vllm:gpu_cache_usage_factor)", "did you mean vllm:kv_cache_usage_perc?"),
        ("vllm:avg_generation_throughput_toks_per_s", "vllm:generation_tokens_total"),
        ('sum(vllm_num_requests_running{ns="prod"})', "did you mean vllm:num_requests_running?"),
        ("rate(vllm:prompt_tokens[5m])", "did you mean vllm:prompt_tokens_total?"),
        ('sum(vllm:num_requests_waiting{model="x"})', "did you mean model_name?"),
        ('vllm:request_success_total{finish_reason="stop"}', "did you mean finished_reason?"),
        ("rate(vllm:time_per_output_token_seconds_sum[5m])", "inter_token_latency_seconds_sum"),
        ('count({__name__="vllm:cpu_cache_usage_perc"})', "of the V0 engine"),
    ],
)
def test_a_series_that_nobody_exports_is_refused(holder: Any, query: str, said: str) -> None:
    """VLLM-12, KEDA-10, FB-01: the trigger reads zero, the alert never fires."""
    (message,) = errors(RULE, holder(query))
    assert said in message


@pytest.mark.parametrize(
    "query",
    [
        "sum(vllm:current_qps) / max(vllm:healthy_pods_total)",
        'vllm:num_requests_swapped{server="a"}',
        "sum(kserve_vllm:num_requests_running)",
        'vllm:kv_cache_usage_perc{namespace="a", pod=~"b.*", instance="c"}',
        "vllm:request_prefill_time_seconds_created",
        "vllm:$metric + vllm:num_requests_{{state}}",
        'label_replace(up, "x", "vllm:nothing", "", "")',
        "# vllm:gpu_cache_usage_perc\nup",
        "my_vllm_metric + vllm_semantic_router_requests_total",
    ],
)
def test_series_of_others_are_accepted(query: str) -> None:
    """Routers share the prefix, adapters rename, dashboards have variables."""
    assert found(RULE, alert(query)) == []


@pytest.mark.parametrize(
    ("version", "query", "fine"),
    [
        ("v0.10.2", "avg(vllm:gpu_cache_usage_perc)", True),
        ("v0.12.0", "avg(vllm:gpu_cache_usage_perc)", False),
        ("v0.6.3", "vllm:num_requests_swapped + vllm:gpu_cache_usage_perc", True),
        ("v0.4.2", "vllm:kv_cache_usage_perc", False),
        ("v0.10.2", "sum(vllm:num_requests_waiting_by_reason)", False),
        ("v0.20.0", "sum(vllm:num_requests_waiting_by_reason)", True),
        ("v0.10.2", "rate(vllm:time_per_output_token_seconds_sum[5m])", True),
    ],
)
def test_the_engine_beside_it_decides(version: str, query: str, fine: bool) -> None:
    """The catalog of metrics is keyed by the image."""
    beside = engine(["m"], image=f"vllm/vllm-openai:{version}")
    assert (errors(RULE, beside, alert(query)) == []) is fine


def test_recorded_series_are_known() -> None:
    """A recording rule of the same input defines the name."""
    body = alert("vllm:queue > 5")
    body["spec"]["groups"][0]["rules"].append({"record": "vllm:queue", "expr": "up"})
    assert found(RULE, body) == []


def test_an_adapters_name_is_accepted_where_adapters_answer() -> None:
    """An HPA asks the adapter, which may have renamed the series; Prometheus knows it not."""
    metric = {"type": "Pods", "pods": {"metric": {"name": "vllm_num_requests_waiting"}}}
    hpa: dict[str, Any] = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "engine", "namespace": "llm"},
        "spec": {"metrics": [metric]},
    }
    assert found(RULE, hpa) == []
    metric["pods"] = {"metric": {"name": "vllm:gpu_cache_usage_perc"}}
    assert len(errors(RULE, hpa)) == 1


def test_names_among_arguments_are_checked() -> None:
    """An endpoint picker is told by arguments which series to read."""
    body = engine(
        ["--kv-cache-usage-percentage-metric", "vllm:gpu_cache_usage_perc"],
        image="registry.example/gateway-api-inference-extension/epp:v1.0.0",
        gpus=0,
    )
    assert len(errors(RULE, body)) == 1


def test_grouping_by_a_label_that_is_not_there_is_told() -> None:
    """The legend is empty; nothing fails."""
    assert severities(RULE, alert("sum by (model) (vllm:num_requests_running)")) == ["warning"]


def test_a_label_that_the_monitor_adds_is_accepted() -> None:
    """Target labels come from the pods."""
    monitor: dict[str, Any] = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": "engine", "namespace": "llm"},
        "spec": {"podTargetLabels": ["model"]},
    }
    query = 'sum(vllm:num_requests_waiting{model="x"})'
    assert found(RULE, monitor, alert(query)) == []


@pytest.mark.parametrize(
    ("served", "asked", "fine"),
    [
        (["--served-model-name", "llama", "alias"], "llama", True),
        (["--served-model-name=llama"], "meta/llama", False),
        ([], "meta/llama", True),
        (["--served-model-name=$(NAME)"], "anything", True),
        ([], "release-llama", False),
    ],
)
def test_a_trigger_selects_the_served_name(served: list[str], asked: str, fine: bool) -> None:
    """KEDA-10: the release's name selects nothing."""
    query = f'sum(vllm:num_requests_waiting{{model_name="{asked}"}})'
    body = engine(["meta/llama", *served])
    said = errors("k8s-scaledobject-name-served-model", body, scaler(query))
    assert (said == []) is fine
