"""`check`: the policy rules over YAML and JSON from anywhere, and the catalog's own gate."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from cli.errors import ExitCode, InputError
from cli.options.check import CheckOptions
from cli.output import finding_lines
from cli.reading.files import Read, Unreadable, paths_of, read
from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.frame.evaluate import object_findings, stack_findings
from policies.frame.profile import Profile, counted
from policies.views.kubernetes.releases_of import ALIASES, pinned
from policies.views.kubernetes.runtimes import is_runtime, with_runtime

_VERSION: Final = re.compile(r"v?\d+(\.\d+){0,2}([-+.].*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """A finding with the file it was made in."""

    finding: Finding
    file: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What a run of `check` found. `blank`: files were asked for, and nothing stood in them."""

    found: tuple[Located, ...] = ()
    files: int = 0
    objects: int = 0
    blank: bool = False
    unreadable: tuple[Unreadable, ...] = field(default=())


def run(options: CheckOptions) -> int:
    """Check what was asked and print it; return the exit code."""
    if not options.files and not options.catalog and options.stack is None:
        raise InputError("give files or folders (-f FILE), --catalog, or --stack FILE")
    checked = check(options)
    if options.as_json:
        print(_json(checked))
    else:
        _show(checked, everything=options.profile is Profile.TRIPLANE)
    if checked.blank:
        print("triplane: nothing to check: the input holds no document", file=sys.stderr)
    return _exit_code(checked, strict=options.strict)


def check(options: CheckOptions) -> Checked:
    """Return what the rules find in files and in the catalog."""
    context = Context(whole=False, versions=_versions(options))
    reads = [read(path) for path in dict.fromkeys(paths_of(options.files))]
    found = [
        Located(finding=counted(each.finding, options.profile), file=each.file)
        for each in _findings(reads, context)
    ]
    found = list(_collapsed(found))
    if options.catalog:
        from cli.commands.check_catalog import catalog_findings

        found += [Located(finding=each, file=file) for each, file in catalog_findings()]
    if options.stack is not None:
        from cli.commands.check_catalog import stack_gate

        found += [Located(finding=each, file=file) for each, file in stack_gate(options.stack)]
    rank = {severity: index for index, severity in enumerate(finding_lines.SEVERITIES)}
    found.sort(key=lambda each: (each.file, rank[each.finding.severity]))
    return Checked(
        found=tuple(found),
        files=len(reads),
        objects=sum(len(each.manifests) for each in reads),
        blank=bool(options.files) and all(each.blank for each in reads),
        unreadable=tuple(problem for each in reads for problem in each.problems),
    )


def _versions(options: CheckOptions) -> Mapping[str, str]:
    """Return releases by component: those given; in our own files the catalog's beside them."""
    known = pinned()
    versions = dict(known) if options.profile is Profile.TRIPLANE else {}
    for text in options.versions:
        name, equals, version = text.partition("=")
        name = ALIASES.get(name, name)
        if not equals or _VERSION.fullmatch(version) is None:
            raise InputError(f"--versions {text}: write it as vllm=0.33.0")
        if name != "vllm" and name not in known:
            raise InputError(
                f"--versions {text}: {name} is none of vllm, {', '.join(sorted(known))}"
            )
        versions[name] = version.removeprefix("v")
    return versions


def _findings(reads: Sequence[Read], context: Context) -> Iterator[Located]:
    for group in _stacks(reads):
        completed = _completed(group)
        for each in completed:
            for manifest in each.manifests:
                for finding in object_findings(manifest, context):
                    yield Located(finding=finding, file=each.file)
        yield from _stack_findings(completed, context)


def _completed(group: Sequence[Read]) -> list[Read]:
    """Return files with KServe's services completed by the runtimes that are beside them."""
    runtimes = [each for read_ in group for each in read_.manifests if is_runtime(each)]
    return [
        replace(each, manifests=tuple(with_runtime(one, runtimes) for one in each.manifests))
        for each in group
    ]


def _collapsed(findings: Iterable[Located]) -> Iterator[Located]:
    """Yield findings; of rules that all miss the same value only the first, with their number."""
    groups: dict[tuple[str, str, str, str], list[Located]] = {}
    for each in findings:
        finding = each.finding
        key = (each.file, finding.subject, finding.path, finding.cause or str(len(groups)))
        groups.setdefault(key, []).append(each)
    for group in groups.values():
        first = group[0]
        others = len({each.finding.rule for each in group}) - 1
        if others:
            message = f"{first.finding.message} (and {others} other rules)"
            yield Located(finding=replace(first.finding, message=message), file=first.file)
        else:
            yield from group


def _stack_findings(group: Sequence[Read], context: Context) -> Iterator[Located]:
    manifests = [manifest for each in group for manifest in each.manifests]
    files = {manifest.label: each.file for each in group for manifest in each.manifests}
    for finding in stack_findings(manifests, context):
        yield Located(finding=finding, file=files.get(finding.subject, group[0].file))


def _stacks(reads: Sequence[Read]) -> Iterator[Sequence[Read]]:
    """Yield files that are deployed together: all, those of a folder, or each by itself.

    Files in which the same object stands twice are alternatives (environments, examples), not one
    stack.
    """
    if _go_together(reads):
        yield reads
        return
    folders: dict[str, list[Read]] = {}
    for each in reads:
        folders.setdefault(str(Path(each.file).parent), []).append(each)
    for folder in folders.values():
        if _go_together(folder):
            yield folder
        else:
            yield from ([each] for each in folder)


def _go_together(reads: Iterable[Read]) -> bool:
    seen: dict[str, str] = {}
    for each in reads:
        for manifest in each.manifests:
            if not manifest.fragment and seen.setdefault(manifest.label, each.file) != each.file:
                return False
    return True


def _json(checked: Checked) -> str:
    rows: list[JsonValue] = [
        finding_lines.row(each.finding, file=each.file) for each in checked.found
    ]
    unreadable: list[JsonValue] = [
        {"file": each.subject, "line": each.line, "message": each.message}
        for each in checked.unreadable
    ]
    answer = {"findings": rows, "files": checked.files, "unreadable": unreadable}
    return json.dumps(answer, indent=2, ensure_ascii=False)


def _exit_code(checked: Checked, *, strict: bool) -> int:
    """Return the code; what was not read makes the input unusable, whatever else was found."""
    if checked.unreadable or checked.blank:
        return ExitCode.UNUSABLE_INPUT
    severities = {each.finding.severity for each in checked.found}
    bad = {Severity.ERROR, Severity.UNKNOWN} if strict else {Severity.ERROR}
    return ExitCode.FINDING if severities & bad else ExitCode.GOOD


def _show(checked: Checked, *, everything: bool) -> None:
    """Print findings by file; what only a convention of ours asks for is counted, not listed."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    shown = [each for each in checked.found if everything or not _is_convention(each.finding)]
    file = ""
    for each in shown:
        if each.file != file:
            file = each.file
            console.print(file, style="bold", markup=False)
        finding_lines.show(console, each.finding)
    for problem in checked.unreadable:
        line = "" if problem.line is None else f":{problem.line}"
        console.print(f"{problem.subject}{line}: {problem.message}", style="red", markup=False)
    counts = finding_lines.counted(each.finding for each in checked.found)
    unread = f", {len(checked.unreadable)} unreadable" if checked.unreadable else ""
    console.print(f"{checked.files} files, {checked.objects} objects: {counts}{unread}")
    left = len(checked.found) - len(shown)
    if left:
        console.print(f"{left} of them are conventions (--profile triplane lists them)")


def _is_convention(finding: Finding) -> bool:
    return finding.house and finding.severity is not Severity.ERROR
