"""What was agreed about a stack: recorded exceptions and accepted data loss.

They stand in the stack's settings (`triplane:platform`), or, for other programs, in the pack's
configuration under the rule's id. What cannot be read is a problem, never ignored.
"""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from models.core.findings import Finding
from models.core.names import LONGHORN_RELEASE
from models.core.problems import from_validation
from models.settings.exceptions import RecordedException, expired
from models.settings.options import Observability, Operators
from policies.core.context import NODE_NAMESPACE, Context

SETTINGS_KEY: Final = "triplane:platform"
_EXCEPTIONS: Final = TypeAdapter(tuple[RecordedException, ...])


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreements:
    """Exceptions, objects that may be replaced, and facts for rules, with what is wrong in them."""

    exceptions: tuple[RecordedException, ...] = ()
    accept_data_loss: frozenset[str] = frozenset()
    monitor_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    node_namespaces: frozenset[str] = frozenset({NODE_NAMESPACE})
    pools: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: str = ""
    regions: tuple[str, ...] = ()
    problems: tuple[Finding, ...] = ()


def of_settings(text: str | None, today: datetime.date) -> Agreements:
    """Return what the settings' JSON text agrees; nothing where there are no settings.

    The program itself judges the settings; here only what rules need is read.
    """
    if text is None:
        return Agreements()
    try:
        raw = json.loads(text)
    except ValueError:
        raw = None
    if not isinstance(raw, dict):
        problem = Finding(path=SETTINGS_KEY, message="cannot be read, so exceptions are unknown")
        return Agreements(problems=(problem,))
    settings = cast("dict[str, Any]", raw)
    exceptions, problems = _exceptions(settings.get("exceptions") or [], "exceptions", today)
    default = Observability().monitor_labels
    labels = _mapping(settings.get("observability")).get("monitor_labels")
    return Agreements(
        exceptions=exceptions,
        accept_data_loss=frozenset([*_texts(settings.get("accept_data_loss")), *_left(settings)]),
        monitor_labels=_labels(labels) if labels is not None else default,
        pools=_pools(settings),
        environment=str(settings.get("environment") or ""),
        regions=_names(settings),
        problems=problems,
    )


def _left(settings: Mapping[str, Any]) -> Iterable[str]:
    """Yield the release with data that a handover leaves in the cluster, and so unprotected."""
    if settings.get("operators") == Operators.HANDOVER.value:
        yield LONGHORN_RELEASE


def of_config(rule: str, config: Mapping[str, Any], today: datetime.date) -> Agreements:
    """Return what a rule's part of the pack's configuration agrees."""
    rows = _items(config.get("exceptions"))
    named = [{"rule": rule, **_mapping(row)} for row in rows]
    exceptions, problems = _exceptions(named, f"{rule}.exceptions", today)
    spaces = _texts(config.get("nodeNamespaces"))
    return Agreements(
        exceptions=exceptions,
        accept_data_loss=frozenset(_texts(config.get("acceptDataLoss"))),
        monitor_labels=_labels(config.get("monitorLabels")),
        node_namespaces=frozenset({NODE_NAMESPACE, *spaces}),
        problems=problems,
    )


def merged(first: Agreements, second: Agreements) -> Agreements:
    """Return both; labels of the second win."""
    return Agreements(
        exceptions=(*first.exceptions, *second.exceptions),
        accept_data_loss=first.accept_data_loss | second.accept_data_loss,
        monitor_labels=second.monitor_labels or first.monitor_labels,
        node_namespaces=first.node_namespaces | second.node_namespaces,
        pools=second.pools or first.pools,
        environment=second.environment or first.environment,
        regions=second.regions or first.regions,
        problems=(*first.problems, *second.problems),
    )


def context_of(agreements: Agreements, today: datetime.date) -> Context:
    """Return the context for rules over a Pulumi program's resources."""
    return Context(
        pulumi=True,
        whole=True,
        node_namespaces=agreements.node_namespaces,
        monitor_labels=agreements.monitor_labels,
        accept_data_loss=agreements.accept_data_loss,
        pools=agreements.pools,
        environment=agreements.environment,
        regions=agreements.regions,
        today=today,
    )


def judged(
    findings: Iterable[Finding], exceptions: Sequence[RecordedException], today: datetime.date
) -> tuple[list[Finding], list[tuple[Finding, RecordedException]]]:
    """Split findings into those that stand and those that an exception excuses today."""
    valid = {(each.rule, each.object): each for each in exceptions if each.expires >= today}
    standing: list[Finding] = []
    excused: list[tuple[Finding, RecordedException]] = []
    for finding in findings:
        exception = valid.get((finding.rule, finding.subject))
        if exception is None:
            standing.append(finding)
        else:
            excused.append((finding, exception))
    return standing, excused


def _exceptions(
    raw: object, path: str, today: datetime.date
) -> tuple[tuple[RecordedException, ...], tuple[Finding, ...]]:
    try:
        found = _EXCEPTIONS.validate_json(json.dumps(raw))
    except (ValidationError, TypeError) as error:
        if isinstance(error, ValidationError):
            return (), from_validation(error, path)
        return (), (Finding(path=path, message="cannot be read"),)
    return found, tuple(expired(found, today, path))


def _pools(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return accelerators by pool name; a name that means two cards in two regions means none."""
    found: dict[str, str] = {}
    for region in _items(settings.get("regions")):
        for pool in map(_mapping, _items(_mapping(region).get("pools"))):
            name, card = str(pool.get("name") or ""), str(pool.get("accelerator") or "")
            found[name] = card if found.get(name, card) == card else ""
    return {name: card for name, card in found.items() if name and card}


def _names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the regions' names."""
    rows = map(_mapping, _items(settings.get("regions")))
    return tuple(str(row["name"]) for row in rows if row.get("name"))


def _items(raw: object) -> list[object]:
    return cast("list[object]", raw) if isinstance(raw, list) else []


def _mapping(raw: object) -> dict[str, object]:
    return cast("dict[str, object]", raw) if isinstance(raw, dict) else {}


def _texts(raw: object) -> list[str]:
    return [item for item in _items(raw) if isinstance(item, str)]


def _labels(raw: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in _mapping(raw).items()}
