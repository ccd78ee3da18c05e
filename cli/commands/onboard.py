"""`triplane onboard`: a draft of a catalog entry from a hub id or a local directory."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml
from pydantic import JsonValue

from catalog.loader import load
from cli.commands.select import card_of, contract_of
from cli.errors import ExitCode, InputError
from cli.options.onboard import OnboardOptions
from cli.reading.model_source import from_path
from models.core.names import WORKLOAD_NAME_MAX
from models.facts.accelerators import Accelerator
from models.facts.catalog import Catalog
from models.memory import Verdict
from models.serving.onboarding import (
    CardFit,
    EntryDraft,
    SourceFacts,
    card_fits,
    catalog_name,
    draft,
    newest_engine,
)

_MODELS: Final = Path(__file__).resolve().parents[2] / "catalog" / "models"


def run(options: OnboardOptions) -> int:
    """Draft, print, write unless it is a dry run, and return the exit code."""
    catalog = load()
    known, config = _read(options)
    if options.license is not None:
        known = known.model_copy(update={"license": options.license})
    name = _name(options, known)
    engine = options.vllm_version or newest_engine(catalog.engines)
    contract = contract_of(catalog, engine)
    drafted = draft(
        name,
        config,
        known,
        engine=engine,
        owner=options.owner,
        asked_format=options.format,
    )
    fits: tuple[CardFit, ...] = ()
    if drafted.subject is not None:
        cards = _cards(options, catalog)
        fits = card_fits(drafted.subject, cards, contract, most_gib=options.vram_budget)
    elif options.gpu_pool is not None:
        _ = card_of(catalog, options.gpu_pool)
    files = _files(options, drafted, config)
    taken = sorted(path.name for path in files if path.exists())
    _print(options, drafted, fits, files, taken)
    if not options.dry_run:
        _write(options, drafted, files, taken, has_config=config is not None)
    nowhere = bool(fits) and not any(fit.verdict is Verdict.FITS for fit in fits)
    return ExitCode.FINDING if drafted.problems or nowhere else ExitCode.GOOD


def _read(options: OnboardOptions) -> tuple[SourceFacts, dict[str, JsonValue] | None]:
    """Return what is known of the model, and its configuration where there is a source of it."""
    if options.source is None:
        if options.name is None:
            raise InputError("say which model: a hub id or a directory (or --name for a frame)")
        return SourceFacts(source="its name alone"), None
    path = Path(options.source).expanduser()
    if path.exists():
        found = from_path(path)
        return found.known, found.config
    if options.source.startswith(("/", ".", "~")) or options.source.count("/") != 1:
        raise InputError(f"{options.source}: no such directory, and a hub id is written OWNER/NAME")
    from cli.reading.hub import DEFAULT_HUB, from_hub

    return from_hub(options.source, options.hub_url or DEFAULT_HUB, options.revision)


def _name(options: OnboardOptions, known: SourceFacts) -> str:
    source = options.source if known.repository == "unresolved" else known.repository
    resolved = Path(source).expanduser().resolve().name if source in (".", "..") else source
    name = options.name or catalog_name(resolved or "model")
    if name == "vllm":
        raise InputError("--name vllm: a Service of this name sets VLLM_PORT in its own pods")
    if name != catalog_name(name):
        raise InputError(
            f"--name {name}: must be a DNS label of at most {WORKLOAD_NAME_MAX} characters; "
            f"{catalog_name(name)} would do"
        )
    return name


def _cards(options: OnboardOptions, catalog: Catalog) -> Sequence[Accelerator]:
    if options.gpu_pool is not None:
        return [card_of(catalog, options.gpu_pool)]
    return list(catalog.accelerators.values())


def _files(
    options: OnboardOptions, drafted: EntryDraft, config: dict[str, JsonValue] | None
) -> dict[Path, str]:
    """Return what would be written: text by path."""
    folder = options.output or _MODELS
    entry = drafted.entry.model_dump(mode="json", exclude_none=True)
    text = _yaml_text(entry)
    files = {folder / f"{drafted.entry.name}.yaml": text}
    if config is not None:
        body = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
        files[folder / f"{drafted.entry.name}.config.json"] = body
    return files


def _yaml_text(entry: dict[str, JsonValue]) -> str:
    return yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType] - PyYAML's stub is partly untyped
        entry, sort_keys=False, allow_unicode=True, width=96
    )


def _write(
    options: OnboardOptions,
    drafted: EntryDraft,
    files: dict[Path, str],
    taken: Sequence[str],
    *,
    has_config: bool,
) -> None:
    if taken and not options.force:
        raise InputError(f"{', '.join(taken)}: already there; --force overwrites")
    if not has_config:
        raise InputError("nothing was written: an entry needs its config.json")
    if drafted.problems and not options.force:
        raise InputError("nothing was written: see the problems above; --force writes all the same")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _ = path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None
        print(f"triplane: wrote {path.name}", file=sys.stderr)


def _print(
    options: OnboardOptions,
    drafted: EntryDraft,
    fits: Sequence[CardFit],
    files: dict[Path, str],
    taken: Sequence[str],
) -> None:
    if options.as_json:
        data = {
            "entry": drafted.entry.model_dump(mode="json", exclude_none=True),
            "files": [path.name for path in files],
            "exists": list(taken),
            "dry_run": options.dry_run,
            "problems": list(drafted.problems),
            "open": list(drafted.open),
            "cards": [fit.model_dump(mode="json") for fit in fits],
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return
    verb = "would write" if options.dry_run else "writes"
    for path, text in files.items():
        shown = text if path.suffix == ".yaml" else f"({len(text.encode()):,} bytes)\n"
        there = " (already there)" if path.name in taken else ""
        print(f"{verb} {path.name} in {path.parent.name}/{there}:\n{shown}")
    for problem in drafted.problems:
        print(f"not understood: {problem}")
    for each in drafted.open:
        print(f"open: {each}")
    _print_fits(options, drafted, fits)


def _print_fits(options: OnboardOptions, drafted: EntryDraft, fits: Sequence[CardFit]) -> None:
    if drafted.subject is not None:
        family = drafted.subject.architecture.family.value
        print(f"family {family}, format {drafted.subject.format.format}")
    elif options.gpu_pool is not None or options.vram_budget is not None:
        print("whether it fits cannot be told without its config.json")
    bound = "" if options.vram_budget is None else f", at most {options.vram_budget:g} GiB of each"
    for fit in fits:
        tail = f": {fit.reason}" if fit.reason else ""
        print(f"{fit.gpu}{bound}: {fit.verdict.value}, {fit.gpus} GPUs{tail}")
