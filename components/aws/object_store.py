"""`ObjectStore`: the bucket that a region's weights are seeded from."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import Input, ResourceOptions
from pulumi_aws import kms, s3

from models.aws import iam, names
from models.plan.plan import PlannedRegion

_KEY_DELETION_DAYS = 30
_NONCURRENT_DAYS = 30
"""How long an overwritten or deleted object can be brought back."""

_UPLOAD_DAYS = 7
"""After which parts of an upload that nobody finished are removed: they cost and do not show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectStoreArgs:
    """The region and its stack's environment; `protect` refuses to delete bucket and key."""

    region: PlannedRegion
    environment: str
    protect: bool
    tags: Mapping[str, str]


class ObjectStore(pulumi.ComponentResource):
    """A private bucket: versioned, encrypted with a key of its own, TLS only.

    Weights lie below the settings' prefix. A KV tier gets a bucket of its own: what it holds is
    short-lived and not protected.
    """

    bucket: s3.Bucket

    def __init__(
        self, name: str, args: ObjectStoreArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register key, bucket, and everything that makes it private.

        Raises `ValueError` for a region that is not on EKS.
        """
        super().__init__("triplane:aws:ObjectStore", name, None, opts)
        cluster = args.region.eks
        if cluster is None:
            message = f"region {args.region.name!r} is not on EKS and makes no bucket"
            raise ValueError(message)
        self._name, self._args = name, args
        bucket_name = args.region.settings.storage.objects.bucket
        key = self._key()
        self.bucket = s3.Bucket(
            f"{name}-bucket",
            bucket=bucket_name,
            tags=dict(args.tags),
            opts=ResourceOptions(parent=self, protect=args.protect),
        )
        private = self._privacy()
        versioning = self._keep_versions()
        self._encrypt(key)
        self._expire(versioning)
        s3.BucketPolicy(
            f"{name}-policy",
            bucket=self.bucket.bucket,
            policy=iam.text(iam.only_tls(cluster, bucket_name)),
            # S3 takes one change of a bucket's access at a time.
            opts=ResourceOptions(parent=self, depends_on=private),
        )
        self.register_outputs({"bucket": self.bucket.bucket})

    def _child(self, after: list[pulumi.Resource] | None = None) -> ResourceOptions:
        return ResourceOptions(parent=self, depends_on=after)

    def _key(self) -> Input[str]:
        args = self._args
        cluster = names.cluster_name(args.environment, args.region.name)
        key = kms.Key(
            f"{self._name}-key",
            description=f"Weights of {cluster}",
            enable_key_rotation=True,
            deletion_window_in_days=_KEY_DELETION_DAYS,
            tags=dict(args.tags),
            opts=ResourceOptions(parent=self, protect=args.protect),
        )
        kms.Alias(
            f"{self._name}-alias",
            name=names.bucket_key_alias(cluster),
            target_key_id=key.key_id,
            opts=self._child(),
        )
        return key.arn

    def _privacy(self) -> list[pulumi.Resource]:
        block = s3.BucketPublicAccessBlock(
            f"{self._name}-access",
            bucket=self.bucket.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=self._child(),
        )
        owner = s3.BucketOwnershipControls(
            f"{self._name}-owner",
            bucket=self.bucket.bucket,
            rule={"object_ownership": "BucketOwnerEnforced"},
            opts=self._child([block]),
        )
        return [block, owner]

    def _keep_versions(self) -> pulumi.Resource:
        return s3.BucketVersioning(
            f"{self._name}-versions",
            bucket=self.bucket.bucket,
            versioning_configuration={"status": "Enabled"},
            opts=self._child(),
        )

    def _encrypt(self, key_arn: Input[str]) -> None:
        s3.BucketServerSideEncryptionConfiguration(
            f"{self._name}-encryption",
            bucket=self.bucket.bucket,
            rules=[
                {
                    "apply_server_side_encryption_by_default": {
                        "sse_algorithm": "aws:kms",
                        "kms_master_key_id": key_arn,
                    },
                    # One call to KMS per hour and reader instead of one per object.
                    "bucket_key_enabled": True,
                }
            ],
            opts=self._child(),
        )

    def _expire(self, versioning: pulumi.Resource) -> None:
        s3.BucketLifecycleConfiguration(
            f"{self._name}-lifecycle",
            bucket=self.bucket.bucket,
            rules=[
                {
                    "id": "old-versions",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "noncurrent_version_expiration": {"noncurrent_days": _NONCURRENT_DAYS},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": _UPLOAD_DAYS},
                }
            ],
            # A rule on old versions is refused before there are any.
            opts=self._child([versioning]),
        )
