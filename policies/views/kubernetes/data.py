"""What holds data, for rules over a stack and for judging a preview's changes."""

from models.plan.changes import is_storage
from policies.views.kubernetes.manifest import Manifest


def keeps_data(manifest: Manifest) -> bool:
    """Tell whether an object is a volume, a tenant, or a release that keeps volumes.

    A StatefulSet's templates are the caller's: a rule asks them as they will be, and an unknown one
    is reported by the rules' frame; a judge of what was takes whatever stands there for data.
    """
    if manifest.is_kind("PersistentVolumeClaim", "PersistentVolume", "Tenant"):
        return True
    return manifest.is_kind("Release") and is_storage(manifest.body["chart"].text() or "")
