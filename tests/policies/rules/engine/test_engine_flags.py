"""Options of the pinned release: wherever they hide, and whatever the image is called."""

from collections.abc import Sequence

import pytest

from policies.core.context import Context
from tests.helpers.policies.engine_files import engine, errors, found, severities

pytestmark = pytest.mark.pure

RULE = "k8s-container-take-known-options"
MODEL = "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("version", "words", "said"),
    [
        ("v0.18.0", ["--disable-log-requests"], "no longer has the option --disable-log-requests"),
        ("v0.18.0", ["--swap-space", "4"], "use --kv-offloading-size"),
        ("v0.16.0", ["--shutdown-timeout=30"], "vLLM 0.16.0 has no option --shutdown-timeout"),
        ("v0.10.2", ["--num-scheduler-steps=8"], "multi-step scheduling went with the V0 engine"),
        ("v0.33.0", ["--enable-metrics"], "never had the option --enable-metrics"),
        ("v0.33.0", ["--max-modle-len=1"], "did you mean --max-model-len?"),
        ("v0.33.0", ["--max-num=1"], "write the option in full"),
        ("v0.33.0", ["--max-num-seqs=many"], "takes a whole number"),
        ("v0.33.0", ["--kv-cache-dtype=fp3"], "does not take this value: 'fp3'"),
        ("v0.33.0", ["--max-model-len"], "the option --max-model-len has no value"),
        ("v0.33.0", ["--enforce-eager=true"], "takes no value"),
        ("v0.33.0", ["--enforce-eager", "true"], "belongs to no option"),
        ("v0.33.0", ["-tp=1", "--tensor-parallel-size=2"], "only the last one counts"),
        ("v0.33.0", ["--enable-prefix-caching", "--no-enable-prefix-caching"], "contradict"),
        ("v0.17.1", ["--zork=1"], "vLLM 0.17.1 has no option --zork"),
        ("v0.4.2", ["--max-num-queued-reqs=4"], "it appeared by 0.31.0"),
        ("latest", ["--swap-space=4"], "the newest that is known, no longer has"),
    ],
)
def test_what_the_release_does_not_take_is_refused(
    version: str, words: list[str], said: str
) -> None:
    """VLLM-16: argparse exits at once, and the pod crash-loops on the next upgrade."""
    body = engine([MODEL, *words], image=f"vllm/vllm-openai:{version}")
    (message,) = errors(RULE, body)
    assert said in message


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("v0.16.0", ["--swap-space=4", "--disable-log-requests"]),
        ("v0.17.1", ["--swap-space=4", "--shutdown-timeout=30"]),
        ("v0.18.0", ["--shutdown-timeout=30"]),
        ("v0.33.0", ["--tensor_parallel_size", "1", "--gpu-memory-util=0.9"]),
        ("v0.33.0", ["--compilation-config.mode=3", "-cc.cudagraph_mode", "FULL", "-O3"]),
        ("v0.33.0", ["--max-model-len=-1", "--api-key", "$(A)", "$(B)", "--max-num-seqs", "8"]),
        ("v0.33.0", ["--kv-transfer-config", '{"kv_connector": "X", "kv_role": "kv_both"}']),
        ("v0.33.0", ["--max-num-seqs=8", "--max-num-seqs=8"]),
        ("v0.6.3", ["--worker-use-ray", "--swap-space=4"]),
        ("v0.40.0", ["--an-option-of-the-future=1"]),
    ],
)
def test_what_the_release_takes_is_accepted(version: str, words: list[str]) -> None:
    """Underscores, abbreviations, dotted options, older and newer releases."""
    body = engine([MODEL, *words], image=f"vllm/vllm-openai:{version}")
    assert errors(RULE, body) == []


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["vllm", "serve"], [MODEL, "--swap-space=4"]),
        (["python3", "-m", "vllm.entrypoints.openai.api_server"], ["--swap-space", "4"]),
        (["/bin/sh", "-ec"], ["exec vllm serve $MODEL --swap-space 4 2>&1 | tee log"]),
        (["bash", "-c", "set -e\nvllm serve $MODEL \\\n  --swap-space=4 &\nwait"], None),
        (["sh", "-c"], ["A='--swap-space 4'; sleep 1 && vllm serve m $A"]),
        (None, [MODEL, "$(OPTION)=4"]),
    ],
)
def test_options_are_found_wherever_they_hide(
    command: Sequence[str] | None, args: Sequence[str] | None
) -> None:
    """In scripts, behind variables, after a module's name."""
    env = {"MODEL": MODEL, "OPTION": "--swap-space"}
    assert len(errors(RULE, engine(args, command=command, env=env))) == 1


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:v0.33.0-cu129",
        "docker.io/vllm/vllm-openai-nonroot:v0.33.0",
        "registry.corp.example:5000/mirror/vllm/vllm-openai:0.33.0@sha256:" + "0" * 64,
        "public.ecr.aws/deep-learning-containers/vllm:0.33.0-gpu-py312-ec2",
    ],
)
def test_derived_images_name_their_release(image: str) -> None:
    """CUDA variants, the non-root build, mirrors."""
    assert len(errors(RULE, engine([MODEL, "--swap-space=4"], image=image))) == 1


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai@sha256:" + "0" * 64,
        "lmcache/vllm-openai:v0.3.9",
        "registry.corp.example/ml/vllm-openai:prod",
        "nvcr.io/nvidia/vllm:25.09-py3",
    ],
)
def test_an_unknown_release_cannot_be_verified(image: str) -> None:
    """Neither waved through nor called wrong; `--versions` tells what it is."""
    body = engine([MODEL, "--swap-space=4"], image=image)
    assert severities(RULE, body) == ["unknown"]
    told = Context(whole=False, versions={"vllm": "0.33.0"})
    assert len(errors(RULE, body, context=told)) == 1


@pytest.mark.parametrize(
    "image",
    [
        "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.33.0",
        "ghcr.io/llm-d/llm-d-inference-sim:v0.5.0",
        "ghcr.io/huggingface/text-generation-inference:3.3.4",
        "lmsysorg/sglang:v0.5.2",
        "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8",
        "lmcache/lmstack-router:v0.1.6",
    ],
)
def test_what_is_no_gpu_engine_takes_no_rule(image: str) -> None:
    """Simulators, CPU builds, other engines and routers have options of their own."""
    assert found(RULE, engine([MODEL, "--swap-space=4"], image=image)) == []


def test_one_word_with_a_space_is_told() -> None:
    """Without a shell nobody parts it, and the engine sees a positional word."""
    assert severities(RULE, engine(["--model Qwen/Qwen3-8B"])) == ["warning"]


def test_the_path_is_that_of_the_word() -> None:
    """Among thirty arguments a person needs to know which."""
    (only,) = found(RULE, engine([MODEL, "--swap-space=4"], image="vllm/vllm-openai:v0.18.0"))
    assert only.path == "spec.template.spec.containers[0].args[1]"
