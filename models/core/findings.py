"""What is wrong, risky, unknown or worth saying: one type from where it is seen to its print.

A check returns `Finding`s instead of raising at the first, so that all of them are shown at once.
`ProblemsError` (`models/core/problems.py`) is raised only where a caller cannot go on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Setting = int | float | str | bool


class Severity(StrEnum):
    """How a finding counts: errors and unknowns refuse, warnings and remarks are shown."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"
    INFO = "info"


class Source(StrEnum):
    """What decided that something is to be said."""

    INPUT = "input"
    """A schema or a check of what was given: settings, cases, catalog entries, files."""
    PLAN = "plan"
    """A proof over the whole plan."""
    MEMORY = "memory"
    """The memory model."""
    ENGINE = "engine"
    """The engine itself: its recorded answer, or its parser's contract."""
    CHANGE = "change"
    """What an update would lose."""
    RULE = "rule"
    """A rule of the policy pack, over what is about to be created."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found. An empty text is one that is not known."""

    path: str
    """Leads to the field inside the subject or the input."""
    message: str
    severity: Severity = Severity.ERROR
    remedy: str = ""
    """What to do, in words."""
    subject: str = ""
    """"Kind/namespace/name", "Kind/name" without a namespace, "region/model" in plans. A recorded
    exception names it together with the rule."""
    rule: str = ""
    """A closed set: `ProofRule`, `MemoryRule` (`models/core/rule_ids.py`) and the ids of the rules
    in the pack's registry; empty where a schema or a check of its own refuses an input."""
    value: str | None = field(default=None, kw_only=True)
    """What was given."""
    allowed: str | None = field(default=None, kw_only=True)
    """What may be given."""
    source: Source = field(default=Source.INPUT, kw_only=True)
    settings: Mapping[str, Setting] = field(
        default_factory=dict[str, Setting], kw_only=True, hash=False
    )
    """The remedy as engine arguments and their values."""
    cause: str = field(default="", kw_only=True)
    """Why something cannot be verified; findings of one cause may be shown as one."""
    house: bool = field(default=False, kw_only=True)
    """A convention of this project rather than something that would break anywhere."""

    def __str__(self) -> str:
        """One line for readers to whom something else tells the rule: the subject comes first."""
        return self._line(self.subject, self.path)

    @property
    def ruled(self) -> str:
        """One line for the writer of an input: its path comes first, then rule and subject."""
        return self._line(self.path, f"[{self.rule}] {self.subject}" if self.rule else self.subject)

    def _line(self, *where: str) -> str:
        parts = [": ".join([*filter(None, where), self.message])]
        given = (("given", self.value), ("allowed", self.allowed), ("remedy", self.remedy))
        return "; ".join([*parts, *(f"{what}: {text}" for what, text in given if text)])


class Findings:
    """What was found so far; the only mutable thing in a resolution."""

    def __init__(self) -> None:
        """Start with none."""
        self.problems: list[Finding] = []
        self.notices: list[Finding] = []
