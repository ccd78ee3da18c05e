"""Storage classes that a sandbox is given: those that settings refer to, and nothing else."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from models.settings.regions import RegionSettings
from sandbox.cluster import storage_classes
from sandbox.cluster.cluster import Sandbox
from sandbox.core.kube import Api, Object
from tests.helpers.plans.dev import dev_settings

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def region(**storage: Any) -> RegionSettings:
    """Return dev's region with other storage."""
    given = dev_settings()["regions"][0]
    given["storage"] |= storage
    return RegionSettings.model_validate(given, strict=False)


class Fake:
    """An API that has some objects and keeps what is made."""

    def __init__(self, *there: str) -> None:
        self.objects: dict[str, Object] = {f"{CLASSES}/{name}": {} for name in there}

    def get(self, path: str) -> Object | None:
        return self.objects.get(path)

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        key = f"{path}/{body['metadata']['name']}"
        assert key not in self.objects, "an API server would refuse it"
        self.objects[key] = dict(body)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("storage", "names"),
    [
        ({"volumes": "existing-class", "storage_class": "shared-nfs"}, ("shared-nfs",)),
        ({"volumes": "local-path"}, ()),
        ({"volumes": "longhorn"}, ()),
    ],
)
def test_a_class_is_expected_where_the_stack_makes_none(
    storage: dict[str, Any], names: tuple[str, ...]
) -> None:
    """A class that the stack itself makes would be there before it."""
    assert storage_classes.expected(region(**storage)) == names


@pytest.mark.pure
def test_only_what_is_missing_is_made() -> None:
    """A class cannot be changed: making it again would fail every second start."""
    api = Fake("old")
    storage_classes.provide(cast("Api", api), ("old", "new"))
    storage_classes.provide(cast("Api", api), ("old", "new"))
    assert api.objects[f"{CLASSES}/old"] == {}
    assert api.objects[f"{CLASSES}/new"]["metadata"] == {"name": "new"}


@pytest.mark.engine
def test_the_api_server_takes_the_class(shared_box: Sandbox) -> None:
    """The real controllers look a claim's class up before anything is bound."""
    api = shared_box.api()
    storage_classes.provide(api, ("given-here",))
    storage_classes.provide(api, ("given-here",))
    found = api.get(f"{CLASSES}/given-here")
    assert found is not None
    assert found["volumeBindingMode"] == "Immediate", "a claim without a pod must bind too"
    assert found["provisioner"]
