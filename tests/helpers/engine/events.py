"""The engine's events of an update: what began and ended when, and in which wave it belongs."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from sandbox.engine.stack import UP
from sandbox.engine.waves import wave_of
from sandbox.engine.workspace import Workspace
from tests.helpers.engine.stacks import pulumi

Events = list[dict[str, Any]]

_REAL: Final = re.compile(r"(::|\$)(aws|kubernetes):[^$]*$")
"""The URN of what is made in a cloud or a cluster, and is not a component of ours."""


def updated(workspace: Workspace) -> Events:
    """Run an update and return the engine's events."""
    log = workspace.home / "events.json"
    logging = {**workspace.variables, "PULUMI_DEBUG_COMMANDS": "true"}
    pulumi(replace(workspace, variables=logging), *UP, "--event-log", str(log))
    return [cast("dict[str, Any]", json.loads(line)) for line in log.read_text().splitlines()]


def times(events: Events) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the positions of the events at which each resource began and was done, by URN."""
    begun: dict[str, int] = {}
    done: dict[str, int] = {}
    for position, event in enumerate(events):
        for key, found in (("resourcePreEvent", begun), ("resOutputsEvent", done)):
            metadata = event.get(key, {}).get("metadata")
            if metadata is not None and metadata["op"] == "create":
                found[metadata["urn"]] = position
    return begun, done


def _wave(urn: str) -> int:
    """Return the wave of a resource; fails for one whose wave nobody knows."""
    wave = wave_of(urn)
    assert wave is not None, f"{urn}: of which wave is it?"
    return wave


def waves_overlap(events: Events, wanted: set[int]) -> list[str]:
    """Return what began before an earlier wave was done, one line each.

    Only what is created counts, not components; fails unless exactly the `wanted` waves are there.
    """
    begun, done = times(events)
    real = [urn for urn in begun if _REAL.search(urn)]
    waves = {urn: _wave(urn) for urn in real}
    assert set(waves.values()) == wanted
    ends = {wave: max(done[urn] for urn in real if waves[urn] == wave) for wave in wanted}
    return [
        f"{urn} of wave {wave} began before wave {earlier} was done"
        for urn, wave in waves.items()
        for earlier in wanted
        if earlier < wave and begun[urn] < ends[earlier]
    ]
