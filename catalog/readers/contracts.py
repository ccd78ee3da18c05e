"""Reads engine contracts: `engines/<version>.yaml`, the lists beside it, and `removals.yaml`."""

from catalog.readers.files import RemovalsFile
from catalog.readers.reading import Reader
from models.core.problems import shown
from models.facts.contract import EngineContract


def read_engines(reader: Reader) -> dict[str, EngineContract]:
    """Return the contracts under `engines/` by release, oldest first; problems go to the reader."""
    removals = reader.model("removals.yaml", RemovalsFile) or RemovalsFile(flags=(), metrics=())
    found: dict[str, EngineContract] = {}
    for version in _versions(reader):
        contract = _engine(reader, version)
        if contract is not None:
            found[contract.version] = _with_removals(contract, removals)
    return found


def _versions(reader: Reader) -> list[str]:
    """Return the releases that have a file, oldest first; a file that names none is a problem."""
    found: list[str] = []
    for file in sorted((reader.root / "engines").glob("*.yaml")):
        if all(part.isdigit() for part in file.stem.split(".")):
            found.append(file.stem)
        else:
            reader.problem(f"engines/{file.name}", "must be named for a release, as 0.33.0.yaml is")
    return sorted(found, key=_numbers)


def _engine(reader: Reader, version: str) -> EngineContract | None:
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
    contract = reader.validated(name, {**data, **lists}, EngineContract)
    if contract is not None:
        reader.same_name(name, "version", contract.version)
    return contract


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
    return gone_in is None or _numbers(gone_in) <= _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
