"""Every rule of the pack, with what it looks at.

A rule registers itself: whatever `@rule` makes in a file below `policies/rules/` is here, by the
files' names and their order in the file. What it looks at is the type of its function's subject.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Any, Final, cast

from models.core.findings import Finding
from policies import rules
from policies.core.context import Context
from policies.core.memo import Memo
from policies.core.nodes import UnknownFieldError, UnreadableFieldError
from policies.core.rule import Rule
from policies.views.aws.resource import AwsPlaced, AwsResource
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.kubernetes.workload import Container, Pod, pods_of
from policies.views.plan import PlanView

Look = Callable[[Rule[Any], Any, Context], tuple[Finding, ...]]


class Scope(StrEnum):
    """What a rule is shown at once."""

    OBJECT = "one object"
    STACK = "how objects fit together"
    PLAN = "the whole plan"
    AWS = "one AWS resource"
    AWS_STACK = "how AWS resources fit together"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """A rule and its scope. `over` runs it over the parts of what the scope shows."""

    rule: Rule[Any]
    scope: Scope
    over: Look

    def look(self, subject: Any, context: Context) -> tuple[Finding, ...]:
        """Return what the rule finds at a subject of its scope."""
        return self.over(self.rule, subject, context)


_PODS: Final = Memo[Manifest, tuple[Pod, ...]]()
_CONTAINERS: Final = Memo[Pod, tuple[Container, ...]]()


def _pods(manifest: Manifest) -> tuple[Pod, ...]:
    return _PODS.get(manifest, None, lambda: tuple(pods_of(manifest)))


def _containers(manifest: Manifest) -> Iterator[Container]:
    for pod in _pods(manifest):
        yield from _containers_of(pod)


def _containers_of(pod: Pod) -> Iterator[Container]:
    """Yield a pod's containers; those before one that is not known are seen all the same."""
    try:
        yield from _CONTAINERS.get(pod, None, lambda: tuple(pod.containers()))
    except (UnknownFieldError, UnreadableFieldError):
        yield from pod.containers()


def _at_subject(rule: Rule[Any], subject: Any, context: Context) -> tuple[Finding, ...]:
    return rule(subject, context)


def _concerns(rule: Rule[Any], manifest: Manifest) -> bool:
    """Whether a rule looks at an object: a fragment only meets rules that hold for parts."""
    return rule.fragments or not manifest.fragment


def _at_manifest(rule: Rule[Any], manifest: Manifest, context: Context) -> tuple[Finding, ...]:
    return rule(manifest, context) if _concerns(rule, manifest) else ()


def _at_pods(rule: Rule[Any], manifest: Manifest, context: Context) -> tuple[Finding, ...]:
    if not _concerns(rule, manifest):
        return ()
    return rule.over(_pods(manifest), manifest.label, context)


def _at_containers(rule: Rule[Any], manifest: Manifest, context: Context) -> tuple[Finding, ...]:
    if not _concerns(rule, manifest):
        return ()
    return rule.over(_containers(manifest), manifest.label, context)


def _at_placed(rule: Rule[Any], placed: Placed, context: Context) -> tuple[Finding, ...]:
    return rule(placed, context) if _concerns(rule, placed.manifest) else ()


_SUBJECTS: Final[Mapping[type, tuple[Scope, Look]]] = {
    Manifest: (Scope.OBJECT, _at_manifest),
    Pod: (Scope.OBJECT, _at_pods),
    Container: (Scope.OBJECT, _at_containers),
    Placed: (Scope.STACK, _at_placed),
    PlanView: (Scope.PLAN, _at_subject),
    AwsResource: (Scope.AWS, _at_subject),
    AwsPlaced: (Scope.AWS_STACK, _at_subject),
}
"""What a rule's function may take, and how it is run over what its scope shows."""


def rules_of(module: ModuleType) -> Iterator[Registered]:
    """Yield the rules that a module makes, in its order.

    Raises `TypeError` for a rule whose subject nothing shows.
    """
    for value in vars(module).values():
        if not isinstance(value, Rule):
            continue
        rule = cast("Rule[Any]", value)
        if rule.check.__module__ != module.__name__:
            continue
        subject = next(iter(inspect.get_annotations(rule.check).values()), None)
        if subject not in _SUBJECTS:
            known = ", ".join(each.__name__ for each in _SUBJECTS)
            raise TypeError(f"{rule.id} takes {subject!r}: a rule's subject must be one of {known}")
        scope, over = _SUBJECTS[subject]
        yield Registered(rule=rule, scope=scope, over=over)


def _registered() -> Iterator[Registered]:
    for found in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        yield from rules_of(importlib.import_module(found.name))


RULES: Final = tuple(_registered())
_BY_SCOPE: Final = {scope: tuple(each for each in RULES if each.scope is scope) for scope in Scope}


def registered(scope: Scope) -> tuple[Registered, ...]:
    """Return the rules of one scope."""
    return _BY_SCOPE[scope]
