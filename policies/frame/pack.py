"""The rules as CrossGuard policies: one policy per rule, all of them mandatory.

Warnings and excused findings are shown by two advisory policies of their own. A rule about how
objects fit together runs at the end, over what the engine showed resource by resource: behind a
provider that is not configured yet, the stack's own view of their inputs is empty.
"""

from collections.abc import Mapping
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

from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import Rule
from policies.core.unknowns import plain
from policies.frame import agreements
from policies.frame.evaluate import look_at, stack_rule_findings
from policies.frame.registry import (
    AWS_RULES,
    AWS_STACK_RULES,
    OBJECT_RULES,
    PLAN_RULES,
    STACK_RULES,
    ObjectRule,
)
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
    "k8s-data-be-protected": {"acceptDataLoss": _TEXTS},
    "aws-data-be-protected": {"acceptDataLoss": _TEXTS},
    "k8s-monitor-carry-selected-labels": {
        "monitorLabels": {"type": "object", "additionalProperties": {"type": "string"}}
    },
    **{
        rule: {"nodeNamespaces": _TEXTS}
        for rule in (
            "k8s-pod-stay-off-host",
            "k8s-pod-meet-restricted",
            "k8s-namespace-enforce-restricted",
            "k8s-pod-keep-off-gpu-nodes",
            "k8s-container-take-no-hidden-gpu",
        )
    },
}


def policies(session: Session) -> list[Policy]:
    """Return every policy; the advisory ones stand last, since they tell what the others noted."""
    return [
        _exceptions_hold(session),
        *(_object_policy(listed, session) for listed in OBJECT_RULES),
        *(_plan_policy(rule, session) for rule in PLAN_RULES),
        *(_aws_policy(rule, session) for rule in AWS_RULES),
        _resource_notes(session),
        *(_stack_policy(rule, session) for rule in STACK_RULES),
        *(_aws_stack_policy(rule, session) for rule in AWS_STACK_RULES),
        _stack_notes(session),
    ]


def _seen(args: ResourceValidationArgs, rule: str, session: Session) -> tuple[Manifest, ...]:
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
            properties={"exceptions": _EXCEPTION_SCHEMA, **_OWN_CONFIG.get(rule.id, {})}
        ),
    }


def _object_policy(listed: ObjectRule, session: Session) -> Policy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        agreed = session.agreed(listed.rule.id, args.get_config())
        context = agreements.context_of(agreed, session.today)
        for manifest in _seen(args, listed.rule.id, session):
            session.report(args.urn, look_at(listed, manifest, context), agreed, report)

    return ResourceValidationPolicy(validate=validate, **_described(listed.rule))


def _plan_policy(rule: Rule[PlanView], session: Session) -> Policy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type != PLAN_TYPE:
            return
        agreed = session.agreed(rule.id, args.get_config())
        context = agreements.context_of(agreed, session.today)
        found = rule(PlanView(Node(plain(args.props))), context)
        session.report(args.urn, found, agreed, report)

    return ResourceValidationPolicy(validate=validate, **_described(rule))


def _aws_policy(rule: Rule[AwsResource], session: Session) -> Policy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if not is_aws(args.resource_type):
            return
        agreed = session.agreed(rule.id, args.get_config())
        context = agreements.context_of(agreed, session.today)

        def read() -> AwsResource:
            return aws_resource(
                resource_type=args.resource_type,
                name=args.name,
                urn=args.urn,
                props=args.props,
                opts=args.opts,
            )

        resource = session.aws.read(args.urn, rule.id, read)
        session.report(args.urn, rule(resource, context), agreed, report)

    return ResourceValidationPolicy(validate=validate, **_described(rule))


def _aws_stack_policy(rule: Rule[AwsPlaced], session: Session) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        agreed = session.agreed(rule.id, args.get_config())
        context = agreements.context_of(agreed, session.today)
        stack = _aws_shown(args, session)
        found = [
            finding
            for each in stack.resources
            for finding in rule(AwsPlaced(resource=each, stack=stack), context)
        ]
        session.report(_STACK_TYPE, found, agreed, report)

    return StackValidationPolicy(validate=validate, **_described(rule))


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


def _stack_policy(rule: Rule[Placed], session: Session) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        agreed = session.agreed(rule.id, args.get_config())
        context: Context = agreements.context_of(agreed, session.today)
        stack = Stack(manifests=tuple(_all_shown(args, session)))
        found = stack_rule_findings(rule, stack, context)
        session.report(_STACK_TYPE, found, agreed, report)

    return StackValidationPolicy(validate=validate, **_described(rule))


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
