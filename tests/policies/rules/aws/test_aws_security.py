"""AWS security rules: a compliant program, broken one field at a time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pulumi_policy import (
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
    proxy,
)

from models.core.findings import Severity
from policies.changes.preview import preview_findings
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import SENTINELS, Unknown
from policies.frame.evaluate import aws_findings
from policies.frame.pack import policies
from policies.frame.registry import Scope, registered
from policies.frame.session import Session
from policies.rules.aws import data, iam, machines, network, trust
from policies.views.aws.iam import is_wide
from policies.views.aws.resource import AwsResource, kind_of, region_of
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.aws_program import (
    ACCOUNT,
    CONTEXT,
    compliant,
    document,
    found,
    granting,
    statement,
)

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parents[4]
ANYBODY = {"AWS": "*"}
TRUST_ANYBODY = document({"Effect": "Allow", "Principal": ANYBODY, "Action": "sts:AssumeRole"})
OIDC = {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/oidc.eks"}
WEB = {"Effect": "Allow", "Principal": OIDC, "Action": "sts:AssumeRoleWithWebIdentity"}


def test_a_compliant_program_has_no_findings() -> None:
    """A rule that finds something here finds it everywhere."""
    assert found(compliant()) == ()


BROKEN: list[tuple[str, str, Any, str]] = [
    ("aws-policy-be-plain", "grant.policy", "{no json", "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Statement", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Statement.0.Action.0", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Statement.0.Resource", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Statement.0.Effect", SENTINELS[2], "RolePolicy/grant"),
    (
        "aws-policy-be-plain",
        "grant.policy.Statement.0.NotResource",
        SENTINELS[2],
        "RolePolicy/grant",
    ),
    ("aws-policy-be-plain", "grant.policy.Statement.0.Action", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Statement.0.NotAction", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Statement.0.Principal", SENTINELS[2], "RolePolicy/grant"),
    (
        "aws-policy-be-plain",
        "grant.policy.Statement.0.NotPrincipal",
        SENTINELS[2],
        "RolePolicy/grant",
    ),
    ("aws-policy-be-plain", "grant.policy.Statement.2.Condition", SENTINELS[2], "RolePolicy/grant"),
    ("aws-policy-be-plain", "grant.policy.Version", "2008-10-17", "RolePolicy/grant"),
    ("aws-policy-be-plain", "role.assumeRolePolicy", SENTINELS[2], "Role/role"),
    ("aws-policy-name-known-actions", "grant.policy.Statement.0.Action.0", "s3:GetObjects", ""),
    ("aws-policy-name-known-actions", "grant.policy.Statement.0.Action.0", "s4:GetObject", ""),
    ("aws-policy-name-known-actions", "grant.policy.Statement.1.Action", "autoscaling:Zz*", ""),
    ("aws-policy-list-actions", "grant.policy.Statement.0.Action", "*", ""),
    ("aws-policy-list-actions", "grant.policy.Statement.0.Action.0", "s3:*", ""),
    ("aws-policy-list-actions", "grant.policy.Statement.0.Action.0", "S3:Put*", ""),
    ("aws-policy-list-actions", "grant.policy.Statement.0.NotAction", "s3:PutObject", ""),
    ("aws-policy-list-actions", "grant.policy.Statement.0.NotResource", "arn:x", ""),
    ("aws-policy-limit-resources", "grant.policy.Statement.0.Resource", "*", ""),
    ("aws-policy-limit-resources", "grant.policy.Statement.0.Resource", "arn:aws:s3:::*/*", ""),
    ("aws-policy-limit-resources", "grant.policy.Statement.2.Condition", {}, ""),
    (
        "aws-policy-limit-resources",
        "grant.policy.Statement.2.Condition.StringEquals|aws:ResourceTag/managed-by",
        "*",
        "",
    ),
    (
        "aws-policy-limit-resources",
        "grant.policy.Statement.2.Condition",
        {"StringEqualsIfExists": {"aws:ResourceTag/managed-by": "pulumi"}},
        "",
    ),
    ("aws-policy-expose-no-data", "grant.policy.Statement.0.Resource", "arn:aws:s3:::*", ""),
    (
        "aws-policy-escalate-nothing",
        "grant.policy.Statement.0",
        statement("iam:PutRolePolicy", "*"),
        "",
    ),
    (
        "aws-policy-manage-no-permissions",
        "grant.policy.Statement.0",
        statement("s3:PutBucketPolicy", "*"),
        "",
    ),
    ("aws-policy-name-principals", "role.assumeRolePolicy", json.dumps(TRUST_ANYBODY), "Role/role"),
    ("aws-policy-name-principals", "role.assumeRolePolicy", document(WEB), "Role/role"),
    ("aws-policy-name-principals", "key.policy.Statement.0.Principal", "*", "Key/key"),
    ("aws-policy-name-principals", "key.policy.Statement.0.Principal", ANYBODY, "Key/key"),
    (
        "aws-policy-name-principals",
        "key.policy.Statement.0.NotPrincipal",
        {"AWS": "arn:aws:iam::444455556666:root"},
        "Key/key",
    ),
    (
        "aws-policy-name-principals",
        "bucket-policy.policy.Statement.0.Effect",
        "Allow",
        "BucketPolicy/bucket-policy",
    ),
    (
        "aws-role-take-narrow-policies",
        "attached.policyArn",
        "arn:aws:iam::aws:policy/AdministratorAccess",
        "RolePolicyAttachment/attached",
    ),
    (
        "aws-role-take-narrow-policies",
        "attached.policyArn",
        "arn:aws:iam::aws:policy/AmazonS3FullAccess",
        "RolePolicyAttachment/attached",
    ),
    (
        "aws-role-take-narrow-policies",
        "attached.policyArn",
        SENTINELS[2],
        "RolePolicyAttachment/attached",
    ),
    (
        "aws-role-take-narrow-policies",
        "role.managedPolicyArns",
        ["arn:aws:iam::aws:policy/PowerUserAccess"],
        "Role/role",
    ),
    ("aws-securitygroup-stay-closed", "group.ingress.0.cidrBlocks.0", "0.0.0.0/0", ""),
    ("aws-securitygroup-stay-closed", "group.ingress.0.cidrBlocks.0", "128.0.0.0/1", ""),
    ("aws-securitygroup-stay-closed", "group.ingress.0.ipv6CidrBlocks.0", "::/0", ""),
    ("aws-securitygroup-stay-closed", "group.ingress.0.cidrBlocks", SENTINELS[4], ""),
    ("aws-securitygroup-stay-closed", "ingress.cidrIpv4", "0.0.0.0/0", ""),
    ("aws-securitygroup-stay-closed", "ingress.cidrIpv6", "::/0", ""),
    ("aws-securitygroup-stay-closed", "ingress.cidrIpv4", SENTINELS[2], ""),
    ("aws-securitygroup-stay-closed", "old-ingress.cidrBlocks.0", "0.0.0.0/0", ""),
    ("aws-securitygroup-stay-closed", "egress.type", "ingress", ""),
    ("aws-defaultsecuritygroup-be-empty", "default.ingress", [{"self": True}], ""),
    ("aws-defaultsecuritygroup-be-empty", "default.egress", [{"protocol": "-1"}], ""),
    (
        "aws-cluster-close-endpoint",
        "cluster.vpcConfig.publicAccessCidrs",
        compliant_stack.ABSENT,
        "",
    ),
    ("aws-cluster-close-endpoint", "cluster.vpcConfig.publicAccessCidrs.0", "0.0.0.0/0", ""),
    ("aws-cluster-close-endpoint", "cluster.vpcConfig.publicAccessCidrs", SENTINELS[4], ""),
    ("aws-cluster-close-endpoint", "cluster.vpcConfig", {"subnetIds": []}, ""),
    ("aws-cluster-encrypt-secrets", "cluster.encryptionConfig", compliant_stack.ABSENT, ""),
    ("aws-cluster-encrypt-secrets", "cluster.encryptionConfig.resources", [], ""),
    ("aws-cluster-encrypt-secrets", "cluster.encryptionConfig.provider", {}, ""),
    ("aws-cluster-log-control-plane", "cluster.enabledClusterLogTypes", ["api"], ""),
    ("aws-cluster-log-control-plane", "cluster.enabledClusterLogTypes", compliant_stack.ABSENT, ""),
    ("aws-key-rotate", "key.enableKeyRotation", False, ""),
    ("aws-key-rotate", "key.enableKeyRotation", compliant_stack.ABSENT, ""),
    ("aws-subnet-give-no-address", "subnet.mapPublicIpOnLaunch", True, ""),
    (
        "aws-machine-have-no-address",
        "template.networkInterfaces.0.associatePublicIpAddress",
        "true",
        "",
    ),
    ("aws-machine-have-no-address", "nodes.remoteAccess", {"ec2SshKey": "k"}, ""),
    ("aws-machine-require-token", "template.metadataOptions.httpTokens", "optional", ""),
    ("aws-machine-require-token", "template.metadataOptions", compliant_stack.ABSENT, ""),
    ("aws-machine-require-token", "template.metadataOptions.httpPutResponseHopLimit", 3, ""),
    ("aws-machine-require-token", "template.metadataOptions.httpTokens", SENTINELS[2], ""),
    ("aws-nodegroup-have-template", "nodes.launchTemplate", compliant_stack.ABSENT, ""),
    ("aws-volume-be-encrypted", "template.blockDeviceMappings.0.ebs.encrypted", "false", ""),
    (
        "aws-volume-be-encrypted",
        "template.blockDeviceMappings.0.ebs.encrypted",
        compliant_stack.ABSENT,
        "",
    ),
    ("aws-volume-be-encrypted", "template.blockDeviceMappings", compliant_stack.ABSENT, ""),
    ("aws-volume-be-encrypted", "files.encrypted", compliant_stack.ABSENT, ""),
    ("aws-bucket-block-public-access", "block.blockPublicAcls", False, "Bucket/bucket"),
    (
        "aws-bucket-block-public-access",
        "block.restrictPublicBuckets",
        compliant_stack.ABSENT,
        "Bucket/bucket",
    ),
    ("aws-bucket-block-public-access", "block.bucket", "others", "Bucket/bucket"),
    ("aws-bucket-block-public-access", "block.bucket", SENTINELS[2], "Bucket/bucket"),
    ("aws-bucket-be-encrypted", "encryption.bucket", "others", "Bucket/bucket"),
    (
        "aws-bucket-be-encrypted",
        "encryption.rules.0.applyServerSideEncryptionByDefault.sseAlgorithm",
        "AES256",
        "Bucket/bucket",
    ),
    ("aws-bucket-require-tls", "bucket-policy.policy.Statement.0.Condition", {}, "Bucket/bucket"),
    ("aws-bucket-require-tls", "bucket-policy.policy.Statement.0.Action", "s3:GetObject", ""),
    ("aws-bucket-require-tls", "bucket-policy.policy.Statement.0.Principal", {"AWS": ACCOUNT}, ""),
    ("aws-bucket-require-tls", "bucket-policy.policy", SENTINELS[2], "Bucket/bucket"),
    ("aws-bucket-require-tls", "bucket-policy.bucket", "others", "Bucket/bucket"),
]


@pytest.mark.parametrize(("rule", "path", "value", "label"), BROKEN)
def test_a_broken_field_is_refused(rule: str, path: str, value: Any, label: str) -> None:
    """Each rule, each field that it reads: refused by that rule, with path and remedy."""
    refused = compliant_stack.refused(found(compliant_stack.broken(path, value, compliant())), rule)
    assert refused, f"{rule} says nothing"
    assert all(each.message and each.remedy for each in refused)
    if label:
        assert label in {each.subject for each in refused}


def test_every_rule_has_a_broken_field() -> None:
    """A rule that nothing breaks could be empty."""
    broken = {rule for rule, *_ in BROKEN} | {"aws-data-be-protected"}
    rules = [each.rule for scope in (Scope.AWS, Scope.AWS_STACK) for each in registered(scope)]
    here = {topic.__name__ for topic in (iam, trust, network, machines, data)}
    assert {rule.id for rule in rules if rule.check.__module__ in here} == broken


@pytest.mark.parametrize(
    "actions",
    [
        ("iam:CreatePolicyVersion",),
        ("iam:UpdateAssumeRolePolicy",),
        ("sts:AssumeRole",),
        ("iam:PassRole", "ec2:RunInstances"),
        ("iam:PassRole", "lambda:CreateFunction"),
        ("eks:AssociateAccessPolicy",),
        ("ssm:SendCommand",),
    ],
)
@pytest.mark.parametrize("resource", ["*", f"arn:aws:iam::{ACCOUNT}:role/*"])
def test_known_ways_to_more_rights_are_refused(actions: tuple[str, ...], resource: str) -> None:
    """Over several statements as well: rights add up."""
    rows = [statement(action, resource) for action in actions]
    assert compliant_stack.refused(found(granting(*rows)), "aws-policy-escalate-nothing")


def test_the_same_actions_on_named_resources_pass() -> None:
    """Every controller passes a role or two."""
    role = f"arn:aws:iam::{ACCOUNT}:role/node"
    rows = [statement("iam:PassRole", role), statement("sts:AssumeRole", role)]
    assert found(granting(*rows)) == ()


@pytest.mark.parametrize(
    "action",
    ["s3:GetObject", "secretsmanager:GetSecretValue", "ssm:GetParameter*", "kms:Decrypt"],
)
def test_data_of_everybody_is_not_read(action: str) -> None:
    refused = compliant_stack.refused(
        found(granting(statement(action, "*"))), "aws-policy-expose-no-data"
    )
    assert refused


def test_a_denial_is_never_a_breach() -> None:
    """A document may deny whatever it likes."""
    row = {**statement("*", "*"), "Effect": "Deny"}
    assert found(granting(row)) == ()


def test_actions_without_resources_may_stand_on_all() -> None:
    """AWS takes nothing but `*` there."""
    assert found(granting(statement(["ec2:DescribeInstances", "sts:GetCallerIdentity"], "*"))) == ()


def test_a_stranger_may_come_in_by_organization_only() -> None:
    """A wildcard beside a condition on the caller; `*` as its value is none."""
    row = statement("kms:Decrypt", "*", Principal="*")
    row["Condition"] = {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}
    changed = compliant_stack.broken("key.policy", document(row), compliant())
    assert found(changed) == ()
    row["Condition"] = {"StringLike": {"aws:PrincipalOrgID": "*"}}
    changed = compliant_stack.broken("key.policy", document(row), compliant())
    assert compliant_stack.refused(found(changed), "aws-policy-name-principals")
    row["Condition"] = {"StringNotEquals": {"aws:PrincipalOrgID": "o-1"}}
    changed = compliant_stack.broken("key.policy", document(row), compliant())
    assert compliant_stack.refused(found(changed), "aws-policy-name-principals")


def test_a_web_identity_with_a_subject_passes() -> None:
    row = {**WEB, "Condition": {"StringEquals": {"oidc.eks:sub": "system:serviceaccount:a:b"}}}
    assert found(compliant_stack.broken("role.assumeRolePolicy", document(row), compliant())) == ()


def test_what_is_decidable_is_decided_beside_an_unknown() -> None:
    """One ARN that is not known yet must not hide the star beside it."""
    rows = [statement("s3:GetObject", [SENTINELS[2]]), statement("s3:PutObject", "*")]
    refused = {each.rule for each in found(granting(*rows)) if each.severity is Severity.ERROR}
    assert refused == {"aws-policy-limit-resources"}
    unknown = {each.rule for each in found(granting(*rows)) if each.severity is Severity.UNKNOWN}
    assert unknown == {"aws-policy-be-plain"}


def test_a_policy_of_the_programs_own_is_judged_where_it_is_made() -> None:
    """Its ARN is not known at preview; the link says where it comes from."""
    changed = compliant_stack.broken("attached.policyArn", SENTINELS[2], compliant())
    changed["own"] = {"kind": "iam.Policy", "policy": document()}
    links = {("attached", "policyArn"): ("own",)}
    assert found(changed, links=links) == ()
    assert compliant_stack.refused(found(changed), "aws-role-take-narrow-policies")


def test_a_buckets_parts_are_found_by_their_links() -> None:
    """At a first preview a bucket's id is not known, and the parts refer to it by that."""
    changed = compliant()
    links: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in ("block", "encryption", "bucket-policy"):
        changed[name]["bucket"] = SENTINELS[2]
        links[name, "bucket"] = ("bucket",)
    assert found(changed, links=links) == ()
    severities = {each.severity for each in found(changed)}
    assert severities == {Severity.UNKNOWN}, "without a link nothing says whose they are"


HOLDING = ("Cluster/cluster", "Key/key", "Bucket/bucket", "FileSystem/files")


def test_what_holds_data_is_protected_or_named() -> None:
    refused = compliant_stack.refused(found(compliant(), protect=False), "aws-data-be-protected")
    assert {each.subject for each in refused} == set(HOLDING)
    context = Context(pulumi=True, today=compliant_stack.TODAY, accept_data_loss=frozenset(HOLDING))
    assert found(compliant(), context, protect=False) == ()


def test_a_regions_approval_covers_that_region_only() -> None:
    """`us-east` is another region than `us-east-1`, though its name begins alike."""
    stack = compliant()
    names = {"cluster": "triplane-us-east-1-cluster", "key": "triplane-us-east-1-key"}
    stack = {names.get(name, name): body for name, body in stack.items() if name in names}
    near = Context(
        pulumi=True,
        regions=CONTEXT.regions,
        accept_data_loss=frozenset({"Cluster/us-east", "Bucket/us-east"}),
    )
    assert (
        len(compliant_stack.refused(found(stack, near, protect=False), "aws-data-be-protected"))
        == 2
    )
    right = Context(
        pulumi=True, regions=CONTEXT.regions, accept_data_loss=frozenset({"Cluster/us-east-1"})
    )
    assert found(stack, right, protect=False) == ()


def step(operation: str, token: str, name: str, inputs: Any = None) -> dict[str, Any]:
    """Return a step of a preview's JSON."""
    urn = f"urn:pulumi:prod::triplane::triplane:aws:X${token}::{name}"
    state: dict[str, Any] = {"type": token, "urn": urn, "inputs": inputs or {}}
    return {"op": operation, "urn": urn, "oldState": state, "newState": None}


CLUSTER = ("aws:eks/cluster:Cluster", "triplane-us-east-1-cluster")


@pytest.mark.parametrize(
    "operation", ["replace", "create-replacement", "delete-replaced", "delete"]
)
@pytest.mark.parametrize(
    ("token", "name", "approval"),
    [
        (*CLUSTER, "Cluster/us-east-1"),
        ("aws:kms/key:Key", "triplane-us-east-1-key", "Cluster/us-east-1"),
        ("aws:s3/bucket:Bucket", "triplane-us-east-1-weights", "Bucket/us-east-1"),
        ("aws:s3/bucketV2:BucketV2", "mine", "Bucket/mine"),
    ],
)
def test_a_change_that_replaces_data_on_aws_needs_an_approval(
    operation: str, token: str, name: str, approval: str
) -> None:
    document = {"steps": [step(operation, token, name)]}
    (finding,) = preview_findings(document, CONTEXT)
    assert (finding.rule, finding.severity) == ("k8s-data-survive-changes", Severity.ERROR)
    accepted = replace(CONTEXT, accept_data_loss=frozenset({approval}))
    assert preview_findings(document, accepted) == ()


def test_an_update_in_place_needs_none() -> None:
    assert preview_findings({"steps": [step("update", *CLUSTER)]}, CONTEXT) == ()


def test_machines_that_hold_volumes_need_an_approval_and_others_are_told() -> None:
    token = "aws:eks/nodeGroup:NodeGroup"
    labels = {"node.longhorn.io/create-default-disk": "true"}
    keeping = {"steps": [step("replace", token, "cpu", {"labels": labels})]}
    (finding,) = preview_findings(keeping, CONTEXT)
    assert finding.severity is Severity.ERROR
    accepted = replace(CONTEXT, accept_data_loss=frozenset({"NodeGroup/cpu"}))
    assert preview_findings(keeping, accepted) == ()
    plain = {"steps": [step("delete", token, "gpu", {"scalingConfig": {"maxSize": 3}})]}
    (finding,) = preview_findings(plain, CONTEXT)
    assert (finding.severity, "at most 3" in finding.message) == (Severity.WARNING, True)


def test_replacing_the_aws_provider_replaces_everything() -> None:
    document = {"steps": [step("replace", "pulumi:providers:aws", "triplane-us-east-1-aws")]}
    (finding,) = preview_findings(document, CONTEXT)
    assert finding.subject == "Provider/triplane-us-east-1-aws"


def test_names_and_types() -> None:
    assert kind_of("aws:ec2/launchTemplate:LaunchTemplate") == "ec2.LaunchTemplate"
    assert kind_of("aws:s3/bucketV2:BucketV2") == "s3.Bucket"
    assert region_of("triplane-us-east-1-vpc", ("us-east", "us-east-1")) == "us-east-1"
    assert region_of("triplane-us-east", ("us-east", "us-east-1")) == "us-east"
    assert region_of("other", ("us-east",)) is None


@pytest.mark.parametrize(
    ("arn", "wide"),
    [
        ("*", True),
        ("arn:aws:s3:::*", True),
        ("arn:aws:s3:::*/*", True),
        ("arn:aws:s3:::weights/*", False),
        ("arn:aws:iam::111122223333:role/*", True),
        ("arn:aws:iam::111122223333:role/node-*", False),
        ("arn:aws:ec2:us-east-1:111122223333:volume/*", True),
        ("arn:aws:logs:us-east-1:111122223333:log-group:/aws/eks/x/cluster:*", False),
        ("arn:aws:autoscaling:us-east-1:1:autoScalingGroup:*:autoScalingGroupName/*", True),
        ("arn:aws:autoscaling:us-east-1:1:autoScalingGroup:*:autoScalingGroupName/eks-*", False),
        ("arn:aws:sqs:us-east-1:111122223333:*", True),
        ("weights", False),
    ],
)
def test_what_counts_as_everything(arn: str, wide: bool) -> None:
    assert is_wide(arn) is wide


@pytest.mark.parametrize("path", sorted(compliant_stack.leaf_paths(compliant())))
def test_no_unknown_raises_whatever_it_stands_for(path: str) -> None:
    """The SDK would turn an exception into advice."""
    changed = compliant_stack.broken(path, SENTINELS[2], compliant())
    if not path.endswith("|kind"):
        assert isinstance(found(changed), tuple)


def test_resources_whose_inputs_are_not_shown_are_refused() -> None:
    """Behind an unknown provider the stack's own view is empty."""
    hidden = AwsResource(kind="ec2.LaunchTemplate", name="t", body=Node(Unknown("inputs")))
    assert {each.severity for each in aws_findings([hidden], CONTEXT)} == {Severity.UNKNOWN}


class Collector:
    """Takes reports as the SDK would."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, text: str, urn: str | None = None) -> None:
        self.told.append(text)


TOKENS = {
    "s3.Bucket": "aws:s3/bucket:Bucket",
    "s3.BucketPublicAccessBlock": "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "ec2.LaunchTemplate": "aws:ec2/launchTemplate:LaunchTemplate",
}


def through_the_sdk(stack: dict[str, Any], links: dict[str, str]) -> dict[str, list[str]]:
    """Return what each policy of the pack reports, called as the engine calls them.

    `links` are the resources that another one's `bucket` comes from, by name.
    """
    session = Session(compliant_stack.TODAY)
    made = policies(session)
    opts = PolicyResourceOptions(True, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])
    told: dict[str, list[str]] = {}
    shown: dict[str, PolicyResource] = {}
    for name, body in stack.items():
        token = TOKENS[body["kind"]]
        props = proxy.unknown_checking_proxy({k: v for k, v in body.items() if k != "kind"})
        for policy in made:
            if isinstance(policy, ResourceValidationPolicy):
                args = ResourceValidationArgs(token, props, name, name, opts, None)
                _call(policy, args, told)
        shown[name] = PolicyResource(token, {}, name, name, opts, None, None, [], {})
    for name, source in links.items():
        shown[name].property_dependencies["bucket"] = [shown[source]]
    for policy in made:
        if isinstance(policy, StackValidationPolicy):
            _call(policy, StackValidationArgs(list(shown.values())), told)
    return {rule: texts for rule, texts in told.items() if texts}


def _call(policy: Policy, args: Any, told: dict[str, list[str]]) -> None:
    collector = Collector()
    validate: Any = vars(type(policy))["validate"]
    validate(policy, args, collector)
    told.setdefault(policy.name, []).extend(collector.told)


def test_the_pack_shows_findings_by_the_sdks_own_proxies() -> None:
    """Inputs as the engine shows them to resource policies, where stack policies see none."""
    stack = {name: compliant()[name] for name in ("bucket", "block", "template")}
    stack["block"] |= {"bucket": SENTINELS[2], "blockPublicAcls": False}
    stack["template"]["metadataOptions"]["httpTokens"] = SENTINELS[2]
    told = through_the_sdk(stack, {"block": "bucket"})
    assert "BucketPublicAccessBlock/block is not true" in told["aws-bucket-block-public-access"][0]
    assert "cannot verify" in told["aws-machine-require-token"][0]
    assert set(told) == {
        "aws-bucket-block-public-access",
        "aws-bucket-be-encrypted",
        "aws-bucket-require-tls",
        "aws-machine-require-token",
    }


def test_the_pack_says_nothing_of_a_network_without_any_bucket() -> None:
    stack = {"template": compliant()["template"]}
    assert through_the_sdk(stack, {}) == {}


@pytest.mark.parametrize(
    ("condition", "refused"),
    [
        ({"StringEquals": {"aws:PrincipalOrgID": "o-12345"}}, False),
        ({"StringLike": {"aws:PrincipalOrgID": "*"}}, True),
        ({"StringEquals": {"aws:PrincipalOrgID": ["o-12345", "*"]}}, True),
        ({"StringEquals": {"aws:RequestedRegion": "us-east-1"}}, True),
        ({"StringNotEquals": {"aws:PrincipalOrgID": "o-12345"}}, True),
    ],
)
def test_anybody_is_narrowed_only_by_who_calls(condition: Any, refused: bool) -> None:
    """A condition that any caller meets, or that is not about the caller, narrows nothing."""
    anybody = {"Effect": "Allow", "Principal": ANYBODY, "Action": "sts:AssumeRole"}
    trust = json.dumps(document({**anybody, "Condition": condition}))
    broken = compliant_stack.broken("role.assumeRolePolicy", trust, compliant())
    seen = compliant_stack.refused(found(broken), "aws-policy-name-principals")
    assert bool(seen) is refused


@pytest.mark.parametrize(
    ("action", "refused"),
    [("*", True), ("*:*", True), ("s3:*", True), ("s*:GetObject", True), ("s3:GetObject", False)],
)
def test_an_action_that_names_a_whole_service_is_refused(action: str, refused: bool) -> None:
    """IAM takes wildcards in the service's name too (IAM reference, Action element)."""
    broken = compliant_stack.broken("grant.policy.Statement.0.Action.0", action, compliant())
    seen = compliant_stack.refused(found(broken), "aws-policy-list-actions")
    assert bool(seen) is refused
