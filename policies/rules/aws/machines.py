"""Machines and clusters: metadata behind a token, encrypted disks and Secrets, logs."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.aws.resource import AwsResource

_MACHINES: Final = ("ec2.LaunchTemplate", "ec2.Instance", "ec2.LaunchConfiguration")
_MOST_HOPS: Final = 2
"""A container that reaches the metadata service through a bridge needs two; nothing needs more."""

_LOGS: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")


@rule(
    "aws-machine-require-token",
    "Every machine's metadata service asks for a token (IMDSv2).",
    remedy="set metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "machines"),
)
def require_token(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Without it, one forged request from a pod reads the node's credentials."""
    if not resource.is_kind(*_MACHINES):
        return
    options = resource.body["metadataOptions"]
    if options["httpEndpoint"].text() == "disabled":
        return
    tokens = options["httpTokens"]
    if tokens.text() != "required":
        yield Finding(tokens.path, f"httpTokens is {tokens.text() or 'not given'}")
    hops = options["httpPutResponseHopLimit"]
    if hops.integer() > _MOST_HOPS:
        yield Finding(hops.path, f"answers travel {hops.text()} hops")


@rule(
    "aws-nodegroup-have-template",
    "Every node group takes its machines' settings from a launch template.",
    remedy="give the group a launchTemplate with metadataOptions and encrypted blockDeviceMappings",
    weight=RuleWeight.MEDIUM,
    tags=("aws", "machines", "eks"),
)
def have_template(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Without one, the account's defaults decide over tokens and encryption, unseen here."""
    template = resource.body["launchTemplate"]
    if resource.is_kind("eks.NodeGroup") and not template.unknown and not template.present:
        yield Finding(template.path, "it has no launch template")


@rule(
    "aws-volume-be-encrypted",
    "Every disk and file system is encrypted.",
    remedy="set encrypted: true (and kmsKeyId for a key of your own) on every volume; a launch "
    "template names its root volume in blockDeviceMappings",
    tags=("aws", "encryption"),
)
def be_encrypted(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Weights and caches lie there, and snapshots of disks outlive the machines."""
    body = resource.body
    if resource.is_kind("ec2.LaunchTemplate"):
        yield from _template(body)
    elif resource.is_kind("ec2.Instance", "ec2.LaunchConfiguration"):
        yield from _must(body["rootBlockDevice"]["encrypted"])
        for device in body["ebsBlockDevices"].items():
            yield from _must(device["encrypted"])
    elif resource.is_kind("ebs.Volume", "efs.FileSystem"):
        yield from _must(body["encrypted"])
    elif resource.is_kind("rds.Instance", "rds.Cluster"):
        yield from _must(body["storageEncrypted"])


def _template(body: Node) -> Iterator[Finding]:
    disks = [each for each in body["blockDeviceMappings"].items() if each["ebs"].present]
    if not disks:
        path = body["blockDeviceMappings"].path
        yield Finding(path, "no disk is named, so the root volume is as the account's default says")
    for disk in disks:
        yield from _must(disk["ebs"]["encrypted"])


def _must(node: Node) -> Iterator[Finding]:
    if not node.flag():
        yield Finding(node.path, "it is not encrypted")


@rule(
    "aws-cluster-encrypt-secrets",
    "Every cluster encrypts its Secrets with a key of its owner.",
    remedy="set encryptionConfig: {provider: {keyArn: <a KMS key>}, resources: [secrets]}",
    tags=("aws", "encryption", "eks"),
)
def encrypt_secrets(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Access can then be withdrawn by the key, and every use of it stands in a log."""
    if not resource.is_kind("eks.Cluster"):
        return
    config = resource.body["encryptionConfig"]
    key = config["provider"]["keyArn"]
    # A key that the program makes is not known before it exists, but it is there.
    if "secrets" not in config["resources"].words() or not (key.unknown or key.present):
        yield Finding(config.path, "Secrets are not encrypted with a key of your own")


@rule(
    "aws-cluster-log-control-plane",
    "Every cluster logs what its control plane does.",
    remedy=f"set enabledClusterLogTypes: [{', '.join(_LOGS)}]",
    weight=RuleWeight.MEDIUM,
    tags=("aws", "logs", "eks"),
)
def log_control_plane(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Who did what is asked afterwards, when it is too late to switch the log on."""
    if not resource.is_kind("eks.Cluster"):
        return
    types = resource.body["enabledClusterLogTypes"]
    missing = [each for each in _LOGS if each not in types.words()]
    if missing:
        yield Finding(types.path, f"{', '.join(missing)} are not logged")


@rule(
    "aws-key-rotate",
    "Every symmetric KMS key rotates.",
    remedy="set enableKeyRotation: true",
    weight=RuleWeight.MEDIUM,
    tags=("aws", "encryption"),
)
def rotate(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """AWS keeps the old material for what was encrypted with it, so it costs nothing."""
    if not resource.is_kind("kms.Key"):
        return
    body = resource.body
    usage, spec = body["keyUsage"].text(), body["customerMasterKeySpec"].text()
    if usage in (None, "ENCRYPT_DECRYPT") and spec in (None, "SYMMETRIC_DEFAULT"):
        flag = body["enableKeyRotation"]
        if not flag.flag():
            yield Finding(flag.path, "it does not rotate")
