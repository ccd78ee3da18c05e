"""The constants that are learnt from real runs, not read from source. One source of truth.

`benchmarks/fit/constants.py` fits all of them on public runs (docs/sources.md#runs-of-the-engine)
and prints this block; docs/memory-model.md has which runs tell each, and the accuracy on threads
left out.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """Learnt constants; GiB unless the name says otherwise."""

    sampler_sorts: float
    """Float32 copies of sequences x vocabulary that a sorting sampler holds at its peak."""
    sampler_fused: float
    """The same of a sampler with fused kernels (from 0.16)."""
    layer_copies: float
    """Times that a layer's widest results of one step are held."""
    activation_floor: float
    """What a step takes beside: attention workspaces, masks, block tables."""
    context_first: float
    """Non-torch memory of one GPU with the first engine (to 0.7)."""
    context: float
    """Non-torch memory of one GPU with the second engine."""
    communication: float
    """What communication adds on each GPU from two on."""
    load_cache_share: float
    """Share of the weights that stays cached on each of several GPUs (0.2.5 to 0.4)."""
    graph_base: float
    """CUDA graphs: what capturing takes at all."""
    graph_per_layer_mib: float
    """CUDA graphs: MiB per layer and 64 captured sizes."""
    context_rocm: float
    """What ROCm takes more than CUDA."""
    bound: float
    """How far below the estimate the KV memory may lie where nothing is known badly."""
    bound_fused: float
    """And copies of sequences x vocabulary where a fused sampler sets the activation peak."""
    bound_layer: float
    """And GiB where a layer or an encoder sets it."""
    bound_tower: float
    """And GiB where a model has towers beside the text part."""
    bound_assumed: float
    """And the share of the weights where the quantization is only named, not described."""
    bound_hybrid: float
    """And GiB where graphs of a hybrid model are estimated inside the budget."""
    bound_oldest: float
    """And the share of the weights under releases to 0.4 on several GPUs."""


FITTED: Final = Fitted(
    sampler_sorts=9.66,
    sampler_fused=7.42,
    layer_copies=1.56,
    activation_floor=0.0,
    context_first=0.03,
    context=0.07,
    communication=0.475,
    load_cache_share=0.403,
    graph_base=0.546,
    graph_per_layer_mib=3.94,
    context_rocm=2.47,
    bound=1.19,
    bound_fused=1.89,
    bound_layer=0.298,
    bound_tower=0.298,
    bound_assumed=0.0827,
    bound_hybrid=5.43,
    bound_oldest=1.02,
)

CONTEXT_RESERVE_GIB: Final = 0.2
"""GiB of a card that are never free when an engine starts (its CUDA context, the driver)."""
