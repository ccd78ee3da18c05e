"""Where rules change their mind: the last value that passes and the first that does not.

What is expected is arithmetic written out, or what Kubernetes, KEDA, Envoy or vLLM say themselves.
"""

from typing import Any

import pytest

from models.core.findings import Finding
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import ABSENT, CONTAINER, POD, Json
from tests.helpers.policies.engine_files import H100, engine, errors, found, severities

pytestmark = pytest.mark.pure

QOS = "k8s-pod-be-guaranteed"
CLASS = "k8s-pod-keep-class"
INJECTION = "k8s-pod-refuse-injection"
GPUS = "k8s-container-match-gpus"
FIT = "k8s-container-fit-memory"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def refusals(path: str, value: Any, rule: str) -> list[str]:
    """Return what a rule refuses in the compliant stack with one field changed."""
    return [
        str(each)
        for each in compliant_stack.refused(
            compliant_stack.found(compliant_stack.broken(path, value)), rule
        )
    ]


@pytest.mark.parametrize(
    ("cpu", "refused"),
    [("0", True), (0, True), ("0m", True), ("1", False), ("1m", False), (1, False)],
)
def test_a_limit_of_zero_is_none(cpu: Any, refused: bool) -> None:
    """Kubernetes leaves zero quantities out when it decides a pod's class (qos.go)."""
    stack = compliant_stack.broken(f"{CONTAINER}.resources.limits.cpu", cpu)
    stack = compliant_stack.broken(f"{CONTAINER}.resources.requests.cpu", cpu, stack)
    assert bool(compliant_stack.refused(compliant_stack.found(stack), QOS)) == refused


@pytest.mark.parametrize(
    ("resources", "refused"),
    [
        ({"limits": {"cpu": 8, "memory": "64Gi"}}, 0),
        ({"limits": {"cpu": 8, "memory": "64Gi"}, "requests": {"cpu": "8000m"}}, 0),
        ({"limits": {"cpu": 8, "memory": "64Gi"}, "requests": {"cpu": 4}}, 1),
        ({"limits": {"cpu": 8, "memory": "64Gi"}, "requests": {"cpu": 4, "memory": "1Gi"}}, 2),
        ({"limits": {"cpu": 8}, "requests": {"cpu": 8, "memory": "64Gi"}}, 1),
        ({"requests": {"cpu": 8, "memory": "64Gi"}}, 2),
        ({}, 2),
    ],
)
def test_a_pods_own_resources_keep_its_class(resources: Json, refused: int) -> None:
    """KEP-2837: limits stand in for absent requests of the pod; both must be there and equal."""
    assert len(refusals(f"{POD}.resources", resources, CLASS)) == refused


BOUNDS: Json = {
    "sidecar.istio.io/inject": "true",
    "sidecar.istio.io/proxyCPU": "100m",
    "sidecar.istio.io/proxyCPULimit": "100m",
    "sidecar.istio.io/proxyMemory": "128Mi",
    "sidecar.istio.io/proxyMemoryLimit": "128Mi",
}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, False),
        ({"sidecar.istio.io/proxyMemoryLimit": "256Mi"}, True),
        ({"sidecar.istio.io/proxyCPULimit": "200m"}, True),
        ({"sidecar.istio.io/proxyMemory": None, "sidecar.istio.io/proxyMemoryLimit": None}, True),
        ({"sidecar.istio.io/proxyCPU": None, "sidecar.istio.io/proxyCPULimit": None}, True),
    ],
)
def test_istios_proxy_is_accepted_with_all_four_bounds(changes: Json, refused: bool) -> None:
    """One pair that is unequal or absent makes the pod Burstable."""
    marks = {key: value for key, value in {**BOUNDS, **changes}.items() if value is not None}
    path = "engine.spec.template.metadata.annotations"
    own = compliant_stack.compliant()["engine"]["spec"]["template"]["metadata"]["annotations"]
    assert bool(refusals(path, {**own, **marks}, INJECTION)) == refused


@pytest.mark.parametrize(
    ("words", "gpus", "said"),
    [
        # vllm/config/parallel.py: world_size = pipeline x tensor x prefill context.
        (["-tp=2", "--prefill-context-parallel-size=2"], 4, None),
        (["-tp=2", "--prefill-context-parallel-size=2"], 2, "4 ranks"),
        (["-tp=2", "-pp=2", "--prefill-context-parallel-size=2"], 8, None),
        (["-tp=2", "-pp=2", "--prefill-context-parallel-size=2"], 4, "8 ranks"),
        # The decode context is a part of the tensor parallel group: no ranks of its own.
        (["-tp=2", "--decode-context-parallel-size=2"], 2, None),
        (["-tp=2", "--data-parallel-size=2"], 4, None),
        (["-tp=2", "--data-parallel-size=2", "--data-parallel-size-local=1"], 2, None),
    ],
)
def test_every_kind_of_parallelism_counts_its_ranks(
    words: list[str], gpus: int, said: str | None
) -> None:
    """VLLM-19."""
    messages = errors(GPUS, engine([LLAMA, *words], gpus=gpus))
    assert (messages == []) if said is None else (said in messages[0])


@pytest.mark.parametrize(
    ("least", "idle", "refused"),
    [(1, None, False), (1, 0, True), (0, None, True), (ABSENT, None, True), (2, 0, True)],
)
def test_an_idle_count_is_the_minimum(least: Any, idle: int | None, refused: bool) -> None:
    """KEDA scales to idleReplicaCount, which must be below the minimum, while nothing triggers."""
    stack = compliant_stack.broken("scaler.spec.minReplicaCount", least)
    if idle is not None:
        stack = compliant_stack.broken("scaler.spec.idleReplicaCount", idle, stack)
    assert (
        bool(
            compliant_stack.refused(compliant_stack.found(stack), "k8s-scaledobject-wake-from-zero")
        )
        == refused
    )


PRIMES = (2, 3, 5, 7, 101, 65537, 5_000_011)
NO_PRIMES = (-7, 0, 1, 4, 9, 25, 49, 121, 65536, 4_999_696, 5_000_010, 5_000_077)
"""4,999,696 is 2236 squared; 5,000,077 is the next prime above Envoy's bound."""


@pytest.mark.parametrize("size", [*PRIMES, *NO_PRIMES])
def test_a_hash_table_has_a_prime_size_within_envoys_bound(size: int) -> None:
    """Envoy's Maglev table: a prime of at most 5000011; the square of a prime is none."""
    balancer = {"type": "ConsistentHash", "consistentHash": {"tableSize": size}}
    rule = "k8s-backendtrafficpolicy-cut-no-answer"
    assert bool(refusals("backends.spec.loadBalancer", balancer, rule)) == (size in NO_PRIMES)


def answer(monkeypatch: pytest.MonkeyPatch, rule: str, **figures: Any) -> list[str]:
    """Return the severities at an engine of which the memory model says these figures."""
    from models import memory

    real = memory.budget

    def told(request: memory.BudgetRequest) -> memory.Budget:
        refusal = Finding("", rule, remedy="correct it", rule=rule)
        figures_of = {"refusals": (refusal,), "remedies": ()}
        verdict = memory.Verdict.CANNOT_START
        return real(request).model_copy(update={"verdict": verdict, **figures_of, **figures})

    monkeypatch.setattr(memory, "budget", told)
    return severities(FIT, engine([LLAMA, "--max-model-len=4096"], select=H100))


@pytest.mark.parametrize(
    ("kv", "need", "asked", "severity"),
    [
        # Sure is what lacks more than 0.75 GiB and 2 % of what is asked for: of 40 GiB 1.55 GiB.
        (1.0, 2.54, 40.0, "warning"),
        (1.0, 2.56, 40.0, "error"),
        (1.0, 3.14, 70.0, "warning"),
        (1.0, 3.16, 70.0, "error"),
    ],
)
def test_what_lacks_within_the_estimates_error_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, kv: float, need: float, asked: float, severity: str
) -> None:
    """Other people's files are called wrong only where the memory model can be sure."""
    figures = {"kv_cache_gib": kv, "needed_kv_gib": need, "requested_gib": asked}
    assert answer(monkeypatch, "one-request", **figures) == [severity]


@pytest.mark.parametrize(("weights", "severity"), [(37.53, "warning"), (37.57, "error")])
def test_without_any_cache_all_terms_count(
    monkeypatch: pytest.MonkeyPatch, weights: float, severity: str
) -> None:
    """37.53 + 2 + 1 + 1 - 40 = 1.53 lacks, 1.55 is what may be off."""
    figures = {"weights_gib": weights, "activation_gib": 2.0, "non_torch_gib": 1.0}
    cache = {"kv_cache_gib": 0.0, "needed_kv_gib": 1.0, "requested_gib": 40.0}
    assert answer(monkeypatch, "no-memory", **figures, **cache) == [severity]


@pytest.mark.parametrize(("blocks", "severity"), [(80, "warning"), (79, "error"), (99, "warning")])
def test_states_within_a_fifth_of_the_sequences_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, blocks: int, severity: str
) -> None:
    """Four fifths of 100 sequences are 80 states."""
    assert answer(monkeypatch, "mamba-blocks", gpu_blocks=blocks, max_num_seqs=100) == [severity]


@pytest.mark.parametrize(
    ("share", "severity"),
    [
        ("0.95", []),
        ("0.96", ["warning"]),
        ("1", ["warning"]),
        ("1.01", ["error"]),
        ("0", ["error"]),
    ],
)
def test_a_share_of_the_card_is_between_zero_and_one(share: str, severity: list[str]) -> None:
    """vllm/config/cache.py: gt=0, le=1; above 0.95 other processes find nothing."""
    body = engine([LLAMA, "--max-model-len=4096", f"--gpu-memory-utilization={share}"], select=H100)
    told = [each for each in found(FIT, body) if "--gpu-memory-utilization" in each.message]
    assert [each.severity.value for each in told] == severity
