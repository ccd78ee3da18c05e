"""A remedy that can be carried out word by word is: what refused then accepts."""

import re
from typing import Any

import pytest

from models.core.findings import Severity
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import ABSENT, CONTAINER, POD
from tests.helpers.policies.engine_files import H100, engine, errors, found

pytestmark = pytest.mark.pure

FIT = "k8s-container-fit-memory"
SPLIT = "k8s-container-split-evenly"
A10G = {"nvidia.com/gpu.product": "NVIDIA-A10G"}
L4 = {"nvidia.com/gpu.product": "NVIDIA-L4"}
T4 = {"nvidia.com/gpu.product": "Tesla-T4"}

STEPS = (
    (r"set (max_model_len|max_num_seqs|max_num_batched_tokens) to (\d+)", "--{0}={1}"),
    (r"raise (gpu_memory_utilization) to ([\d.]+)", "--{0}={1}"),
    (r"set enforce_eager", "--enforce-eager"),
    (r"keep the KV cache in FP8", "--kv-cache-dtype=fp8"),
    (r"quantize the weights to FP8", "--quantization=fp8"),
    (r"spread each replica over (\d+) GPUs", "--tensor-parallel-size={0}"),
)
"""What the remedies of the memory model say, and the argument that it is."""


def argument(remedy: str) -> str | None:
    """Return the argument that a remedy asks for."""
    for pattern, form in STEPS:
        match = re.search(pattern, remedy)
        if match is not None:
            return form.format(*match.groups()).replace("_", "-")
    return None


def with_argument(words: list[str], argument: str) -> list[str]:
    """Return a command line with an argument in place of the one of its name."""
    name = argument.partition("=")[0]
    return [*(word for word in words if word.partition("=")[0] != name), argument]


REFUSED: list[tuple[list[str], dict[str, str]]] = [
    (["meta-llama/Llama-3.1-8B-Instruct"], A10G),
    (["meta-llama/Llama-3.1-8B-Instruct", "--max-model-len=131072"], L4),
    (["meta-llama/Llama-3.1-8B-Instruct", "--max-model-len=65536", "--dtype=half"], T4),
    (["Qwen/Qwen3-32B", "--max-model-len=8192"], A10G),
    (["Qwen/Qwen3-32B", "--max-model-len=40960", "--gpu-memory-utilization=0.8"], H100),
    (["meta-llama/Llama-3.3-70B-Instruct", "--max-model-len=8192"], H100),
    (["meta-llama/Llama-3.3-70B-Instruct", "-tp=2", "--max-model-len=131072"], H100),
    (["Qwen/Qwen3-30B-A3B", "--max-model-len=32768"], L4),
]


@pytest.mark.parametrize(("words", "select"), REFUSED, ids=[row[0][0] for row in REFUSED])
def test_what_the_memory_model_proposes_is_accepted(
    words: list[str], select: dict[str, str]
) -> None:
    """Each alternative by itself, as somebody would type it."""
    gpus = 2 if "-tp=2" in words else 1
    remedies = [
        each.remedy
        for each in found(FIT, engine(words, select=select, gpus=gpus))
        if each.severity is Severity.ERROR
    ]
    assert remedies
    alternatives = {each for remedy in remedies for each in remedy.split("; or ")}
    tried = 0
    for alternative in alternatives:
        added = argument(alternative)
        if added is None:
            continue
        tried += 1
        changed = with_argument([word for word in words if word != "-tp=2"], added)
        ranks = re.search(r"tensor-parallel-size=(\d+)", added)
        if ranks is None and gpus == 2:
            changed.append("-tp=2")
        body = engine(changed, select=select, gpus=int(ranks[1]) if ranks else gpus)
        assert errors(FIT, body) == [], alternative
        assert errors(SPLIT, body) == [], alternative
    assert tried


LITERAL: list[tuple[str, str, Any, str, str, Any]] = [
    (
        "k8s-pod-tolerate-gpu-taint",
        f"{POD}.tolerations",
        ABSENT,
        "{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}",
        f"{POD}.tolerations",
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    ),
    (
        "k8s-pod-select-gpu-nodes",
        f"{POD}.nodeSelector",
        ABSENT,
        '{"triplane.dev/pool": "<pool>", "nvidia.com/gpu.present": "true"}',
        f"{POD}.nodeSelector",
        {"triplane.dev/pool": "gpu-h100-pool", "nvidia.com/gpu.present": "true"},
    ),
    (
        "k8s-container-share-memory",
        f"{POD}.volumes.1.emptyDir",
        {},
        'emptyDir {medium: Memory, sizeLimit: "2Gi" per GPU}',
        f"{POD}.volumes.1.emptyDir",
        {"medium": "Memory", "sizeLimit": "4Gi"},
    ),
    (
        "k8s-route-outlive-answers",
        "route.spec.rules.0.timeouts.request",
        "10s",
        "timeouts.request: 0s",
        "route.spec.rules.0.timeouts.request",
        "0s",
    ),
    (
        "k8s-backendtrafficpolicy-cut-no-answer",
        "backends.spec.timeout.http.requestTimeout",
        "15s",
        "timeout.http.requestTimeout: 0s",
        "backends.spec.timeout.http.requestTimeout",
        "0s",
    ),
    (
        "k8s-gateway-let-prompts-through",
        "clients.spec.connection",
        {},
        "spec.connection.bufferLimit, such as 50Mi",
        "clients.spec.connection",
        {"bufferLimit": "50Mi"},
    ),
    (
        "k8s-namespace-deny-ingress",
        "deny.spec",
        {"podSelector": {"matchLabels": {"a": "b"}}},
        "{podSelector: {}, policyTypes: [Ingress]}",
        "deny.spec",
        {"podSelector": {}, "policyTypes": ["Ingress"]},
    ),
    (
        "k8s-namespace-enforce-restricted",
        "namespace.metadata.labels",
        {},
        '{"pod-security.kubernetes.io/enforce": "restricted"}',
        "namespace.metadata.labels",
        {"pod-security.kubernetes.io/enforce": "restricted"},
    ),
    (
        "k8s-statefulset-start-together",
        "engine.spec.podManagementPolicy",
        ABSENT,
        "podManagementPolicy: Parallel",
        "engine.spec.podManagementPolicy",
        "Parallel",
    ),
    (
        "k8s-scaledobject-wake-from-zero",
        "scaler.spec.minReplicaCount",
        ABSENT,
        "minReplicaCount to 1",
        "scaler.spec.minReplicaCount",
        1,
    ),
    (
        "k8s-container-bear-slow-answers",
        f"{CONTAINER}.livenessProbe.timeoutSeconds",
        ABSENT,
        "timeoutSeconds to at least 5",
        f"{CONTAINER}.livenessProbe.timeoutSeconds",
        5,
    ),
    (
        "k8s-claim-share-volume",
        "claim.spec.accessModes",
        ["ReadWriteOnce"],
        "ReadWriteMany (or ReadOnlyMany)",
        "claim.spec.accessModes",
        ["ReadOnlyMany"],
    ),
    (
        "k8s-container-take-known-options",
        f"{CONTAINER}.args.4",
        "--swap-space=4",
        "or remove it",
        f"{CONTAINER}.args.4",
        ABSENT,
    ),
]


@pytest.mark.parametrize(
    ("rule", "path", "value", "said", "where", "fixed"), LITERAL, ids=[row[0] for row in LITERAL]
)
def test_a_remedy_that_is_carried_out_is_accepted(
    rule: str, path: str, value: Any, said: str, where: str, fixed: Any
) -> None:
    """A person does what the message says, once."""
    stack = compliant_stack.broken(path, value)
    told = compliant_stack.refused(compliant_stack.found(stack), rule)
    assert told
    assert any(said in each.remedy for each in told), told[0].remedy
    after = compliant_stack.found(compliant_stack.broken(where, fixed, stack))
    assert [str(each) for each in after if each.severity is not Severity.WARNING] == []
