"""A container's command line as words, wherever it hides, and options among them."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHELL_REFERENCE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_SHORTEST_ABBREVIATION: Final = 6


def words_of(parts: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of command and arguments.

    `$(VAR)` is replaced from the environment, and shell text (`sh -c "..."`, folded strings) is
    split into its words.
    """
    words: list[str] = []
    for part in parts:
        text = _REFERENCE.sub(lambda match: environment.get(match[1], match[0]), part)
        if not re.search(r"\s", text.strip()):
            words.append(text.strip())
            continue
        text = _SHELL_REFERENCE.sub(lambda match: environment.get(match[1], match[0]), text)
        words.extend(_split(text))
    return tuple(words)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\\n", " "), comments=False)
    except ValueError:
        return text.split()


def option(words: Sequence[str], name: str, *aliases: str) -> str | None:
    """Return the last value of an option, also abbreviated or with underscores.

    `name` is the full spelling (`--tensor-parallel-size`), `aliases` short ones (`-tp`).
    """
    value: str | None = None
    for index, word in enumerate(words):
        head, equals, tail = word.partition("=")
        if not _means(head, name, aliases):
            continue
        following = words[index + 1] if index + 1 < len(words) else ""
        value = tail if equals else following
    return value


def _means(word: str, name: str, aliases: Sequence[str]) -> bool:
    if word in aliases:
        return True
    plain = word.replace("_", "-").lower()
    return len(plain) >= _SHORTEST_ABBREVIATION and name.startswith(plain)
