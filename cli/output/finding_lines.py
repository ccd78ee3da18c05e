"""Findings as lines for people and as rows of JSON: one form for every command that has some."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from models.core.findings import Finding, Severity

if TYPE_CHECKING:
    from rich.console import Console

SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.UNKNOWN)
"""The order in which findings are printed and counted."""

_STYLES: Final = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.UNKNOWN: "cyan",
}


def row(finding: Finding, **beside: JsonValue) -> dict[str, JsonValue]:
    """Return a finding as a JSON object; `beside` (its file, say) follows the object's name."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "object": finding.subject,
        **beside,
        "path": finding.path,
        "message": finding.message,
        "remedy": finding.remedy,
        **{key: text for key, text in _given(finding).items() if text is not None},
    }


def _given(finding: Finding) -> dict[str, str | None]:
    return {"given": finding.value, "allowed": finding.allowed}


def counted(findings: Iterable[Finding]) -> str:
    """Return how many findings there are of each severity, as people read it."""
    number = Counter(finding.severity for finding in findings)
    return ", ".join(f"{number[severity]} {severity.value}" for severity in SEVERITIES)


def show(console: "Console", finding: Finding) -> None:
    """Print a finding: severity and place, what is wrong, what to do."""
    from rich.markup import escape

    style = _STYLES[finding.severity]
    where = escape(f"{finding.subject}: {finding.path}" if finding.path else finding.subject)
    console.print(f"  [{style}]{finding.severity.value:7}[/] {where}")
    console.print(f"          {escape(finding.message)}")
    for what, text in _given(finding).items():
        if text is not None:
            console.print(f"          [dim]{what}:[/] {escape(text)}")
    console.print(f"          [dim]remedy:[/] {escape(finding.remedy)} [dim]({finding.rule})[/]")
