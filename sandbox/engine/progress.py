"""What an update has come to, in a few lines, from the engine's events.

Lines are written once and never overwritten, so that they read the same in a terminal, a file and
a CI log. Times are those of the events. A preview comes first, of which only its notices are shown.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.engine.waves import NAMES, wave_of

Event = dict[str, Any]

_QUIET_SEC: Final = 10.0
"""After so long without a line it is said what is waited for."""

_SHOWN: Final = 3
_IDLE: Final = frozenset({"same", "read", "refresh"})
_DONE: Final = {
    "create": "created",
    "update": "updated",
    "replace": "replaced",
    "delete": "deleted",
    "same": "unchanged",
}
_MILESTONES: Final = {
    "StatefulSet": "ready",
    "Job": "succeeded",
    "Gateway": "programmed",
    "AIGatewayRoute": "accepted",
    "Release": "installed",
    "Cluster": "active",
    "NodeGroup": "active",
}
"""Kinds that people wait for, and what they are once done."""

_REAL: Final = re.compile(r"^(aws|kubernetes):")


@dataclass(kw_only=True, slots=True)
class Step:
    """One resource that the engine works on; `status` is what the provider says it waits for."""

    label: str
    operation: str
    wave: int | None
    region: str
    began: float
    status: str = ""


@dataclass(kw_only=True)
class Progress:
    """Events in, lines out. `regions` are the stack's, for what a resource's name begins with."""

    write: Callable[[str], None]
    regions: Sequence[str] = ()
    failures: list[str] = field(default_factory=list[str])
    """Every resource that failed, with the engine's and the provider's messages in full."""

    _steps: dict[str, Step] = field(default_factory=dict[str, Step])
    _waves: dict[str, int] = field(default_factory=dict[str, int])
    _changes: dict[str, int] = field(default_factory=dict[str, int])
    _notices: set[str] = field(default_factory=set[str])
    _finished: int = 0
    _sequence: int = -1
    _previewing: bool = True
    _began: float | None = None
    _spoke: float = 0.0

    def take(self, event: Event) -> None:
        """Take one event of the engine."""
        now = float(event["timestamp"])
        if self._began is None:
            self._began = self._spoke = now
        if event["sequence"] < self._sequence:
            self._restart(now)
        self._sequence = event["sequence"]
        for key, handler in (
            ("resourcePreEvent", self._begin),
            ("resOutputsEvent", self._done),
            ("resOpFailedEvent", self._failed),
            ("diagnosticEvent", self._diagnostic),
            ("policyEvent", self._policy),
            ("summaryEvent", self._summary),
        ):
            if key in event:
                handler(event[key], now)

    def _restart(self, now: float) -> None:
        """An update begins: the engine counts its events anew."""
        self._say("the preview is done, the policies passed; the update begins", now)
        self._previewing = False
        self._steps.clear()
        self._finished = 0

    def tick(self, now: float) -> None:
        """Say what is waited for, where nothing was said for a while."""
        if self._began is None or now - self._spoke < _QUIET_SEC:
            return
        if self._previewing:
            self._say(f"preview: {self._finished} objects judged", now)
            return
        waiting = sorted(self._real_steps(), key=lambda step: step.began)
        for step in waiting[:_SHOWN]:
            status = f": {step.status}" if step.status else ""
            self._say(f"waiting for {step.label} ({now - step.began:.0f} s){status}", now)
        if len(waiting) > _SHOWN:
            self._say(f"and for {len(waiting) - _SHOWN} more", now)
        if not waiting:
            self._say(f"{self._finished} objects so far", now)

    def finish(self) -> None:
        """Say what was done in all."""
        done = [f"{count} {_DONE.get(name, name)}" for name, count in sorted(self._changes.items())]
        self._say(f"the update is done: {', '.join(done)}", self._spoke)

    def _real_steps(self) -> list[Step]:
        return [step for step in self._steps.values() if step.operation not in _IDLE]

    def _begin(self, event: Event, now: float) -> None:
        metadata: Event = event["metadata"]
        urn, kind = str(metadata["urn"]), str(metadata["type"])
        if not _REAL.match(kind):
            return
        name = urn.rpartition("::")[2].removeprefix("triplane-")
        region = next((each for each in self.regions if name.startswith(f"{each}-")), "")
        step = Step(
            label=f"{kind.rpartition(':')[2]} {name.removeprefix(f'{region}-')}",
            operation=str(metadata["op"]),
            wave=wave_of(urn),
            region=region,
            began=now,
        )
        self._steps[urn] = step
        if step.operation not in _IDLE and not self._previewing:
            self._enter(step, now)

    def _enter(self, step: Step, now: float) -> None:
        """Say that a region has come to a wave: at the first of its resources."""
        if step.wave is None or step.wave <= self._waves.get(step.region, min(NAMES) - 1):
            return
        self._waves[step.region] = step.wave
        self._say(f"wave {step.wave} {_of(step.region)}: {NAMES[step.wave]}", now)

    def _done(self, event: Event, now: float) -> None:
        step = self._steps.pop(str(event["metadata"]["urn"]), None)
        if step is None:
            return
        self._finished += self._previewing or step.operation not in _IDLE
        if self._previewing or step.operation in _IDLE:
            return
        kind, _, name = step.label.partition(" ")
        if kind in _MILESTONES and not step.operation.startswith("delete"):
            took = f"{now - step.began:.0f} s"
            self._say(f"  {_of(step.region)}: {kind} {name} {_MILESTONES[kind]} ({took})", now)

    def _failed(self, event: Event, now: float) -> None:
        urn = str(event["metadata"]["urn"])
        step = self._steps.pop(urn, None)
        label = urn if step is None else step.label
        operation = str(event["metadata"]["op"])
        self._say(f"failed: {label} ({operation})", now)
        self.failures.append(f"{label}: {operation} failed")

    def _diagnostic(self, event: Event, now: float) -> None:
        message, urn = str(event["message"]).strip(), str(event.get("urn", ""))
        if event["severity"] == "error":
            step = self._steps.get(urn)
            label = urn.rpartition("::")[2] if step is None else step.label
            self.failures.append(f"{label}: {message}" if label else message)
        elif event.get("ephemeral") and urn in self._steps:
            self._steps[urn].status = message
        elif event["severity"] in ("info", "warning") and not event.get("ephemeral"):
            self._notice(message, now)

    def _notice(self, message: str, now: float) -> None:
        """Say once what the preview and the update both say."""
        if message and message not in self._notices:
            self._notices.add(message)
            self._say(message, now)

    def _summary(self, event: Event, now: float) -> None:
        self._changes = dict(event["resourceChanges"])
        self._spoke = now

    def _policy(self, event: Event, now: float) -> None:
        if event["enforcementLevel"] != "mandatory":
            # The first line is the rule's description, which is the same for every finding.
            self._notice(str(event["message"]).strip().partition("\n")[2], now)
            return
        where = str(event.get("resourceUrn", "")).rpartition("::")[2]
        self._say(f"refused by policy {event['policyName']}: {where}", now)
        self.failures.append(f"{where}: {event['policyName']}: {str(event['message']).strip()}")

    def _say(self, text: str, now: float) -> None:
        self._spoke = max(self._spoke, now)
        elapsed = now - (now if self._began is None else self._began)
        self.write(f"{elapsed:5.0f} s  {text}")


def _of(region: str) -> str:
    return f"in {region}" if region else "of all regions"
