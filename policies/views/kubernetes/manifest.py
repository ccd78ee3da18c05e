"""One Kubernetes object, from a Pulumi resource or a file, and the objects inside Lists."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import yaml

from policies.core.nodes import Node, partly_known
from policies.core.unknowns import Plain, Unknown, plain

_NAMELESS: Final = "?"
_LIST: Final = "List"
_DEEPEST: Final = 20
"""Lists inside Lists; nobody nests deeper, and a cycle of YAML anchors must end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceOptions:
    """What Pulumi was told about a resource. Timeouts are 0 where none is given."""

    type: str
    protect: bool = False
    create_sec: float = 0
    update_sec: float = 0
    ignore_changes: tuple[str, ...] = ()
    urn: str = ""
    parent: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """An object in the API's own spelling.

    `options` is None for files. `fragment`: a part of an object, such as a patch; what it lacks is
    no finding. `implied_kind` and `implied_name` stand in where the body names none. `completed`:
    what KServe adds to a service stands in the body already.
    """

    body: Node
    options: ResourceOptions | None = None
    fragment: bool = False
    implied_kind: str = ""
    implied_name: str = _NAMELESS
    completed: bool = False

    @property
    def kind(self) -> str:
        """The kind; "?" where it is not known."""
        return _shown(self.body["kind"]) or self.implied_kind or _NAMELESS

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        version = _shown(self.body["apiVersion"])
        return version.rpartition("/")[0]

    @property
    def metadata(self) -> Node:
        """The object's metadata."""
        return self.body["metadata"]

    @property
    def spec(self) -> Node:
        """The object's spec."""
        return self.body["spec"]

    @property
    def name(self) -> str:
        """The name; the Pulumi name in parentheses where the object has none yet."""
        release = _shown(self.body["name"]) if self.kind == "Release" else ""
        return _shown(self.metadata["name"]) or release or self.implied_name

    @property
    def namespace(self) -> str | None:
        """The namespace; None where the object names none. Raises where it is unknown."""
        return partly_known(self.metadata["namespace"])

    @property
    def label(self) -> str:
        """`Kind/namespace/name`, without the namespace where there is none."""
        parts = (self.kind, _shown(self.metadata["namespace"]), self.name)
        return "/".join(part for part in parts if part)

    def labels(self) -> dict[str, str]:
        """Return the object's labels."""
        return self.metadata["labels"].strings()

    def annotations(self) -> dict[str, str]:
        """Return the object's annotations."""
        return self.metadata["annotations"].strings()

    def is_kind(self, *kinds: str) -> bool:
        """Whether the object is of one of these kinds, whatever the case it is written in."""
        return self.kind.lower() in {kind.lower() for kind in kinds}


def _shown(node: Node) -> str:
    """Return text for messages: empty where absent, "?" where it is not known."""
    if isinstance(node.value, Unknown):
        return _NAMELESS
    return node.value if isinstance(node.value, str) else ""


def of_body(body: Mapping[str, object]) -> Manifest:
    """Return the manifest of a parsed document."""
    return Manifest(body=Node(plain(body)))


def of_text(text: str) -> Iterator[Manifest]:
    """Yield every object of a multi-document YAML text, Lists expanded.

    Raises `yaml.YAMLError` where the text is no YAML.
    """
    for document in yaml.safe_load_all(text):
        if document is not None:
            yield from expanded(Manifest(body=Node(plain(document))))


def expanded(manifest: Manifest, depth: int = 0) -> Iterator[Manifest]:
    """Yield an object, or the objects of a List, of Lists inside it, and of YAML given as text."""
    if depth > _DEEPEST:
        yield replace(manifest, body=Node(Unknown(manifest.body.path, "so deep inside Lists")))
        return
    items = manifest.body["items"]
    if manifest.kind.lower().endswith(_LIST.lower()) and _is_list(items.value):
        item_kind = manifest.kind[: -len(_LIST)]
        for item in _members(items):
            yield from expanded(
                replace(manifest, body=item, implied_kind=item_kind, implied_name=_NAMELESS),
                depth + 1,
            )
        return
    yield manifest
    if manifest.options is not None and "yaml" in manifest.options.type:
        yield from _inside_group(manifest, depth)


def _is_list(value: Plain) -> bool:
    return isinstance(value, list | Unknown)


def _members(items: Node) -> Iterator[Node]:
    if isinstance(items.value, list):
        yield from (items[index] for index in range(len(items.value)))
    else:
        yield items


def _inside_group(manifest: Manifest, depth: int) -> Iterator[Manifest]:
    """Yield the objects that a ConfigGroup is given: as text and as data."""
    text = manifest.body["yaml"].value
    for each in text if isinstance(text, list) else [text]:
        if isinstance(each, str):
            try:
                yield from of_text(each)
            except yaml.YAMLError:
                yield Manifest(body=Node(Unknown("yaml", "since it is not YAML")))
    objects = manifest.body["objs"]
    if objects.value is not None:
        for item in _members(objects):
            yield from expanded(Manifest(body=item), depth + 1)
