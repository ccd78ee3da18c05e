"""`changes`: what a preview would replace, delete or lose, before anybody approves it.

Reads either form in which the engine writes a preview: the document of `pulumi preview --json`, or
the lines of an event log (which `make preview` keeps beside what it shows). Both carry the stack's
configuration, so what the settings approve (`accept_data_loss`) counts here as it does in the pack.
A preview that failed is incomplete: that is an error, whatever its steps say.
"""

import datetime
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pydantic import JsonValue

from cli.errors import ExitCode, InputError
from cli.options.changes import ChangesOptions
from cli.output import finding_lines
from cli.reading.inputs import read_text
from models.core.findings import Finding, Severity
from models.core.rule_ids import GateRule
from policies.changes.preview import preview_findings
from policies.frame.agreements import SETTINGS_KEY, context_of, of_settings

_FORMS: Final = (
    "give the output of `pulumi preview --json`, or an event log "
    "(PULUMI_DEBUG_COMMANDS=true pulumi preview --event-log FILE)"
)
_BLOCKING: Final = frozenset({Severity.ERROR, Severity.UNKNOWN})
"""What is not known may lose data, so it stops as an error does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """A preview as the rules read it: its steps and the stack's settings, where it has any."""

    steps: Sequence[Mapping[str, Any]]
    settings: str | None = None
    failures: tuple[str, ...] = ()


def run(options: ChangesOptions) -> int:
    """Judge the preview and print what stands against it; return the exit code."""
    preview = parse(read_text(options.preview), str(options.preview))
    findings = _findings(preview, options.approve)
    operations = Counter(str(step.get("op", "")) for step in preview.steps)
    if options.as_json:
        print(_json(findings, operations))
    else:
        _show(findings, operations)
    blocked = any(finding.severity in _BLOCKING for finding in findings)
    return ExitCode.FINDING if blocked else ExitCode.GOOD


def parse(text: str, name: str) -> Preview:
    """Return the preview in a file's text; raises `InputError` where it is none."""
    try:
        document = json.loads(text)
    except ValueError:
        return _of_events(text, name)
    if isinstance(document, dict) and "steps" in document:
        return _of_document(cast("dict[str, Any]", document), name)
    return _of_events(text, name)


def _of_document(document: Mapping[str, Any], name: str) -> Preview:
    steps = document["steps"]
    if not isinstance(steps, list):
        raise InputError(f"{name}: steps is {json.dumps(steps)[:80]}, not a list; {_FORMS}")
    diagnostics = cast("list[dict[str, Any]]", document.get("diagnostics") or [])
    return Preview(
        steps=cast("list[dict[str, Any]]", steps),
        settings=_settings(cast("Mapping[str, Any]", document.get("config") or {})),
        failures=tuple(
            str(each.get("message", "")).strip()
            for each in diagnostics
            if each.get("severity") == "error"
        ),
    )


def _of_events(text: str, name: str) -> Preview:
    """Return the preview of an event log: one JSON object a line, the last of them a summary."""
    events = [_event(line, number, name) for number, line in enumerate(text.splitlines(), 1)]
    if not any("preludeEvent" in event for event in events):
        raise InputError(f"{name}: this is not a preview; {_FORMS}")
    steps: list[dict[str, Any]] = []
    failures: list[str] = []
    settings: str | None = None
    for event in events:
        if "preludeEvent" in event:
            settings = _settings(event["preludeEvent"].get("config") or {})
        elif "resourcePreEvent" in event:
            data = event["resourcePreEvent"]["metadata"]
            state = {"oldState": data.get("old"), "newState": data.get("new")}
            steps.append({"op": data["op"], "urn": data["urn"], **state})
        elif event.get("diagnosticEvent", {}).get("severity") == "error":
            failures.append(str(event["diagnosticEvent"].get("message", "")).strip())
    if not any("summaryEvent" in event for event in events):
        failures.append("the log has no summary: the preview did not come to its end")
    return Preview(steps=steps, settings=settings, failures=tuple(failures))


def _event(line: str, number: int, name: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise InputError(f"{name}:{number}: this is not JSON ({error}); {_FORMS}") from None
    if not isinstance(event, dict):
        raise InputError(f"{name}:{number}: this is not an event of the engine; {_FORMS}")
    return cast("dict[str, Any]", event)


def _settings(config: Mapping[str, Any]) -> str | None:
    """Return the platform's settings as JSON text; other programs have none."""
    value = config.get(SETTINGS_KEY)
    if isinstance(value, dict):
        # The engine's own form of a configuration value: its text beside whether it is secret.
        value = cast("dict[str, Any]", value).get("value")
    return value if isinstance(value, str) else None


def _findings(preview: Preview, approved: Sequence[str]) -> tuple[Finding, ...]:
    today = datetime.datetime.now(tz=datetime.UTC).date()
    agreements = of_settings(preview.settings, today)
    accepted = agreements.accept_data_loss | frozenset(approved)
    context = context_of(replace(agreements, accept_data_loss=accepted), today)
    failed = tuple(_incomplete(message) for message in preview.failures)
    return (*failed, *preview_findings({"steps": preview.steps}, context))


def _incomplete(message: str) -> Finding:
    first = next(iter(message.splitlines()), "it says nothing of the reason")
    return Finding(
        rule=GateRule.DATA_SURVIVES,
        severity=Severity.ERROR,
        subject="Preview",
        path="",
        message=f"the preview failed, so it does not show every change: {first}",
        remedy="correct what the preview says and make it again",
    )


def _json(findings: Sequence[Finding], operations: Mapping[str, int]) -> str:
    rows: list[JsonValue] = [finding_lines.row(finding) for finding in findings]
    counted: dict[str, JsonValue] = dict(sorted(operations.items()))
    answer: dict[str, JsonValue] = {"findings": rows, "operations": counted}
    return json.dumps(answer, indent=2, ensure_ascii=False)


def _show(findings: Sequence[Finding], operations: Mapping[str, int]) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for finding in sorted(findings, key=lambda one: finding_lines.SEVERITIES.index(one.severity)):
        finding_lines.show(console, finding)
    steps = ", ".join(f"{count} {name}" for name, count in sorted(operations.items()))
    console.print(f"steps: {steps or 'none'}; {finding_lines.counted(findings)}")
