"""Feed-forward blocks: dense MLPs, mixtures of experts with shared experts and a router."""

from dataclasses import dataclass

from models.architecture.blocks.draft import FLOAT32, Draft, Layers, rows
from models.architecture.types import Part, Shard


def mlp(
    draft: Draft,
    size: int,
    layers: Layers,
    *,
    gated: bool = True,
    bias: bool = False,
    name: str = "mlp.",
    part: Part = Part.MLP,
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
) -> None:
    """Add a dense MLP of intermediate `size`; `gated` merges gate and up into one tensor."""
    gate, up, down = (name + each for each in names)
    out = rows(size, size) if gated else rows(size)
    inputs = (gate, up) if gated else (up,)
    draft.column(part, inputs, out, draft.hidden, layers, bias=bias)
    draft.row(part, down, draft.hidden, size, layers, bias=bias)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """A mixture of experts. `latent` is the experts' own hidden size (Nemotron 3 Super)."""

    count: int
    intermediate: int
    top_k: int
    shared: int = 0
    """Intermediate size of the shared experts together; 0 without."""
    shared_gate: bool = False
    gated: bool = True
    bias: bool = False
    router_bias: bool = False
    correction: bool = False
    """A float32 correction per expert for the router's scores."""
    router_dtype: str | None = None
    latent: int | None = None
    name: str = "mlp."
    shared_name: str = "mlp.shared_experts."


def moe(draft: Draft, spec: Experts, layers: Layers) -> None:
    """Add experts (stacked), router and shared experts in `layers`."""
    if not layers:
        return
    draft.experts = max(draft.experts, spec.count)
    draft.top_k = max(draft.top_k, spec.top_k)
    draft.expert_intermediate = max(draft.expert_intermediate, spec.intermediate)
    inner = spec.latent or draft.hidden
    size = spec.intermediate
    first = rows(size, size) if spec.gated else rows(size)
    up = ("gate_proj", "up_proj") if spec.gated else ("up_proj",)
    expert = spec.name + "experts."
    tensors = (
        (tuple(expert + "0." + each for each in up), first, inner, Shard.OUTPUT),
        ((expert + "0.down_proj",), rows(inner), size, Shard.INPUT),
    )
    for names, out, columns, shard in tensors:
        draft.add(
            Part.EXPERTS,
            names,
            out,
            columns,
            shard=shard,
            layers=layers,
            experts=spec.count,
            linear=True,
        )
        if spec.bias:
            biased = Shard.OUTPUT if shard is Shard.OUTPUT else Shard.NONE
            draft.add(Part.EXPERTS, names, out, shard=biased, layers=layers, experts=spec.count)
    _router(draft, spec, layers)
    if spec.latent:
        draft.whole(Part.ROUTER, spec.name + "fc1_latent_proj", inner, draft.hidden, layers)
        draft.whole(Part.ROUTER, spec.name + "fc2_latent_proj", draft.hidden, inner, layers)
    if spec.shared:
        mlp(
            draft,
            spec.shared,
            layers,
            gated=spec.gated,
            name=spec.shared_name,
            part=Part.SHARED_EXPERTS,
        )
    if spec.shared_gate:
        draft.whole(
            Part.SHARED_EXPERTS,
            spec.name + "shared_expert_gate",
            1,
            draft.hidden,
            layers,
            quantized=False,
        )


def _router(draft: Draft, spec: Experts, layers: Layers) -> None:
    draft.whole(
        Part.ROUTER,
        spec.name + "gate",
        spec.count,
        draft.hidden,
        layers,
        quantized=False,
        dtype=spec.router_dtype,
    )
    if spec.router_bias:
        draft.vector(Part.ROUTER, spec.count, layers)
    if spec.correction:
        draft.vector(Part.ROUTER, spec.count, layers, dtype=FLOAT32)
