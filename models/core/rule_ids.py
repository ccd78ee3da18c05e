"""Ids of what the program itself proves. The pack's rules have theirs where they are defined.

Together they are closed: a finding has one of these, or the id of a registered rule, or none (an
input that a schema or a check of its own refuses).
"""

from enum import StrEnum
from typing import Final


class ProofRule(StrEnum):
    """Proofs over the plan; most the pack proves once more, under the same ids."""

    NAMES = "plan-names"
    MEMORY = "plan-memory"
    MARGIN = "plan-margin"
    COST = "plan-cost"
    GPUS = "plan-gpus"
    SHARING = "plan-sharing"
    STATUS = "plan-status"
    REVISION = "plan-revision"
    ENTRY = "plan-entry"
    CAPACITY = "plan-capacity"
    OPERATORS = "plan-operators"
    STORAGE = "plan-storage"


class GateRule(StrEnum):
    """What our commands look for beside the rules (`triplane changes`, `check --catalog`)."""

    DATA_SURVIVES = "k8s-data-survive-changes"
    ENTRY_IS_WHOLE = "catalog-entry-is-whole"
    MODEL_FITS = "catalog-model-fits"
    MODEL_FITS_STACK = "catalog-model-fits-stack"


class MemoryRule(StrEnum):
    """Why the memory model says that an engine would not start or serve, or it cannot tell."""

    GPUS = "gpus"
    HEADS = "heads"
    KV_HEADS = "kv-heads"
    QUANTIZATION_GROUPS = "quantization-groups"
    POSITIONS = "positions"
    CAPABILITY = "capability"
    KV_CACHE_DTYPE = "kv-cache-dtype"
    UTILIZATION = "utilization"
    PREFIX_CACHING = "prefix-caching"
    BLOCK_SIZE = "block-size"
    NO_MEMORY = "no-memory"
    MAMBA_BLOCKS = "mamba-blocks"
    CUDA_GRAPHS = "cuda-graphs"
    ONE_REQUEST = "one-request"
    ENGINE = "engine"
    """The engine's own recorded answer."""
    INCOMPLETE = "incomplete"
    """An input is missing, so that the weights cannot be counted."""


BYTE_RULES: Final = frozenset(
    {
        MemoryRule.NO_MEMORY,
        MemoryRule.MAMBA_BLOCKS,
        MemoryRule.CUDA_GRAPHS,
        MemoryRule.ONE_REQUEST,
    }
)
"""What more memory would remedy, or arguments that take less of it."""

SHAPE_RULES: Final = frozenset(
    {MemoryRule.HEADS, MemoryRule.KV_HEADS, MemoryRule.QUANTIZATION_GROUPS}
)
"""What another number of ranks would remedy."""
