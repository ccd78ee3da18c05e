"""One S3 store as everything that reads it sees it, whoever runs it.

MinIO in the cluster, AWS S3, SeaweedFS or any other endpoint: what seeding Jobs and later parts
need is the same, and switching is a setting (`storage.objects.kind`).
"""

from models.core.base import Model
from models.core.names import OBJECTS_NAMESPACE
from models.settings.storage import Credentials, ObjectStoreKind, ObjectStoreSettings

MINIO_SERVICE = "minio"
"""Name of the Service that the operator makes for every tenant (`MinIOCIServiceName`)."""


class S3Store(Model):
    """Where weights are, and how to talk to the store.

    `endpoint` is None for AWS S3, whose addresses the SDK knows. `prefix` is empty or ends in a
    slash. `path_style`: the bucket stands in the path, not in the host name.
    """

    endpoint: str | None
    bucket: str
    prefix: str
    region: str
    path_style: bool
    credentials: Credentials
    ca_secret: str | None
    require_checksums: bool

    def source(self, model: str, revision: str) -> str:
        """Return the folder of one revision's weights, `s3://.../`."""
        return f"s3://{self.bucket}/{self.prefix}{model}/{revision}/"


def store_of(objects: ObjectStoreSettings) -> S3Store:
    """Return the store that a region's settings describe."""
    return S3Store(
        endpoint=_endpoint(objects),
        bucket=objects.bucket,
        prefix=objects.prefix,
        region=objects.region,
        path_style=_path_style(objects),
        credentials=objects.credentials,
        ca_secret=objects.ca_secret,
        require_checksums=objects.require_checksums,
    )


def _endpoint(objects: ObjectStoreSettings) -> str | None:
    if objects.kind is not ObjectStoreKind.MINIO:
        return objects.endpoint
    assert objects.minio is not None, "checked by the settings"
    scheme = "http" if objects.minio.tls_secret is None else "https"
    return f"{scheme}://{MINIO_SERVICE}.{OBJECTS_NAMESPACE}.svc.cluster.local"


def _path_style(objects: ObjectStoreSettings) -> bool:
    """Path style unless it is AWS: other stores seldom have a DNS name for each bucket."""
    if objects.path_style is not None:
        return objects.path_style
    return objects.kind is not ObjectStoreKind.S3
