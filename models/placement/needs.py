"""What a model takes of a card that it shares, from the memory model.

Its weights, activations, graphs and everything outside PyTorch, and KV cache for a number of
requests of a length: not the share of the card that a replica with its own GPU would fill.
"""

from models.architecture import Architecture
from models.core.rule_ids import BYTE_RULES, MemoryRule
from models.engine.profiles import EngineOverrides, Environment, Parallelism
from models.facts.accelerators import Accelerator
from models.facts.catalog import ModelEntry
from models.facts.contract import EngineContract
from models.facts.golden import ModelGoldens
from models.memory import BudgetRequest, budget
from models.serving.chosen_arguments import choose
from models.serving.reasons import ArgumentInputs
from models.serving.splits import legal_tensor_parallel

_OF_BYTES = BYTE_RULES | {MemoryRule.UTILIZATION}


def need_gib(
    entry: ModelEntry,
    architecture: Architecture,
    card: Accelerator,
    contract: EngineContract,
    *,
    tensor: int,
    overrides: EngineOverrides,
    concurrency: int,
    goldens: ModelGoldens | None = None,
) -> float | str:
    """Return GiB on each GPU for `concurrency` requests at full length, or why it cannot run.

    `goldens` are what the engine's own code said of the model.
    """
    legal = legal_tensor_parallel(architecture, card, contract)
    if tensor not in legal:
        sizes = ", ".join(map(str, legal))
        return f"cannot be split over {tensor} GPUs of a node (possible: {sizes})"
    wanted = ArgumentInputs(
        environment=Environment.DEV,
        entry=entry,
        architecture=architecture,
        accelerator=card,
        contract=contract,
        parallelism=Parallelism(tensor=tensor),
        overrides=overrides.model_copy(update={"max_num_seqs": concurrency}),
        path=entry.name,
    )
    choice, problems = choose(wanted)
    if problems:
        return problems[0].message
    request = BudgetRequest.of(architecture, card, contract, choice.arguments, goldens=goldens)
    fit = budget(request)
    barred = [each for each in fit.refusals if each.rule not in _OF_BYTES]
    if barred:
        return barred[0].message
    terms = (fit.weights_gib, fit.activation_gib, fit.non_torch_gib, fit.cuda_graph_gib)
    if fit.needed_kv_gib is None or None in terms:
        return "; ".join(fit.reasons) or "its memory cannot be counted"
    return sum(term or 0.0 for term in terms) + fit.needed_kv_gib * concurrency
