"""A container's command line as words, wherever it hides."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHELL_REFERENCE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


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
