"""What a budget says."""

from enum import StrEnum

from pydantic import Field

from models.core.base import Model
from models.core.findings import Finding, Setting
from models.memory.terms.kvcache import CacheGroup


class Verdict(StrEnum):
    """Whether the engine will run: `cannot-serve` means that one full-length request has no room.

    The engine stops at start-up in that case too; the two are told apart since their
    remedies differ.
    """

    FITS = "fits"
    CANNOT_START = "cannot-start"
    CANNOT_SERVE = "cannot-serve"
    UNKNOWN = "unknown"


class TermSource(StrEnum):
    """Where a term comes from: the engine's own code, our model, a measured run, the arguments."""

    GOLDEN = "golden"
    MODEL = "model"
    PROFILE = "profile"
    GIVEN = "given"


class Remedy(Model):
    """A change that makes it fit: in words, and as engine settings."""

    text: str
    settings: dict[str, Setting] = Field(default_factory=dict)


class Budget(Model):
    """The memory of one GPU of a replica, worst stage; GiB where the name says so.

    A term is None where an input is missing (see `refusals`). `requested_gib` is utilization x
    card. `kv_cache_gib_low` is its bound (docs/memory-model.md). `kv_bytes_per_token` is what one
    more token of a long request costs; `needed_kv_gib` one request at full length. `margin_gib`
    is the KV memory over that need. `kv_heads_replicated` tells that ranks hold copies of KV heads.
    `sources` tells where each term comes from (`kv_layout`: groups, pages and bytes per block), and
    `golden` which engine golden was read.
    """

    verdict: Verdict
    requested_gib: float | None = None
    weights_gib: float | None = None
    activation_gib: float | None = None
    non_torch_gib: float | None = None
    cuda_graph_gib: float | None = None
    kv_cache_gib: float | None = None
    kv_cache_gib_low: float | None = None
    kv_bytes_per_token: float | None = None
    kv_bytes_per_block: int | None = None
    gpu_blocks: int | None = None
    kv_cache_tokens: int | None = None
    max_concurrency: float | None = None
    needed_kv_gib: float | None = None
    margin_gib: float | None = None
    longest_model_len: int | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    kv_heads_replicated: bool = False
    groups: tuple[CacheGroup, ...] = ()
    sources: dict[str, TermSource] = Field(default_factory=dict)
    golden: str | None = None
    refusals: tuple[Finding, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What stands against it, in words, each with its remedy."""
        return tuple("; ".join(filter(None, (r.message, r.remedy))) for r in self.refusals)

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of what stands against it."""
        return tuple(each.rule for each in self.refusals if each.rule)

    @property
    def terms(self) -> str:
        """The figures that are known, in words, and whether the engine's own code gave them."""
        figures = (
            ("weights", self.weights_gib),
            ("activation", self.activation_gib),
            ("CUDA graphs", self.cuda_graph_gib),
            ("KV cache", self.kv_cache_gib),
            ("one request", self.needed_kv_gib),
        )
        told = ", ".join(f"{name} {gib:.2f} GiB" for name, gib in figures if gib is not None)
        if told and self.sources.get("weights_gib") is TermSource.GOLDEN:
            told += f", weights by the engine's own code ({self.golden})"
        return told

    @property
    def beyond_bound(self) -> str:
        """What to say of a replica that fits by the estimate, but not by its bound."""
        low, need = self.kv_cache_gib_low or 0.0, self.needed_kv_gib or 0.0
        return (
            "would probably start, but its KV cache may have as little as "
            f"{low:.2f} GiB, and one request of full length needs {need:.2f} GiB"
        )

    def remedies_on(self, node_gpus: int) -> tuple[str, ...]:
        """Return the remedies that a node with so many GPUs can hold, cheapest first."""
        return tuple(
            remedy.text
            for remedy in self.remedies
            if int(remedy.settings.get("tensor_parallel_size", 1)) <= node_gpus
        )

    @property
    def is_within_bound(self) -> bool:
        """Whether one full-length request fits into the conservative bound too."""
        if self.verdict is not Verdict.FITS:
            return False
        low, need = self.kv_cache_gib_low, self.needed_kv_gib
        return low is not None and need is not None and low >= need
