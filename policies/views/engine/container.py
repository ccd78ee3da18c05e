"""A container that runs vLLM: its command line, wherever it hides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.engine.command import UNKNOWN_TEXT, Line, Parser
from policies.core import knowledge
from policies.core.context import Context
from policies.core.memo import Memo
from policies.core.nodes import Node, UnknownFieldError, UnreadableFieldError
from policies.core.unknowns import Unknown
from policies.views.engine import shell
from policies.views.engine.release import Release, release
from policies.views.kubernetes.workload import Container

_MODULE: Final = "vllm.entrypoints"
_ARGUMENT_VARIABLES: Final = ("VLLM_ADDITIONAL_ARGS",)
"""Variables whose words KServe's base configuration appends to the command line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """An engine's command line: words without the command, each with the field it stands in.

    `shell`: it is part of a shell's script.
    """

    container: Container
    words: tuple[str, ...]
    paths: tuple[str, ...]
    release: Release
    shell: bool = False

    @property
    def hidden(self) -> tuple[int, ...]:
        """Where a whole word is not known and may hold options: no option's value, no model."""
        positionals = self.line().positionals
        return tuple(
            at
            for place, (at, word) in enumerate(positionals)
            if word == UNKNOWN_TEXT and (place or at)
        )

    @property
    def open(self) -> bool:
        """Whether options may be hidden in words that are not known."""
        return bool(self.hidden)

    def path(self, at: int) -> str:
        """Return the field that a word stands in."""
        return self.paths[at] if at < len(self.paths) else self.container.node["args"].path

    def line(self) -> Line:
        """Return the command line as the release (or the newest) reads it."""
        contracts = self.release.contracts or (knowledge.newest(),)
        return Parser(contracts[-1]).read(self.words)


_INVOCATIONS: Final = Memo[Container, Invocation | None]()


def invocation_of(container: Container, context: Context) -> Invocation | None:
    """Return how a container starts vLLM, or None where it runs something else.

    Raises `UnknownFieldError` where what it runs is not known.
    """
    return _INVOCATIONS.get(container, context, lambda: _invocation(container, context))


def _invocation(container: Container, context: Context) -> Invocation | None:
    if not _runs_engine(container):
        return None
    pieces = _pieces(container)
    environment = variables(container)
    texts = [shell.referenced(text, environment) for text, _ in pieces]
    script = shell.script_index(texts)
    if script is None:
        texts = [shell.without_variables(text) for text in texts]
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


def parallelism(container: Container) -> int:
    """Return the ranks of one replica in this pod: tensor x pipeline parallel size.

    Reads whatever the container runs, since a program of one's own may hand options on.
    """
    line = Parser(knowledge.newest()).read(container.words())
    product = 1
    for name in ("tensor_parallel_size", "pipeline_parallel_size"):
        given = line.argument(name)
        if given is not None and given.value is not None and given.value.isdecimal():
            product *= int(given.value)
    return product


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
