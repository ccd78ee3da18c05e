"""Reads the tables of names: models as people write them, GPUs that this project does not use."""

from functools import cache
from pathlib import Path

from pydantic import PositiveFloat

from catalog.readers.files import Source
from catalog.readers.own import own_reader
from catalog.readers.reading import Reader
from models.architecture.names.name_words import NameWords
from models.architecture.names.names import Alias, Configurations, ModelNames
from models.cases.cards import OtherGpu
from models.core.base import Model
from models.facts.accelerators import ComputeCapability, capability
from models.memory import Card


class _AliasesFile(Model):
    """`model_aliases.yaml`."""

    models: tuple[Alias, ...]


class _GpuRow(Model):
    """One GPU of `other_gpus.yaml`."""

    names: tuple[str, ...]
    memory_gib: PositiveFloat
    compute_capability: ComputeCapability
    rocm: bool = False
    source: Source


class _GpusFile(Model):
    """`other_gpus.yaml`."""

    gpus: tuple[_GpuRow, ...]


def model_names(given: Configurations, root: Path | None = None) -> ModelNames:
    """Return the alias table over the configurations given.

    The table is read when a name is asked for that the catalog does not have; `ProblemsError` is
    raised then.
    """
    return ModelNames(lambda: _aliases(root), given, lambda: _words(root))


@cache
def _words(root: Path | None) -> NameWords:
    reader = _reader(root)
    parsed = reader.model("model_name_words.yaml", NameWords)
    reader.finish("catalog")
    return parsed or NameWords()


@cache
def _aliases(root: Path | None) -> tuple[Alias, ...]:
    reader = _reader(root)
    parsed = reader.model("model_aliases.yaml", _AliasesFile)
    reader.finish("catalog")
    return parsed.models if parsed else ()


def other_gpus(root: Path | None = None) -> tuple[OtherGpu, ...]:
    """Return the GPUs that runs name and this project does not use. Raises `ProblemsError`."""
    reader = _reader(root)
    parsed = reader.model("other_gpus.yaml", _GpusFile)
    reader.finish("catalog")
    return tuple(
        OtherGpu(
            names=row.names,
            card=Card(
                memory_gib=row.memory_gib,
                capability=capability(row.compute_capability),
                product="" if row.rocm else row.names[0],
                rocm=row.rocm,
            ),
        )
        for row in (parsed.gpus if parsed else ())
    )


def _reader(root: Path | None) -> Reader:
    return own_reader() if root is None else Reader(root)
