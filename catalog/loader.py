"""Reads the catalog's files into the types of `models`; the only code that does.

`load` reads every file and reports every problem of every file at once. Reading does not judge
whether a model fits or may be served: that is the work of `models` and `policies`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from catalog.readers.contents import Contents
from catalog.readers.contracts import read_borders, read_engines
from catalog.readers.deferred import Deferred
from catalog.readers.files import (
    AcceleratorsFile,
    ChartsFile,
    ImagesFile,
    InstancesFile,
    PriceRow,
    PricesFile,
)
from catalog.readers.goldens import load_goldens
from catalog.readers.own import keep_own, own_contents, own_reader
from catalog.readers.reading import Reader
from models.core.findings import Finding
from models.core.problems import ProblemsError, shown
from models.facts.accelerators import Accelerator, InstanceType
from models.facts.catalog import Catalog, CatalogModel, ModelEntry, plain_name
from models.facts.charts import Chart
from models.facts.contract import EngineContract, Image

_HERE: Final = Path(__file__).parent
_REVISION_DIGITS: Final = 12

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


def load(root: Path | None = None) -> Catalog:
    """Return the whole catalog under `root` (this package's folder by default).

    Raises `ProblemsError` with the problems of all files; a problem's path is the file, then the
    key in it. This package's files are judged once (`readers/cache.py`): afterwards each part is
    read when it is looked at.
    """
    if root is None:
        reader = own_reader()
        catalog = _catalog(reader, own_contents().digest)
        keep_own(reader)
        return catalog
    contents = Contents(root)
    return _catalog(Reader(root, contents.files), contents.digest)


def _catalog(reader: Reader, digest: str) -> Catalog:
    accelerators = _section(reader, _accelerators)
    borders = read_borders(reader)
    engines = read_engines(reader, borders)
    prices = _section(reader, _prices)
    catalog = Catalog(
        revision=digest[:_REVISION_DIGITS],
        models=_section(reader, lambda reader: _models(reader, engines)),
        accelerators=accelerators,
        instance_types=_section(reader, lambda reader: _instance_types(reader, accelerators)),
        engines=engines,
        borders=borders,
        images=_section(reader, _images),
        charts=_section(reader, _charts),
        prices=Deferred(lambda: prices.get("hour", {})),
        monthly_prices=Deferred(lambda: prices.get("gb-month", {})),
        goldens={version: load_goldens(version, reader.root / "goldens") for version in engines},
    )
    reader.finish("catalog")
    return catalog


def _section(reader: Reader, read: Callable[[Reader], Mapping[_K, _V]]) -> Mapping[_K, _V]:
    """Read a part of the catalog now; at the first look where it was found good before."""

    def checked() -> Mapping[_K, _V]:
        rows = read(reader)
        reader.finish("catalog")
        return rows

    return Deferred(checked) if reader.found_good else read(reader)


def load_charts(root: Path | None = None) -> Mapping[str, Chart]:
    """Return the pinned Helm charts by name. Raises `ProblemsError` like `load`."""
    reader = own_reader() if root is None else Reader(root)
    charts = _charts(reader)
    reader.finish("catalog")
    return charts


def program(name: str, root: Path | None = None) -> Mapping[str, str]:
    """Return the files of `programs/<name>/`, by name: a program that runs inside a pod.

    In the pod it is a package too (`python3 -m catalog.programs.<name>`). Raises `ProblemsError`
    naming the programs that exist when there is none of that name.
    """
    folder = (root or _HERE) / "programs"
    known = sorted(path.parent.name for path in folder.glob("*/__main__.py"))
    if name not in known:
        problem = Finding(
            path="programs",
            message="the catalog has no such program",
            value=shown(name),
            allowed=", ".join(known),
        )
        raise ProblemsError("catalog", [problem])
    files = sorted((folder / name).glob("*.py"))
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def _accelerators(reader: Reader) -> dict[str, Accelerator]:
    parsed = reader.model("accelerators.yaml", AcceleratorsFile)
    rows = parsed.accelerators if parsed else ()
    path = "accelerators.yaml: accelerators"
    _check_aliases(reader, path, rows)
    return _named(reader, path, rows, lambda row: row.name)


def _check_aliases(reader: Reader, path: str, rows: Iterable[Accelerator]) -> None:
    """Two cards must not answer to one name: `accelerator_of` would return whichever is first."""
    owners: dict[str, str] = {}
    for index, row in enumerate(rows):
        for text in (row.name, row.product, *row.aliases):
            owner = owners.setdefault(plain_name(text), row.name)
            if owner != row.name:
                reader.problem(
                    f"{path}[{index}]",
                    f"this name also means {owner}",
                    value=shown(text),
                    remedy="keep it on one of the two",
                )


def _instance_types(
    reader: Reader, accelerators: Mapping[str, Accelerator]
) -> dict[str, InstanceType]:
    parsed = reader.model("instances.yaml", InstancesFile)
    without_gpu = parsed.instance_types if parsed else ()
    carried = [row for card in accelerators.values() for row in card.instance_types]
    path = "instances.yaml: instance_types"
    return _named(reader, path, (*without_gpu, *carried), lambda row: row.name)


def _models(reader: Reader, engines: Mapping[str, EngineContract]) -> dict[str, CatalogModel]:
    found: dict[str, CatalogModel] = {}
    for file in sorted((reader.root / "models").glob("*.yaml")):
        name = f"models/{file.name}"
        entry = reader.model(name, ModelEntry)
        config = reader.json_file(f"models/{file.stem}.config.json")
        if entry is None or config is None:
            continue
        reader.same_name(name, "name", entry.name)
        if entry.engine not in engines:
            reader.problem(
                f"{name}: engine",
                "the catalog has no contract of this engine release",
                value=shown(entry.engine),
                allowed=", ".join(sorted(engines)),
                remedy=f"add engines/{entry.engine}.yaml, or name another release",
            )
        found[entry.name] = CatalogModel(entry=entry, config=config)
    return found


def _images(reader: Reader) -> dict[str, Image]:
    parsed = reader.model("images.yaml", ImagesFile)
    rows = parsed.images if parsed else ()
    named = _named(reader, "images.yaml: images", rows, lambda row: row.name)
    return {name: row.image for name, row in named.items()}


def _charts(reader: Reader) -> dict[str, Chart]:
    parsed = reader.model("charts.yaml", ChartsFile)
    rows = parsed.charts if parsed else ()
    return _named(reader, "charts.yaml: charts", rows, lambda row: row.name)


def _prices(reader: Reader) -> dict[str, dict[tuple[str, str], float]]:
    """Return the prices by unit; what is not known or not offered is none."""
    parsed = reader.model("prices.yaml", PricesFile)
    if parsed is None:
        return {}
    path = "prices.yaml: prices"
    for index, row in enumerate(parsed.prices):
        if row.source not in parsed.sources:
            reader.problem(
                f"{path}[{index}].source",
                "the file has no source of this name",
                value=shown(row.source),
                allowed=", ".join(sorted(parsed.sources)),
            )
    found: dict[str, dict[tuple[str, str], float]] = {}
    for key, row in _named(reader, path, parsed.prices, _price_key).items():
        if not isinstance(row.usd, str):
            found.setdefault(row.unit, {})[key] = row.usd
    return found


def _price_key(row: PriceRow) -> tuple[str, str]:
    return (row.item, row.region)


def _named(
    reader: Reader, path: str, rows: Iterable[_V], key_of: Callable[[_V], _K]
) -> dict[_K, _V]:
    """Return rows by key; a second row of the same key is a problem."""
    found: dict[_K, _V] = {}
    for index, row in enumerate(rows):
        key = key_of(row)
        if key in found:
            reader.problem(f"{path}[{index}]", "is in the catalog twice", value=shown(key))
        found.setdefault(key, row)
    return found
