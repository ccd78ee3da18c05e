"""`smoke`: every model of a stack asked through its gateway, as a client would.

Everything is asked once, nothing is tried again: what fails once in a while fails for clients too.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from cli.commands.smoke_checks import CheckResult, Client, checks_of
from cli.errors import ExitCode, InputError
from cli.options.smoke import SmokeOptions
from cli.reading.inputs import read_text
from cli.reading.outputs import Outputs, RegionOutput, outputs_of

KEY: Final = "TRIPLANE_API_KEY"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One check of one model (or, without a model, of a region)."""

    region: str
    model: str
    answer: CheckResult


def run(options: SmokeOptions) -> int:
    """Ask everything and print what was answered; return the exit code."""
    outputs = outputs_of(read_text(options.outputs), str(options.outputs))
    regions = _chosen(outputs, options)
    key = os.environ.get(KEY)
    for name, region in regions.items():
        if region.client_keys and not key:
            raise InputError(
                f"clients of region {name!r} need a key; set the environment variable {KEY}"
            )
    rows: list[Row] = []
    for name, region in regions.items():
        rows += _rows(name, region, key if region.client_keys else None, options)
    _print(rows, as_json=options.as_json)
    return ExitCode.GOOD if all(row.answer.good for row in rows) else ExitCode.FINDING


def _chosen(outputs: Outputs, options: SmokeOptions) -> dict[str, RegionOutput]:
    """Return the regions to ask, each with the models to ask."""
    if unknown := sorted(set(options.region) - set(outputs.regions)):
        raise InputError(
            f"{options.outputs}: no region {', '.join(unknown)}; there are "
            f"{', '.join(sorted(outputs.regions))}"
        )
    chosen: dict[str, RegionOutput] = {}
    for name, region in sorted(outputs.regions.items()):
        models = tuple(m for m in region.models if not options.model or m.id in options.model)
        wanted = name in options.region or (not options.region and not region.suspended)
        if wanted and models:
            chosen[name] = region.model_copy(update={"models": models})
    if not chosen:
        every = sorted({m.id for region in outputs.regions.values() for m in region.models})
        raise InputError(
            f"{options.outputs}: nothing to ask; models are {', '.join(every) or 'none'}"
        )
    if options.address is not None and len(chosen) > 1:
        raise InputError(
            f"--address is one region's, and these are {', '.join(chosen)}; choose one by --region"
        )
    return chosen


def _rows(name: str, region: RegionOutput, key: str | None, options: SmokeOptions) -> list[Row]:
    with Client(region, key, options.address, options.timeout) as client:
        return [
            Row(region=name, model=model, answer=answer)
            for model, answer in checks_of(client, region)
        ]


def _print(rows: Sequence[Row], *, as_json: bool) -> None:
    failed = sum(not row.answer.good for row in rows)
    if as_json:
        listed: list[JsonValue] = [
            {
                "region": row.region,
                "model": row.model or None,
                "check": row.answer.check,
                "good": row.answer.good,
                "message": row.answer.message,
                "seconds": round(row.answer.seconds, 3),
            }
            for row in rows
        ]
        print(json.dumps({"checks": listed, "failed": failed}, indent=2, ensure_ascii=False))
        return
    for row in rows:
        mark = "ok  " if row.answer.good else "FAIL"
        place = f"{row.region}/{row.model}" if row.model else row.region
        print(f"{mark} {place}: {row.answer.check}: {row.answer.message}")
    print(f"{len(rows)} checks, {failed} failed")
