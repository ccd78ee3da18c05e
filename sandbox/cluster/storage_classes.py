"""Storage classes that a stack expects to find: in a sandbox nobody has made them.

KWOK's stages bind a claim of any class; the class itself must exist, since the volume controller
and Pulumi's wait both look it up.
"""

from typing import Final

from models.settings.regions import RegionSettings
from models.settings.storage import VolumeBackend
from sandbox.core.kube import Api

_PATH: Final = "/apis/storage.k8s.io/v1/storageclasses"
_PROVISIONER: Final = "sandbox.triplane.dev/any"


def expected(region: RegionSettings) -> tuple[str, ...]:
    """Return the classes that a region's settings refer to and that the stack does not make."""
    storage = region.storage
    if storage.volumes is not VolumeBackend.EXISTING_CLASS or storage.storage_class is None:
        return ()
    return (storage.storage_class,)


def provide(api: Api, names: tuple[str, ...]) -> None:
    """Make the classes that are missing."""
    for name in names:
        if api.get(f"{_PATH}/{name}") is None:
            api.create(
                _PATH,
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "StorageClass",
                    "metadata": {"name": name},
                    "provisioner": _PROVISIONER,
                    "volumeBindingMode": "Immediate",
                },
            )
