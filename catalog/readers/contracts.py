"""Reads engine contracts: `engines/<version>.yaml`, the lists beside it, and `removals.yaml`.

What a release does with memory follows from `engines/borders.yaml`; no contract repeats it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from catalog.readers.deferred import DeferredValues
from catalog.readers.files import RemovalsFile
from catalog.readers.reading import Reader
from models.core.problems import shown
from models.core.releases import numbers
from models.facts.borders import Borders, Release
from models.facts.contract import EngineContract

_BORDERS: Final = "engines/borders.yaml"


def read_borders(reader: Reader) -> Borders:
    """Return at which releases the treatment of memory changes.

    Raises `ProblemsError` with what was found so far: no contract can be read without them.
    """
    borders = reader.model(_BORDERS, Borders)
    reader.finish("catalog")
    assert borders is not None, "what is wrong with the file was raised"
    return borders


def read_engines(reader: Reader, borders: Borders) -> Mapping[str, EngineContract]:
    """Return the contracts under `engines/` by release, oldest first; problems go to the reader.

    Where the files were found good before, a contract is read when its release is asked for.
    """
    versions = _versions(reader)
    removals = reader.model("removals.yaml", RemovalsFile) or RemovalsFile(flags=(), metrics=())
    if reader.found_good:
        return DeferredValues(
            versions, lambda version: _known_engine(reader, version, removals, borders)
        )
    contracts = {version: _engine(reader, version, removals, borders) for version in versions}
    return {version: contract for version, contract in contracts.items() if contract is not None}


def _known_engine(
    reader: Reader, version: str, removals: RemovalsFile, borders: Borders
) -> EngineContract:
    contract = _engine(reader, version, removals, borders)
    reader.finish("catalog")
    if contract is None:
        raise KeyError(version)
    return contract


def _versions(reader: Reader) -> list[str]:
    """Return the releases that have a file, oldest first; a file that names none is a problem."""
    found: list[str] = []
    for file in sorted((reader.root / "engines").glob("*.yaml")):
        if file.name == Path(_BORDERS).name:
            continue
        if all(part.isdigit() for part in file.stem.split(".")):
            found.append(file.stem)
        else:
            reader.problem(f"engines/{file.name}", "must be named for a release, as 0.33.0.yaml is")
    return sorted(found, key=numbers)


def _engine(
    reader: Reader, version: str, removals: RemovalsFile, borders: Borders
) -> EngineContract | None:
    """Read the hand-written part and the two generated lists beside it as one contract."""
    name = f"engines/{version}.yaml"
    data = reader.yaml_file(name)
    flags = reader.json_file(f"engines/{version}.flags.json")
    metrics = reader.json_file(f"engines/{version}.metrics.json")
    if data is None or flags is None or metrics is None:
        return None
    if not isinstance(data, dict):
        reader.problem(name, "the file must hold an object", value=shown(data))
        return None
    lists = {"flags": flags.get("flags"), "metrics": metrics.get("metrics")}
    if "memory" in data:
        reader.problem(f"{name}: memory", "follows from engines/borders.yaml", remedy="remove it")
    memory = borders.memory_at(_release(version)).model_dump(mode="json")
    contract = reader.validated(name, {**data, **lists, "memory": memory}, EngineContract)
    if contract is None:
        return None
    reader.same_name(name, "version", contract.version)
    return _with_removals(contract, removals)


def _release(version: str) -> Release:
    major, minor, patch = (*numbers(version), 0, 0)[:3]
    return major, minor, patch


def _with_removals(contract: EngineContract, removals: RemovalsFile) -> EngineContract:
    """Add what this release no longer has, and what no release ever had."""
    mine = {metric.name for metric in contract.metrics}
    flags = tuple(
        row
        for row in removals.flags
        if _is_gone(row.gone_in, contract.version) and contract.flag(row.name) is None
    )
    metrics = tuple(
        row
        for row in removals.metrics
        if _is_gone(row.gone_in, contract.version) and row.name not in mine
    )
    return contract.model_copy(update={"removed_flags": flags, "removed_metrics": metrics})


def _is_gone(gone_in: str | None, version: str) -> bool:
    return gone_in is None or numbers(gone_in) <= numbers(version)
