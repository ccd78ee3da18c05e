"""How families arrange the experts of one layer, beside what the usual fields say."""

from dataclasses import replace

from models.architecture.blocks.draft import FLOAT32
from models.architecture.blocks.feedforward import Experts
from models.architecture.config.fields import Fields


def plain(fields: Fields, experts: Experts) -> Experts:
    """No expert that all tokens share."""
    return replace(experts, name="mlp.")


def block_sparse(fields: Fields, experts: Experts) -> Experts:
    """Mixtral's names."""
    return replace(experts, name="block_sparse_moe.")


def with_shared_gate(fields: Fields, experts: Experts) -> Experts:
    """Qwen2: a shared expert with a gate."""
    shared = fields.count("shared_expert_intermediate_size")
    return replace(
        experts, shared=shared, shared_gate=bool(shared), shared_name="mlp.shared_expert."
    )


def minimax(fields: Fields, experts: Experts) -> Experts:
    """MiniMax M2: the router in float32, with a correction if stated."""
    return replace(
        experts,
        correction=fields.flag("use_routing_bias"),
        router_dtype=FLOAT32,
        name="block_sparse_moe.",
    )


def glm(fields: Fields, experts: Experts) -> Experts:
    """GLM 4: shared experts; the router in float32, with a correction."""
    shared = fields.count("n_shared_experts") * experts.intermediate
    return replace(experts, shared=shared, correction=True, router_dtype=FLOAT32)


def granite(fields: Fields, experts: Experts) -> Experts:
    """Granite: a shared MLP of a size of its own."""
    return replace(
        experts,
        shared=fields.count("shared_intermediate_size"),
        name="block_sparse_moe.",
        shared_name="shared_mlp.",
    )


def exaone(fields: Fields, experts: Experts) -> Experts:
    """EXAONE: shared experts; the router with a correction."""
    shared = fields.count("num_shared_experts") * experts.intermediate
    return replace(experts, shared=shared, correction=True)
