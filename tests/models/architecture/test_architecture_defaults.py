"""Class defaults: what a `config.json` leaves out, against configurations that state it.

Where the engine sample (docs/sources.md#the-data-folder) had no published model it took the class
defaults of transformers 5 as they are written out; leaving one of them out must give the same
architecture.
"""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from models.architecture import Architecture, CacheKind, Part, architecture
from tests.helpers.models.memory_data import configs

pytestmark = pytest.mark.pure

QWEN_LINEAR = (
    "linear_conv_kernel_dim",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_num_key_heads",
    "head_dim",
)
LATENT = ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
CONFORMING: dict[str, tuple[str, ...]] = {
    "gemma": ("head_dim",),
    "google/gemma-2-9b-it": ("head_dim", "sliding_window"),
    "google/gemma-3-1b-it": ("head_dim",),
    "google/gemma-3-4b-it": ("vocab_size",),
    "google/gemma-4-26B-A4B": ("head_dim", "global_head_dim"),
    "gemma3n_text": (
        "head_dim",
        "sliding_window",
        "num_kv_shared_layers",
        "laurel_rank",
        "altup_num_inputs",
        "hidden_size_per_layer_input",
        "vocab_size_per_layer_input",
    ),
    "openai/gpt-oss-120b": ("head_dim", "sliding_window"),
    "Qwen/Qwen3-0.6B": ("head_dim",),
    "tfdefault/Qwen3-Next": (*QWEN_LINEAR, "linear_num_value_heads"),
    "Qwen/Qwen3.5-27B": (*QWEN_LINEAR, "full_attention_interval"),
    "nvidia/Qwen3.6-35B-A3B-NVFP4": (
        *QWEN_LINEAR,
        "linear_num_value_heads",
        "full_attention_interval",
        "partial_rotary_factor",
    ),
    "deepseek-ai/DeepSeek-V2-Lite": LATENT,
    "deepseek-ai/DeepSeek-R1": LATENT,
    "deepseek-ai/DeepSeek-V3.2": LATENT,
    "moonshotai/Kimi-K2.5": LATENT,
    "llama4_text": (
        "attention_chunk_size",
        "interleave_moe_layer_step",
        "head_dim",
        "no_rope_layer_interval",
    ),
    "cwm": ("head_dim", "sliding_window"),
    "ernie4_5": ("head_dim",),
    "vaultgemma": ("head_dim", "sliding_window"),
    "cohere2": ("sliding_window",),
    "tfdefault/Jamba": (
        "attn_layer_offset",
        "attn_layer_period",
        "expert_layer_offset",
        "expert_layer_period",
        "mamba_d_conv",
        "mamba_d_state",
        "mamba_expand",
        "num_experts",
    ),
    "tfdefault/Mamba": ("state_size", "conv_kernel", "expand"),
    "falcon_mamba": ("state_size", "conv_kernel", "expand"),
    "tfdefault/Mamba2-Codestral": ("state_size", "conv_kernel", "expand", "n_groups", "head_dim"),
    "falcon_h1": ("mamba_expand", "mamba_d_conv"),
    "nvidia/Nemotron-H-56B-Base-8K": ("conv_kernel",),
    "granite_moe_h": ("mamba_d_conv", "mamba_expand", "mamba_d_state", "mamba_n_groups"),
    "lfm2-1.2b": ("conv_L_cache",),
    "lfm2-8b": ("conv_L_cache",),
}


def known() -> dict[str, dict[str, Any]]:
    """Return every configuration that the engine was asked about, by name."""
    families = json.loads(
        Path(__file__).with_name("engine_families.json").read_text(encoding="utf-8")
    )
    named = {family["name"]: family["config"] for family in families}
    return {**configs(), **cast("dict[str, dict[str, Any]]", named)}


def text_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return the section that describes the text part."""
    inner = config.get("text_config")
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else config


def shapes(found: Architecture) -> Architecture:
    """Return an architecture without what it says of where its numbers come from."""
    return found.model_copy(update={"notes": ()})


def without(config: dict[str, Any], field: str) -> dict[str, Any]:
    """Return a configuration whose text part lacks a field."""
    text = {name: value for name, value in text_of(config).items() if name != field}
    return text if text_of(config) is config else {**config, "text_config": text}


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in CONFORMING.items() for field in fields]
)
def test_what_is_left_out_is_the_class_default(name: str, field: str) -> None:
    config = known()[name]
    assert field in text_of(config)
    short = architecture(without(config, field))
    assert shapes(short) == shapes(architecture(config))


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        # Values of transformers 5's classes that no configuration at hand states.
        ("google/gemma-3-4b-it", "sliding_window", 4096),
        ("google/gemma-4-26B-A4B", "sliding_window", 512),
        ("Qwen/Qwen3.5-27B", "linear_num_value_heads", 32),
        ("tfdefault/Qwen3-Next", "full_attention_interval", 4),
        ("tfdefault/Qwen3-Next", "partial_rotary_factor", 0.25),
        ("glm4_moe", "partial_rotary_factor", 0.5),
        ("falcon_h1", "mamba_n_groups", 1),
        ("TheBloke/Mixtral-8x7B-Instruct-v0.1-AWQ", "num_local_experts", 8),
        ("TheBloke/Mixtral-8x7B-Instruct-v0.1-AWQ", "num_experts_per_tok", 2),
    ],
)
def test_other_class_defaults(name: str, field: str, value: float) -> None:
    config = without(known()[name], field)
    text = {**text_of(config), field: value}
    stated = text if text_of(config) is config else {**config, "text_config": text}
    assert shapes(architecture(stated)) == shapes(architecture(config))


def layers_of(found: Architecture, part: Part) -> set[int]:
    """Return the layers that hold weights of a part."""
    return {layer for w in found.weights if w.part is part for layer in w.layers or ()}


def cached_by(found: Architecture, kind: CacheKind) -> set[int]:
    """Return the layers that keep a kind of cache."""
    return {layer for cache in found.caches if cache.kind is kind for layer in cache.layers}


def test_jambas_layers_are_where_its_class_puts_them() -> None:
    """Attention in every eighth layer from the fourth on, experts in every second from the first
    (`JambaConfig`: layers with n % period == offset).
    """
    found = architecture(configs()["tfdefault/Jamba"])
    assert cached_by(found, CacheKind.FULL) == {4, 12, 20, 28}
    assert layers_of(found, Part.EXPERTS) == set(range(1, 32, 2))
    assert layers_of(found, Part.MLP) == set(range(0, 32, 2))


@pytest.mark.parametrize(
    ("period", "offset", "layers"),
    [(2, 0, {0, 2, 4, 6}), (3, 2, {2, 5}), (3, 4, {1, 4, 7}), (1, 0, set(range(8)))],
)
def test_jambas_experts_follow_period_and_offset(
    period: int, offset: int, layers: set[int]
) -> None:
    config = {
        **configs()["tfdefault/Jamba"],
        "num_hidden_layers": 8,
        "expert_layer_period": period,
        "expert_layer_offset": offset,
    }
    assert layers_of(architecture(config), Part.EXPERTS) == layers


def test_every_layer_of_llama_4_has_experts_by_default() -> None:
    """Scout's do; Maverick states a step of two."""
    config = without(known()["llama4_text"], "interleave_moe_layer_step")
    config = {name: value for name, value in config.items() if name != "moe_layers"}
    found = architecture(config)
    assert layers_of(found, Part.EXPERTS) == set(range(found.num_layers))
    stepped = architecture({**config, "interleave_moe_layer_step": 2})
    assert layers_of(stepped, Part.EXPERTS) == set(range(1, found.num_layers, 2))


@pytest.mark.parametrize(
    ("name", "step", "full"),
    [
        # Which layers have no window where no list says it: of every `step` layers the one named.
        ("google/gemma-3-4b-it", 6, 5),
        ("google/gemma-2-9b-it", 2, 1),
        ("openai/gpt-oss-120b", 2, 1),
        ("cohere2", 4, 3),
        ("exaone4", 4, 3),
        ("olmo3", 4, 3),
        ("cwm", 4, 3),
        ("vaultgemma", 2, 1),
        ("gemma3n_text", 5, 4),
        ("google/gemma-4-26B-A4B", 6, 5),
    ],
)
def test_windows_are_in_the_layers_of_the_class(name: str, step: int, full: int) -> None:
    """`transformers` fills `layer_types` by these rules when a configuration has none."""
    found = architecture(without(known()[name], "layer_types"))
    slid, whole = cached_by(found, CacheKind.SLIDING), cached_by(found, CacheKind.FULL)
    assert whole == {layer for layer in slid | whole if layer % step == full}
    assert len(slid | whole) > step
