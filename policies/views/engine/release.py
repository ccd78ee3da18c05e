"""Which release of vLLM an image is, and whose contracts hold for it."""

import functools
import re
from dataclasses import dataclass
from typing import Final

from models.core import releases
from models.facts.contract import EngineContract
from policies.core import knowledge
from policies.core.context import Context
from policies.core.nodes import UnknownFieldError, UnreadableFieldError
from policies.views.kubernetes.images import image_of
from policies.views.kubernetes.workload import Container

VERSION_ANNOTATION: Final = "triplane.dev/engine-version"
_OURS: Final = re.compile(r"^vllm(-openai)?([-_]|$)")
_OTHER_OWNERS: Final = frozenset({"lmcache", "ascend", "rocm", "nvidia"})
"""Owners whose tags are not vLLM's own versions."""

_TAG: Final = re.compile(
    r"^v?(\d+\.\d+\.\d+)(\.post\d+)?(?P<early>(\.?dev|-?rc|a|b)\d*)?([-_+.]|$)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """What a container's image says of its release.

    `contracts` are those that hold: one where the catalog has the release, the neighbors of one
    that it lacks, none where the release is not known. `floats`: the image names no release, so it
    is at least as new as the newest. `beyond`: newer (1) or older (-1) than all contracts.
    """

    text: str
    contracts: tuple[EngineContract, ...] = ()
    floats: bool = False
    beyond: int = 0

    @property
    def exact(self) -> EngineContract | None:
        """The contract of exactly this release."""
        pinned = len(self.contracts) == 1 and not self.floats and not self.beyond
        return self.contracts[0] if pinned else None


def release(container: Container, context: Context) -> Release:
    """Return the release of a container's engine, by its image or by the pod's annotation."""
    image = container.node["image"]
    stated = context.versions.get("vllm")
    annotation = _annotation(container)
    if isinstance(image.value, str):
        found = of_image(image.value)
        if found.contracts and not found.floats:
            return found
        if annotation or stated:
            return of_version(annotation or stated or "")
        return found
    if annotation or stated:
        return of_version(annotation or stated or "")
    return Release(text="no image is named")


def _annotation(container: Container) -> str | None:
    try:
        return container.pod.annotations().get(VERSION_ANNOTATION)
    except (UnknownFieldError, UnreadableFieldError):
        return None


def of_image(reference: str) -> Release:
    """Return the release that an image's reference names."""
    image = image_of(reference)
    *_, owner, name = ("", *image.repository.lower().split("/"))
    by_digest = knowledge.by_digest(image.digest)
    if by_digest is not None:
        return Release(text=by_digest.version, contracts=(by_digest,))
    if not _OURS.match(name) or owner in _OTHER_OWNERS:
        return Release(text=f"the image {image.repository!r} does not say its vLLM release")
    match = _TAG.match((image.tag or "").lower())
    if match is not None:
        return of_version(match[1], early=bool(match["early"]))
    if image.digest is not None and image.tag is None:
        return Release(text="the image is named by its digest only")
    if image.tag in (None, "latest", "nightly") or (image.tag or "").startswith(
        ("latest", "nightly")
    ):
        said = image.tag or "no tag"
        return Release(
            text=f"the image floats ({said})", contracts=(knowledge.newest(),), floats=True
        )
    return Release(text=f"the image's tag {image.tag!r} is not a release of vLLM")


def of_version(text: str, *, early: bool = False) -> Release:
    """Return the contracts that hold for a version such as `0.18.1`."""
    match = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        return Release(text=f"{text!r} is not a version")
    wanted = (int(match[1]), int(match[2]), int(match[3] or 0))
    shown = ".".join(map(str, wanted))
    return _neighbors(wanted, shown, early)


@functools.cache
def _neighbors(wanted: tuple[int, int, int], shown: str, early: bool) -> Release:
    engines = knowledge.engines()
    if shown in engines and not early:
        return Release(text=shown, contracts=(engines[shown],))
    versions = [(releases.numbers(version), contract) for version, contract in engines.items()]
    older = [contract for version, contract in versions if version < wanted]
    newer = [contract for version, contract in versions if version >= wanted]
    if not older:
        return Release(text=shown, contracts=(newer[0],), beyond=-1)
    if not newer:
        return Release(text=shown, contracts=(older[-1],), beyond=1)
    return Release(text=shown, contracts=(older[-1], newer[0]))
