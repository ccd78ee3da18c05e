"""Running rules over objects: what the pack does by resource, `triplane check` does by file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from policies.core.context import Context
from policies.core.finding import Finding
from policies.core.nodes import Node
from policies.core.rule import Rule
from policies.core.unknowns import plain
from policies.frame.registry import (
    AWS_RULES,
    AWS_STACK_RULES,
    OBJECT_RULES,
    PLAN_RULES,
    STACK_RULES,
    ObjectRule,
)
from policies.views.aws.resource import AwsPlaced, AwsResource, AwsStack
from policies.views.kubernetes.manifest import Manifest, expanded
from policies.views.kubernetes.stack import Placed, Stack
from policies.views.plan import PlanView


def look_at(listed: ObjectRule, manifest: Manifest, context: Context) -> Iterator[Finding]:
    """Yield what one rule finds at one object; a fragment only meets rules that hold for parts."""
    if listed.rule.fragments or not manifest.fragment:
        yield from listed.look(manifest, context)


def object_findings(manifest: Manifest, context: Context) -> tuple[Finding, ...]:
    """Return what all object rules find at an object, the objects inside Lists included."""
    found = [
        finding
        for each in expanded(manifest)
        for listed in OBJECT_RULES
        for finding in look_at(listed, each, context)
    ]
    return tuple(dict.fromkeys(found))


def stack_rule_findings(rule: Rule[Placed], stack: Stack, context: Context) -> Iterator[Finding]:
    """Yield what one rule finds among the objects of a stack (Lists already expanded)."""
    for manifest in stack.manifests:
        if rule.fragments or not manifest.fragment:
            yield from rule(Placed(manifest=manifest, stack=stack), context)


def stack_findings(manifests: Sequence[Manifest], context: Context) -> tuple[Finding, ...]:
    """Return what all rules about a stack find among objects (Lists already expanded)."""
    stack = Stack(manifests=tuple(manifests))
    found = [each for rule in STACK_RULES for each in stack_rule_findings(rule, stack, context)]
    return tuple(dict.fromkeys(found))


def findings(manifests: Iterable[Manifest], context: Context) -> tuple[Finding, ...]:
    """Return what all rules find at objects that are deployed together."""
    every = [each for manifest in manifests for each in expanded(manifest)]
    found = [finding for each in every for finding in object_findings(each, context)]
    return tuple(dict.fromkeys([*found, *stack_findings(every, context)]))


def plan_findings(inputs: object, context: Context) -> tuple[Finding, ...]:
    """Return what the plan's rules find at the inputs of the `Plan` component."""
    view = PlanView(Node(plain(inputs)))
    return tuple(finding for rule in PLAN_RULES for finding in rule(view, context))


def aws_findings(
    resources: Sequence[AwsResource],
    context: Context,
    links: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    releases: Sequence[Manifest] = (),
) -> tuple[Finding, ...]:
    """Return what all rules find at AWS resources that are registered together."""
    stack = AwsStack(resources=tuple(resources), links=links or {}, releases=tuple(releases))
    found = [each for one in resources for rule in AWS_RULES for each in rule(one, context)]
    found += [
        each
        for one in resources
        for rule in AWS_STACK_RULES
        for each in rule(AwsPlaced(resource=one, stack=stack), context)
    ]
    return tuple(dict.fromkeys(found))
