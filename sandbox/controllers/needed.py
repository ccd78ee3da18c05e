"""What a stack's settings need in a region's control plane beside the default definitions."""

from typing import Final

from models.certificates import ISSUED
from models.regions import ObjectStoreKind, Region, VolumeBackend
from sandbox.crds import DEFAULT_SETS

_CERTIFICATES: Final = "cert-manager"
_SECRETS: Final = "external-secrets"
_VOLUMES: Final = "longhorn"
_OBJECTS: Final = "minio-operator"


def crd_sets(region: Region) -> tuple[str, ...]:
    """Return the CRD sets of a region: each costs a second or two at the first start."""
    asked = {
        _CERTIFICATES: region.certificates.issuer in ISSUED,
        _SECRETS: region.secrets.is_store,
        _VOLUMES: region.storage.volumes is VolumeBackend.LONGHORN,
        _OBJECTS: region.storage.objects.kind is ObjectStoreKind.MINIO,
    }
    return (*DEFAULT_SETS, *(name for name, is_needed in asked.items() if is_needed))
