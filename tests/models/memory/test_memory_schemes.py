"""Bytes of quantized weights, by hand: one small decoder in every form of storage.

Data, then scales and zero points as the engine allocates them (vLLM 0.33.0
`layers/quantization/`): MXFP8 one byte per 32 inputs, NVFP4 one per 16 and a float32 for the
tensor, FP8 a float32 per tensor, output or block, AWQ and GPTQ 16-bit scales per group.
"""

from collections.abc import Callable
from typing import Any

import pytest

from catalog.loader import load
from models.architecture import architecture
from models.engine.arguments import EngineArguments
from models.memory import BudgetRequest, Card, Verdict, behavior_of_contract, budget
from models.memory.terms.weights import Rank, weight_bytes

pytestmark = pytest.mark.pure

HIDDEN, INNER, LAYERS, VOCABULARY = 512, 2048, 3, 1024
HEADS, KV_HEADS, HEAD = 8, 2, 64
CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
LINEAR = (
    # Outputs of the slices that are one tensor, inputs.
    ((HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD), HIDDEN),
    ((HIDDEN,), HEADS * HEAD),
    ((INNER, INNER), HIDDEN),
    ((HIDDEN,), INNER),
)
PLAIN = (
    # Embedding and head; two norms a layer and the last; sines and cosines of all positions.
    2 * 2 * VOCABULARY * HIDDEN + 2 * (2 * LAYERS + 1) * HIDDEN + 2 * 1024 * HEAD
)


Scale = Callable[[tuple[int, ...], int], float]
"""Bytes beside the data, from a tensor's outputs and inputs."""


def counted(section: dict[str, Any] | None, capability: tuple[int, int] = (9, 0)) -> int:
    """Return the raw bytes of one GPU."""
    config = CONFIG if section is None else {**CONFIG, "quantization_config": section}
    rank = Rank(capability=capability, batched_tokens=2048)
    return weight_bytes(architecture(config), rank, "new").raw


def by_hand(bits: float, scale: Scale) -> int:
    """Return the bytes of all layers: data, and what `scale` says of outputs and inputs."""
    total = 0.0
    for outputs, inputs in LINEAR:
        total += sum(outputs) * inputs * bits / 8 + scale(outputs, inputs)
    return PLAIN + round(LAYERS * total)


def test_without_a_quantization_every_number_takes_two_bytes() -> None:
    assert counted(None) == by_hand(16, lambda outputs, inputs: 0)


MODELOPT: dict[str, Any] = {"quant_method": "modelopt", "exclude_modules": ["lm_head"]}
FP8_BLOCK: dict[str, Any] = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def compressed(weights: dict[str, Any]) -> dict[str, Any]:
    """Return a compressed-tensors section whose linear layers are stored so."""
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}


def per_32(outputs: tuple[int, ...], inputs: int) -> float:
    return sum(outputs) * inputs // 32


def per_16_and_tensor(outputs: tuple[int, ...], inputs: int) -> float:
    return sum(outputs) * inputs // 16 + 4


def float_per_tensor(outputs: tuple[int, ...], inputs: int) -> float:
    return 4


def float_per_output(outputs: tuple[int, ...], inputs: int) -> float:
    return 4 * sum(outputs)


def float_per_block(outputs: tuple[int, ...], inputs: int) -> float:
    return 4 * sum(-(-each // 128) for each in outputs) * (inputs // 128)


def float_per_64(outputs: tuple[int, ...], inputs: int) -> float:
    return 4 * sum(outputs) * inputs // 64


@pytest.mark.parametrize(
    ("section", "bits", "scale"),
    [
        ({**MODELOPT, "quant_algo": "MXFP8"}, 8, per_32),
        ({**MODELOPT, "quant_algo": "NVFP4"}, 4, per_16_and_tensor),
        ({**MODELOPT, "quant_algo": "FP8"}, 8, float_per_tensor),
        (compressed({"num_bits": 8, "type": "float", "group_size": 32}), 8, per_32),
        (compressed({"num_bits": 8, "type": "float", "strategy": "tensor"}), 8, float_per_tensor),
        (compressed({"num_bits": 8, "type": "float", "strategy": "channel"}), 8, float_per_output),
        ({"quant_method": "fp8"}, 8, float_per_tensor),
        (FP8_BLOCK, 8, float_per_block),
        ({**MODELOPT, "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}, 8, float_per_output),
        ({"quant_method": "fbgemm_fp8"}, 8, float_per_output),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4, float_per_64),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8, float_per_output),
    ],
)
def test_scales_beside_the_data(section: dict[str, Any], bits: int, scale: Scale) -> None:
    assert counted(section) == by_hand(bits, scale)


@pytest.mark.parametrize("group", [64, 128, -1])
@pytest.mark.parametrize("bits", [4, 8])
def test_integers_have_16_bit_scales_per_group(bits: int, group: int) -> None:
    """On Ampere, by Marlin; AWQ's zero points take the bits of a weight each, GPTQ's none."""

    def groups(inputs: int) -> int:
        return 1 if group == -1 else inputs // group

    section = {"bits": bits, "group_size": group}
    gptq = counted({**section, "quant_method": "gptq"}, (8, 0))
    awq = counted({**section, "quant_method": "awq"}, (8, 0))
    assert gptq == by_hand(bits, lambda outs, ins: 2 * sum(outs) * groups(ins))
    assert awq == by_hand(
        bits, lambda outs, ins: 2 * sum(outs) * groups(ins) + sum(outs) * groups(ins) * bits // 8
    )


def test_machete_keeps_zero_points_of_its_own_on_hopper() -> None:
    """AWQ's become 16-bit numbers, GPTQ's stay as the checkpoint packs them."""
    section = {"bits": 4, "group_size": 128}
    gptq = counted({**section, "quant_method": "gptq"}, (9, 0))
    awq = counted({**section, "quant_method": "awq"}, (9, 0))
    assert gptq == by_hand(4, lambda outs, ins: (2 + 0.5) * sum(outs) * ins // 128)
    assert awq == by_hand(4, lambda outs, ins: (2 + 2) * sum(outs) * ins // 128)


@pytest.mark.parametrize("capability", [(8, 0), (8, 6)])
def test_marlin_has_16_bit_scales_of_every_output_before_fp8_cards(
    capability: tuple[int, int],
) -> None:
    section = {"quant_method": "fp8"}
    assert counted(section, capability) == by_hand(8, lambda outs, ins: 2 * sum(outs))
    assert counted(section, (8, 9)) == by_hand(8, float_per_tensor)


def test_blocks_go_to_marlin_on_ada_and_before() -> None:
    """16-bit scales per output and 128 inputs; Hopper keeps the checkpoint's blocks."""
    for capability in ((8, 0), (8, 9)):
        said = counted(FP8_BLOCK, capability)
        assert said == by_hand(8, lambda outs, ins: 2 * sum(outs) * (ins // 128))


def test_what_a_list_leaves_out_keeps_16_bit() -> None:
    """The head is not quantized where nothing says so; a module that is ignored neither."""
    section = {**MODELOPT, "quant_algo": "MXFP8", "exclude_modules": ["*down_proj", "lm_head"]}
    down = INNER * HIDDEN
    whole = by_hand(8, per_32)
    assert counted(section) == whole + LAYERS * (2 * down - down - down // 32)


@pytest.mark.parametrize(("capability", "starts"), [((7, 5), False), ((8, 0), True)])
def test_mxfp8_needs_ampere(capability: tuple[int, int], starts: bool) -> None:
    """The release tells ModelOpt's methods apart by what they store."""
    contract = load().engines["0.33.0"]
    found = budget(
        BudgetRequest(
            architecture=architecture(
                {
                    **CONFIG,
                    "torch_dtype": "float16",
                    "quantization_config": {**MODELOPT, "quant_algo": "MXFP8"},
                }
            ),
            card=Card(memory_gib=24.0, capability=capability),
            behavior=behavior_of_contract(contract),
            arguments=EngineArguments(max_model_len=1024, max_num_seqs=64),
            minimum=contract.minimum_capability,
            quantization_names=dict(contract.quantization_names),
        )
    )
    assert (found.verdict is Verdict.FITS) is starts
    assert ("quantization modelopt_mxfp8 needs" in " ".join(found.reasons)) is not starts
