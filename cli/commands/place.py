"""`triplane place`: many models on given GPUs, or the way from what runs to a preset."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from catalog.loader import load
from catalog.readers.reading import Reader
from cli.commands.select import contract_of
from cli.errors import ExitCode, InputError
from cli.options.place import PlaceOptions
from cli.reading.model_source import find_model, subject_of
from models.core.base import Model
from models.engine.profiles import EngineOverrides
from models.facts.catalog import Catalog
from models.placement.files import GpuRow, ModelRow, PlacementFile, StateFile, gpu_rows
from models.placement.needs import need_gib
from models.placement.place import Gpu, Placement, PlacementDemand, Strategy, place
from models.placement.reconcile import Reconciliation, reconcile
from models.serving.onboarding import newest_engine

_RESERVE_GIB = 0.5

_M = TypeVar("_M", bound=Model)


def run(options: PlaceOptions) -> int:
    """Place, print and return the exit code."""
    source = options.file or options.preset
    if source is None or (options.file is not None and options.preset is not None):
        raise InputError("give one file of models: FILE, or --preset FILE with --state FILE")
    if (options.preset is None) != (options.state is None):
        raise InputError("--preset and --state belong together")
    wanted = _read(source, PlacementFile)
    catalog = load()
    gpus = list(_gpus(_rows(options, wanted, source), catalog))
    demands = list(_demands(wanted, gpus, catalog))
    strategy = options.strategy or wanted.strategy or Strategy.MAXIMIZE_MODELS
    reserve = options.reserve_gib
    if reserve is None:
        reserve = _RESERVE_GIB if wanted.reserve_gib is None else wanted.reserve_gib
    if options.state is not None:
        live = _read(options.state, StateFile).live
        answer = reconcile(gpus, demands, live, strategy, reserve)
        placement = answer.placement
    else:
        answer = placement = place(gpus, demands, strategy, reserve)
    if options.as_json:
        print(json.dumps(answer.model_dump(mode="json"), indent=2, ensure_ascii=False))
    else:
        _show(answer, placement)
    return ExitCode.FINDING if placement.unplaced else ExitCode.GOOD


def _read(path: Path, of: type[_M]) -> _M:
    """Return a YAML or JSON file as a model; an answer of reconciling holds its placement."""
    reader = Reader(path.parent)
    data = reader.json_file(path.name) if path.suffix == ".json" else reader.yaml_file(path.name)
    if of is StateFile and isinstance(data, dict):
        data = data.get("placement", data)
    found = None if data is None else reader.validated(path.name, data, of)
    reader.finish(str(path))
    if found is None:
        raise InputError(f"{path}: cannot be read")
    return found


def _rows(options: PlaceOptions, file: PlacementFile, source: Path) -> Sequence[GpuRow]:
    if options.gpus:
        try:
            return gpu_rows(options.gpus)
        except ValueError as error:
            raise InputError(f"--gpus {error}") from None
    if not file.gpus:
        raise InputError(f"{source}: names no GPUs; add gpus to it, or give --gpus")
    return file.gpus


def _gpus(rows: Sequence[GpuRow], catalog: Catalog) -> Iterator[Gpu]:
    """Yield every GPU, named `node/number`."""
    numbers: Counter[str] = Counter()
    for row in rows:
        card = catalog.accelerator_of(row.kind)
        memory = row.memory_gib or (None if card is None else card.memory_gib)
        if memory is None:
            names = ", ".join(sorted(catalog.accelerators))
            raise InputError(
                f"{row.kind}: not in the catalog; give memory_gib in the file, or one of {names}"
            )
        for _ in range(row.count):
            name = f"{row.node}/{numbers[row.node]}"
            numbers[row.node] += 1
            kind = row.kind if card is None else card.name
            yield Gpu(name=name, node=row.node, kind=kind, memory_gib=memory)


def _demands(
    file: PlacementFile, gpus: Sequence[Gpu], catalog: Catalog
) -> Iterator[PlacementDemand]:
    kinds = list(dict.fromkeys(gpu.kind for gpu in gpus))
    names = Counter(name for row in file.models for name in row.instances)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise InputError(f"models: {', '.join(twice)} is named twice; use replicas or other names")
    for row in file.models:
        gib, refused = _needs(row, kinds, file.engine, catalog)
        allowed = row.gpu_kinds
        if allowed is not None:
            cards = [(text, catalog.accelerator_of(text)) for text in allowed]
            allowed = tuple(text if card is None else card.name for text, card in cards)
        for name in row.instances:
            yield PlacementDemand(
                name=name,
                tensor=row.tensor,
                gib=gib,
                refused=refused,
                kinds=allowed,
                min_vram_gib=row.min_vram_gib,
            )


def _needs(
    row: ModelRow, kinds: Sequence[str], engine: str | None, catalog: Catalog
) -> tuple[dict[str, float], dict[str, str]]:
    """Return GiB by kind of GPU, and by kind why the model does not run there."""
    if row.gib is not None:
        return dict.fromkeys(kinds, row.gib), {}
    subject = subject_of(find_model(row.model or row.name, catalog), catalog, None)
    contract = contract_of(catalog, engine or newest_engine(catalog.engines))
    overrides = EngineOverrides(max_model_len=row.max_model_len, kv_cache_dtype=row.kv_cache_dtype)
    gib: dict[str, float] = {}
    refused: dict[str, str] = {}
    for kind in kinds:
        card = catalog.accelerators.get(kind)
        if card is None:
            refused[kind] = "not in the catalog, so give the model's gib"
            continue
        need = need_gib(
            subject.entry,
            subject.architecture,
            card,
            contract,
            tensor=row.tensor,
            overrides=overrides,
            concurrency=row.concurrency,
            goldens=subject.goldens,
        )
        if isinstance(need, str):
            refused[kind] = need
        else:
            gib[kind] = need
    return gib, refused


def _show(answer: Placement | Reconciliation, placement: Placement) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if isinstance(answer, Reconciliation):
        for number, step in enumerate(answer.actions, start=1):
            route = " to ".join(",".join(each) for each in (step.from_gpus, step.to_gpus) if each)
            cut = " (interrupted: it has no room beside itself)" if step.interrupted else ""
            console.print(
                f"{number}. {step.action} {escape(step.model)}: {escape(route)}{cut}",
                soft_wrap=True,
            )
        console.print(f"{len(answer.actions)} steps; kept: {', '.join(answer.kept) or 'none'}")
        for note in answer.notes:
            console.print(f"[bold]note[/]: {escape(note)}")
    table = Table("GPU", "kind", "used GiB", "free GiB", "models", box=None, pad_edge=False)
    for gpu in placement.gpus:
        used, free = f"{gpu.used_gib:.2f}", f"{gpu.free_gib:.2f}"
        table.add_row(escape(gpu.gpu), gpu.kind, used, free, escape(", ".join(gpu.models)))
    console.print(table)
    how = "no better one exists" if placement.proven else "the best that was found"
    console.print(
        f"{len(placement.placed)} placed, {len(placement.unplaced)} not; {how} "
        f"({placement.strategy.value}); the fullest GPU is {placement.peak_share:.0%} used",
        soft_wrap=True,
    )
    for left in placement.unplaced:
        console.print(f"[red]{escape(left.model)}[/]: {escape(left.reason)}", soft_wrap=True)
