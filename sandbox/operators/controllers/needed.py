"""What a stack's settings need in a region's control plane beside the default definitions."""

from typing import Final

from models.settings.certificates import ISSUED, Issuer
from models.settings.eks import EksClusterSettings
from models.settings.regions import RegionSettings
from models.settings.secrets import SecretsKind
from models.settings.storage import ObjectStoreKind, VolumeBackend
from sandbox.core.errors import SandboxError
from sandbox.crds.sources import DEFAULT_SETS

_CERTIFICATES: Final = "cert-manager"
_SECRETS: Final = "external-secrets"
_VOLUMES: Final = "longhorn"
_OBJECTS: Final = "minio-operator"


def crd_sets(region: RegionSettings) -> tuple[str, ...]:
    """Return the CRD sets of a region: each costs a second or two at the first start.

    Raises `SandboxError` for what cannot become ready here: a wait of ten minutes explains nothing.
    """
    if region.certificates.issuer is Issuer.ACME:
        message = (
            f"region {region.name}: certificates.issuer is acme, and no public authority can be "
            "reached from the sandbox; try the stack with ca or private-ca"
        )
        raise SandboxError(message)
    if region.secrets.kind is SecretsKind.AWS and not isinstance(
        region.cluster, EksClusterSettings
    ):
        message = (
            f"region {region.name}: secrets.kind is aws-secrets-manager on a cluster outside AWS, "
            "and the sandbox plays AWS for regions on EKS only; try the stack with kubernetes"
        )
        raise SandboxError(message)
    asked = {
        _CERTIFICATES: region.certificates.issuer in ISSUED,
        _SECRETS: region.secrets.is_store,
        _VOLUMES: region.storage.volumes is VolumeBackend.LONGHORN,
        _OBJECTS: region.storage.objects.kind is ObjectStoreKind.MINIO,
    }
    return (*DEFAULT_SETS, *(name for name, is_needed in asked.items() if is_needed))
