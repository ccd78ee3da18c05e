"""The objects that stand-ins look at, and the references between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.core.kube import Object

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"

Kinds = Mapping[str, str]
"""The kinds that a reference may name, each with its group; the first is the default."""

SECRETS: Final[Kinds] = {"Secret": ""}


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
    objects: Objects, source: Object, ref: Mapping[str, str], kinds: Kinds
) -> Object | Missing:
    """Follow a reference from `source`; across namespaces only where a ReferenceGrant allows it."""
    default = next(iter(kinds))
    kind, group = ref.get("kind", default), ref.get("group", kinds[default])
    if kinds.get(kind) != group:
        allowed = ", ".join(f"{each} of group {kinds[each] or 'core'}" for each in kinds)
        message = f"{kind} of group {group or 'core'} is not supported here: {allowed}"
        return Missing(reason="InvalidKind", message=message)
    space = ref.get("namespace", namespace_of(source))
    target = f"{kind} {space}/{ref['name']}"
    if space != namespace_of(source) and not _granted(
        objects, source, (kind, group), (space, ref["name"])
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
    objects: Objects, source: Object, target: tuple[str, str], place: tuple[str, str]
) -> bool:
    """Tell whether a grant in the target's namespace lets `source` refer to the target.

    `target` is its kind and group, `place` its namespace and name.
    """
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
            (entry["kind"], entry["group"]) == target and entry.get("name", place[1]) == place[1]
            for entry in spec["to"]
        )
        if namespace_of(grant) == place[0] and from_ok and to_ok:
            return True
    return False
