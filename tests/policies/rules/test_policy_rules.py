"""Each rule refuses the compliant stack once one field of it is broken."""

from pathlib import Path
from typing import Any

import pytest

from models.core.findings import Severity
from policies.frame.registry import Scope, registered
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import ABSENT, CONTAINER, POD

pytestmark = pytest.mark.pure

ENGINE = "StatefulSet/triplane-models/llama"
SCALER = "ScaledObject/triplane-models/llama"
TRIGGER = "scaler.spec.triggers.0"
LIVENESS = f"{CONTAINER}.livenessProbe"
IGNORES = f"{TRIGGER}.metadata.ignoreNullValues"
TOKEN = {"name": "HF_TOKEN", "value": "abc"}
SPACE = "Namespace/triplane-models"
INIT = f"{POD}.initContainers.0"
CPU_CACHE = {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "50"}
REMOTE_CACHE = {"name": "LMCACHE_REMOTE_URL", "value": "lm://cache:65432"}
ROUTE = "AIGatewayRoute/triplane-models/llama"
BACKENDS = "BackendTrafficPolicy/triplane-models/ai"
GATEWAY = "Gateway/triplane-models/ai"
FILTER = "HTTPRouteFilter/triplane-models/rewrite"
PER_RETRY = {"perRetry": {"timeout": "60s"}}
TABLE = {"type": "ConsistentHash", "consistentHash": {"tableSize": 65536}}
OTHER_NAME = 'sum(vllm:num_requests_waiting{model_name="lama"})'
MARKS = "engine|spec|template|metadata|annotations"
MAMBA = ["/models/falcon-mamba-7b", "--tensor-parallel-size=2", "--enable-prefix-caching"]

BROKEN: list[tuple[str, str, Any, str]] = [
    ("k8s-pod-be-guaranteed", f"{CONTAINER}.resources.limits.cpu", ABSENT, ENGINE),
    ("k8s-pod-be-guaranteed", f"{CONTAINER}.resources.requests.memory", "63Gi", ENGINE),
    ("k8s-pod-be-guaranteed", f"{CONTAINER}.resources.limits.memory", "0", ENGINE),
    ("k8s-pod-be-guaranteed", f"{INIT}.resources", ABSENT, ENGINE),
    ("k8s-pod-be-guaranteed", f"{POD}.initContainers.1.resources.limits", ABSENT, ENGINE),
    ("k8s-pod-keep-class", f"{POD}.resources", {"limits": {"cpu": 8}}, ENGINE),
    ("k8s-pod-count-whole-gpus", f"{CONTAINER}|resources|limits|nvidia.com/gpu", "500m", ENGINE),
    ("k8s-pod-bound-storage", f"{INIT}.resources.limits.ephemeral-storage", ABSENT, ENGINE),
    ("k8s-pod-bound-storage", f"{POD}.volumes.2.emptyDir", {}, ENGINE),
    (
        "k8s-pod-refuse-injection",
        "engine|spec|template|metadata|annotations|sidecar.istio.io/inject",
        "true",
        ENGINE,
    ),
    (
        "k8s-pod-refuse-injection",
        "engine|spec|template|metadata|labels|sidecar.istio.io/inject",
        "true",
        ENGINE,
    ),
    (
        "k8s-namespace-refuse-injection",
        "namespace|metadata|labels|istio-injection",
        "enabled",
        "Namespace/triplane-models",
    ),
    ("k8s-pod-select-gpu-nodes", f"{POD}.nodeSelector", ABSENT, ENGINE),
    ("k8s-pod-select-gpu-nodes", f"{POD}|nodeSelector|triplane.dev/pool", ABSENT, ENGINE),
    ("k8s-pod-tolerate-gpu-taint", f"{POD}.tolerations", ABSENT, ENGINE),
    ("k8s-pod-keep-off-gpu-nodes", f"{CONTAINER}.resources", {}, ENGINE),
    (
        "k8s-container-take-no-hidden-gpu",
        f"{INIT}.env",
        [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
        ENGINE,
    ),
    ("k8s-container-allow-startup", f"{CONTAINER}.startupProbe", ABSENT, ENGINE),
    ("k8s-container-allow-startup", f"{CONTAINER}.startupProbe.failureThreshold", 59, ENGINE),
    (
        "k8s-container-delay-no-liveness",
        f"{CONTAINER}.livenessProbe.initialDelaySeconds",
        5,
        ENGINE,
    ),
    (
        "k8s-container-bear-slow-answers",
        f"{CONTAINER}.livenessProbe.timeoutSeconds",
        ABSENT,
        ENGINE,
    ),
    ("k8s-container-bear-slow-answers", f"{CONTAINER}.livenessProbe.failureThreshold", 2, ENGINE),
    ("k8s-container-share-memory", f"{CONTAINER}.volumeMounts.1", ABSENT, ENGINE),
    ("k8s-container-share-memory", f"{POD}.volumes.1.emptyDir.medium", ABSENT, ENGINE),
    ("k8s-container-share-memory", f"{POD}.volumes.1.emptyDir.sizeLimit", "64Mi", ENGINE),
    ("k8s-container-share-memory", f"{POD}.volumes.1.emptyDir.sizeLimit", "64Gi", ENGINE),
    ("k8s-container-write-caches", f"{CONTAINER}.env.0", ABSENT, ENGINE),
    ("k8s-container-write-caches", f"{CONTAINER}.volumeMounts.2.readOnly", True, ENGINE),
    ("k8s-container-take-known-options", f"{CONTAINER}.args.4", "--swap-space=4", ENGINE),
    ("k8s-container-take-known-options", f"{CONTAINER}.args.4", "--max-modle-len=4", ENGINE),
    ("k8s-container-suit-family", f"{CONTAINER}.args", MAMBA, ENGINE),
    ("k8s-container-match-gpus", f"{CONTAINER}.args.1", "--tensor-parallel-size=4", ENGINE),
    ("k8s-container-match-gpus", f"{CONTAINER}.args.1", "--tensor-parallel-size=1", ENGINE),
    ("k8s-container-split-evenly", f"{CONTAINER}.args.1", "--tensor-parallel-size=3", ENGINE),
    ("k8s-container-fit-memory", f"{CONTAINER}.args.2", "--gpu-memory-utilization=0.1", ENGINE),
    ("k8s-container-fit-memory", f"{MARKS}|triplane.dev/accelerator", "unheard-of", ENGINE),
    ("k8s-container-fit-memory", f"{CONTAINER}.args.0", "/models/llama", ENGINE),
    ("k8s-pod-run-admitted-model", f"{MARKS}|triplane.dev/model", "unheard/of", ENGINE),
    ("k8s-query-name-known-series", f"{TRIGGER}.metadata.query", "sum(vllm:swap_out)", SCALER),
    ("k8s-scaledobject-name-served-model", f"{TRIGGER}.metadata.query", OTHER_NAME, SCALER),
    ("k8s-container-hold-local-cache", f"{CONTAINER}.env.1", CPU_CACHE, ENGINE),
    ("k8s-container-seed-shared-cache", f"{CONTAINER}.env.1", REMOTE_CACHE, ENGINE),
    ("k8s-container-give-router-memory", f"{INIT}.image", "lmcache/lmstack-router:1", ENGINE),
    ("k8s-route-outlive-answers", "route.spec.rules.0.timeouts.request", "10s", ROUTE),
    ("k8s-route-outlive-answers", "route.spec.rules.0.timeouts.backendRequest", "8s", ROUTE),
    (
        "k8s-backendtrafficpolicy-cut-no-answer",
        "backends.spec.timeout.http.requestTimeout",
        "15s",
        BACKENDS,
    ),
    ("k8s-backendtrafficpolicy-cut-no-answer", "backends.spec.retry", PER_RETRY, BACKENDS),
    ("k8s-backendtrafficpolicy-cut-no-answer", "backends.spec.loadBalancer", TABLE, BACKENDS),
    ("k8s-gateway-let-prompts-through", "clients.spec.connection", {}, GATEWAY),
    ("k8s-gateway-let-prompts-through", "clients.spec.connection.bufferLimit", "32Ki", GATEWAY),
    ("k8s-httproutefilter-have-known-fields", "filter.spec.maxBodySize", "4Mi", FILTER),
    ("k8s-ratelimit-charge-known-costs", "route.spec.llmRequestCosts", [], BACKENDS),
    ("k8s-container-pin-image", f"{CONTAINER}.image", "vllm/vllm-openai", ENGINE),
    ("k8s-container-pin-image", f"{CONTAINER}.image", "vllm/vllm-openai:latest", ENGINE),
    ("k8s-container-pin-image", f"{INIT}.image", ABSENT, ENGINE),
    ("k8s-object-name-no-deleted-image", f"{INIT}.image", "minio/mc:RELEASE.2025", ENGINE),
    (
        "k8s-container-hide-secrets",
        f"{CONTAINER}.env.1",
        {"name": "HF_TOKEN", "value": "abc"},
        ENGINE,
    ),
    ("k8s-container-hide-secrets", f"{CONTAINER}.args.4", "--api-key=abcdef", ENGINE),
    (
        "k8s-object-hide-secrets",
        "engine.metadata.annotations",
        {"note": "hf_" + "a" * 30},
        ENGINE,
    ),
    ("k8s-pod-stay-off-host", f"{POD}.hostNetwork", True, ENGINE),
    ("k8s-pod-stay-off-host", f"{POD}.volumes.2", {"name": "cache", "hostPath": {}}, ENGINE),
    ("k8s-pod-stay-off-host", f"{INIT}.securityContext.privileged", True, ENGINE),
    ("k8s-pod-stay-off-host", f"{INIT}.securityContext.capabilities.add", ["SYS_ADMIN"], ENGINE),
    ("k8s-pod-stay-off-host", f"{CONTAINER}.ports.0.hostPort", 8000, ENGINE),
    ("k8s-pod-meet-restricted", f"{CONTAINER}.securityContext.capabilities", ABSENT, ENGINE),
    ("k8s-pod-meet-restricted", f"{POD}.securityContext.runAsUser", 0, ENGINE),
    ("k8s-pod-meet-restricted", f"{POD}.securityContext.seccompProfile", ABSENT, ENGINE),
    (
        "k8s-pod-meet-restricted",
        f"{INIT}.securityContext.allowPrivilegeEscalation",
        ABSENT,
        ENGINE,
    ),
    (
        "k8s-namespace-enforce-restricted",
        "namespace.metadata.labels",
        {},
        "Namespace/triplane-models",
    ),
    (
        "k8s-scaledobject-hold-on-missing-data",
        f"{TRIGGER}.metadata.ignoreNullValues",
        ABSENT,
        SCALER,
    ),
    ("k8s-scaledobject-hold-on-missing-data", "scaler.spec.fallback", ABSENT, SCALER),
    ("k8s-scaledobject-hold-on-missing-data", "scaler.spec.fallback.behavior", "static", SCALER),
    ("k8s-scaledobject-return-one-series", f"{TRIGGER}.metadata.query", "vllm:x{a='b'}", SCALER),
    ("k8s-scaledobject-match-metric-type", f"{TRIGGER}.metadata.query", "avg(vllm:x)", SCALER),
    ("k8s-scaledobject-match-metric-type", f"{TRIGGER}.metricType", "Value", SCALER),
    ("k8s-scaledobject-pace-scale-down", "scaler.spec.advanced", ABSENT, SCALER),
    ("k8s-scaledobject-wake-from-zero", "scaler.spec.minReplicaCount", 0, SCALER),
    ("k8s-scaledobject-wake-from-zero", "scaler.spec.minReplicaCount", ABSENT, SCALER),
    ("k8s-scaledobject-fall-back-as-meant", f"{TRIGGER}.type", "cpu", SCALER),
    ("k8s-object-use-served-version", "scaler.apiVersion", "keda.sh/v1", SCALER),
    (
        "k8s-service-spare-engine-variables",
        "service.metadata.name",
        "vllm",
        "Service/triplane-models/vllm",
    ),
    ("k8s-pod-switch-off-service-links", f"{POD}.enableServiceLinks", ABSENT, ENGINE),
    (
        "k8s-container-leave-engine-ports",
        f"{CONTAINER}.env.1",
        {"name": "VLLM_PORT", "value": "8000"},
        ENGINE,
    ),
    (
        "k8s-object-have-fixed-name",
        "claim|metadata|annotations|pulumi.com/autonamed",
        "true",
        "PersistentVolumeClaim/triplane-models/models",
    ),
    (
        "k8s-service-await-no-endpoints",
        "service.metadata.annotations",
        ABSENT,
        "Service/triplane-models/llama",
    ),
    (
        "k8s-workload-await-startup",
        "engine|spec|template|metadata|annotations|triplane.dev/startup-seconds",
        "3700",
        ENGINE,
    ),
    ("k8s-statefulset-start-together", "engine.spec.podManagementPolicy", ABSENT, ENGINE),
    ("k8s-statefulset-start-together", "engine.spec.updateStrategy.type", "OnDelete", ENGINE),
    (
        "k8s-statefulset-keep-templates",
        "engine.spec.volumeClaimTemplates",
        [{"metadata": {"name": "a", "labels": {"helm.sh/chart": "x-1.2"}}}],
        ENGINE,
    ),
    ("k8s-pod-mount-existing-volumes", f"{POD}.volumes.2.name", "other", ENGINE),
    ("k8s-workload-leave-replicas", "engine.spec.replicas", 2, ENGINE),
    ("k8s-autoscaler-find-its-target", "scaler.spec.scaleTargetRef.name", "lama", SCALER),
    ("k8s-statefulset-name-its-service", "engine.spec.serviceName", "lama", ENGINE),
    (
        "k8s-monitor-carry-selected-labels",
        "monitor.metadata.labels.release",
        "kps-7f3a2c",
        "ServiceMonitor/triplane-models/llama",
    ),
    (
        "k8s-monitor-find-its-port",
        "monitor.spec.endpoints.0.port",
        "8000",
        "ServiceMonitor/triplane-models/llama",
    ),
    (
        "k8s-monitor-find-its-port",
        "service.spec.ports.0.name",
        ABSENT,
        "ServiceMonitor/triplane-models/llama",
    ),
    (
        "k8s-monitor-find-its-port",
        "monitor.spec.selector.matchLabels",
        {"pod": "label"},
        "ServiceMonitor/triplane-models/llama",
    ),
    ("k8s-namespace-deny-ingress", "deny.spec.ingress", [{}], ENGINE),
    ("k8s-namespace-deny-ingress", "deny.spec.podSelector", {"matchLabels": {"a": "b"}}, ENGINE),
    ("k8s-claim-share-volume", "claim.spec.accessModes", ["ReadWriteOnce"], ENGINE),
]


@pytest.mark.parametrize(
    ("rule", "path", "value", "label"), BROKEN, ids=[f"{row[0]}:{row[1][-40:]}" for row in BROKEN]
)
def test_a_broken_field_is_refused_by_name(rule: str, path: str, value: Any, label: str) -> None:
    """Whoever reads the message must know which object, which field and what to do."""
    found = compliant_stack.refused(
        compliant_stack.found(compliant_stack.broken(path, value)), rule
    )
    assert found, "the rule finds nothing"
    assert {each.subject for each in found} == {label}
    assert all(each.message and each.remedy for each in found)


ELSEWHERE = {
    "test_gateway_failover.py": {
        "k8s-backendtrafficpolicy-check-what-answers",
        "k8s-backendtrafficpolicy-keep-gateways",
        "k8s-route-say-shares",
        "k8s-route-take-over-when-checked",
    },
    "test_policy_slips_*.py": {
        "k8s-object-be-readable",
        "k8s-component-show-objects",
        "k8s-release-ship-no-engine",
        "k8s-data-be-protected",
        "k8s-inferenceservice-place-resources",
        "k8s-workload-have-one-autoscaler",
        "k8s-namespace-inject-no-engine",
    },
    "test_secret_rules.py": {
        "k8s-certificate-be-accepted",
        "k8s-certificate-find-its-issuer",
        "k8s-certificate-keep-authority-key",
        "k8s-externalsecret-find-its-store",
        "k8s-externalsecret-say-defaults",
        "k8s-externalsecret-stay-fresh",
        "k8s-gateway-serve-its-name",
        "k8s-secretstore-limit-readers",
        "k8s-secretstore-read-named-secrets",
    },
    "test_storage_rules.py": {
        "k8s-class-keep-share-off-gpus",
        "k8s-class-suit-longhorn",
        "k8s-longhorn-reach-every-node",
        "k8s-longhorn-share-safely",
        "k8s-minio-form-erasure-sets",
        "k8s-release-replace-lost-images",
    },
    "test_accelerators.py": {
        "k8s-clusterpolicy-leave-what-image-brings",
        "k8s-container-take-one-share",
        "k8s-gpuoperator-name-slices",
        "k8s-gpuoperator-reach-gpu-nodes",
        "k8s-release-be-waited-for",
        "k8s-release-have-fixed-name",
        "k8s-release-pin-version",
        "k8s-release-set-known-values",
    },
}
"""Rules whose fixtures need other objects, and the modules that have them."""


def test_every_rule_has_a_broken_fixture() -> None:
    """A rule that nothing breaks may never have worked."""
    known = {each.rule.id for scope in (Scope.OBJECT, Scope.STACK) for each in registered(scope)}
    elsewhere = {each for ids in ELSEWHERE.values() for each in ids}
    assert {row[0] for row in BROKEN} | elsewhere == known


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_fixtures_elsewhere_name_their_rule(pattern: str) -> None:
    text = "".join(path.read_text() for path in Path(__file__).parents[1].rglob(pattern))
    assert [each for each in ELSEWHERE[pattern] if f'"{each}"' not in text] == []


def test_limits_without_requests_are_accepted() -> None:
    """The API server copies limits to requests; refusing that would teach people to ignore us."""
    found = compliant_stack.found(compliant_stack.broken(f"{CONTAINER}.resources.requests", ABSENT))
    assert compliant_stack.refused(found, "k8s-pod-be-guaranteed") == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{CONTAINER}.resources.requests.cpu", "8000m"),
        (f"{CONTAINER}.resources.requests.cpu", 8.0),
        (f"{CONTAINER}.resources.requests.memory", "65536Mi"),
        (f"{CONTAINER}.resources.requests.memory", "68719476736"),
        (f"{CONTAINER}.image", "registry.example:5000/vllm/vllm-openai@sha256:" + "0" * 64),
        (f"{CONTAINER}.env.1", {"name": "HF_TOKEN", "value": ""}),
        (f"{CONTAINER}.env.1", {"name": "TOKENIZERS_PARALLELISM", "value": "false"}),
        (f"{CONTAINER}.env.1", {"name": "HF_TOKEN_PATH", "value": "/secrets/token"}),
        (f"{CONTAINER}.args.4", "--api-key=$(API_KEY)"),
        (f"{POD}.volumes.1.emptyDir.sizeLimit", "4096Mi"),
        (f"{TRIGGER}.metadata.query", "sum(a) or vector(0)"),
    ],
)
def test_another_notation_of_the_same_is_accepted(path: str, value: Any) -> None:
    """Rules compare what is meant, not how it is written."""
    found = compliant_stack.found(compliant_stack.broken(path, value))
    assert [str(each) for each in found if each.severity is not Severity.WARNING] == []
