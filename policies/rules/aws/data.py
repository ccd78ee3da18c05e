"""Buckets, and everything else on AWS that holds data or without which data is lost."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.rule import RuleWeight, rule
from policies.views.aws.iam import PolicyStatement, documents
from policies.views.aws.resource import AwsPlaced, AwsResource, approved

HOLDING: Final = (
    *("eks.Cluster", "kms.Key", "s3.Bucket", "ebs.Volume", "efs.FileSystem"),
    *("fsx.LustreFileSystem", "rds.Instance", "rds.Cluster", "dynamodb.Table"),
)
"""Kinds that hold data, or (a cluster, a key) without which data is lost."""

_BUCKET: Final = "s3.Bucket"
_BLOCKS: Final = (
    *("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"),
)


@rule(
    "aws-data-be-protected",
    "Nothing on AWS that holds data can be replaced by a change without an approval.",
    remedy="set protect=True in its resource options; to give it up on purpose, name it in the "
    'settings ("accept_data_loss": ["Cluster/<region>"], "Bucket/<region>" or "Class/name") for '
    "that one change",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "storage", "immutable"),
    configuration=("acceptDataLoss",),
)
def be_protected(resource: AwsResource, context: Context) -> Iterator[Finding]:
    """Policies see no old state, so the engine's own protection must be on."""
    if resource.is_kind(*HOLDING) and not resource.protect and not approved(resource, context):
        yield Finding("", "it holds data and is neither protected nor named in accept_data_loss")


@rule(
    "aws-bucket-block-public-access",
    "Every bucket is closed to the public.",
    remedy=f"register s3.BucketPublicAccessBlock for it with {', '.join(_BLOCKS)} all true",
    weight=RuleWeight.CRITICAL,
    tags=("aws", "storage"),
)
def block_public_access(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """One policy or access list that is too wide would open it otherwise."""
    if not placed.resource.is_kind(_BUCKET):
        return
    blocks = list(_of_bucket(placed, "s3.BucketPublicAccessBlock"))
    for block in blocks:
        for key in _BLOCKS:
            if not block.body[key].flag():
                message = f"{key} of {block.label} is not true"
                yield Finding(block.body[key].path, message)
    if not blocks:
        yield _absent(placed, "s3.BucketPublicAccessBlock", "nothing blocks public access")


@rule(
    "aws-bucket-be-encrypted",
    "Every bucket says how it is encrypted.",
    remedy="register s3.BucketServerSideEncryptionConfiguration for it with sseAlgorithm aws:kms "
    "(and bucketKeyEnabled: true)",
    tags=("aws", "storage", "encryption"),
)
def say_encryption(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """With a key of one's own, reading takes a second permission that can be withdrawn."""
    resource = placed.resource
    if not resource.is_kind(_BUCKET):
        return
    old = resource.body["serverSideEncryptionConfiguration"]
    if old.unknown or old.present:
        return
    kind = "s3.BucketServerSideEncryptionConfiguration"
    found = list(_of_bucket(placed, kind))
    for each in found:
        for row in each.body["rules"].items():
            algorithm = row["applyServerSideEncryptionByDefault"]["sseAlgorithm"]
            if not (algorithm.text() or "").startswith("aws:kms"):
                yield Finding(algorithm.path, f"{each.label} has no key of KMS")
    if not found:
        yield _absent(placed, kind, "nothing says how it is encrypted")


@rule(
    "aws-bucket-require-tls",
    "Every bucket refuses requests without TLS.",
    remedy="give it a policy that denies s3:* to everybody where aws:SecureTransport is false",
    tags=("aws", "storage", "encryption"),
)
def require_tls(placed: AwsPlaced, context: Context) -> Iterator[Finding]:
    """S3 answers plain HTTP as well, credentials and all."""
    if not placed.resource.is_kind(_BUCKET):
        return
    policies = [placed.resource, *_of_bucket(placed, "s3.BucketPolicy")]
    read = [document for each in policies for document in documents(each)]
    if any(_denies_plain(each) for document in read for each in document.statements()):
        return
    if any(document.root.unknown for document in read):
        message = "cannot verify that plain HTTP is refused, because its policy is unknown"
        yield Finding("policy", message, Severity.UNKNOWN)
    else:
        yield _absent(placed, "s3.BucketPolicy", "nothing denies plain HTTP")


def _denies_plain(statement: PolicyStatement) -> bool:
    plain = statement.condition_values("aws:securetransport")
    secure = statement.node["Condition"]["Bool"]["aws:SecureTransport"].value
    said = "false" in [each.lower() for each in plain] or secure is False
    everything = {"s3:*", "*"} & set(statement.actions())
    return not statement.allows and said and bool(everything) and _everybody(statement)


def _everybody(statement: PolicyStatement) -> bool:
    return any(principal == "*" for _, principal in statement.principals())


def _of_bucket(placed: AwsPlaced, *kinds: str) -> Iterator[AwsResource]:
    """Yield the resources of these kinds that belong to the bucket."""
    for each in placed.stack.of_kind(*kinds):
        if placed.stack.refers(each, "bucket", placed.resource, "bucket"):
            yield each


def _absent(placed: AwsPlaced, kind: str, message: str) -> Finding:
    """Return the breach of a bucket without a part; unknown where a part may be this bucket's."""
    unclear = [
        each
        for each in placed.stack.of_kind(kind)
        if each.body["bucket"].unknown and not placed.stack.sources(each, "bucket")
    ]
    if not unclear:
        return Finding("", message)
    text = f"cannot verify it, because the bucket of {unclear[0].label} is unknown at preview"
    return Finding("", text, Severity.UNKNOWN)
