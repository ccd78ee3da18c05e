"""Selecting an engine's arguments for a model: family, format, parallelism, cache strategy.

Arguments come from `models/serving/chosen_arguments.py`, which the plan uses too. What this adds is
for a person who has a model and asks how to serve it: legal tensor parallel sizes, the fewest GPUs
that hold it, and the reason of every argument. Pure: the caller has read the model's files.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from models.architecture import Architecture
from models.core.base import GIB, Model
from models.core.findings import Finding
from models.core.rule_ids import BYTE_RULES
from models.engine.command import Line, Parser
from models.engine.profiles import EngineOverrides, Environment, Parallelism
from models.engine.serve import command_line, problems_of
from models.facts.accelerators import Accelerator
from models.facts.catalog import ModelEntry
from models.facts.contract import EngineContract
from models.facts.golden import ModelGoldens
from models.memory import Budget, BudgetRequest, Verdict, budget
from models.memory.terms.weights import Rank, weight_bytes
from models.serving.caching import CacheStrategy, cache_strategy
from models.serving.chosen_arguments import POSITIONAL, Choice, choose
from models.serving.formats import FoundFormat
from models.serving.reasons import ArgumentInputs
from models.serving.splits import legal_tensor_parallel, node_gpus

_SMALLEST: Final = "the least GPU memory of a machine in the catalog that holds it"


class ModelCandidate(Model):
    """The model that arguments are wanted for: its catalog entry or a draft of one.

    `weights` is the directory that the engine is to read where it is not the catalog's. `goldens`
    are what the engine's own code said of a catalog model.
    """

    entry: ModelEntry
    architecture: Architecture
    format: FoundFormat
    weights: str | None = None
    goldens: ModelGoldens | None = None


class ChosenArgument(Model):
    """One option: `value` as on the command line (None: a switch), and why it is passed or not."""

    option: str
    value: str | None
    passed: bool
    why: str


class Selection(Model):
    """The arguments of one model on one card in one environment, and whether it fits so."""

    environment: Environment
    gpu: str
    gpus: int
    tensor_parallel: int
    legal_tensor_parallel: tuple[int, ...]
    command: tuple[str, ...]
    arguments: tuple[ChosenArgument, ...]
    cache: CacheStrategy
    verdict: Verdict
    rules: tuple[str, ...]
    reasons: tuple[str, ...]
    remedies: tuple[str, ...]
    problems: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the engine would start and serve with these arguments."""
        return self.verdict is Verdict.FITS and not self.problems


def select(
    subject: ModelCandidate,
    environment: Environment,
    accelerator: Accelerator,
    contract: EngineContract,
    overrides: EngineOverrides | None = None,
    tensor: int | None = None,
) -> Selection:
    """Return the arguments on one card; without `tensor`, over the fewest GPUs that hold it."""
    legal = legal_tensor_parallel(subject.architecture, accelerator, contract)
    sizes = legal or (1,)
    if tensor is not None:
        sizes = (tensor,)
    why = "asked for"
    if tensor is None:
        why = f"the fewest GPUs that hold it, of at most {node_gpus(accelerator)} on a node"
    found: list[Selection] = []
    for size in sizes:
        inputs = _inputs(subject, environment, accelerator, contract, overrides, size, why)
        found.append(_tried(inputs, subject, legal))
        if found[-1].verdict is Verdict.FITS or not BYTE_RULES.issuperset(found[-1].rules):
            break
    return found[-1]


def smallest(
    subject: ModelCandidate,
    environment: Environment,
    cards: Iterable[Accelerator],
    contract: EngineContract,
    overrides: EngineOverrides | None = None,
) -> Selection:
    """Return the arguments on the least GPU memory that holds the model, of machines in the cloud.

    Where none does, those on the largest that was tried.
    """
    found = subject.architecture
    least = weight_bytes(found, Rank(), "new").raw / GIB
    rented = [card for card in cards if card.instance_types]
    pairs = sorted(
        (card.memory_gib * size, size, card.name, card)
        for card in rented
        for size in legal_tensor_parallel(found, card, contract)
    )
    last = None
    for total, size, _, card in pairs:
        if total < least and total < pairs[-1][0]:
            continue
        inputs = _inputs(subject, environment, card, contract, overrides, size, _SMALLEST)
        last = _tried(inputs, subject, legal_tensor_parallel(found, card, contract))
        if last.good:
            break
    if last is None:
        message = "the catalog has no card with an instance type that the model can be split over"
        raise ValueError(message)
    return last


def _inputs(
    subject: ModelCandidate,
    environment: Environment,
    accelerator: Accelerator,
    contract: EngineContract,
    overrides: EngineOverrides | None,
    size: int,
    why: str,
) -> ArgumentInputs:
    return ArgumentInputs(
        environment=environment,
        entry=subject.entry,
        architecture=subject.architecture,
        accelerator=accelerator,
        contract=contract,
        parallelism=Parallelism(tensor=size),
        overrides=overrides or EngineOverrides(),
        path="select",
        quantization=subject.format.quantization,
        spread=why,
    )


def _tried(inputs: ArgumentInputs, subject: ModelCandidate, legal: tuple[int, ...]) -> Selection:
    choice, problems = choose(inputs)
    if subject.weights is not None:
        choice = _from(choice, subject.weights)
    arguments = choice.arguments
    command = command_line(arguments, inputs.contract)
    problems += problems_of(command, inputs.contract, "select")
    problems += _parallel_problems(inputs, legal)
    request = BudgetRequest.of(
        inputs.architecture,
        inputs.accelerator,
        inputs.contract,
        arguments,
        goldens=subject.goldens,
    )
    fit = budget(request)
    warnings = tuple(notice.message for notice in choice.notices) + subject.format.warnings
    return Selection(
        environment=inputs.environment,
        gpu=inputs.accelerator.name,
        gpus=arguments.gpus,
        tensor_parallel=arguments.tensor_parallel_size,
        legal_tensor_parallel=legal,
        command=command,
        arguments=tuple(_explained(Parser(inputs.contract).read(command), choice)),
        cache=cache_strategy(inputs.architecture, arguments),
        verdict=fit.verdict,
        rules=fit.rules,
        reasons=fit.reasons,
        remedies=_remedies(fit, inputs),
        problems=tuple(problem.ruled for problem in problems),
        notices=warnings,
    )


def _from(choice: Choice, weights: str) -> Choice:
    """Return the choice with the weights read from a given directory."""
    reasons = tuple(
        reason.model_copy(update={"why": "the directory that was given"})
        if reason.option == POSITIONAL
        else reason
        for reason in choice.reasons
    )
    arguments = choice.arguments.model_copy(update={"model_path": weights})
    return choice.model_copy(update={"arguments": arguments, "reasons": reasons})


def _parallel_problems(inputs: ArgumentInputs, legal: tuple[int, ...]) -> list[Finding]:
    size = inputs.parallelism.tensor
    if size in legal:
        return []
    return [
        Finding(
            path="select.tp",
            message=f"{inputs.entry.name} cannot be split over {size} GPUs of a node of this card",
            value=str(size),
            allowed=", ".join(map(str, legal)) or "none",
            remedy="choose one of these, or pipeline parallelism",
        )
    ]


def _remedies(fit: Budget, inputs: ArgumentInputs) -> tuple[str, ...]:
    """Return the remedies that one node of the card can hold."""
    return fit.remedies_on(node_gpus(inputs.accelerator))


def _explained(line: Line, choice: Choice) -> Iterator[ChosenArgument]:
    """Yield every word of the command line with its reason, then what is left out and why."""
    why: Mapping[str, str] = {reason.option: reason.why for reason in choice.reasons}
    passed: set[str] = set()
    for _, word in line.positionals:
        reason = why.get(POSITIONAL, "asked for")
        yield ChosenArgument(option=POSITIONAL, value=word, passed=True, why=reason)
    for option in line.options:
        passed.add(option.name)
        reason = why.get(option.name, "asked for")
        value = option.value or None
        yield ChosenArgument(option=option.spelling, value=value, passed=True, why=reason)
    for reason in choice.reasons:
        if reason.left_out and reason.option not in passed:
            yield ChosenArgument(option=reason.option, value=None, passed=False, why=reason.why)
