"""Memory of GPUs against what an engine loads, and what its card computes and keeps."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from models.core.findings import Finding, Severity
from models.core.problems import ProblemsError
from models.core.rule_ids import MemoryRule
from models.engine.arguments import ARGUMENTS, MOST_UTILIZATION, EngineArguments
from models.engine.serve import arguments_in
from models.facts.contract import EngineContract, MinimumCapability
from policies.core import knowledge
from policies.core.context import Context, is_house
from policies.core.rule import RuleWeight, rule
from policies.rules.engine.parallelism import OF_NO_CARD
from policies.views.engine.container import invocation_of
from policies.views.engine.replica import Replica, replica_of
from policies.views.kubernetes.workload import Container

if TYPE_CHECKING:
    from models.memory import Budget, BudgetRequest, Card

_NVIDIA: Final = "nvidia.com/gpu"
_SLICE: Final = "nvidia.com/mig-"
_ESTIMATED: Final = frozenset({MemoryRule.NO_MEMORY, MemoryRule.ONE_REQUEST})
_UNSURE_GIB: Final = 0.75
_UNSURE_SHARE: Final = 0.02
"""How far the estimate may be off before a file of somebody else is called wrong: the model's
90th percentile is 2 GiB, its median 0.5 GiB (docs/memory-model.md)."""

_BFLOAT16_SINCE: Final = (8, 0)
_CACHE_DTYPE: Final = ARGUMENTS["kv_cache_dtype"].option


@rule(
    "k8s-container-fit-memory",
    "Every engine fits the memory of the GPUs of its nodes.",
    remedy="lower --max-model-len, choose a larger card or more GPUs, or a smaller format "
    "(triplane budget says what helps)",
    weight=RuleWeight.CRITICAL,
    tags=("memory",),
)
def fit_memory(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-04, 05, 09, 14, 15, PSTK-05, FB-13: what the engine says after it has loaded."""
    if container.inherits or container.pod.follows or not _takes_gpus(container):
        return
    invocation = invocation_of(container, context)
    if invocation is None or not invocation.words:
        return
    replica = replica_of(invocation, context)
    if not replica.place.cards and _takes_slices(container) and not _own(container, context):
        return
    path = container.node["args"].path
    yield from _utilization(replica, path, context)
    if replica.missing or replica.model is None:
        yield from _stated_limits(replica, path)
        yield Finding(
            path,
            f"cannot verify that container {container.called} fits its GPUs: "
            + "; ".join(replica.missing),
            Severity.UNKNOWN,
            remedy="name the model (annotation triplane.dev/model) and the GPU (node selector "
            "nvidia.com/gpu.product, or annotation triplane.dev/accelerator)",
        )
        return
    yield from _of_cards(replica, path, context)


def _takes_gpus(container: Container) -> bool:
    return set(container.accelerators()) == {_NVIDIA} or _takes_slices(container)


def _takes_slices(container: Container) -> bool:
    """Whether the container takes MIG slices by their profile's name."""
    names = list(container.accelerators())
    return len(names) == 1 and names[0].startswith(_SLICE)


def _own(container: Container, context: Context) -> bool:
    return context.pulumi or is_house(container.pod.namespace)


def _utilization(replica: Replica, path: str, context: Context) -> Iterator[Finding]:
    try:
        share = float(replica.given("gpu_memory_utilization") or 0.5)
    except ValueError:
        return
    if not 0 < share <= 1:
        yield Finding(path, f"--gpu-memory-utilization {share:g} must be between 0 and 1")
    elif share > MOST_UTILIZATION and replica.line.argument("kv_cache_memory_bytes") is None:
        own = _own(replica.invocation.container, context)
        yield Finding(
            path,
            f"--gpu-memory-utilization {share:g} leaves nothing for the CUDA context and other "
            "processes",
            Severity.ERROR if own else Severity.WARNING,
            remedy=f"set it to {MOST_UTILIZATION:g} or less",
        )


def _contract(replica: Replica) -> EngineContract:
    contracts = replica.invocation.release.contracts
    return contracts[-1] if contracts else knowledge.newest()


def _of_cards(replica: Replica, path: str, context: Context) -> Iterator[Finding]:
    """Yield what every card that the pod may run on refuses; what only some do is a warning."""
    cards = dict.fromkeys(replica.place.cards)
    by_card = [list(_of_card(replica, card, path, context)) for card in cards]
    everywhere = all(any(each.severity is Severity.ERROR for each in found) for found in by_card)
    for found in by_card:
        for finding in found:
            risky = finding.severity is Severity.ERROR and not everywhere
            yield replace(finding, severity=Severity.WARNING) if risky else finding


def _of_card(replica: Replica, card: "Card", path: str, context: Context) -> Iterator[Finding]:
    from models.memory import Verdict, budget

    own = _own(replica.invocation.container, context)
    sure = own or (replica.sure and replica.place.sure and not replica.invocation.release.beyond)
    called = replica.invocation.container.called
    try:
        given = arguments_in(replica.line)
        request, note = _request(replica, card, given)
        fit = budget(request)
    except (ValidationError, ProblemsError, ValueError) as error:
        text = " ".join(str(error).split())[:200]
        message = f"cannot verify that container {called} fits its GPUs: {text}"
        yield Finding(path, message, Severity.UNKNOWN)
        return
    if note:
        yield Finding(path, f"container {called}: {note}", Severity.WARNING, "set --dtype=half")
    where = f"container {called} with {replica.model} on {card.product or replica.place.said}"
    remedy = _remedy(fit, replica)
    for refusal in fit.refusals:
        if refusal.rule in OF_NO_CARD or refusal.rule == MemoryRule.GPUS:
            continue
        certain = own or (sure and _is_certain(refusal, fit, replica))
        severity = refusal.severity if certain else Severity.WARNING
        if refusal.severity is Severity.UNKNOWN:
            severity = Severity.UNKNOWN
        message = f"{where}: {refusal.message}{_terms(fit)}"
        yield Finding(path, message, severity, remedy)
    if fit.verdict is Verdict.FITS and not fit.is_within_bound:
        yield Finding(
            path,
            f"{where} {fit.beyond_bound}{_terms(fit)}",
            Severity.ERROR if own else Severity.WARNING,
            remedy="lower --max-model-len, --max-num-batched-tokens or --max-num-seqs",
        )


def _request(
    replica: Replica, card: "Card", arguments: EngineArguments
) -> "tuple[BudgetRequest, str | None]":
    """Return the request, and a note where the engine would change the dtype by itself."""
    from models.memory import BudgetRequest, behavior_of, behavior_of_contract

    contract, release = _contract(replica), replica.invocation.release
    architecture = knowledge.shape(replica.model or "")
    if architecture is None:
        raise ValueError("the model's configuration cannot be read")
    note = None
    if (
        arguments.dtype is None
        and architecture.dtype == "bfloat16"
        and card.capability < _BFLOAT16_SINCE
    ):
        arguments = arguments.model_copy(update={"dtype": "float16"})
        note = f"{replica.model} is bfloat16, which {card.product} cannot compute"
    exact = release.exact is not None or release.floats or not release.contracts
    borders = knowledge.catalog().borders
    behavior = behavior_of_contract(contract) if exact else behavior_of(release.text, borders)
    classes = (knowledge.configuration(replica.model or "") or {}).get("architectures")
    named = classes if isinstance(classes, list) else []
    if any(name in contract.memory.no_graph_estimate_for for name in named):
        behavior = behavior.model_copy(update={"graphs_deducted": False})
    request = BudgetRequest(
        architecture=architecture,
        card=card,
        behavior=behavior,
        arguments=arguments,
        minimum=None if card.rocm else contract.minimum_capability,
        quantization_names=dict(contract.quantization_names),
        goldens=knowledge.goldens(replica.model or "", contract.version) if exact else None,
    )
    return request, note


def _is_certain(refusal: Finding, fit: "Budget", replica: Replica) -> bool:
    """Whether a refusal is beyond what the estimate may be off by."""
    if refusal.rule == MemoryRule.CAPABILITY:
        narrow = refusal.path == "kv_cache_dtype" and (refusal.value or "").startswith("fp8")
        return not (narrow and _chooses_flashinfer(replica))
    if refusal.rule in _ESTIMATED:
        return _lacking(fit) > _UNSURE_GIB + _UNSURE_SHARE * (fit.requested_gib or 0.0)
    if refusal.rule == MemoryRule.MAMBA_BLOCKS:
        return (fit.gpu_blocks or 0) < 0.8 * (fit.max_num_seqs or 0)
    return False


def _lacking(fit: "Budget") -> float:
    """Return the GiB that one request lacks."""
    if fit.kv_cache_gib:
        return (fit.needed_kv_gib or 0.0) - fit.kv_cache_gib
    terms = (fit.weights_gib, fit.activation_gib, fit.non_torch_gib, fit.needed_kv_gib)
    return sum(each or 0.0 for each in terms) - (fit.requested_gib or 0.0)


def _chooses_flashinfer(replica: Replica) -> bool:
    from policies.views.engine.container import variables

    backend = replica.given("attention_backend") or variables(replica.invocation.container).get(
        "VLLM_ATTENTION_BACKEND"
    )
    return "FLASHINFER" in (backend or "").upper()


def _terms(fit: "Budget") -> str:
    return f" ({fit.terms}, of {fit.requested_gib or 0.0:.2f} GiB asked for)" if fit.terms else ""


def _remedy(fit: "Budget", replica: Replica) -> str:
    return "; or ".join(fit.remedies_on(replica.place.node_gpus or 8)[:2])


def _stated_limits(replica: Replica, path: str) -> Iterator[Finding]:
    """Yield what the arguments themselves ask of the card, whatever the model is."""
    release = replica.invocation.release
    if not replica.place.sure or release.beyond < 0 or not release.contracts:
        return
    least = _contract(replica).minimum_capability
    for card in dict.fromkeys(replica.place.cards):
        if card.rocm:
            continue
        for what, needed in _needs(replica, least):
            if card.capability < needed:
                major, minor = card.capability
                unsure = what.startswith(
                    ARGUMENTS["kv_cache_dtype"].option
                ) and _chooses_flashinfer(replica)
                several = len(set(replica.place.cards)) > 1
                yield Finding(
                    path,
                    f"{what} needs compute capability {needed[0]}.{needed[1]}, "
                    f"{card.product or replica.place.said} has {major}.{minor}",
                    Severity.WARNING if unsure or several else Severity.ERROR,
                    remedy="leave the option out, or choose a newer card (or an older release)",
                )


def _needs(replica: Replica, least: MinimumCapability) -> Iterator[tuple[str, tuple[int, int]]]:
    from models.facts.accelerators import capability

    yield f"vLLM {_contract(replica).version}", capability(least.engine)
    for name in ("kv_cache_dtype", "dtype", "quantization"):
        value, table = replica.given(name), getattr(least, name)
        if value and value in table:
            yield f"{ARGUMENTS[name].option} {value}", capability(table[value])
