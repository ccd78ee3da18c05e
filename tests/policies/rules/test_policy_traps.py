"""Field cases with more than one side: what is refused, and the neighbor that is not."""

from dataclasses import replace
from typing import Any

import pytest

from models.core.findings import Finding, Severity
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import Manifest, ResourceOptions
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTAINER, CONTEXT, POD, Json

pytestmark = pytest.mark.pure

SELECTED = "k8s-monitor-carry-selected-labels"


def with_release(name: str, **spec: Any) -> list[Finding]:
    """Return what is found about monitors beside a release of the Prometheus operator."""
    values = {"prometheus": {"prometheusSpec": spec}}
    body = {"name": name, "chart": "kube-prometheus-stack", "values": values}
    options = ResourceOptions(type="kubernetes:helm.sh/v3:Release", protect=True)
    release = Manifest(body=Node(plain(body)), options=options, implied_kind="Release")
    made = [
        *(compliant_stack.manifest(each) for each in compliant_stack.compliant().values()),
        release,
    ]
    return compliant_stack.refused(findings(made, replace(CONTEXT, monitor_labels={})), SELECTED)


def test_monitors_follow_the_releases_name() -> None:
    """PROM-01: release=<name> is selected, whatever the chart is called."""
    assert with_release("monitoring") == []
    assert with_release("kps-7f3a2c")


def test_only_a_boolean_switches_the_release_label_off() -> None:
    """PROM-01: the text "false" is true to Helm."""
    assert with_release("kps", serviceMonitorSelectorNilUsesHelmValues=False) == []
    assert with_release("kps", serviceMonitorSelectorNilUsesHelmValues="false")


def test_monitors_follow_a_prometheus_of_the_stack() -> None:
    """PROM-01: the selector of the custom resource counts, and an empty one takes everything."""
    selector: Json = {"matchLabels": {"team": "ml"}}
    body: Json = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "metadata": {"name": "p", "namespace": "monitoring"},
        "spec": {"serviceMonitorSelector": selector},
    }
    stack = compliant_stack.compliant()
    assert compliant_stack.refused(compliant_stack.found({**stack, "p": body}), SELECTED)
    body["spec"]["serviceMonitorSelector"] = {}
    assert not compliant_stack.refused(compliant_stack.found({**stack, "p": body}), SELECTED)


def test_unknown_selection_is_refused() -> None:
    """PROM-01: where nothing says what is selected, nobody knows that it is scraped."""
    found = compliant_stack.found(compliant_stack.compliant(), replace(CONTEXT, monitor_labels={}))
    assert [each.severity for each in found] == [Severity.UNKNOWN]
    fragment = replace(CONTEXT, monitor_labels={}, whole=False)
    assert (
        compliant_stack.found({"monitor": compliant_stack.compliant()["monitor"]}, fragment) == []
    )


def test_a_dead_cooldown_is_told() -> None:
    """KEDA-05: the seed's 60 s have no effect with a minimum of 2."""
    found = compliant_stack.found(compliant_stack.broken("scaler.spec.cooldownPeriod", 60))
    assert [(each.rule, each.severity) for each in found] == [
        ("k8s-scaledobject-pace-scale-down", Severity.WARNING)
    ]


def test_types_that_share_a_fallback_are_told() -> None:
    """KEDA-04: Value and AverageValue flip its condition."""
    trigger: Json = {
        "type": "prometheus",
        "metricType": "Value",
        "metadata": {"query": "avg(vllm:kv_cache_usage_perc)", "ignoreNullValues": "false"},
    }
    found = compliant_stack.found(compliant_stack.broken("scaler.spec.triggers.1", trigger))
    assert [each.severity for each in found] == [Severity.WARNING]


def test_waking_from_zero_by_the_gateways_metric_is_accepted() -> None:
    """KEDA-07, KEDA-03: the source exists at zero pods, and an empty answer means zero."""
    stack = compliant_stack.broken("scaler.spec.minReplicaCount", 0)
    query = "sum(envoy_cluster_upstream_rq_pending) or vector(0)"
    metadata = {"query": query, "threshold": "1", "ignoreNullValues": "true"}
    stack = compliant_stack.broken("scaler.spec.triggers.0.metadata", metadata, stack)
    assert compliant_stack.found(stack) == []


def test_a_fallback_at_the_maximum_is_accepted() -> None:
    """Measured: static replicas below the maximum end loaded pods 13 s after Prometheus dies."""
    rule = "k8s-scaledobject-hold-on-missing-data"
    static = {"failureThreshold": 3, "replicas": 4}
    assert not compliant_stack.refused(
        compliant_stack.found(compliant_stack.broken("scaler.spec.fallback", static)), rule
    )
    static["replicas"] = 3
    assert compliant_stack.refused(
        compliant_stack.found(compliant_stack.broken("scaler.spec.fallback", static)), rule
    )


@pytest.mark.parametrize("policy", ["Parallel", "OrderedReady"])
def test_replicas_that_start_one_by_one_need_a_longer_wait(policy: str) -> None:
    """PULK-03: the default wait of ten minutes suffices for one of 600 s, not for two in turn."""
    stack = compliant_stack.broken("engine.spec.podManagementPolicy", policy)
    stack = compliant_stack.broken("engine.spec.replicas", 2, stack)
    engine = compliant_stack.manifest(
        stack["engine"], ResourceOptions(type="kubernetes:apps/v1:StatefulSet")
    )
    found = compliant_stack.refused(findings([engine], CONTEXT), "k8s-workload-await-startup")
    assert bool(found) == (policy == "OrderedReady")


def test_caches_by_directory_are_accepted() -> None:
    """FB-03: mounts for each directory do as well as a home; only /.config is a warning."""
    stack = compliant_stack.broken(f"{CONTAINER}.env.0", compliant_stack.ABSENT)
    mounts = stack["engine"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    mounts.append({"name": "cache", "mountPath": "/.cache", "subPath": "a"})
    assert compliant_stack.refused(compliant_stack.found(stack), "k8s-container-write-caches")
    mounts.append({"name": "cache", "mountPath": "/.triton/", "subPath": "b"})
    assert [each.severity for each in compliant_stack.found(stack)] == [Severity.WARNING]


def test_an_engine_without_known_load_time_needs_two_minutes() -> None:
    """VLLM-11: compilation and graph capture alone take that."""
    key = "engine|spec|template|metadata|annotations"
    stack = compliant_stack.broken(key, {})
    assert not compliant_stack.refused(compliant_stack.found(stack), "k8s-container-allow-startup")
    stack = compliant_stack.broken(f"{CONTAINER}.startupProbe.failureThreshold", 11, stack)
    assert compliant_stack.refused(compliant_stack.found(stack), "k8s-container-allow-startup")


def test_istio_with_equal_bounds_is_accepted() -> None:
    """QOS-01: the four annotations make the proxy's requests its limits."""
    bounds = {
        "sidecar.istio.io/inject": "true",
        "sidecar.istio.io/proxyCPU": "1",
        "sidecar.istio.io/proxyCPULimit": "1",
        "sidecar.istio.io/proxyMemory": "1Gi",
        "sidecar.istio.io/proxyMemoryLimit": "1Gi",
        "triplane.dev/startup-seconds": "600",
    }
    assert (
        compliant_stack.found(
            compliant_stack.broken("engine.spec.template.metadata.annotations", bounds)
        )
        == []
    )


@pytest.mark.parametrize("name", ["vllm-dp-master", "VLLM", "vllm-nixl-side-channel"])
def test_other_names_of_the_engines_variables_are_refused(name: str) -> None:
    """VLLM-13: <NAME>_PORT is what a link sets, and these are what the engine reads."""
    found = compliant_stack.found(compliant_stack.broken("service.metadata.name", name))
    assert compliant_stack.refused(found, "k8s-service-spare-engine-variables")


def test_weights_that_an_init_container_downloads_are_told() -> None:
    """KSV-01: its limit of 1Gi ends large downloads."""
    model = {"modelFormat": {"name": "vLLM"}, "storageUri": "hf://org/model"}
    body: Json = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {"predictor": {"model": model}},
    }
    rule = "k8s-inferenceservice-place-resources"
    told = [each for each in compliant_stack.found({"a": body}) if each.rule == rule]
    assert [each.severity for each in told] == [Severity.WARNING]
    model["storageUri"] = "pvc://models/a"
    assert not [each for each in compliant_stack.found({"a": body}) if each.rule == rule]


def test_the_node_namespace_may_touch_the_host() -> None:
    """Swap off and the cache server need it, and nothing else."""
    stack = compliant_stack.broken(f"{POD}.hostIPC", True)
    body = stack["engine"]
    body["kind"] = "DaemonSet"
    body["metadata"]["namespace"] = "triplane-node"
    rule = "k8s-pod-stay-off-host"
    assert not compliant_stack.refused(compliant_stack.found({"a": body}), rule)
    body["metadata"]["namespace"] = "triplane-nodes"
    assert compliant_stack.refused(compliant_stack.found({"a": body}), rule)


def test_a_fragment_is_not_blamed_for_what_it_lacks() -> None:
    """Patches of kustomize and chart templates: what they do say is judged."""
    body = compliant_stack.broken(f"{CONTAINER}.resources", compliant_stack.ABSENT)["engine"]
    del body["spec"]["template"]["spec"]["nodeSelector"]
    fragment = replace(compliant_stack.manifest(body), fragment=True)
    files = replace(CONTEXT, pulumi=False, whole=False)
    assert findings([fragment], files) == ()
    body["spec"]["template"]["spec"]["hostPID"] = True
    fragment = replace(compliant_stack.manifest(body), fragment=True)
    assert {each.rule for each in findings([fragment], files)} == {"k8s-pod-stay-off-host"}


def test_other_peoples_files_are_warned_where_they_may_have_reasons() -> None:
    """An engine without a selector, a toleration or bounds runs; ours must not."""
    stack = compliant_stack.compliant()
    body = stack["engine"]
    pod = body["spec"]["template"]["spec"]
    for key in ("nodeSelector", "tolerations", "enableServiceLinks"):
        del pod[key]
    body["metadata"]["namespace"] = "ml"
    files = replace(CONTEXT, pulumi=False, whole=False)
    assert {each.severity for each in compliant_stack.found({"a": body}, files)} == {
        Severity.WARNING
    }
    assert Severity.ERROR in {each.severity for each in compliant_stack.found({"a": body})}


def test_a_groups_worker_needs_no_probes_of_its_own() -> None:
    """It serves nothing; the leader answers for the group, and alone it is the leader."""
    template = compliant_stack.compliant()["engine"]["spec"]["template"]
    worker = compliant_stack.broken(f"{CONTAINER}.startupProbe", compliant_stack.ABSENT)["engine"][
        "spec"
    ]["template"]
    spec: Json = {"leaderWorkerTemplate": {"leaderTemplate": template, "workerTemplate": worker}}
    body: Json = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "a", "namespace": compliant_stack.NAMESPACE},
        "spec": spec,
    }
    context = replace(CONTEXT, whole=False)
    assert compliant_stack.found({"a": body}, context) == []
    del spec["leaderWorkerTemplate"]["leaderTemplate"]
    assert {each.rule for each in compliant_stack.found({"a": body}, context)} == {
        "k8s-container-allow-startup"
    }
