"""What the pack knows while one command runs: what was agreed, and what the engine showed."""

import datetime
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pulumi_policy import ReportViolation

from models.core.findings import Finding, Severity
from policies.frame import agreements
from policies.frame.agreements import Agreements
from policies.views.aws.resource import AwsResource
from policies.views.kubernetes.manifest import Manifest

V = TypeVar("V")


@dataclass(slots=True)
class _Entry(Generic[V]):
    """What a resource was read as, and the rules that asked for it."""

    value: V
    asked: set[str] = field(default_factory=set[str])


class Shown(Generic[V]):
    """What resources were read as, by URN: once for all rules.

    The engine asks every rule about a resource in turn. A rule that asks again is asked about new
    inputs, so then they are read anew.
    """

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry[V]] = {}

    def read(self, urn: str, rule: str, read: Callable[[], V]) -> V:
        """Return what a resource reads as, for a rule."""
        with self._lock:
            entry = self._entries.get(urn)
            if entry is None or rule in entry.asked:
                entry = self._entries[urn] = _Entry(read())
            entry.asked.add(rule)
            return entry.value

    def shown(self, urn: str) -> V | None:
        """Return what a resource was read as before."""
        with self._lock:
            entry = self._entries.get(urn)
            return None if entry is None else entry.value


class Session:
    """What the pack knows while one command runs: the agreements and what it was shown."""

    def __init__(self, today: datetime.date) -> None:
        """Start with nothing agreed and nothing shown."""
        self.settings = Agreements()
        self.today = today
        self._lock = threading.Lock()
        self.manifests = Shown[tuple[Manifest, ...]]()
        self.aws = Shown[AwsResource]()
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

    def note(self, key: str, text: str) -> None:
        """Keep something to be shown as advice."""
        with self._lock:
            self._notes.setdefault(key, []).append(text)

    def notes(self, key: str) -> list[str]:
        """Return and forget what was noted."""
        with self._lock:
            return list(dict.fromkeys(self._notes.pop(key, [])))

    def report(
        self, key: str, findings: Iterable[Finding], agreed: Agreements, report: ReportViolation
    ) -> None:
        """Report what stands; note warnings and what is excused."""
        for problem in agreed.problems[len(self.settings.problems) :]:
            report(str(problem), None)
        standing, excused = agreements.judged(findings, agreed.exceptions, self.today)
        for finding in standing:
            if finding.severity is Severity.WARNING:
                self.note(key, f"{finding.rule}: {finding}")
            else:
                report(str(finding), None)
        for finding, exception in excused:
            until = exception.expires.isoformat()
            why = f"excused until {until} by {exception.owner}: {exception.reason}"
            self.note(key, f"{finding.rule}: {finding.subject}: {finding.message}; {why}")
