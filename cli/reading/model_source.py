"""Where a model that a person names is found: a directory, the catalog, the table of names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import yaml
from pydantic import JsonValue

from catalog.readers.names import model_names
from cli.errors import InputError
from cli.reading.inputs import Json, parse_object, read_config, read_text
from models.architecture import architecture
from models.core.problems import ProblemsError
from models.facts.catalog import Catalog, CatalogModel, ModelEntry
from models.serving.formats import SIDE_FILES, find_format, merged_config, under_format
from models.serving.onboarding import (
    SourceFacts,
    catalog_name,
    draft,
    license_of,
    newest_engine,
    snapshot_of,
)
from models.serving.selection import ModelCandidate

_FILES_AT_MOST: Final = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedModel:
    """A model's configuration with what its source tells; `entry` is the catalog's own.

    `weights` is the directory of the weights where one was given.
    """

    name: str
    config: Json
    known: SourceFacts
    entry: ModelEntry | None = None
    weights: str | None = None


def find_model(text: str, catalog: Catalog) -> NamedModel:
    """Return the model that a path or a name means. Raises `InputError`."""
    path = Path(text).expanduser()
    if path.exists():
        return from_path(path)
    for model in catalog.models.values():
        if text in (model.entry.name, model.entry.repository):
            known = SourceFacts(source="the catalog")
            return NamedModel(
                name=model.entry.name, config=dict(model.config), known=known, entry=model.entry
            )
    if text.startswith(("/", "./", "../", "~")):
        raise InputError(f"{text}: no such directory or file")
    table = model_names({})
    reading = table.read(text)
    if reading is None:
        names, near = ", ".join(sorted(catalog.models)), table.nearest(text)
        hint = "" if near is None else f" (the nearest is {near})"
        raise InputError(
            f"{text}: no directory, no model of the catalog ({names}) and no known name{hint}; "
            "give the directory with its config.json"
        )
    read_as = "" if reading.note is None else f": {reading.note}"
    known = SourceFacts(repository=text, source=f"catalog/model_aliases.yaml{read_as}")
    return NamedModel(name=catalog_name(text), config=dict(reading.config), known=known)


def from_path(path: Path) -> NamedModel:
    """Return the model of a directory, or of its `config.json`."""
    folder = path if path.is_dir() else path.parent
    files = _files(folder) if path.is_dir() else {}
    config_file = folder / "config.json" if path.is_dir() else path
    if path.suffix == ".gguf" or (not config_file.is_file() and any(_gguf(n) for n in files)):
        raise InputError(
            f"{path}: GGUF files only: the pinned engine does not read them; give the checkpoint "
            "in safetensors, with its config.json"
        )
    if path.is_dir() and not config_file.is_file():
        raise InputError(f"{path}: the directory has no config.json")
    side = {
        name: parse_object(read_text(folder / name), str(folder / name))
        for name in SIDE_FILES
        if (folder / name).is_file()
    }
    config = merged_config(read_config(config_file), side if path.is_dir() else {})
    repository, revision = snapshot_of(folder.resolve().parts)
    known = SourceFacts(
        repository=repository,
        revision=revision,
        license=license_of(_card(folder)),
        files=files,
        source=f"the directory {folder.resolve().name}",
    )
    name = repository if repository != "unresolved" else folder.resolve().name
    return NamedModel(
        name=catalog_name(name),
        config=config,
        known=known,
        weights=str(path) if path.is_dir() else None,
    )


def _gguf(name: str) -> bool:
    return name.endswith(".gguf")


def _files(folder: Path) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    try:
        for each in sorted(folder.iterdir())[:_FILES_AT_MOST]:
            if each.is_file():
                found[each.name] = each.stat().st_size
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from None
    return found


def _card(folder: Path) -> Mapping[str, JsonValue]:
    """Return the head of a directory's model card (README.md), empty where there is none."""
    card = folder / "README.md"
    if not card.is_file():
        return {}
    parts = read_text(card).split("---\n", 2)
    if len(parts) < 3 or parts[0].strip():
        return {}
    try:
        head: object = yaml.safe_load(parts[1])
    except yaml.YAMLError:
        return {}
    return cast("Mapping[str, JsonValue]", head) if isinstance(head, dict) else {}


def subject_of(found: NamedModel, catalog: Catalog, asked_format: str | None) -> ModelCandidate:
    """Return what arguments are wanted for. Raises `InputError` where it is not understood."""
    engine = newest_engine(catalog.engines) if found.entry is None else found.entry.engine
    drafted = draft(found.name, found.config, found.known, engine=engine)
    if drafted.subject is None:
        raise InputError("\n".join((f"{found.name}: not understood", *drafted.problems)))
    shapes = architecture(found.config)
    chosen, problems = find_format(shapes, (found.name, *found.known.files), asked_format)
    if problems:
        raise ProblemsError("--format", problems)
    changed = under_format(shapes, chosen)
    goldens = None
    if found.entry is not None and changed == shapes:
        model = CatalogModel(entry=found.entry, config=found.config)
        goldens = catalog.goldens_of(model, engine)
    return ModelCandidate(
        entry=found.entry or drafted.entry,
        architecture=changed,
        format=chosen,
        weights=found.weights,
        goldens=goldens,
    )
