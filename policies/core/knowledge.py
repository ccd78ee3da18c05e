"""What rules know of the world: the catalog and the tables of names, read once when first asked.

Only rules that need it pay for it; a pack without engines never reads the catalog.
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from catalog.loader import load
from models.core import releases
from models.core.problems import ProblemsError
from models.facts.catalog import Catalog, plain_name
from models.facts.contract import EngineContract

if TYPE_CHECKING:
    from models.architecture import Architecture
    from models.architecture.names.names import ModelNames
    from models.cases.cards import CardNames
    from models.facts.golden import ModelGoldens


@functools.cache
def catalog() -> Catalog:
    """Return the whole catalog. Raises `ProblemsError` where it cannot be read."""
    return load()


def chart_values() -> Mapping[str, str]:
    """Return upstream's default values of charts as text, by upstream's name, where at hand."""
    from catalog.readers.chart_values import shared_values

    return shared_values()


def engines() -> Mapping[str, EngineContract]:
    """Return the engine contracts by release, oldest first."""
    return catalog().engines


def newest() -> EngineContract:
    """Return the newest release's contract."""
    found = engines()
    return found[releases.newest(found)]


def by_digest(digest: str | None) -> EngineContract | None:
    """Return the contract whose image has that digest, or None."""
    if digest is None:
        return None
    return next((each for each in engines().values() if each.image.digest == digest), None)


_SAME_SHAPE: Final = {
    "meta-llama/Meta-Llama-3.1-8B": "llama31-8b-instruct",
    "meta-llama/Meta-Llama-3.1-70B": "llama33-70b-instruct",
}
"""Base models that the alias table refers to, by a catalog model of the same shape."""


@functools.cache
def names() -> "ModelNames":
    """Return the alias table over the catalog's configurations."""
    from catalog.readers.names import model_names

    models = catalog().models
    given = {model.entry.repository: model.config for model in models.values()}
    given |= {base: models[name].config for base, name in _SAME_SHAPE.items() if name in models}
    return model_names(given)


@functools.cache
def cards() -> "CardNames":
    """Return the known GPUs by all their names."""
    from catalog.readers.names import other_gpus
    from catalog.readers.tables import gpu_families
    from models.cases.cards import CardNames

    return CardNames(catalog().accelerators, other_gpus(), gpu_families())


@functools.cache
def configuration(name: str) -> Mapping[str, JsonValue] | None:
    """Return the configuration of a model by its exact name, catalog or hub, or None."""
    wanted = plain_name(name)
    for model in catalog().models.values():
        if wanted in (plain_name(model.entry.name), plain_name(model.entry.repository)):
            return model.config
    return names().exactly(name)


@functools.cache
def shape(name: str) -> "Architecture | None":
    """Return the architecture of a model by its exact name, or None where it is not known."""
    from models.architecture import architecture

    config = configuration(name)
    if config is None:
        return None
    try:
        return architecture(config)
    except ProblemsError:
        return None


@functools.cache
def goldens(name: str, release: str) -> "ModelGoldens | None":
    """Return what a release's own code said of a catalog model, by its exact name, or None."""
    wanted = plain_name(name)
    for model in catalog().models.values():
        if wanted in (plain_name(model.entry.name), plain_name(model.entry.repository)):
            return catalog().goldens_of(model, release)
    return None


@functools.cache
def weights_gib(name: str) -> float | None:
    """Return what a model's weights take in all, GiB; None where the model is not known."""
    from models.core.base import GIB
    from models.memory.terms.weights import Rank, weight_bytes

    model = shape(name)
    if model is None or model.incomplete:
        return None
    return weight_bytes(model, Rank(), "new").raw / GIB
