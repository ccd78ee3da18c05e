"""Options of the release that an engine's image pins: those it has, with values it takes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from models.core.findings import Finding, Severity
from models.engine.command import Fault, FaultKind, Parser
from models.facts.contract import EngineContract
from policies.core import knowledge
from policies.core.context import Context
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import Invocation, invocation_of
from policies.views.engine.release import Release
from policies.views.kubernetes.images import image_of
from policies.views.kubernetes.workload import Container

_ABSENT: Final = frozenset({FaultKind.UNKNOWN, FaultKind.REMOVED})
_CERTAIN: Final = frozenset(
    {
        FaultKind.REMOVED,
        FaultKind.CONTRADICTORY,
        FaultKind.NO_VALUE,
        FaultKind.SWITCH_VALUE,
        FaultKind.EXTRA_WORD,
    }
)
"""What fails whatever the release is, as far as one can tell from the releases that are known."""


@rule(
    "k8s-container-take-known-options",
    "Every option of an engine is one that its release takes.",
    remedy="remove or correct the option, or pin the release that it was written for",
    weight=RuleWeight.CRITICAL,
    tags=("engine",),
    fragments=True,
)
def take_known_options(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-16: the engine's parser stops at an option that it does not know, in a crash loop."""
    invocation = invocation_of(container, context)
    if invocation is None:
        return
    yield from _unverifiable(invocation, context)
    yield from _joined_words(invocation)
    for fault, contract in _faults(invocation):
        severity = _severity(fault, contract, invocation)
        if severity is not None:
            message = _message(fault, contract, invocation.release)
            yield replace(fault, path=invocation.path(fault.at), message=message, severity=severity)


def _unverifiable(invocation: Invocation, context: Context) -> Iterator[Finding]:
    """Yield what keeps the options from being verified: an unknown release, unknown words."""
    fragment = invocation.container.pod.manifest.fragment or invocation.container.inherits
    if not invocation.words:
        return
    path = invocation.container.node["image"].path
    release = invocation.release
    if not release.contracts and not fragment:
        yield Finding(
            path,
            f"cannot verify the options of container {invocation.container.called}: {release.text}",
            Severity.UNKNOWN,
            remedy="name a release of vLLM in the image's tag, or in the annotation "
            "triplane.dev/engine-version",
        )
    elif release.floats and not context.pulumi and not fragment:
        yield Finding(
            path,
            f"the options of container {invocation.container.called} can only be compared with the "
            f"newest release that is known: {release.text}",
            Severity.UNKNOWN,
            remedy="pin a release",
        )
    for index in invocation.hidden:
        yield Finding(
            invocation.path(index),
            f"cannot verify the options of container {invocation.container.called}: one of its "
            "arguments is unknown",
            Severity.UNKNOWN,
            remedy="give it as a plain value",
        )


def _joined_words(invocation: Invocation) -> Iterator[Finding]:
    """Yield arguments that hold an option and its value in one word, with no shell to part them."""
    if invocation.shell:
        return
    for path in dict.fromkeys(invocation.paths):
        if invocation.paths.count(path) > 1 and ".args" in path:
            yield Finding(
                path,
                "without a shell this is one word for the engine, which knows no such option",
                Severity.WARNING,
                remedy="give each option and each value an item of its own, or write --name=value",
            )


def _faults(invocation: Invocation) -> Iterator[tuple[Fault, EngineContract]]:
    """Yield faults that every contract that holds has: between releases only those are certain."""
    contracts = invocation.release.contracts
    by_contract = [dict(_keyed(invocation, contract)) for contract in contracts]
    for key, fault in (by_contract[-1] if by_contract else {}).items():
        if all(key in each for each in by_contract):
            yield fault, contracts[-1]
    if not contracts:
        yield from _never_existed(invocation)


def _keyed(
    invocation: Invocation, contract: EngineContract
) -> Iterator[tuple[tuple[str, int], Fault]]:
    parser = Parser(contract)
    for fault in parser.faults(parser.read(invocation.words)):
        kind = FaultKind.UNKNOWN if fault.kind in _ABSENT else fault.kind
        yield (kind.value, fault.at), fault


def _never_existed(invocation: Invocation) -> Iterator[tuple[Fault, EngineContract]]:
    """Yield what no release whatever takes: contradictions, and options that never existed."""
    contract = knowledge.newest()
    parser = Parser(contract)
    for fault in parser.faults(parser.read(invocation.words)):
        removed = next((row for row in contract.removed_flags if row.name == fault.option), None)
        invented = removed is not None and removed.last_seen is None
        if invented or fault.kind is FaultKind.CONTRADICTORY:
            yield fault, contract


def _severity(fault: Fault, contract: EngineContract, invocation: Invocation) -> Severity | None:
    """Return how a fault counts; None where it is none for a person's file."""
    release = invocation.release
    if fault.kind is FaultKind.REPEATED:
        return None
    if not release.floats and not release.beyond and release.contracts:
        unsure = fault.kind is FaultKind.UNKNOWN and not fault.near and not _plain_image(invocation)
        return Severity.WARNING if unsure else Severity.ERROR
    if release.beyond < 0 and fault.kind in _ABSENT:
        later = any(each.flag(fault.option) for each in knowledge.engines().values())
        invented = fault.kind is FaultKind.REMOVED
        return Severity.ERROR if later or invented else Severity.WARNING
    if fault.kind in _CERTAIN:
        return Severity.ERROR
    return Severity.WARNING if fault.near or fault.kind is not FaultKind.UNKNOWN else None


def _plain_image(invocation: Invocation) -> bool:
    """Whether the command line surely reaches vLLM's own parser: its image, or `vllm serve`."""
    image = invocation.container.node["image"].value
    name = image_of(image).repository.rsplit("/", 1)[-1] if isinstance(image, str) else ""
    return name.startswith("vllm-openai") or invocation.container.node["command"].present


def _message(fault: Fault, contract: EngineContract, release: Release) -> str:
    if release.beyond < 0 and fault.kind is FaultKind.UNKNOWN:
        since = next((v for v, each in knowledge.engines().items() if each.flag(fault.option)), "")
        if since:
            return f"vLLM {release.text} has no option {fault.option}: it appeared by {since}"
    said = f"{contract.version}, the newest that is known," if release.floats else release.text
    return fault.message.replace(f"vLLM {contract.version}", f"vLLM {said}")
