"""Options that a model's family decides: recurrent states are no pages of tokens."""

from collections.abc import Iterator

from models.core.findings import Finding, Severity
from policies.core import knowledge
from policies.core.context import Context
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import invocation_of
from policies.views.engine.replica import replica_of
from policies.views.kubernetes.workload import Container


@rule(
    "k8s-container-suit-family",
    "Every engine's options suit its model's family.",
    remedy="leave the option out",
    weight=RuleWeight.HIGH,
    tags=("engine",),
    fragments=True,
)
def suit_family(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-07, LMC-07: recurrent states are neither paged nor shared by prefix."""
    invocation = None if container.inherits else invocation_of(container, context)
    if invocation is None:
        return
    replica = replica_of(invocation, context)
    model = None if replica.model is None else knowledge.shape(replica.model)
    if model is None or not any(cache.kind.is_state for cache in model.caches):
        return
    only = all(cache.kind.is_state for cache in model.caches)
    severity = Severity.ERROR if only and replica.sure else Severity.WARNING
    kind = "keeps recurrent states only" if only else "keeps recurrent states in some layers"
    caching = replica.line.argument("enable_prefix_caching")
    if caching is not None and not caching.negated:
        message = f"{replica.model} {kind}: prefix caching finds whole states only, if it starts"
        yield Finding(invocation.path(caching.at), message, severity)
    size = replica.line.argument("block_size")
    if size is not None:
        message = f"{replica.model} {kind}: the engine sizes blocks by the state itself"
        yield Finding(invocation.path(size.at), message, severity)
    transfer = replica.line.last("--kv-transfer-config")
    if transfer is not None and "LMCacheConnectorV1" in (transfer.value or ""):
        yield Finding(
            invocation.path(transfer.at),
            f"{replica.model} {kind}: the in-process LMCache connector refuses it",
            Severity.ERROR if replica.sure else Severity.WARNING,
            remedy="use LMCacheMPConnector (LMCache 0.4.7 or newer), or no connector",
        )
