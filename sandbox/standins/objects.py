"""The objects that stand-ins look at, and the references between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.kube import Object

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
_CORE_KINDS: Final = frozenset({"Service", "Secret", "ConfigMap"})


def entries(parent: Object, key: str) -> list[Object]:
    """Return a list of objects, empty where it is absent or null."""
    found: list[Object] | None = parent.get(key)
    return found or []


def section(parent: Object, key: str) -> Object:
    """Return a nested object, empty where it is absent or null."""
    found: Object | None = parent.get(key)
    return found or {}


def name_of(obj: Object) -> str:
    """Return `metadata.name`."""
    return obj["metadata"]["name"]


def namespace_of(obj: Object) -> str:
    """Return `metadata.namespace`, or the empty string for cluster-scoped objects."""
    return obj["metadata"].get("namespace", "")


def label(obj: Object) -> str:
    """Return `Kind namespace/name`, as messages name objects."""
    space = namespace_of(obj)
    return f"{obj['kind']} {space + '/' if space else ''}{name_of(obj)}"


def age_key(obj: Object) -> tuple[str, str]:
    """Order objects from the oldest to the newest, and by name among equals."""
    return obj["metadata"].get("creationTimestamp", ""), name_of(obj)


@dataclass(slots=True)
class Objects:
    """A set of objects by kind, namespace and name."""

    items: dict[tuple[str, str, str], Object] = field(
        default_factory=dict[tuple[str, str, str], Object]
    )

    @classmethod
    def of(cls, objects: Iterable[Object]) -> "Objects":
        """Return a set that holds `objects`."""
        made = cls()
        for obj in objects:
            made.put(obj)
        return made

    def put(self, obj: Object) -> None:
        """Add an object, or replace the one of the same kind and name."""
        self.items[obj["kind"], namespace_of(obj), name_of(obj)] = obj

    def drop(self, obj: Object) -> None:
        """Remove an object, if it is there."""
        self.items.pop((obj["kind"], namespace_of(obj), name_of(obj)), None)

    def replace(self, kind: str, objects: Iterable[Object]) -> None:
        """Make `objects` all that there is of `kind`."""
        for key in [key for key in self.items if key[0] == kind]:
            del self.items[key]
        for obj in objects:
            self.put(obj)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return one object, or None."""
        return self.items.get((kind, namespace, name))

    def all(self, kind: str) -> list[Object]:
        """Return the objects of `kind`, oldest first."""
        return sorted((obj for key, obj in self.items.items() if key[0] == kind), key=age_key)


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """Why a reference does not hold: a reason of the Gateway API and a sentence."""

    reason: str
    message: str


def resolve(
    objects: Objects, source: Object, ref: Mapping[str, str], default_kind: str, default_group: str
) -> Object | Missing:
    """Follow a reference from `source`; across namespaces only where a ReferenceGrant allows it."""
    kind = ref.get("kind", default_kind)
    space = ref.get("namespace", namespace_of(source))
    target = f"{kind} {space}/{ref['name']}"
    if space != namespace_of(source) and not _granted(
        objects, source, kind, ref.get("group", default_group), space, ref["name"]
    ):
        return Missing(
            reason="RefNotPermitted",
            message=f"{target} is in another namespace and no ReferenceGrant there allows it",
        )
    found = objects.get(kind, space, ref["name"])
    if found is None:
        return Missing(reason="BackendNotFound", message=f"{target} does not exist")
    return found


def _granted(
    objects: Objects, source: Object, kind: str, group: str, space: str, name: str
) -> bool:
    source_group = source["apiVersion"].rpartition("/")[0]
    for grant in objects.all("ReferenceGrant"):
        spec: Object = grant["spec"]
        from_ok = any(
            entry["group"] == source_group
            and entry["kind"] == source["kind"]
            and entry["namespace"] == namespace_of(source)
            for entry in spec["from"]
        )
        to_ok = any(
            entry["group"] == ("" if kind in _CORE_KINDS else group)
            and entry["kind"] == kind
            and entry.get("name", name) == name
            for entry in spec["to"]
        )
        if namespace_of(grant) == space and from_ok and to_ok:
            return True
    return False
