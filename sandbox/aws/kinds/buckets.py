"""S3 buckets and the settings that are resources of their own."""

import json
from collections.abc import Callable
from typing import Any, Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.rules import Rules
from sandbox.aws.core.values import Props, part
from sandbox.aws.kinds.iam import text
from sandbox.aws.kinds.tools import from_pairs, pairs, wanted_tags

_NO_BUCKET: Final = ("NoSuchBucket", "404")
"""`head_bucket` has no body, so botocore only has the status; `list_buckets` confirms it."""


def exists(aws: Aws, bucket: str) -> bool:
    """Tell whether a bucket exists."""
    return bucket in {each["Name"] for each in aws.call("s3", "list_buckets")["Buckets"]}


def _create(aws: Aws, inputs: Props) -> str:
    bucket = str(inputs["bucket"])
    where: dict[str, Any] = {}
    if aws.region != "us-east-1":
        where = {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.call("s3", "create_bucket", Bucket=bucket, **where)
    return bucket


def _settle(aws: Aws, identity: str, inputs: Props) -> None:
    tags = wanted_tags(inputs)
    if tags == _tags(aws, identity):
        return
    if tags:
        aws.call("s3", "put_bucket_tagging", Bucket=identity, Tagging={"TagSet": pairs(tags)})
    else:
        aws.call("s3", "delete_bucket_tagging", Bucket=identity)


def _tags(aws: Aws, bucket: str) -> dict[str, str]:
    told = aws.find("s3", "get_bucket_tagging", ("NoSuchTagSet",), Bucket=bucket)
    return {} if told is None else from_pairs(told["TagSet"])


def _read(aws: Aws, identity: str, _: Props) -> Props | None:
    if not exists(aws, identity):
        return None
    domain = f"{identity}.s3.amazonaws.com"
    return {
        "arn": f"arn:aws:s3:::{identity}",
        "bucket": identity,
        "bucketDomainName": domain,
        "bucketRegion": aws.region,
        "bucketRegionalDomainName": f"{identity}.s3.{aws.region}.amazonaws.com",
        "tagsAll": _tags(aws, identity),
    }


def _delete(aws: Aws, identity: str, state: Props) -> None:
    if not exists(aws, identity):
        return
    if state.get("forceDestroy"):
        _empty(aws, identity)
    aws.call("s3", "delete_bucket", Bucket=identity)


def _empty(aws: Aws, bucket: str) -> None:
    for key in ("Versions", "DeleteMarkers"):
        told = aws.call("s3", "list_object_versions", Bucket=bucket).get(key, [])
        for each in told:
            which = {"Key": each["Key"], "VersionId": each["VersionId"]}
            aws.call("s3", "delete_object", Bucket=bucket, **which)


BUCKET: Final = AwsKind(
    type="aws:s3/bucket:Bucket",
    sdk="s3.Bucket",
    rules=Rules(
        source="website/docs/r/s3_bucket.html.markdown",
        replace=("bucket",),
        update=("forceDestroy",),
        unread={"forceDestroy": "a delete empties the bucket first"},
        defaults={"forceDestroy": False},
        name="bucket",
        name_limit=63,
    ),
    create=_create,
    settle=_settle,
    read=_read,
    delete=_delete,
)

Put = Callable[[Aws, str, Props], None]
Get = Callable[[Aws, str], Props | None]


def _part(name: str, rules: Rules, put: Put, get: Get, drop: Callable[[Aws, str], None]) -> AwsKind:
    """Return a type that is one setting of a bucket; its id is the bucket's name."""

    def create(aws: Aws, inputs: Props) -> str:
        put(aws, str(inputs["bucket"]), inputs)
        return str(inputs["bucket"])

    def read(aws: Aws, identity: str, _: Props) -> Props | None:
        if not exists(aws, identity):
            return None
        found = get(aws, identity)
        return None if found is None else {"bucket": identity, **found}

    def delete(aws: Aws, identity: str, _: Props) -> None:
        if exists(aws, identity):
            drop(aws, identity)

    return AwsKind(
        type=f"aws:s3/{name[0].lower()}{name[1:]}:{name}",
        sdk=f"s3.{name}",
        rules=rules,
        create=create,
        settle=put,
        read=read,
        delete=delete,
    )


def _put_versioning(aws: Aws, bucket: str, inputs: Props) -> None:
    status = {"Status": inputs["versioningConfiguration"]["status"]}
    aws.call("s3", "put_bucket_versioning", Bucket=bucket, VersioningConfiguration=status)


def _get_versioning(aws: Aws, bucket: str) -> Props | None:
    status = aws.call("s3", "get_bucket_versioning", Bucket=bucket).get("Status")
    return None if status is None else {"versioningConfiguration": {"status": status}}


def _drop_versioning(aws: Aws, bucket: str) -> None:
    suspended = {"Status": "Suspended"}
    aws.call("s3", "put_bucket_versioning", Bucket=bucket, VersioningConfiguration=suspended)


def _put_encryption(aws: Aws, bucket: str, inputs: Props) -> None:
    config = {"Rules": [_encryption_rule(each) for each in inputs["rules"]]}
    aws.call("s3", "put_bucket_encryption", Bucket=bucket, ServerSideEncryptionConfiguration=config)


def _encryption_rule(rule: Props) -> dict[str, Any]:
    by = part(rule, "applyServerSideEncryptionByDefault")
    default = {"SSEAlgorithm": by["sseAlgorithm"]}
    if by.get("kmsMasterKeyId"):
        default["KMSMasterKeyID"] = by["kmsMasterKeyId"]
    return {
        "ApplyServerSideEncryptionByDefault": default,
        "BucketKeyEnabled": bool(rule.get("bucketKeyEnabled")),
    }


def _get_encryption(aws: Aws, bucket: str) -> Props | None:
    gone = ("ServerSideEncryptionConfigurationNotFoundError",)
    told = aws.find("s3", "get_bucket_encryption", gone, Bucket=bucket)
    if told is None:
        return None
    rules: list[Props] = []
    for each in told["ServerSideEncryptionConfiguration"]["Rules"]:
        by = each["ApplyServerSideEncryptionByDefault"]
        default = {"sseAlgorithm": by["SSEAlgorithm"]}
        if "KMSMasterKeyID" in by:
            default["kmsMasterKeyId"] = by["KMSMasterKeyID"]
        key = {"bucketKeyEnabled": bool(each.get("BucketKeyEnabled"))}
        rules.append({"applyServerSideEncryptionByDefault": default, **key})
    return {"rules": rules}


def _drop_encryption(aws: Aws, bucket: str) -> None:
    aws.call("s3", "delete_bucket_encryption", Bucket=bucket)


_BLOCK: Final = {
    "blockPublicAcls": "BlockPublicAcls",
    "blockPublicPolicy": "BlockPublicPolicy",
    "ignorePublicAcls": "IgnorePublicAcls",
    "restrictPublicBuckets": "RestrictPublicBuckets",
}


def _put_block(aws: Aws, bucket: str, inputs: Props) -> None:
    config = {api: bool(inputs.get(name)) for name, api in _BLOCK.items()}
    aws.call("s3", "put_public_access_block", Bucket=bucket, PublicAccessBlockConfiguration=config)


def _get_block(aws: Aws, bucket: str) -> Props | None:
    gone = ("NoSuchPublicAccessBlockConfiguration",)
    told = aws.find("s3", "get_public_access_block", gone, Bucket=bucket)
    if told is None:
        return None
    config = told["PublicAccessBlockConfiguration"]
    return {name: config[api] for name, api in _BLOCK.items()}


def _drop_block(aws: Aws, bucket: str) -> None:
    aws.call("s3", "delete_public_access_block", Bucket=bucket)


def _put_owner(aws: Aws, bucket: str, inputs: Props) -> None:
    rules = {"Rules": [{"ObjectOwnership": inputs["rule"]["objectOwnership"]}]}
    aws.call("s3", "put_bucket_ownership_controls", Bucket=bucket, OwnershipControls=rules)


def _get_owner(aws: Aws, bucket: str) -> Props | None:
    gone = ("OwnershipControlsNotFoundError",)
    told = aws.find("s3", "get_bucket_ownership_controls", gone, Bucket=bucket)
    if told is None:
        return None
    rule = told["OwnershipControls"]["Rules"][0]
    return {"rule": {"objectOwnership": rule["ObjectOwnership"]}}


def _drop_owner(aws: Aws, bucket: str) -> None:
    aws.call("s3", "delete_bucket_ownership_controls", Bucket=bucket)


def _put_policy(aws: Aws, bucket: str, inputs: Props) -> None:
    aws.call("s3", "put_bucket_policy", Bucket=bucket, Policy=text(inputs["policy"]))


def _get_policy(aws: Aws, bucket: str) -> Props | None:
    told = aws.find("s3", "get_bucket_policy", ("NoSuchBucketPolicy",), Bucket=bucket)
    if told is None:
        return None
    policy = told["Policy"]
    return {"policy": policy if isinstance(policy, str) else json.dumps(policy)}


def _drop_policy(aws: Aws, bucket: str) -> None:
    aws.call("s3", "delete_bucket_policy", Bucket=bucket)


def _put_lifecycle(aws: Aws, bucket: str, inputs: Props) -> None:
    config = {"Rules": [_lifecycle_rule(each) for each in inputs["rules"]]}
    aws.call(
        "s3", "put_bucket_lifecycle_configuration", Bucket=bucket, LifecycleConfiguration=config
    )


def _lifecycle_rule(rule: Props) -> dict[str, Any]:
    made: dict[str, Any] = {"ID": rule["id"], "Status": rule["status"]}
    made["Filter"] = {"Prefix": part(rule, "filter").get("prefix") or ""}
    if "expiration" in rule:
        made["Expiration"] = {"Days": rule["expiration"]["days"]}
    if "noncurrentVersionExpiration" in rule:
        days = rule["noncurrentVersionExpiration"]["noncurrentDays"]
        made["NoncurrentVersionExpiration"] = {"NoncurrentDays": days}
    if "abortIncompleteMultipartUpload" in rule:
        days = rule["abortIncompleteMultipartUpload"]["daysAfterInitiation"]
        made["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": days}
    return made


def _get_lifecycle(aws: Aws, bucket: str) -> Props | None:
    gone = ("NoSuchLifecycleConfiguration",)
    told = aws.find("s3", "get_bucket_lifecycle_configuration", gone, Bucket=bucket)
    return None if told is None else {"rules": [_lifecycle_from(each) for each in told["Rules"]]}


def _lifecycle_from(rule: dict[str, Any]) -> Props:
    made: Props = {"id": rule["ID"], "status": rule["Status"]}
    made["filter"] = {"prefix": part(rule, "Filter").get("Prefix") or ""}
    if "Expiration" in rule:
        made["expiration"] = {"days": rule["Expiration"]["Days"]}
    if "NoncurrentVersionExpiration" in rule:
        days = rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
        made["noncurrentVersionExpiration"] = {"noncurrentDays": days}
    if "AbortIncompleteMultipartUpload" in rule:
        days = rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"]
        made["abortIncompleteMultipartUpload"] = {"daysAfterInitiation": days}
    return made


def _drop_lifecycle(aws: Aws, bucket: str) -> None:
    aws.call("s3", "delete_bucket_lifecycle", Bucket=bucket)


PARTS: Final = (
    _part(
        "BucketVersioning",
        Rules(
            source="internal/service/s3/bucket_versioning.go",
            replace=("bucket",),
            update=("versioningConfiguration.status",),
            enums={"versioningConfiguration.status": ("Enabled", "Suspended")},
            tagged=False,
        ),
        _put_versioning,
        _get_versioning,
        _drop_versioning,
    ),
    _part(
        "BucketServerSideEncryptionConfiguration",
        Rules(
            source="internal/service/s3/bucket_server_side_encryption_configuration.go",
            replace=("bucket",),
            update=(
                "rules.applyServerSideEncryptionByDefault.kmsMasterKeyId",
                "rules.applyServerSideEncryptionByDefault.sseAlgorithm",
                "rules.bucketKeyEnabled",
            ),
            sets=("rules",),
            enums={
                "rules.applyServerSideEncryptionByDefault.sseAlgorithm": (
                    "AES256",
                    "aws:kms",
                    "aws:kms:dsse",
                )
            },
            tagged=False,
        ),
        _put_encryption,
        _get_encryption,
        _drop_encryption,
    ),
    _part(
        "BucketPublicAccessBlock",
        Rules(
            source="internal/service/s3/bucket_public_access_block.go",
            replace=("bucket",),
            update=tuple(_BLOCK),
            defaults=dict.fromkeys(_BLOCK, False),
            tagged=False,
        ),
        _put_block,
        _get_block,
        _drop_block,
    ),
    _part(
        "BucketOwnershipControls",
        Rules(
            source="internal/service/s3/bucket_ownership_controls.go",
            replace=("bucket",),
            update=("rule.objectOwnership",),
            enums={
                "rule.objectOwnership": (
                    "BucketOwnerEnforced",
                    "BucketOwnerPreferred",
                    "ObjectWriter",
                )
            },
            tagged=False,
        ),
        _put_owner,
        _get_owner,
        _drop_owner,
    ),
    _part(
        "BucketPolicy",
        Rules(
            source="internal/service/s3/bucket_policy.go",
            replace=("bucket",),
            update=("policy",),
            documents=("policy",),
            tagged=False,
        ),
        _put_policy,
        _get_policy,
        _drop_policy,
    ),
    _part(
        "BucketLifecycleConfiguration",
        Rules(
            source="internal/service/s3/bucket_lifecycle_configuration.go",
            replace=("bucket",),
            update=(
                "rules.abortIncompleteMultipartUpload.daysAfterInitiation",
                "rules.expiration.days",
                "rules.filter.prefix",
                "rules.id",
                "rules.noncurrentVersionExpiration.noncurrentDays",
                "rules.status",
            ),
            enums={"rules.status": ("Enabled", "Disabled")},
            tagged=False,
        ),
        _put_lifecycle,
        _get_lifecycle,
        _drop_lifecycle,
    ),
)
KINDS: Final = (BUCKET, *PARTS)
