"""Memory and parallelism read from the workload itself: the VLLM and PSTK cases."""

import re
from typing import Any

import pytest

from policies.core.context import Context
from tests.helpers.policies.engine_files import H100, engine, errors, found, severities

pytestmark = pytest.mark.pure

FIT = "k8s-container-fit-memory"
GPUS = "k8s-container-match-gpus"
SPLIT = "k8s-container-split-evenly"
FAMILY = "k8s-container-suit-family"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
A10G = {"node.kubernetes.io/instance-type": "g5.xlarge"}
T4 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
V100 = {"node.kubernetes.io/instance-type": "p3.2xlarge"}


@pytest.mark.parametrize(
    ("words", "select", "said"),
    [
        ([LLAMA, "--max-model-len=131072"], A10G, "one request of 131072 tokens"),
        (["Qwen/Qwen3-32B"], A10G, "no memory is left for the KV cache"),
        ([LLAMA, "--kv-cache-dtype=fp8"], A100, "needs compute capability 8.9"),
        (["unheard/of", "--kv-cache-dtype=fp8"], A10G, "needs compute capability 8.9"),
        (["Qwen/Qwen3-0.6B", "--dtype=bfloat16"], T4, "dtype bfloat16 needs"),
        (["unheard/of"], V100, "needs compute capability 7.5"),
        (["Qwen/Qwen2.5-7B-Instruct-AWQ"], V100, "needs compute capability 7.5"),
        ([LLAMA, "--gpu-memory-utilization=1.2"], H100, "must be between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(words: list[str], select: dict[str, str], said: str) -> None:
    """VLLM-04, 05, 09, 14, 15, PSTK-05."""
    messages = errors(FIT, engine(words, select=select))
    assert any(said in each for each in messages), messages


@pytest.mark.parametrize(
    ("words", "select", "gpus"),
    [
        ([LLAMA, "--max-model-len=8192"], H100, 1),
        ([LLAMA, "--kv-cache-dtype=fp8"], H100, 1),
        (["Qwen/Qwen3-8B", "--max-model-len=4096"], {"nvidia.com/gpu.product": "NVIDIA-L4"}, 1),
        (["meta-llama/Llama-3.3-70B-Instruct", "-tp=4", "--max-model-len=8192"], H100, 4),
    ],
)
def test_what_fits_has_no_finding(words: list[str], select: dict[str, str], gpus: int) -> None:
    """A rule that refuses what runs is switched off."""
    body = engine(words, select=select, gpus=gpus)
    assert [str(each) for rule in (FIT, GPUS, SPLIT) for each in found(rule, body)] == []


@pytest.mark.parametrize("expert", [[], ["--enable-expert-parallel"]])
def test_experts_are_split_over_data_parallel_ranks_too(expert: list[str]) -> None:
    """Of 57 GiB, 54 are experts (48 layers x 128 x 3 x 2048 x 768 x 2 bytes): 17 GiB on each of 4.

    The engine splits them over tensor x data ranks, with and without expert parallelism (vLLM
    `FusedMoEParallelConfig.make`).
    """
    words = ["Qwen/Qwen3-30B-A3B", "--max-model-len=8192", "--max-num-seqs=16", *expert]
    four = {"node.kubernetes.io/instance-type": "g5.12xlarge"}
    assert errors(FIT, engine([*words, "-dp=4"], select=four, gpus=4)) == []
    assert errors(FIT, engine(words, select=four, gpus=1)) != []


def test_the_cheapest_remedy_is_told() -> None:
    """The message carries the terms, the remedy what to change."""
    (message,) = errors(FIT, engine([LLAMA, "--max-model-len=131072"], select=A10G))
    assert re.search(r"weights 1[45]\.\d\d GiB", message)
    assert "-> set max_model_len to" in message


def test_another_cards_refusal_is_a_warning() -> None:
    """An affinity for several cards: it may land on the one that holds it."""
    body = engine([LLAMA, "--max-model-len=131072"])
    expression = {
        "key": "nvidia.com/gpu.product",
        "operator": "In",
        "values": ["NVIDIA-A10G", "NVIDIA-H200"],
    }
    body["spec"]["template"]["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }
    }
    assert set(severities(FIT, body)) == {"warning"}


def test_an_fp8_cache_with_another_backend_is_a_warning() -> None:
    """VLLM-05: FlashInfer takes it on Ampere in some releases."""
    body = engine(
        [LLAMA, "--kv-cache-dtype=fp8"], select=A100, env={"VLLM_ATTENTION_BACKEND": "FLASHINFER"}
    )
    assert severities(FIT, body) == ["warning"]


@pytest.mark.parametrize(
    ("words", "select"),
    [
        (["unheard/of"], H100),
        ([LLAMA], None),
        ([LLAMA, "--config", "/etc/vllm.yaml"], H100),
        (["${MODEL}"], H100),
    ],
)
def test_what_is_not_known_cannot_be_verified(
    words: list[str], select: dict[str, str] | None
) -> None:
    """Neither a pass nor an error in other people's files."""
    assert severities(FIT, engine(words, select=select)) == ["unknown"]


def test_a_preview_refuses_a_thin_margin() -> None:
    """In our own stacks the bound counts, in other people's files it is a warning."""
    body = engine([LLAMA, "--max-model-len=33000"], select=A10G)
    own = Context(pulumi=True, whole=False)
    assert set(severities(FIT, body, context=own)) == {"error"}
    assert set(severities(FIT, body)) <= {"warning"}


@pytest.mark.parametrize(
    ("words", "gpus", "said"),
    [
        (["-tp=4"], 1, "tensor 4 = 4 ranks, its pod 1 GPU"),
        (["-tp=2", "-pp=2"], 2, "tensor 2 x pipeline 2 = 4 ranks"),
        ([], 4, "the others stay idle"),
        (["--data-parallel-size=2", "-tp=2"], 8, "the others stay idle"),
    ],
)
def test_ranks_are_as_many_as_gpus(words: list[str], gpus: int, said: str) -> None:
    """VLLM-19: too few and the engine waits for Ray forever."""
    (message,) = errors(GPUS, engine([LLAMA, *words], gpus=gpus))
    assert said in message


def test_more_gpus_than_the_machine_has_are_refused() -> None:
    """VLLM-19: TP=2 on a machine with one GPU is never scheduled."""
    (message,) = errors(GPUS, engine([LLAMA, "-tp=2"], gpus=2, select=A10G))
    assert "g5.xlarge has 1" in message


@pytest.mark.parametrize(
    ("words", "gpus", "resource"),
    [
        (["-tp=2"], 2, "amd.com/gpu"),
        (["-tp=8"], 8, "google.com/tpu"),
        (["-tp=4", "--distributed-executor-backend=ray"], 2, "nvidia.com/gpu"),
        (["-tp=8", "--nnodes=2", "--headless"], 4, "nvidia.com/gpu"),
        (["--data-parallel-size=8", "--data-parallel-size-local=4"], 4, "nvidia.com/gpu"),
        (["-tp=$(TP)"], 4, "nvidia.com/gpu"),
        (["--config=/etc/vllm.yaml"], 4, "nvidia.com/gpu"),
    ],
)
def test_ranks_elsewhere_are_accepted(words: list[str], gpus: int, resource: str) -> None:
    """Other accelerators count; several nodes, Ray and files may hold more."""
    assert errors(GPUS, engine([LLAMA, *words], gpus=gpus, resource=resource)) == []


def test_ranks_over_slices_are_refused() -> None:
    """GPUO-04: a process sees one slice."""
    body = engine([LLAMA, "-tp=2"], gpus=2, resource="nvidia.com/mig-3g.40gb")
    assert len(errors(GPUS, body)) == 1


def test_a_groups_ranks_are_divided_by_its_pods() -> None:
    """A LeaderWorkerSet of two pods with eight GPUs each takes sixteen ranks."""

    def group(size: int) -> dict[str, Any]:
        pod = engine([LLAMA, "-tp=8", "-pp=2"], gpus=8)["spec"]["template"]
        return {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": {"name": "group"},
            "spec": {"leaderWorkerTemplate": {"size": size, "workerTemplate": pod}},
        }

    assert errors(GPUS, group(2)) == []
    assert len(errors(GPUS, group(1))) == 1


@pytest.mark.parametrize(
    ("model", "tensor", "said"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 8, "28 attention heads"),
        (LLAMA, 3, "32 attention heads"),
        ("Qwen/Qwen3-30B-A3B-FP8", 16, "groups of 128 cannot be split"),
    ],
)
def test_shapes_that_do_not_divide_are_refused(model: str, tensor: int, said: str) -> None:
    """VLLM-01, 02, 03."""
    messages = errors(SPLIT, engine([model, f"-tp={tensor}"], gpus=tensor))
    assert any(said in each for each in messages), messages


def test_copied_kv_heads_are_told() -> None:
    """VLLM-02: more ranks do not buy more KV cache."""
    assert severities(SPLIT, engine(["Qwen/Qwen3-30B-A3B", "-tp=8"], gpus=8)) == ["warning"]


def test_more_tokens_than_positions_are_refused() -> None:
    """The engine stops, unless a variable allows it."""
    words = [LLAMA, "--max-model-len=200000"]
    assert len(errors(SPLIT, engine(words))) == 1
    assert errors(SPLIT, engine(words, env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})) == []


@pytest.mark.parametrize(
    ("words", "severity"),
    [
        (["tiiuae/falcon-mamba-7b", "--enable-prefix-caching"], ["error"]),
        (["tiiuae/falcon-mamba-7b", "--block-size=16"], ["error"]),
        (["tiiuae/falcon-mamba-7b", "--no-enable-prefix-caching"], []),
        (["Qwen/Qwen3-Next-80B-A3B-Instruct", "--enable-prefix-caching"], ["warning"]),
        (
            [
                "Qwen/Qwen3-Next-80B-A3B-Instruct",
                '--kv-transfer-config={"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}',
            ],
            ["error"],
        ),
    ],
)
def test_options_suit_the_family(words: list[str], severity: list[str]) -> None:
    """VLLM-07, LMC-07."""
    assert severities(FAMILY, engine(words)) == severity
