"""Recordings as text that is read in a diff: a file per kind of component, a tree of names.

Every object stands below one line that names it, since that line is what a diff shows above a
change in the middle of it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import yaml

from tests.helpers.snapshots.recording import Data, Recording, Registration

_MANY: Final = 3
"""From here on what several siblings wait for stands with the first of them only."""

_JSON_LENGTH: Final = 60
"""From here on JSON in a string is laid out: below, it is read as easily in one line."""


class _Dumper(yaml.CSafeDumper):
    """Texts of several lines as they are, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def document(value: object) -> str:
    """Return plain data as YAML, sorted, one value a line."""
    # Partly unknown in the library's stubs.
    dump = cast("Any", yaml).dump
    return dump(_laid_out(value), Dumper=_Dumper, width=1_000_000, allow_unicode=True)


def _laid_out(value: object) -> object:
    if isinstance(value, dict):
        return {key: _laid_out(each) for key, each in cast("Data", value).items()}
    if isinstance(value, list):
        return [_laid_out(each) for each in cast("list[object]", value)]
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, str) and len(value) > _JSON_LENGTH and value[0] in "{[":
        try:
            return json.dumps(json.loads(value), indent=1) + "\n"
        except ValueError:
            return value
    return value


def title(registration: Registration) -> str:
    """Return the line that an object stands below: as kubectl names it, else as Pulumi does."""
    kind, metadata = registration.inputs.get("kind"), registration.inputs.get("metadata")
    if not kind or not metadata or "name" not in metadata:
        return f"{registration.type} {registration.name}"
    return f"{kind} {'/'.join(filter(None, (metadata.get('namespace'), metadata['name'])))}"


def objects(registrations: Iterable[Registration]) -> str:
    """Return a file with the inputs of resources, each below its title."""
    titled: dict[str, Data] = {}
    for registration in registrations:
        name = title(registration)
        assert name not in titled, f"two resources of one file are {name}"
        titled[name] = registration.inputs
    return "\n".join(document({name: titled[name]}) for name in sorted(titled))


def lineage(recording: Recording) -> dict[str, list[Registration]]:
    """Return the ancestors of everything by its URN, the nearest first."""
    found: dict[str, list[Registration]] = {}
    for registration in recording.registered.values():
        above = list[Registration]()
        parent = recording.registered.get(registration.parent)
        while parent is not None:
            above.append(parent)
            parent = recording.registered.get(parent.parent)
        found[registration.urn] = above
    return found


def tree(recording: Recording) -> str:
    """Return the graph: names and types by parent, options, and what each waits for."""
    children: dict[str, list[Registration]] = defaultdict(list)
    for each in recording.registered.values():
        children[each.parent if each.parent in recording.registered else ""].append(each)
    above = lineage(recording)
    lines: list[str] = []

    def walk(parent: str, indent: str) -> None:
        seen: dict[tuple[str, ...], str] = {}
        for each in sorted(children[parent], key=lambda each: (each.name, each.type)):
            waits = _waits(each, recording, above)
            same = seen.setdefault(waits, each.name)
            if len(waits) >= _MANY and same != each.name:
                waits = (f"what {same} is after",)
            notes = [*_notes(each, recording, above), *(f"after {other}" for other in waits)]
            lines.append(f"{indent}{each.name}: {each.type}")
            lines.extend(f"{indent}    [{note}]" for note in notes)
            walk(each.urn, f"{indent}  ")

    walk("", "")
    return "\n".join(lines) + "\n"


Lineage = Mapping[str, list[Registration]]


def _notes(registration: Registration, recording: Recording, above: Lineage) -> list[str]:
    """Return what else is to be known of a resource.

    Its provider is said where it is none of the same region: elsewhere the type says which it is.
    """
    notes = ["only read"] if registration.read else []
    for key, value in sorted(registration.options.items()):
        kept = _own(cast("list[Data]", value)) if key == "aliases" else value
        notes += [f"{key}: {json.dumps(kept, sort_keys=True)}"] if kept else []
    if not registration.is_component and not registration.type.startswith("pulumi:"):
        provider = recording.registered.get(registration.provider)
        if provider is None:
            notes.append("provider: the default one")
        elif above[provider.urn][-2].urn not in {each.urn for each in above[registration.urn]}:
            notes.append(f"provider: {provider.name}")
    return notes


def _own(aliases: list[Data]) -> list[Data]:
    """Return the aliases that are ours: those of older API versions come from the SDK."""
    return [
        alias
        for alias in aliases
        if not str(alias.get("spec", {}).get("type", "")).startswith(("kubernetes:", "aws:"))
    ]


def _waits(registration: Registration, recording: Recording, above: Lineage) -> tuple[str, ...]:
    """Return what a resource waits for beyond what its parent does: whole components with counts.

    A component's children are listed by the engine one by one; here stands the outermost component
    that holds them and not the resource itself.
    """
    around = {registration.urn, *(each.urn for each in above[registration.urn])}
    counts: dict[Registration, int] = defaultdict(int)
    for urn in registration.dependencies - around:
        chain = [recording.registered[urn], *above[urn]]
        counts[next(each for each in reversed(chain) if each.urn not in around)] += 1
    return tuple(
        sorted(
            f"{each.name} ({count})" if each.is_component else each.name
            for each, count in counts.items()
        )
    )
