"""Each rule at the edge of what it refuses: rows of one changed field, refused or let through.

The edges are those of Kubernetes (Pod Security Standards, taints, probes' defaults), KEDA, the
Gateway API, Helm and vLLM, or arithmetic that stands in the row's comment.
"""

from dataclasses import replace
from typing import Any

import pytest

from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.evaluate import findings, plan_findings
from policies.views.engine.cards import placement
from policies.views.kubernetes.manifest import Manifest, ResourceOptions, of_body
from policies.views.kubernetes.workload import pods_of
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import ABSENT, CONTAINER, CONTEXT, POD, Json
from tests.helpers.policies.engine_files import engine, found, severities
from tests.helpers.policies.slips import release
from tests.policies.rules.plan.test_policy_plan import inputs

pytestmark = pytest.mark.pure

STAY = "k8s-pod-stay-off-host"
RESTRICTED = "k8s-pod-meet-restricted"
TOLERATE = "k8s-pod-tolerate-gpu-taint"
KEEP_OFF = "k8s-pod-keep-off-gpu-nodes"
STARTUP = "k8s-container-allow-startup"
ANSWERS = "k8s-container-bear-slow-answers"
SHM = "k8s-container-share-memory"
LOCAL_CACHE = "k8s-container-hold-local-cache"
ROUTER = "k8s-container-give-router-memory"
HOLD = "k8s-scaledobject-hold-on-missing-data"
SERIES = "k8s-scaledobject-return-one-series"
PACE = "k8s-scaledobject-pace-scale-down"
ROUTE = "k8s-route-outlive-answers"
POLICY = "k8s-backendtrafficpolicy-cut-no-answer"
BUFFER = "k8s-gateway-let-prompts-through"
DENY = "k8s-namespace-deny-ingress"
TOGETHER = "k8s-statefulset-start-together"
AWAIT = "k8s-workload-await-startup"
CLAIM = "k8s-claim-share-volume"
STORAGE = "k8s-pod-bound-storage"
IMAGE = "k8s-container-pin-image"
SELECT = "k8s-pod-select-gpu-nodes"

TEMPLATES = "k8s-statefulset-keep-templates"
PORTS = "k8s-container-leave-engine-ports"

VOLUMES = "engine.spec.volumeClaimTemplates"
POD_IP = {"fieldRef": {"fieldPath": "status.podIP"}}
SECURITY = f"{CONTAINER}.securityContext"
INIT = f"{POD}.initContainers.0"
LIVENESS = f"{CONTAINER}.livenessProbe"
MARKS = "engine|spec|template|metadata|annotations"
GPU_KEY = "nvidia.com/gpu"
TRIGGER = "scaler.spec.triggers.0"
TIMEOUTS = "route.spec.rules.0.timeouts"
EITHER = "sum(vllm:num_requests_waiting) or vector(0)"
PER_RETRY = "backends.spec.retry"
LOCAL = "LMCACHE_MAX_LOCAL_CPU_SIZE"


def local(size: str) -> Json:
    """Return the variable that sizes the cache of each rank, GB."""
    return {"name": LOCAL, "value": size}


def attempt(timeout: str) -> Json:
    """Return a retry whose attempts end after a time."""
    return {"perRetry": {"timeout": timeout}}


def template(labels: Json) -> Json:
    """Return a claim template with labels."""
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**kind, "metadata": {"name": "data", "labels": labels}}


EDGES: list[tuple[str, dict[str, Any], bool]] = [
    # Pod Security Standards, baseline: capabilities, host namespaces and ports, privileged.
    (STAY, {f"{SECURITY}.capabilities.add": ["NET_BIND_SERVICE"]}, False),
    (STAY, {f"{SECURITY}.capabilities.add": ["NET_BIND_SERVICE", "NET_RAW"]}, True),
    (STAY, {f"{POD}.hostPID": True}, True),
    (STAY, {f"{POD}.hostIPC": True}, True),
    (STAY, {f"{POD}.hostNetwork": False}, False),
    (STAY, {f"{SECURITY}.privileged": False}, False),
    (STAY, {f"{CONTAINER}.ports.0.hostPort": 0}, False),
    (STAY, {f"{CONTAINER}.ports.0.hostPort": 1}, True),
    # Restricted: the container's own word goes before the pod's.
    (RESTRICTED, {f"{SECURITY}.procMount": "Unmasked"}, True),
    (RESTRICTED, {f"{SECURITY}.procMount": "Default"}, False),
    (RESTRICTED, {f"{SECURITY}.seccompProfile": {"type": "Unconfined"}}, True),
    (RESTRICTED, {f"{SECURITY}.seccompProfile": {"type": "Localhost"}}, False),
    (RESTRICTED, {f"{SECURITY}.runAsUser": 0}, True),
    (RESTRICTED, {f"{SECURITY}.runAsUser": 1}, False),
    (RESTRICTED, {f"{SECURITY}.runAsNonRoot": False}, True),
    (RESTRICTED, {f"{SECURITY}.runAsNonRoot": ABSENT}, False),
    (RESTRICTED, {f"{POD}.securityContext.runAsNonRoot": ABSENT}, False),
    (
        RESTRICTED,
        {f"{SECURITY}.runAsNonRoot": ABSENT, f"{POD}.securityContext.runAsNonRoot": ABSENT},
        True,
    ),
    (RESTRICTED, {f"{SECURITY}.allowPrivilegeEscalation": True}, True),
    (RESTRICTED, {f"{SECURITY}.capabilities.drop": ["NET_RAW"]}, True),
    (RESTRICTED, {f"{POD}.volumes.2": {"name": "cache", "nfs": {"server": "s"}}}, True),
    (RESTRICTED, {f"{POD}.volumes.2": {"name": "cache", "projected": {}}}, False),
    # Taints and tolerations: no key with Exists is every taint, no effect is every effect.
    (TOLERATE, {f"{POD}.tolerations.0": {"operator": "Exists"}}, False),
    (TOLERATE, {f"{POD}.tolerations.0": {"operator": "Equal", "value": "x"}}, True),
    (TOLERATE, {f"{POD}.tolerations.0": {"key": GPU_KEY, "operator": "Exists"}}, False),
    (TOLERATE, {f"{POD}.tolerations.0": {"key": "other", "operator": "Exists"}}, True),
    (TOLERATE, {f"{POD}.tolerations.0.effect": "NoExecute"}, True),
    # Probes: without a word the period is 10 s, the threshold 3, the time for an answer 1 s.
    (STARTUP, {f"{CONTAINER}.startupProbe.periodSeconds": ABSENT}, False),
    (STARTUP, {f"{CONTAINER}.startupProbe.failureThreshold": ABSENT}, True),
    (
        STARTUP,
        {
            f"{CONTAINER}.startupProbe.failureThreshold": 59,
            f"{CONTAINER}.startupProbe.initialDelaySeconds": 10,
        },
        False,
    ),
    (
        STARTUP,
        {
            f"{CONTAINER}.startupProbe.failureThreshold": 59,
            f"{CONTAINER}.startupProbe.initialDelaySeconds": 9,
        },
        True,
    ),
    (ANSWERS, {f"{CONTAINER}.readinessProbe.timeoutSeconds": 5}, False),
    (ANSWERS, {f"{CONTAINER}.readinessProbe.timeoutSeconds": 4}, True),
    (ANSWERS, {f"{CONTAINER}.startupProbe.timeoutSeconds": ABSENT}, True),
    (ANSWERS, {f"{LIVENESS}.failureThreshold": 3}, False),  # 20 s x 3
    (ANSWERS, {f"{LIVENESS}.failureThreshold": 3, f"{LIVENESS}.periodSeconds": 19}, True),
    (ANSWERS, {f"{LIVENESS}.periodSeconds": ABSENT}, False),  # 10 s x 6
    (ANSWERS, {f"{LIVENESS}.periodSeconds": 9}, True),
    # Shared memory: 1 GiB at least, less than the container's limit of 64 GiB.
    (SHM, {f"{POD}.volumes.1.emptyDir.sizeLimit": "1Gi"}, False),
    (SHM, {f"{POD}.volumes.1.emptyDir.sizeLimit": "1023Mi"}, True),
    (SHM, {f"{POD}.volumes.1.emptyDir.sizeLimit": "1G"}, True),
    (SHM, {f"{POD}.volumes.1.emptyDir.sizeLimit": "65535Mi"}, False),
    (SHM, {f"{POD}.volumes.1.emptyDir.sizeLimit": ABSENT}, False),
    (SHM, {f"{CONTAINER}.volumeMounts.1": ABSENT, f"{POD}.hostIPC": True}, False),
    (SHM, {f"{CONTAINER}.volumeMounts.1.mountPath": "/dev/shm/"}, False),
    # Two ranks with 34 GB are 68.0e9 bytes, with 35 GB 70.0e9; 64 GiB are 68.7e9.
    (LOCAL_CACHE, {f"{CONTAINER}.env.1": local("34")}, False),
    (LOCAL_CACHE, {f"{CONTAINER}.env.1": local("34.3")}, False),
    (LOCAL_CACHE, {f"{CONTAINER}.env.1": local("34.4")}, True),
    (LOCAL_CACHE, {f"{CONTAINER}.env.1": local("35")}, True),
    (ROUTER, {f"{INIT}.image": "lmcache/lmstack-router:1"}, True),
    (
        ROUTER,
        {f"{INIT}.image": "lmcache/lmstack-router:1", f"{INIT}.resources.limits.memory": "2Gi"},
        False,
    ),
    (
        ROUTER,
        {f"{INIT}.image": "lmcache/lmstack-router:1", f"{INIT}.resources.limits.memory": "2047Mi"},
        True,
    ),
    (
        ROUTER,
        {f"{INIT}.image": "lmcache/lmstack-router:1", f"{INIT}.resources.limits": ABSENT},
        False,
    ),
    # KEDA: a static fallback below the maximum of 4 takes replicas away.
    (HOLD, {"scaler.spec.fallback": {"failureThreshold": 3, "replicas": 4}}, False),
    (HOLD, {"scaler.spec.fallback": {"failureThreshold": 3, "replicas": 3}}, True),
    (HOLD, {"scaler.spec.fallback.behavior": "currentReplicas"}, False),
    (HOLD, {"scaler.spec.fallback.behavior": "currentReplicasIfLower"}, True),
    (HOLD, {f"{TRIGGER}.metadata.ignoreNullValues": "true"}, True),
    (HOLD, {f"{TRIGGER}.metadata.ignoreNullValues": ABSENT, f"{TRIGGER}.type": "cron"}, False),
    (
        HOLD,
        {
            f"{TRIGGER}.metadata.ignoreNullValues": ABSENT,
            f"{TRIGGER}.metadata.query": EITHER,
            "scaler.spec.minReplicaCount": 0,
        },
        False,
    ),
    (
        HOLD,
        {f"{TRIGGER}.metadata.ignoreNullValues": ABSENT, f"{TRIGGER}.metadata.query": EITHER},
        True,
    ),
    (HOLD, {"scaler.kind": "ScaledJob", f"{TRIGGER}.metadata.ignoreNullValues": ABSENT}, False),
    (SERIES, {f"{TRIGGER}.metadata.query": "vllm:x", "scaler.spec.maxReplicaCount": 1}, False),
    (SERIES, {f"{TRIGGER}.metadata.query": "vllm:x", "scaler.spec.maxReplicaCount": 2}, True),
    (SERIES, {f"{TRIGGER}.metadata.query": "vllm:x", "scaler.spec.maxReplicaCount": ABSENT}, True),
    (PACE, {"scaler.spec.advanced": ABSENT, "scaler.spec.minReplicaCount": 0}, False),
    # Gateway API durations; 0s is no limit.
    (ROUTE, {f"{TIMEOUTS}.request": "60s"}, False),
    (ROUTE, {f"{TIMEOUTS}.request": "1m"}, False),
    (ROUTE, {f"{TIMEOUTS}.request": "59s"}, True),
    (ROUTE, {f"{TIMEOUTS}.request": "59999ms"}, True),
    (ROUTE, {f"{TIMEOUTS}.request": "1h"}, False),
    (ROUTE, {f"{TIMEOUTS}.request": "0h59s"}, True),
    (ROUTE, {f"{TIMEOUTS}.backendRequest": "0s"}, False),
    (POLICY, {PER_RETRY: attempt("60s")}, True),
    (POLICY, {PER_RETRY: attempt("61s")}, False),
    (POLICY, {PER_RETRY: attempt("0s")}, False),
    (POLICY, {"backends.spec.timeout.http.requestTimeout": "60s"}, False),
    (POLICY, {"backends.spec.timeout.http.requestTimeout": "59s"}, True),
    (BUFFER, {"clients.spec.connection.bufferLimit": "256Ki"}, False),
    (BUFFER, {"clients.spec.connection.bufferLimit": "255Ki"}, True),
    # NetworkPolicy: without types, ingress is meant; an empty selector is every pod.
    (DENY, {"deny.spec.policyTypes": ABSENT}, False),
    (DENY, {"deny.spec.policyTypes": ["Egress"]}, True),
    (DENY, {"deny.spec.policyTypes": ["Egress", "Ingress"]}, False),
    (DENY, {"deny.spec.podSelector": {"matchLabels": {}}}, False),
    (DENY, {"deny.spec.podSelector": {"matchExpressions": [{"key": "a"}]}}, True),
    (DENY, {"deny.metadata.namespace": "triplane-other"}, True),
    (TOGETHER, {"engine.spec.podManagementPolicy": ABSENT, "engine.spec.replicas": 1}, False),
    (TOGETHER, {"engine.spec.podManagementPolicy": ABSENT, "engine.spec.replicas": 2}, True),
    (TOGETHER, {"engine.spec.podManagementPolicy": "OrderedReady"}, True),
    # Pulumi was told 3600 s; one after another, two replicas take twice as long.
    (AWAIT, {f"{MARKS}|triplane.dev/startup-seconds": "3600"}, False),
    (AWAIT, {f"{MARKS}|triplane.dev/startup-seconds": "3601"}, True),
    (CLAIM, {"claim.spec.accessModes": ["ReadOnlyMany"]}, False),
    (CLAIM, {"claim.spec.accessModes": ["ReadWriteOnce", "ReadWriteMany"]}, False),
    (CLAIM, {"claim.spec.accessModes": ["ReadWriteOncePod"]}, True),
    (
        STORAGE,
        {f"{CONTAINER}.resources.requests.ephemeral-storage": ABSENT},
        False,
    ),
    (STORAGE, {f"{CONTAINER}.resources.limits.ephemeral-storage": ABSENT}, True),
    # What a chart's next version changes, of Helm's and of Kubernetes' recommended labels.
    (TEMPLATES, {VOLUMES: [template({"helm.sh/chart": "x-1.2"})]}, True),
    (TEMPLATES, {VOLUMES: [template({"app.kubernetes.io/version": "1.2"})]}, True),
    (TEMPLATES, {VOLUMES: [template({"chart": "x-1.2"})]}, True),
    (TEMPLATES, {VOLUMES: [template({"version": "1.2"})]}, True),
    (TEMPLATES, {VOLUMES: [template({"app.kubernetes.io/name": "x"})]}, False),
    (TEMPLATES, {VOLUMES: [template({"version": "1"})], "engine.kind": "Workload"}, False),
    # A link or a reference to another variable is no port that somebody wrote.
    (PORTS, {f"{CONTAINER}.env.1": {"name": "VLLM_PORT", "value": "8000"}}, True),
    (PORTS, {f"{CONTAINER}.env.1": {"name": "VLLM_PORT", "value": "29500"}}, True),
    (PORTS, {f"{CONTAINER}.env.1": {"name": "VLLM_HOST_IP", "value": "$(POD_IP)"}}, False),
    (PORTS, {f"{CONTAINER}.env.1": {"name": "VLLM_HOST_IP", "valueFrom": POD_IP}}, False),
    (PORTS, {f"{CONTAINER}.env.1": {"name": "VLLM_HOST_IP", "value": "10.0.0.1"}}, True),
    # Other kinds are not judged by what they are not.
    (POLICY, {"backends.kind": "OtherPolicy", PER_RETRY: attempt("5s")}, False),
    (AWAIT, {"engine.kind": "DaemonSet", f"{MARKS}|triplane.dev/startup-seconds": "9999"}, False),
    (IMAGE, {f"{CONTAINER}.image": "vllm/vllm-openai:main-cu129"}, True),
    (IMAGE, {f"{CONTAINER}.image": "vllm/vllm-openai:latest@sha256:" + "0" * 64}, False),
    (IMAGE, {f"{CONTAINER}.image": "vllm/vllm-openai:v0.33.0-latest"}, False),
]


@pytest.mark.parametrize(
    ("rule", "changes", "refused"),
    EDGES,
    ids=[f"{row[0]}-{number}" for number, row in enumerate(EDGES)],
)
def test_a_rule_changes_its_mind_at_the_edge(
    rule: str, changes: dict[str, Any], refused: bool
) -> None:
    """A neighbor of what is refused is let through, and the other way round."""
    stack = compliant_stack.compliant()
    for path, value in changes.items():
        stack = compliant_stack.broken(path, value, stack)
    told = [str(each) for each in compliant_stack.refused(compliant_stack.found(stack), rule)]
    assert bool(told) == refused, told


@pytest.mark.parametrize(
    ("startup", "policy", "refused"),
    [("1800", ABSENT, False), ("1801", ABSENT, True), ("3600", "Parallel", False)],
)
def test_replicas_one_after_another_take_their_times_together(
    startup: str, policy: Any, refused: bool
) -> None:
    """Two of 1,800 s are the 3,600 s that Pulumi waits; two of 1,801 s are not."""
    stack = compliant_stack.broken("engine.spec.podManagementPolicy", policy)
    stack = compliant_stack.broken("engine.spec.replicas", 2, stack)
    stack = compliant_stack.broken(f"{MARKS}|triplane.dev/startup-seconds", startup, stack)
    assert bool(compliant_stack.refused(compliant_stack.found(stack), AWAIT)) == refused


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("nvidia.com/gpu.product", []),
        ("nvidia.com/gpu.present", []),
        ("nvidia.com/mig.strategy", []),
        ("nvidia.com/cuda.driver.major", []),
        ("amd.com/gpu.family", []),
        ("k8s.amazonaws.com/accelerator", []),
        ("cloud.google.com/gke-accelerator", []),
        ("cloud.google.com/gke-gpu-driver-version", []),
        ("node.kubernetes.io/instance-type", []),
        ("beta.kubernetes.io/instance-type", []),
        ("karpenter.k8s.aws/instance-gpu-name", []),
        ("karpenter.sh/nodepool", []),
        ("eks.amazonaws.com/nodegroup", []),
        ("feature.node.kubernetes.io/pci-10de.present", []),
        ("kubernetes.io/arch", ["warning"]),
        ("topology.kubernetes.io/zone", ["warning"]),
    ],
)
def test_labels_of_gpu_nodes_are_known(label: str, told: list[str]) -> None:
    """What the GPU operator, feature discovery, clouds and Karpenter call nodes with GPUs."""
    assert severities(SELECT, engine(["m"], select={label: "x"})) == told


@pytest.mark.parametrize(
    ("failures", "told"),
    [(5, ["error"]), (6, ["warning"]), (11, ["warning"]), (12, [])],
)
def test_any_engine_compiles_for_a_minute_and_perhaps_for_two(
    failures: int, told: list[str]
) -> None:
    """Of a model that is not known: 60 s are needed by all, 120 s by many (10 s a period)."""
    body = engine(["unheard/of"])
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["startupProbe"] = {"periodSeconds": 10, "failureThreshold": failures}
    assert severities(STARTUP, body) == told


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        ("1.2.3", False),
        ("v1.2.3", False),
        ("1.2.3-rc.1+build", False),
        ("1.2", True),
        ("1.2.x", True),
        ("^1.2.3", True),
        (">=1.2.3", True),
        ("1.2.3 - 2.0.0", True),
        ("*", True),
    ],
)
def test_a_release_names_one_version(version: str, refused: bool) -> None:
    """Helm takes the newest chart within a range."""
    told = compliant_stack.refused(release(version=version), "k8s-release-pin-version")
    assert bool(told) == refused


@pytest.mark.parametrize(("chart", "refused"), [("tools", True), ("./tools", False), ("/t", False)])
def test_a_local_chart_needs_no_version(chart: str, refused: bool) -> None:
    """It is what it is in this commit."""
    assert bool(compliant_stack.refused(release(chart=chart), "k8s-release-pin-version")) == refused


@pytest.mark.parametrize(("parent", "refused"), [("urn:chart", False), ("urn:other", True)])
def test_a_component_whose_objects_are_seen_is_let_through(parent: str, refused: bool) -> None:
    """PULP-03: only what shows nothing is refused."""

    def made(kind: str, urn: str, parent: str = "") -> Manifest:
        told = ResourceOptions(type=f"kubernetes:{kind}", urn=urn, parent=parent)
        return Manifest(body=Node(plain({"chart": "tools"})), options=told, implied_kind="Chart")

    chart = made("helm.sh/v4:Chart", "urn:chart")
    child = replace(made("v1:ConfigMap", "urn:child", parent), implied_kind="ConfigMap")
    rule = "k8s-component-show-objects"
    assert bool(compliant_stack.refused(findings([chart, child], CONTEXT), rule)) == refused


@pytest.mark.parametrize(
    ("words", "image", "told"),
    [
        # Older than the catalog knows: what was removed or never was may have been there.
        (["m", "--kv-cache-dtype=fp9"], "v0.8.5", ["warning"]),
        (["m", "--kv-cache-dtype=fp9"], "v0.33.0", ["error"]),
        (["m", "--swap-space=4"], "v0.8.5", []),
        (["m", "--swap-space=4"], "v0.33.0", ["error"]),
        (["m", "--max-model-len"], "v0.8.5", ["error"]),
    ],
)
def test_older_releases_are_judged_by_what_holds_for_all(
    words: list[str], image: str, told: list[str]
) -> None:
    """A file of an old release is not held against the newest list of choices."""
    body = engine(words, image=f"vllm/vllm-openai:{image}")
    assert severities("k8s-container-take-known-options", body) == told


def test_only_the_serving_container_has_a_name_that_kserve_knows() -> None:
    """KServe names the leader's container only; a worker's may have any name."""
    worker: Json = {"containers": [{"name": "worker", "image": "vllm/vllm-openai:v0.33.0"}]}
    worker["containers"][0]["resources"] = {"limits": {GPU_KEY: 1}}
    leader = {"model": {"modelFormat": {"name": "vllm"}, "resources": {"limits": {GPU_KEY: 1}}}}
    body: Json = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "service", "namespace": "llm"},
        "spec": {"predictor": {**leader, "workerSpec": worker}},
    }
    rule = "k8s-inferenceservice-place-resources"
    assert found(rule, body) == []
    body["spec"]["predictor"] = worker
    assert len(found(rule, body)) == 1


@pytest.mark.parametrize(
    ("ignored", "refused"),
    [((), True), (("spec",), False), (("spec.replicas",), False), (("metadata",), True)],
)
def test_an_ignored_count_is_left_to_the_autoscaler(
    ignored: tuple[str, ...], refused: bool
) -> None:
    """Pulumi then never writes it again."""
    stack = compliant_stack.broken("engine.spec.replicas", 2)
    made = [compliant_stack.manifest(body) for name, body in stack.items() if name != "engine"]
    workload = compliant_stack.manifest(stack["engine"])
    assert workload.options is not None
    options = replace(workload.options, ignore_changes=ignored)
    told = findings([*made, replace(workload, options=options)], CONTEXT)
    assert bool(compliant_stack.refused(told, "k8s-workload-leave-replicas")) == refused


@pytest.mark.parametrize(
    ("select", "product", "gib"),
    [
        # Google's labels (cloud.google.com/gke-accelerator), by their documentation.
        ("nvidia-tesla-t4", "T4", 16),
        ("nvidia-l4", "L4", 24),
        ("nvidia-tesla-a100", "A100", 40),
        ("nvidia-a100-80gb", "A100", 80),
        ("nvidia-h100-80gb", "H100", 80),
        ("nvidia-h100-mega-80gb", "H100", 80),
        ("nvidia-h200-141gb", "H200", 141),
        ("nvidia-tesla-v100", "V100", 16),
        # Machine types of Google, Amazon and Microsoft, by theirs.
        ("a2-highgpu-8g", "A100", 40),
        ("a2-ultragpu-1g", "A100", 80),
        ("a3-highgpu-8g", "H100", 80),
        ("a3-megagpu-8g", "H100", 80),
        ("a3-ultragpu-8g", "H200", 141),
        ("p3.16xlarge", "V100", 16),
        ("g5.xlarge", "A10G", 24),
        ("p5.48xlarge", "H100", 80),
        ("Standard_NC24ads_A100_v4", "A100", 80),
        ("Standard_ND96amsr_A100_v4", "A100", 80),
        ("Standard_ND96isr_H100_v5", "H100", 80),
        ("Standard_NC64as_T4_v3", "T4", 16),
    ],
)
def test_a_clouds_name_is_the_card_that_it_has(select: str, product: str, gib: int) -> None:
    """The card's memory decides; what is usable of it is a little less than its name says."""
    machine = "." in select or select.startswith(("a2-", "a3-", "Standard_"))
    label = "node.kubernetes.io/instance-type" if machine else "cloud.google.com/gke-accelerator"
    (pod,) = pods_of(of_body(engine(["m"], select={label: select})))
    (container,) = pod.containers()
    (card,) = placement(container, replace(CONTEXT, pulumi=False)).cards
    assert product in (card.product or "").split("-")
    assert 0.9 * gib <= card.memory_gib <= gib


@pytest.mark.parametrize(
    ("rule", "path", "value", "refused"),
    [
        # Two machines at 0.9776, a control plane at 0.1 and two gateways at 0.045: 2.1452.
        ("plan-cost", "limits.usdPerHour", 2.1452, False),
        ("plan-cost", "limits.usdPerHour", 2.1451, True),
        ("plan-cost", "limits.usdPerHourPerRegion.west", 2.1452, False),
        ("plan-cost", "limits.usdPerHourPerRegion.west", 2.1451, True),
        # Four replicas of one GPU.
        ("plan-gpus", "limits.gpusPerRegion.west", 4, False),
        ("plan-gpus", "limits.gpusPerRegion.west", 3, True),
    ],
)
def test_a_plan_may_reach_its_bounds(rule: str, path: str, value: float, refused: bool) -> None:
    """What costs as much as it may is let through, a hundredth of a cent less is not."""
    changed = compliant_stack.broken(f"plan.{path}", value, {"plan": inputs()})["plan"]
    assert bool(compliant_stack.refused(plan_findings(changed, CONTEXT), rule)) == refused


@pytest.mark.parametrize(("version", "told"), [("0.33.0", []), ("0.24.0", ["warning"])])
def test_a_model_is_proved_for_one_release(version: str, told: list[str]) -> None:
    """catalog/models says engine 0.33.0 of it; another may load it in another way."""
    stack = compliant_stack.broken(f"{MARKS}|triplane.dev/model", "llama31-8b-instruct")
    stack = compliant_stack.broken(f"{MARKS}|triplane.dev/engine-version", version, stack)
    rule = "k8s-pod-run-admitted-model"
    of_rule = [each for each in compliant_stack.found(stack) if each.rule == rule]
    assert [each.severity.value for each in of_rule if "is proved for" in each.message] == told
