"""Compares goldens: a sample asked again with what is committed, and two releases' goldens."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from models.facts.golden import Golden, Goldens

_QUANTITIES: Final = ("raw_bytes", "alloc_old_bytes", "alloc_new_bytes")


def differences(
    committed: Mapping[str, JsonValue] | None, found: Mapping[str, JsonValue]
) -> Iterator[str]:
    """Yield what differs between a committed golden and one that was asked again."""
    if committed is None:
        yield "is not committed"
        return
    for key in sorted({*committed, *found}):
        before, now = committed.get(key), found.get(key)
        if before != now:
            yield f"{key}: committed {_short(before)}, now {_short(now)}"


def _short(value: JsonValue) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 200 else text[:200] + "..."


def plain(golden: Golden) -> dict[str, JsonValue]:
    """Return a golden as its file has it."""
    held: dict[str, JsonValue] = golden.model_dump(mode="json", exclude_defaults=True)
    return held


def drift(before: Goldens, after: Goldens) -> list[str]:
    """Return the lines of a report: what changed from one release to another."""
    lines: list[str] = []
    for name in sorted({*before.models, *after.models}):
        if name not in before.models or name not in after.models:
            there = before.version if name in before.models else after.version
            lines.append(f"{name}: only in {there}")
            continue
        old = {golden.case: golden for golden in before.models[name].cases}
        new = {golden.case: golden for golden in after.models[name].cases}
        lines += [f"{name}/{case}: only in {before.version}" for case in sorted(old.keys() - new)]
        lines += [f"{name}/{case}: only in {after.version}" for case in sorted(new.keys() - old)]
        for case in sorted(old.keys() & new):
            lines += [f"{name}/{case}: {text}" for text in _changed(old[case], new[case])]
    return lines


def _changed(old: Golden, new: Golden) -> Iterator[str]:
    if (old.refused is None) is not (new.refused is None):
        yield f"refused before: {old.refused}; now: {new.refused}"
    if old.weights is not None and new.weights is not None:
        for name in _QUANTITIES:
            before, now = getattr(old.weights, name), getattr(new.weights, name)
            if before != now:
                yield f"weights {name} {before} -> {now} ({now / before - 1:+.3%})"
    for name in (
        "kernel_backends",
        "process_failures",
        "attention",
        "layout",
        "groups",
        "pool_bytes_per_block",
        "need_bytes",
        "resolved",
        "plans",
    ):
        before, now = plain(old).get(name), plain(new).get(name)
        if before != now:
            yield f"{name} {_short(before)} -> {_short(now)}"
