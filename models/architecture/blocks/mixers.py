"""Recurrent mixers: Mamba, Mamba 2, gated delta nets, Kimi's delta attention, short convolutions.

Shapes follow vLLM 0.33.0 (`model_executor/layers/mamba/`); states follow its
`MambaStateShapeCalculator`.
"""

from dataclasses import dataclass

from models.architecture.blocks.draft import FLOAT32, Draft, Layers, rows
from models.architecture.types import CacheKind, Part, Rows, Shard, State

_SPLIT = Shard.OUTPUT


@dataclass(frozen=True, kw_only=True, slots=True)
class Mamba1:
    """Mamba: `inner` channels, `state` numbers per channel, `rank` of the time step."""

    inner: int
    state: int
    kernel: int
    rank: int
    conv_bias: bool = True
    bias: bool = False
    norms: bool = False
    name: str = "mixer."


def mamba1(draft: Draft, spec: Mamba1, layers: Layers) -> None:
    """Add Mamba's weights and states in `layers`."""
    part, inner, name = Part.MIXER, spec.inner, spec.name
    draft.column(part, name + "conv1d", rows(inner), spec.kernel, layers, quantized=False)
    if spec.conv_bias:
        draft.vector(part, inner, layers, split=True)
    draft.column(part, name + "in_proj", rows(inner, inner), draft.hidden, layers, bias=spec.bias)
    draft.row(part, name + "x_proj", spec.rank + 2 * spec.state, inner, layers)
    draft.column(part, name + "dt_proj", rows(inner), spec.rank, layers, quantized=False)
    draft.vector(part, inner, layers, split=True)
    draft.add(
        part, name + "A", (Rows(units=inner, width=spec.state),), layers=layers,
        shard=_SPLIT, dtype=FLOAT32,
    )  # fmt: skip  # one tensor, read like its neighbors
    draft.vector(part, inner, layers, split=True)
    draft.row(part, name + "out_proj", draft.hidden, inner, layers, bias=spec.bias)
    if spec.norms:
        draft.norms(1, layers, spec.rank)
        draft.norms(2, layers, spec.state)
    state = State(kernel=spec.kernel, conv_size=inner, heads=inner, head_elements=spec.state)
    draft.state_cache(CacheKind.MAMBA1, layers, state)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mamba2:
    """Mamba 2: `heads` of `head_dim` channels; groups share the input and output projections."""

    inner: int
    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int
    conv_bias: bool = True
    bias: bool = False
    norm: bool = True
    state_dtype: str | None = None
    name: str = "mixer."


def mamba2(draft: Draft, spec: Mamba2, layers: Layers) -> None:
    """Add Mamba 2's weights and states in `layers`."""
    part, name = Part.MIXER, spec.name
    shared = Rows(units=spec.groups, width=spec.state, replicated=True)
    inner = Rows(units=spec.inner, width=1)
    convolved = (inner, shared, shared)
    draft.column(part, name + "conv1d", convolved, spec.kernel, layers, quantized=False)
    if spec.conv_bias:
        draft.column(part, name + "conv1d", convolved, 1, layers, quantized=False)
    projected = (inner, inner, shared, shared, Rows(units=spec.heads, width=1))
    draft.column(part, name + "in_proj", projected, draft.hidden, layers, bias=spec.bias)
    draft.vector(part, spec.heads, layers, split=True, dtype=FLOAT32)
    for _ in ("D", "dt_bias"):
        draft.vector(part, spec.heads, layers, split=True)
    if spec.norm:
        draft.vector(Part.NORM, spec.inner, layers, split=True)
    draft.row(part, name + "out_proj", draft.hidden, spec.inner, layers, bias=spec.bias)
    state = State(
        kernel=spec.kernel,
        conv_size=spec.inner,
        groups=spec.groups,
        group_width=2 * spec.state,
        heads=spec.heads,
        head_elements=spec.head_dim * spec.state,
        dtype=spec.state_dtype,
    )
    draft.state_cache(CacheKind.MAMBA2, layers, state)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeltaNet:
    """A gated delta net (Qwen3-Next, Qwen3.5)."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    state_dtype: str | None = None
    name: str = "linear_attn."
    float32_norm: bool = True


def delta_net(draft: Draft, spec: DeltaNet, layers: Layers) -> None:
    """Add a gated delta net's weights and states in `layers`."""
    part, name, hidden = Part.MIXER, spec.name, draft.hidden
    keys = Rows(units=spec.key_heads, width=spec.key_dim)
    values = Rows(units=spec.value_heads, width=spec.value_dim)
    draft.column(part, name + "conv1d", (keys, keys, values), spec.kernel, layers, quantized=False)
    names = (name + "in_proj_qkv", name + "in_proj_z")
    draft.column(part, names, (keys, keys, values, values), hidden, layers)
    per_head = Rows(units=spec.value_heads, width=1)
    draft.column(
        part, (name + "in_proj_b", name + "in_proj_a"), (per_head, per_head), hidden, layers
    )
    draft.vector(part, spec.value_heads, layers, split=True)
    draft.vector(part, spec.value_heads, layers, split=True, dtype=FLOAT32)
    draft.norms(1, layers, spec.value_dim)
    draft.row(part, name + "out_proj", hidden, spec.value_heads * spec.value_dim, layers)
    state = State(
        kernel=spec.kernel,
        conv_size=2 * keys.size + values.size,
        heads=spec.value_heads,
        head_elements=spec.value_dim * spec.key_dim,
        dtype=spec.state_dtype,
    )
    draft.state_cache(CacheKind.GDN, layers, state)


@dataclass(frozen=True, kw_only=True, slots=True)
class KimiDelta:
    """Kimi's delta attention; `full_gate` has a full-rank output gate (Kimi K3)."""

    heads: int
    head_dim: int
    kernel: int
    full_gate: bool = False
    name: str = "self_attn."


def kimi_delta(draft: Draft, spec: KimiDelta, layers: Layers) -> None:
    """Add Kimi delta attention's weights and states in `layers`."""
    part, name, hidden = Part.MIXER, spec.name, draft.hidden
    heads = Rows(units=spec.heads, width=spec.head_dim)
    for each in "qkv":
        draft.column(part, f"{name}{each}_proj", (heads,), hidden, layers)
        conv = f"{name}{each}_conv1d"
        draft.column(part, conv, (heads,), spec.kernel, layers, quantized=False)
    draft.whole(part, name + "f_a_proj", spec.head_dim, hidden, layers)
    draft.column(part, name + "f_b_proj", (heads,), spec.head_dim, layers)
    draft.column(part, name + "b_proj", (Rows(units=spec.heads, width=1),), hidden, layers)
    if spec.full_gate:
        draft.column(part, name + "g_proj", (heads,), hidden, layers)
    else:
        draft.whole(part, name + "g_a_proj", spec.head_dim, hidden, layers)
        draft.column(part, name + "g_b_proj", (heads,), spec.head_dim, layers)
    draft.vector(part, spec.heads, layers, split=True, dtype=FLOAT32)
    draft.vector(part, heads.size, layers, split=True, dtype=FLOAT32)
    draft.norms(1, layers, spec.head_dim)
    draft.row(part, name + "o_proj", hidden, heads.size, layers)
    state = State(
        kernel=spec.kernel,
        conv_size=3 * heads.size,
        heads=spec.heads,
        head_elements=spec.head_dim * spec.head_dim,
        dtype=FLOAT32,
    )
    draft.state_cache(CacheKind.KDA, layers, state)


def short_conv(draft: Draft, size: int, kernel: int, layers: Layers, *, bias: bool) -> None:
    """Add a gated short convolution (LFM2)."""
    part = Part.MIXER
    draft.column(part, "conv.conv", rows(size), kernel, layers, bias=bias, quantized=False)
    draft.column(part, "conv.in_proj", rows(size, size, size), draft.hidden, layers, bias=bias)
    draft.row(part, "conv.out_proj", draft.hidden, size, layers, bias=bias)
    draft.state_cache(CacheKind.SHORT_CONV, layers, State(kernel=kernel, conv_size=size))
