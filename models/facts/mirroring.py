"""Where an image is pulled from in an air-gapped region (`Mirror.registry`)."""

from typing import Final

from models.facts.contract import Image

_HUB: Final = "docker.io"


def mirrored(repository: str, registry: str | None) -> str:
    """Return an image's repository, or its place in a mirror: the host replaced, the path kept.

    A name without a host is Docker Hub's; its official images live below `library/`.
    """
    if registry is None:
        return repository
    host, slash, path = repository.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, path = _HUB, repository
    if host == _HUB and "/" not in path:
        path = f"library/{path}"
    return f"{registry}/{path}"


def mirrored_image(image: Image, registry: str | None) -> Image:
    """Return an image as it is pulled from the mirror; tag and digest stay."""
    return image.model_copy(update={"repository": mirrored(image.repository, registry)})
