"""Which buckets of weights the stack makes, and what stands against them."""

from collections.abc import Iterator, Sequence

from models.core.findings import Finding
from models.core.problems import shown
from models.settings.eks import EksClusterSettings
from models.settings.regions import RegionSettings
from models.settings.storage import ObjectStoreKind


def makes_bucket(region: RegionSettings) -> bool:
    """Whether the stack makes a region's bucket: on EKS, unless the settings say it is there."""
    objects = region.storage.objects
    on_aws = isinstance(region.cluster, EksClusterSettings) and objects.kind is ObjectStoreKind.S3
    return on_aws and objects.create is not False


def bucket_problems(regions: Sequence[RegionSettings]) -> list[Finding]:
    """Return everything that stands against the buckets of a stack's regions."""
    found: list[Finding] = []
    makers: dict[str, str] = {}
    for index, region in enumerate(regions):
        path = f"regions[{index}].storage.objects"
        found += _unusable(region, path)
        if not makes_bucket(region):
            continue
        found += _misplaced(region, path)
        bucket = region.storage.objects.bucket
        maker = makers.setdefault(bucket, region.name)
        if maker != region.name:
            found.append(
                Finding(
                    path=f"{path}.bucket",
                    message=f"region {maker!r} makes this bucket already",
                    value=shown(bucket),
                    remedy="give each region a bucket of its own, or set create to false where "
                    "another region's is read",
                )
            )
    return found


def _unusable(region: RegionSettings, path: str) -> Iterator[Finding]:
    objects = region.storage.objects
    on_aws = isinstance(region.cluster, EksClusterSettings) and objects.kind is ObjectStoreKind.S3
    if objects.create and not on_aws:
        yield Finding(
            path=f"{path}.create",
            message="the stack makes buckets of kind s3 in regions of kind eks only",
            value="true",
            remedy="make the bucket yourself and leave create out",
        )
    if objects.key_arn is not None and (not on_aws or makes_bucket(region)):
        yield Finding(
            path=f"{path}.key_arn",
            message="only a bucket of kind s3 that exists already, read from a region of kind eks, "
            "has a key to be named",
            value=shown(objects.key_arn),
            remedy="set create to false, or leave key_arn out",
        )


def _misplaced(region: RegionSettings, path: str) -> Iterator[Finding]:
    cluster = region.cluster
    if not isinstance(cluster, EksClusterSettings):
        return
    if region.storage.objects.region != cluster.aws_region:
        yield Finding(
            path=f"{path}.region",
            message="the stack makes the bucket where the cluster is",
            value=shown(region.storage.objects.region),
            allowed=cluster.aws_region,
            remedy=f"set region to {cluster.aws_region}, or create to false for a bucket elsewhere",
        )
