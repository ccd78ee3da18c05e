"""A container that runs vLLM: its command line, and the releases whose contract holds for it."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.command import UNKNOWN_TEXT, Line, Parser
from models.contract import EngineContract
from policies import knowledge, shell
from policies.context import Context
from policies.images import image_of
from policies.nodes import Node, UnknownFieldError, UnreadableFieldError
from policies.unknowns import Unknown
from policies.workload import Container

VERSION_ANNOTATION: Final = "triplane.dev/engine-version"
_MODULE: Final = "vllm.entrypoints"
_ARGUMENT_VARIABLES: Final = ("VLLM_ADDITIONAL_ARGS",)
"""Variables whose words KServe's base configuration appends to the command line."""

_OURS: Final = re.compile(r"^vllm(-openai)?([-_]|$)")
_OTHER_OWNERS: Final = frozenset({"lmcache", "ascend", "rocm", "nvidia"})
"""Owners whose tags are not vLLM's own versions."""

_TAG: Final = re.compile(
    r"^v?(\d+\.\d+\.\d+)(\.post\d+)?(?P<early>(\.?dev|-?rc|a|b)\d*)?([-_+.]|$)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """What a container's image says of its release.

    `contracts` are those that hold: one where the catalogue has the release, the neighbours of one
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """An engine's command line: words without the command, each with the field it stands in.

    `open`: a word is not known, so it may hold options. `shell`: it is part of a shell's script.
    """

    container: Container
    words: tuple[str, ...]
    paths: tuple[str, ...]
    release: Release
    shell: bool = False

    @property
    def open(self) -> bool:
        """Whether a whole word is not known."""
        return UNKNOWN_TEXT in self.words

    def path(self, at: int) -> str:
        """Return the field that a word stands in."""
        return self.paths[at] if at < len(self.paths) else self.container.node["args"].path

    def line(self) -> Line:
        """Return the command line as the release (or the newest) reads it."""
        contracts = self.release.contracts or (knowledge.newest(),)
        return Parser(contracts[-1]).read(self.words)


def invocation(container: Container, context: Context) -> Invocation | None:
    """Return how a container starts vLLM, or None where it runs something else.

    Raises `UnknownFieldError` where what it runs is not known.
    """
    if not _runs_engine(container):
        return None
    pieces = _pieces(container)
    environment = variables(container)
    texts = [shell.referenced(text, environment) for text, _ in pieces]
    script = shell.script_index(texts)
    if script is not None:
        found = _of_script(pieces[script][0], environment)
        words, paths = found, tuple(pieces[script][1] for _ in found)
    else:
        words, paths = _of_words(texts, [path for _, path in pieces])
    for name in _ARGUMENT_VARIABLES:
        extra = shell.referenced(environment.get(name) or "", environment).split()
        words = (*words, *extra)
        paths = (*paths, *(container.node["env"].path for _ in extra))
    return Invocation(
        container=container,
        words=words,
        paths=paths,
        release=release(container, context),
        shell=script is not None,
    )


def _runs_engine(container: Container) -> bool:
    """Whether the container runs vLLM, also where some of its arguments are not known."""
    try:
        return container.is_engine
    except UnknownFieldError:
        image = container.node["image"].value
        if isinstance(image, Unknown):
            raise
        texts = [text for text, _ in _pieces(container)]
        script = shell.script_index(texts)
        words = _of_script(texts[script], {}) if script is not None else tuple(texts)
        return _start(words) is not None or container.has_engine_image


def _pieces(container: Container) -> list[tuple[str, str]]:
    """Return the elements of command and arguments with their paths."""
    found: list[tuple[str, str]] = []
    for key in ("command", "args"):
        node = container.node[key]
        if isinstance(node.value, Unknown):
            found.append((UNKNOWN_TEXT, node.path))
            continue
        for item in node.items():
            found.append((_text(item), item.path))
    return found


def _text(node: Node) -> str:
    if isinstance(node.value, Unknown):
        return node.value.text or UNKNOWN_TEXT
    try:
        return (node.text() or "").strip()
    except UnreadableFieldError:
        return UNKNOWN_TEXT


def variables(container: Container) -> dict[str, str | None]:
    """Return the container's variables; None where the value is not literal."""
    found: dict[str, str | None] = {}
    for node in container.node["env"].items():
        name, value = node["name"].value, node["value"].value
        if isinstance(name, str):
            literal = value is not None and not isinstance(value, Unknown | list | dict)
            found[name] = str(value) if literal else None
            if isinstance(value, Unknown) and value.text:
                found[name] = value.text
            if value is None and not node["valueFrom"].present:
                found[name] = ""
    return found


def _of_script(script: str, environment: Mapping[str, str | None]) -> tuple[str, ...]:
    for command in shell.commands(script, environment):
        start = _start(command)
        if start is not None:
            return command[start:]
    return ()


def _of_words(
    texts: Sequence[str], paths: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words: list[tuple[str, str]] = []
    for text, path in zip(texts, paths, strict=True):
        if "\n" in text or re.match(r"-[^=\s{]*\s", text):
            words += [(word, path) for (command) in shell.commands(text, {}) for word in command]
        else:
            words.append((text, path))
    start = _start([word for word, _ in words]) or 0
    kept = words[start:]
    return tuple(word for word, _ in kept), tuple(path for _, path in kept)


def _start(words: Sequence[str]) -> int | None:
    """Return where the arguments of `vllm serve` or of its module begin."""
    for index, word in enumerate(words):
        if word.startswith(_MODULE) or word.endswith("entrypoints/openai/api_server.py"):
            return index + 1
        if word.rsplit("/", 1)[-1] == "vllm" and tuple(words[index + 1 : index + 2]) == ("serve",):
            return index + 2
    return 1 if words[:1] and words[0] == "serve" else None


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
    return Release(text=f"the image's tag {image.tag!r} is no release of vLLM")


def of_version(text: str, *, early: bool = False) -> Release:
    """Return the contracts that hold for a version such as `0.18.1`."""
    match = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        return Release(text=f"{text!r} is no version")
    wanted = (int(match[1]), int(match[2]), int(match[3] or 0))
    shown = ".".join(map(str, wanted))
    return _neighbours(wanted, shown, early)


@functools.cache
def _neighbours(wanted: tuple[int, int, int], shown: str, early: bool) -> Release:
    engines = knowledge.engines()
    if shown in engines and not early:
        return Release(text=shown, contracts=(engines[shown],))
    versions = [(knowledge.numbers(version), contract) for version, contract in engines.items()]
    older = [contract for version, contract in versions if version < wanted]
    newer = [contract for version, contract in versions if version >= wanted]
    if not older:
        return Release(text=shown, contracts=(newer[0],), beyond=-1)
    if not newer:
        return Release(text=shown, contracts=(older[-1],), beyond=1)
    return Release(text=shown, contracts=(older[-1], newer[0]))
