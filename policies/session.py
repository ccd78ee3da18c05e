"""What the pack knows while one command runs: what was agreed, and what the engine showed."""

import datetime
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_policy import ReportViolation

from policies import agreements
from policies.agreements import Agreements
from policies.finding import Finding, Severity
from policies.manifest import Manifest


@dataclass(slots=True)
class _Shown:
    """A resource's manifests, and the rules that asked for them."""

    manifests: tuple[Manifest, ...]
    asked: set[str] = field(default_factory=set[str])


class Session:
    """What the pack knows while one command runs: the agreements and what it was shown."""

    def __init__(self, today: datetime.date) -> None:
        """Start with nothing agreed and nothing shown."""
        self.settings = Agreements()
        self.today = today
        self._lock = threading.Lock()
        self._shown: dict[str, _Shown] = {}
        self._notes: dict[str, list[str]] = {}

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Take the stack's configuration."""
        text = configuration.get(agreements.SETTINGS_KEY)
        self.settings = agreements.of_settings(text, self.today)

    def agreed(self, rule: str, config: Mapping[str, Any]) -> Agreements:
        """Return what settings and the rule's own configuration agree."""
        return agreements.merged(
            self.settings,
            agreements.of_config(rule, config, self.today) if config else Agreements(),
        )

    def read(
        self, urn: str, rule: str, read: Callable[[], tuple[Manifest, ...]]
    ) -> tuple[Manifest, ...]:
        """Return a resource's manifests, read once for all rules.

        The engine asks every rule about a resource in turn. A rule that asks again is asked about
        new inputs, so then they are read anew.
        """
        with self._lock:
            shown = self._shown.get(urn)
            if shown is None or rule in shown.asked:
                shown = self._shown[urn] = _Shown(read())
            shown.asked.add(rule)
            return shown.manifests

    def shown(self, urn: str) -> tuple[Manifest, ...] | None:
        """Return what the engine showed of a resource before."""
        with self._lock:
            shown = self._shown.get(urn)
            return None if shown is None else shown.manifests

    def note(self, key: str, text: str) -> None:
        """Keep something to be shown as advice."""
        with self._lock:
            self._notes.setdefault(key, []).append(text)

    def notes(self, key: str) -> list[str]:
        """Return and forget what was noted."""
        with self._lock:
            return list(dict.fromkeys(self._notes.pop(key, [])))

    def report(
        self, key: str, found: Iterable[Finding], agreed: Agreements, report: ReportViolation
    ) -> None:
        """Report what stands; note warnings and what is excused."""
        for problem in agreed.problems[len(self.settings.problems) :]:
            report(str(problem), None)
        standing, excused = agreements.judged(found, agreed.exceptions, self.today)
        for finding in standing:
            if finding.severity is Severity.WARNING:
                self.note(key, f"{finding.rule}: {finding}")
            else:
                report(str(finding), None)
        for finding, exception in excused:
            until = exception.expires.isoformat()
            why = f"excused until {until} by {exception.owner}: {exception.reason}"
            self.note(key, f"{finding.rule}: {finding.object}: {finding.message}; {why}")
