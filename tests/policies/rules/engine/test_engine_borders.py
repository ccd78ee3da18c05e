"""Single words and signs that rules about engines hang on, each seen from both sides."""

import pytest

from tests.helpers.policies.engine_files import H100, engine, errors, severities
from tests.helpers.policies.slips import release

pytestmark = pytest.mark.pure

FIT = "k8s-container-fit-memory"
OPTIONS = "k8s-container-take-known-options"
WRITE = "k8s-container-write-caches"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}


@pytest.mark.parametrize("share", ["-0.5", "0", "1.01"])
def test_a_share_of_memory_lies_between_0_and_1(share: str) -> None:
    messages = errors(FIT, engine([LLAMA, f"--gpu-memory-utilization={share}"], select=H100))
    assert any("between 0 and 1" in each for each in messages), messages


def test_flashinfer_by_its_option_softens_the_refusal_as_by_its_variable() -> None:
    """VLLM-05: the backend decides whether Ampere takes an FP8 cache."""
    words = [LLAMA, "--kv-cache-dtype=fp8", "--attention-backend"]
    assert severities(FIT, engine([*words, "FLASHINFER"], select=A100)) == ["warning"]
    assert severities(FIT, engine([*words, "FLASH_ATTN"], select=A100)) == ["error"]


def test_a_word_beside_the_model_option_belongs_to_nothing() -> None:
    """The parser takes one model: as a word or as the option, not both."""
    assert errors(OPTIONS, engine(["--model", LLAMA])) == []
    assert errors(OPTIONS, engine([LLAMA])) == []
    assert errors(OPTIONS, engine(["--model", LLAMA, "other"]))


@pytest.mark.parametrize("confined", [{"runAsNonRoot": True}, {"runAsUser": 1000}])
def test_a_user_set_for_the_pod_is_the_containers_too(confined: dict[str, object]) -> None:
    """FB-03: upstream's image has no home for anybody but root."""
    body = engine([LLAMA])
    assert errors(WRITE, body) == []
    body["spec"]["template"]["spec"]["securityContext"] = confined
    assert errors(WRITE, body)


@pytest.mark.parametrize("key", ["resources", "limits", "requests", "image", "podSpec"])
def test_what_may_hide_gpus_in_a_releases_values_must_be_known(key: str) -> None:
    """A value that is only known after the update could ask for GPUs, or start an engine."""
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    words = f"cannot verify that the release takes no GPUs, because values.{key} is unknown"
    assert [each for each in release(values={key: unknown}) if words in each.message]
    assert not [each for each in release(values={"title": unknown}) if words in each.message]
