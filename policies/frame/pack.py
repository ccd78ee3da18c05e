"""The rules as CrossGuard policies: one policy per rule, all of them mandatory.

Warnings and excused findings are shown by two advisory policies of their own. A rule about how
objects fit together runs at the end, over what the engine showed resource by resource: behind a
provider that is not configured yet, the stack's own view of their inputs is empty.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyComplianceFramework,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from policies.core.nodes import Node
from policies.core.rule import Rule
from policies.core.unknowns import plain
from policies.frame import agreements
from policies.frame.evaluate import aws_placed, placed
from policies.frame.registry import Registered, Scope, registered
from policies.frame.resources import is_kubernetes, manifests_of
from policies.frame.session import Session
from policies.views.aws.resource import AwsPlaced, AwsResource, AwsStack, aws_resource, is_aws
from policies.views.kubernetes.gpu_operator import is_release
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed, Stack
from policies.views.plan import PLAN_TYPE, PlanView

_STACK_TYPE: Final = "pulumi:pulumi:Stack"
_EXCEPTION_SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["object", "reason", "owner", "expires"],
        "properties": {
            key: {"type": "string"} for key in ("rule", "object", "reason", "owner", "expires")
        },
        "additionalProperties": False,
    },
}
_TEXTS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_OWN_CONFIG: Final[Mapping[str, dict[str, Any]]] = {
    "acceptDataLoss": _TEXTS,
    "monitorLabels": {"type": "object", "additionalProperties": {"type": "string"}},
    "nodeNamespaces": _TEXTS,
}
"""What a rule may be configured with (`Rule.configuration`) beside its exceptions."""


def policies(session: Session) -> list[Policy]:
    """Return every policy; the advisory ones stand last, since they tell what the others noted."""
    return [
        _exceptions_hold(session),
        *_resource_policies(Scope.OBJECT, _manifests, session),
        *_resource_policies(Scope.PLAN, _plans, session),
        *_resource_policies(Scope.AWS, _aws_resources, session),
        _resource_notes(session),
        *_stack_policies(Scope.STACK, _placed, session),
        *_stack_policies(Scope.AWS_STACK, _aws_placed, session),
        _stack_notes(session),
    ]


def _described(rule: Rule[Any]) -> dict[str, Any]:
    """Return what the SDK shows of a rule."""
    framework = None
    if rule.framework is not None:
        name, specification = rule.framework
        framework = PolicyComplianceFramework(name=name, specification=specification)
    return {
        "name": rule.id,
        "description": rule.description,
        "enforcement_level": EnforcementLevel.MANDATORY,
        "severity": Severity(rule.weight.value),
        "remediation_steps": rule.remedy,
        "tags": list(rule.tags),
        "framework": framework,
        "config_schema": PolicyConfigSchema(
            properties={
                "exceptions": _EXCEPTION_SCHEMA,
                **{key: _OWN_CONFIG[key] for key in rule.configuration},
            }
        ),
    }


_OfResource = Callable[[ResourceValidationArgs, str, Session], Iterable[object]]
_OfStack = Callable[[StackValidationArgs, Session], Iterable[object]]


def _resource_policies(scope: Scope, subjects: _OfResource, session: Session) -> list[Policy]:
    """Return a scope's rules, each run over what the engine shows resource by resource."""

    def policy(each: Registered) -> Policy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            agreed = session.agreed(each.rule.id, args.get_config())
            context = agreements.context_of(agreed, session.today)
            for subject in subjects(args, each.rule.id, session):
                session.report(args.urn, each.look(subject, context), agreed, report)

        return ResourceValidationPolicy(validate=validate, **_described(each.rule))

    return [policy(each) for each in registered(scope)]


def _stack_policies(scope: Scope, subjects: _OfStack, session: Session) -> list[Policy]:
    """Return a scope's rules, each run at the end over everything that was shown."""

    def policy(each: Registered) -> Policy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            agreed = session.agreed(each.rule.id, args.get_config())
            context = agreements.context_of(agreed, session.today)
            found = [
                finding
                for subject in subjects(args, session)
                for finding in each.look(subject, context)
            ]
            session.report(_STACK_TYPE, found, agreed, report)

        return StackValidationPolicy(validate=validate, **_described(each.rule))

    return [policy(each) for each in registered(scope)]


def _manifests(args: ResourceValidationArgs, rule: str, session: Session) -> tuple[Manifest, ...]:
    if not is_kubernetes(args.resource_type):
        return ()

    def read() -> tuple[Manifest, ...]:
        return tuple(
            manifests_of(
                resource_type=args.resource_type,
                name=args.name,
                urn=args.urn,
                props=args.props,
                opts=args.opts,
            )
        )

    return session.manifests.read(args.urn, rule, read)


def _plans(args: ResourceValidationArgs, rule: str, session: Session) -> Iterable[PlanView]:
    return (PlanView(Node(plain(args.props))),) if args.resource_type == PLAN_TYPE else ()


def _aws_resources(
    args: ResourceValidationArgs, rule: str, session: Session
) -> Iterable[AwsResource]:
    if not is_aws(args.resource_type):
        return ()

    def read() -> AwsResource:
        return aws_resource(
            resource_type=args.resource_type,
            name=args.name,
            urn=args.urn,
            props=args.props,
            opts=args.opts,
        )

    return (session.aws.read(args.urn, rule, read),)


def _placed(args: StackValidationArgs, session: Session) -> Iterable[Placed]:
    return placed(Stack(manifests=tuple(_all_shown(args, session))))


def _aws_placed(args: StackValidationArgs, session: Session) -> Iterable[AwsPlaced]:
    return aws_placed(_aws_shown(args, session))


def _aws_shown(args: StackValidationArgs, session: Session) -> AwsStack:
    """Return the stack's AWS resources, each as it was shown when it was registered."""
    here = [each for each in args.resources if is_aws(each.resource_type)]
    return AwsStack(
        resources=tuple(
            session.aws.shown(each.urn)
            or aws_resource(
                resource_type=each.resource_type,
                name=each.name,
                urn=each.urn,
                props=each.props,
                opts=each.opts,
            )
            for each in here
        ),
        links={
            (each.urn, key): tuple(source.urn for source in sources)
            for each in here
            for key, sources in each.property_dependencies.items()
        },
        releases=tuple(each for each in _all_shown(args, session) if is_release(each)),
    )


def _all_shown(args: StackValidationArgs, session: Session) -> list[Manifest]:
    """Return the stack's objects, each as it was shown when it was registered."""
    found: list[Manifest] = []
    for resource in args.resources:
        if not is_kubernetes(resource.resource_type):
            continue
        before = session.manifests.shown(resource.urn)
        found += before or manifests_of(
            resource_type=resource.resource_type,
            name=resource.name,
            urn=resource.urn,
            props=resource.props,
            opts=resource.opts,
        )
    return found


def _exceptions_hold(session: Session) -> Policy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type != _STACK_TYPE:
            return
        for problem in session.settings.problems:
            report(str(problem), None)
        for each in session.settings.exceptions:
            until = each.expires.isoformat()
            text = f"{each.rule} for {each.object} until {until}, {each.owner}: {each.reason}"
            session.note(args.urn, f"recorded exception: {text}")

    return ResourceValidationPolicy(
        name="k8s-stack-hold-exceptions",
        description="Every recorded exception can be read and has not expired.",
        enforcement_level=EnforcementLevel.MANDATORY,
        severity=Severity.CRITICAL,
        remediation_steps="Mend what it excuses and remove it, or record a new reason and date.",
        validate=validate,
    )


def _resource_notes(session: Session) -> Policy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for text in session.notes(args.urn):
            report(text, None)

    return ResourceValidationPolicy(
        name="k8s-object-show-warnings",
        description="Warnings and recorded exceptions are shown.",
        enforcement_level=EnforcementLevel.ADVISORY,
        severity=Severity.LOW,
        validate=validate,
    )


def _stack_notes(session: Session) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        for text in session.notes(_STACK_TYPE):
            report(text, None)

    return StackValidationPolicy(
        name="k8s-stack-show-warnings",
        description="Warnings and recorded exceptions about the stack are shown.",
        enforcement_level=EnforcementLevel.ADVISORY,
        severity=Severity.LOW,
        validate=validate,
    )
