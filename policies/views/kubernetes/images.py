"""Image references: their parts, and where they stand in an object."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policies.core.nodes import Node, mappings
from policies.core.unknowns import Plain

_HUB: Final = frozenset(
    {"docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageName:
    """A reference in its parts; `registry` is "docker.io" where none is written."""

    registry: str
    repository: str
    tag: str | None
    digest: str | None


def image_of(reference: str) -> ImageName:
    """Return the parts of a reference."""
    rest, _, digest = reference.strip().partition("@")
    head, slash, tail = rest.partition("/")
    is_registry = bool(slash) and ("." in head or ":" in head or head == "localhost")
    registry, path = (head, tail) if is_registry else ("docker.io", rest)
    name, colon, tag = path.rpartition(":")
    if not colon:
        name, tag = path, ""
    if registry.lower() in _HUB:
        registry = "docker.io"
    name = name.removeprefix("library/") if registry == "docker.io" else name
    return ImageName(
        registry=registry.lower(), repository=name, tag=tag or None, digest=digest or None
    )


def references(node: Node) -> Iterator[tuple[Node, str]]:
    """Yield every image that an object names: `image: text`, and charts' repository with tag."""
    for mapping in mappings(node):
        value = mapping.value
        assert isinstance(value, dict)
        for key in value:
            member = mapping[key]
            if key.lower().endswith("image") and isinstance(member.value, str):
                yield member, member.value
        repository = value.get("repository")
        if isinstance(repository, str) and mapping.path.lower().endswith("image"):
            yield mapping["repository"], _assembled(value, repository)


def _assembled(parts: dict[str, Plain], repository: str) -> str:
    registry, tag = parts.get("registry"), parts.get("tag")
    named = f"{registry}/{repository}" if isinstance(registry, str) and registry else repository
    return f"{named}:{tag}" if isinstance(tag, str) and tag else named
