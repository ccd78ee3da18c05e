"""From a case as people write it to a budget request, or to what is missing. Pure.

Names resolve through the catalog, the alias table and the configurations given; what cannot be
resolved is named, never guessed. What was assumed is in the notes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from pydantic import JsonValue

from models.architecture import Architecture, architecture
from models.architecture.names.names import ModelNames, model_key
from models.cases.cards import CardNames, NamedCard
from models.cases.cases import Case, arguments_of_case
from models.cases.quantization import stored_as_named
from models.core.problems import ProblemsError, shown
from models.core.releases import newest
from models.engine.arguments import EngineArguments
from models.facts.borders import Borders
from models.facts.catalog import Catalog, CatalogModel
from models.facts.contract import EngineContract, MinimumCapability
from models.facts.golden import ModelGoldens
from models.memory import (
    UNSIZED_CACHE_DTYPES,
    Behavior,
    BudgetRequest,
    Card,
    behavior_of,
    behavior_of_contract,
)

_BFLOAT16_SINCE: Final = (8, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What names are looked up in.

    `pinned` makes the catalog's release the default; without it a run that does not say its
    release is read as one of unknown release.
    """

    catalog: Catalog
    names: ModelNames
    cards: CardNames
    pinned: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseRequest:
    """A case with its request, or with what is `missing`.

    `model_names` are the names that the model goes by, `gpu` the catalog's name of the card
    ("" if it is not in it), `version` the release. `other_make` marks a device that is neither
    CUDA nor ROCm, whose overheads nobody measured.
    """

    case: Case
    request: BudgetRequest | None = None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    model_names: tuple[str, ...] = ()
    gpu: str = ""
    version: str | None = None
    other_make: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _CaseModel:
    config: Mapping[str, JsonValue] | None
    entry: CatalogModel | None = None
    missing: str | None = None
    note: str | None = None


def ask(case: Case, sources: Sources, config: Mapping[str, JsonValue] | None = None) -> CaseRequest:
    """Return the request of a case; `config` is the model's configuration where it is given."""
    model = _CaseModel(config=config) if config is not None else _model(case.model, sources)
    found = sources.cards.find(case.gpu, case.gpu_mem_gib)
    missing = [text for text in (model.missing, found.missing) if text is not None]
    shape: Architecture | None = None
    if model.config is not None:
        try:
            shape = architecture(model.config)
        except ProblemsError as error:
            missing += [f"model: {problem.ruled}" for problem in error.problems]
    arguments = arguments_of_case(case)
    if arguments.kv_cache_dtype in UNSIZED_CACHE_DTYPES:
        missing.append(f"kv_cache_dtype: the bytes of {arguments.kv_cache_dtype!r} are not known")
    version = case.vllm_version or _pinned(model.entry, sources)
    notes = [*found.notes, *([model.note] if model.note else [])]
    if arguments.num_speculative_tokens:
        notes.append("speculative decoding: the draft's weights and cache are not counted")
    asked = CaseRequest(
        case=case,
        missing=tuple(missing),
        model_names=_names(case, model.entry),
        gpu=found.name,
        version=version,
        other_make=found.other_make,
    )
    if missing or shape is None or found.card is None:
        return replace(asked, notes=tuple(notes))
    if config is None and model.entry is None:
        stored = stored_as_named(case.model, shape, arguments)
        shape, arguments = stored.shape, stored.arguments
        notes += [stored.note] if stored.note else []
    arguments = _computable(arguments, shape, found.card, notes)
    contract = contract_of(version, sources.catalog)
    request = BudgetRequest(
        architecture=shape,
        card=found.card,
        behavior=_behavior(version, contract, shape, sources.catalog.borders),
        arguments=arguments,
        n_gpus=case.n_gpus,
        minimum=_minimum(contract, found),
        quantization_names={} if contract is None else dict(contract.quantization_names),
        goldens=_goldens(model.entry, contract, sources),
    )
    return replace(asked, request=request, notes=tuple(notes))


def _goldens(
    entry: CatalogModel | None, contract: EngineContract | None, sources: Sources
) -> ModelGoldens | None:
    """Return the goldens of a catalog model under exactly the release that is asked for."""
    if entry is None or contract is None:
        return None
    return sources.catalog.goldens_of(entry, contract.version)


def _minimum(contract: EngineContract | None, card: NamedCard) -> MinimumCapability | None:
    """Return the release's table of CUDA capabilities, for cards that have one."""
    cuda = card.card is not None and not card.card.rocm and not card.other_make
    return contract.minimum_capability if contract is not None and cuda else None


def _behavior(
    version: str | None, contract: EngineContract | None, shape: Architecture, borders: Borders
) -> Behavior:
    """Return how the release treats memory; some model classes estimate no graphs in some."""
    if contract is None:
        return behavior_of(version, borders, at_least=shape.engine.first_release)
    return behavior_of_contract(contract, shape.classes)


def _pinned(entry: CatalogModel | None, sources: Sources) -> str | None:
    if not sources.pinned:
        return None
    if entry is not None:
        return entry.entry.engine
    releases = list(sources.catalog.engines)
    return newest(releases) if releases else None


def contract_of(version: str | None, catalog: Catalog) -> EngineContract | None:
    """Return the contract of exactly that release; forks and builds of a branch have none."""
    if version is None or re.search(r"fork|main|dev|rc|post", version, re.IGNORECASE):
        return None
    found = re.search(r"\d+\.\d+\.\d+", version)
    return None if found is None else catalog.engines.get(found[0])


def _names(case: Case, entry: CatalogModel | None) -> tuple[str, ...]:
    names = [case.model or "", entry.entry.name if entry else ""]
    names.append(entry.entry.repository if entry else "")
    return tuple(dict.fromkeys(name for name in names if name))


def _model(name: str | None, sources: Sources) -> _CaseModel:
    if not name:
        return _CaseModel(config=None, missing="model: not given")
    models = sources.catalog.models
    wanted = model_key(name)
    for entry in models.values():
        if wanted in (model_key(entry.entry.name), model_key(entry.entry.repository)):
            return _CaseModel(config=entry.config, entry=entry)
    reading = sources.names.read(name)
    if reading is not None:
        note = None if reading.note is None else f"model: {reading.note}"
        return _CaseModel(config=reading.config, note=note)
    near = sources.names.nearest(name)
    close = get_close_matches(name.lower(), list(models), n=1, cutoff=0.5)
    near = near or (close[0] if close else None)
    hint = "" if near is None else f"; the nearest known name is {near!r}: write it if you mean it"
    return _CaseModel(
        config=None, missing=f"model: no configuration is known for {shown(name)}{hint}"
    )


def _computable(
    arguments: EngineArguments, shape: Architecture, card: Card, notes: list[str]
) -> EngineArguments:
    """Take float16 where the dtype is `auto` and the card cannot compute in bfloat16."""
    old = card.capability < _BFLOAT16_SINCE and not card.rocm
    if arguments.dtype is not None or shape.dtype != "bfloat16" or not old:
        return arguments
    notes.append("dtype: float16, since the card cannot compute in bfloat16")
    return arguments.model_copy(update={"dtype": "float16"})
