"""Running rules over objects: what the pack does by resource, `triplane check` does by file."""

from collections.abc import Iterable, Mapping, Sequence

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.registry import Scope, registered
from policies.views.aws.resource import AwsPlaced, AwsResource, AwsStack
from policies.views.kubernetes.manifest import Manifest, expanded
from policies.views.kubernetes.stack import Placed, Stack
from policies.views.plan import PlanView


def over(scope: Scope, subjects: Iterable[object], context: Context) -> tuple[Finding, ...]:
    """Return what all rules of a scope find at its subjects, subject by subject."""
    found = [
        finding
        for subject in subjects
        for each in registered(scope)
        for finding in each.look(subject, context)
    ]
    return tuple(dict.fromkeys(found))


def object_findings(manifest: Manifest, context: Context) -> tuple[Finding, ...]:
    """Return what all object rules find at an object, the objects inside Lists included."""
    return over(Scope.OBJECT, expanded(manifest), context)


def placed(stack: Stack) -> list[Placed]:
    """Return each object of a stack beside all the others."""
    return [Placed(manifest=manifest, stack=stack) for manifest in stack.manifests]


def aws_placed(stack: AwsStack) -> list[AwsPlaced]:
    """Return each AWS resource of a stack beside all the others."""
    return [AwsPlaced(resource=each, stack=stack) for each in stack.resources]


def stack_findings(manifests: Sequence[Manifest], context: Context) -> tuple[Finding, ...]:
    """Return what all rules about a stack find among objects (Lists already expanded)."""
    stack = Stack(manifests=tuple(manifests))
    return over(Scope.STACK, placed(stack), context)


def findings(manifests: Iterable[Manifest], context: Context) -> tuple[Finding, ...]:
    """Return what all rules find at objects that are deployed together."""
    every = [each for manifest in manifests for each in expanded(manifest)]
    found = [finding for each in every for finding in object_findings(each, context)]
    return tuple(dict.fromkeys([*found, *stack_findings(every, context)]))


def plan_findings(inputs: object, context: Context) -> tuple[Finding, ...]:
    """Return what the plan's rules find at the inputs of the `Plan` component."""
    return over(Scope.PLAN, (PlanView(Node(plain(inputs))),), context)


def aws_findings(
    resources: Sequence[AwsResource],
    context: Context,
    links: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    releases: Sequence[Manifest] = (),
) -> tuple[Finding, ...]:
    """Return what all rules find at AWS resources that are registered together."""
    stack = AwsStack(resources=tuple(resources), links=links or {}, releases=tuple(releases))
    found = over(Scope.AWS, resources, context)
    return tuple(dict.fromkeys([*found, *over(Scope.AWS_STACK, aws_placed(stack), context)]))
