"""As much of a shell as start scripts of engines use: words of commands, variables, line ends."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from models.engine.command import UNKNOWN_TEXT

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_WRAPPERS: Final = frozenset({"tini", "dumb-init", "env", "exec", "nohup", "sudo", "--"})
_OPERATORS: Final = frozenset(";&|<>()")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE: Final = re.compile(
    r"\$(?:\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}|([A-Za-z_]\w*)|\{[^{}]*\}|[@*#?!$\d])"
)
_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
_SUBSTITUTION: Final = re.compile(r"\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`")


def script_index(words: Sequence[str]) -> int | None:
    """Return the index of a shell's script (`sh -c SCRIPT`) among words, or None."""
    for index, word in enumerate(words[:4]):
        if word.rsplit("/", 1)[-1] not in _SHELLS:
            if word.rsplit("/", 1)[-1] in _WRAPPERS:
                continue
            return None
        for offset, option in enumerate(words[index + 1 :], start=index + 1):
            if re.fullmatch(r"-[a-z]*c[a-z]*", option):
                return offset + 1 if offset + 1 < len(words) else None
            if not option.startswith(("-", "+")) and option != "pipefail":
                return None
    return None


def referenced(text: str, environment: Mapping[str, str | None]) -> str:
    """Replace Kubernetes' `$(NAME)`; what has no literal value becomes unknown text."""
    return _REFERENCE.sub(lambda match: environment.get(match[1]) or UNKNOWN_TEXT, text)


def without_variables(text: str) -> str:
    """Replace what only a shell, or whoever fills in a template, would replace: `${NAME}`."""
    return re.sub(r"\$\{[^{}]*\}", UNKNOWN_TEXT, text)


def commands(script: str, environment: Mapping[str, str | None]) -> Iterator[tuple[str, ...]]:
    """Yield each command of a script as its words, variables replaced where they are known."""
    known = dict(environment)
    text = _REFERENCE.sub(lambda m: known.get(m[1]) or m[0], script.replace("\\\n", " "))
    text = _SUBSTITUTION.sub(UNKNOWN_TEXT, text)
    # Twice, since a variable may be set and used in one line.
    for repeated in (False, True):
        for line in _logical_lines(text):
            for words in _simple_commands(_words(line, known)):
                rest = _without_assignments(words, known)
                if rest and repeated:
                    yield tuple(rest)


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines, those with an open quote joined to the next."""
    open_line = ""
    for line in text.split("\n"):
        if not open_line and line.lstrip().startswith("#"):
            continue
        open_line = f"{open_line}\n{line}" if open_line else line
        if _closed(open_line):
            yield open_line
            open_line = ""
    if open_line:
        yield open_line


def _closed(line: str) -> bool:
    try:
        shlex.split(line, comments=False)
    except ValueError as error:
        return "quotation" not in str(error)
    return True


def _words(line: str, known: Mapping[str, str | None]) -> list[str]:
    replaced = _VARIABLE.sub(lambda match: _value(match, known), line)
    try:
        lexer = shlex.shlex(replaced, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        words = replaced.split()
    return _without_comment(words)


def _without_comment(words: list[str]) -> list[str]:
    for index, word in enumerate(words):
        if word.startswith("#"):
            return words[:index]
    return words


def _value(match: re.Match[str], known: Mapping[str, str | None]) -> str:
    name = match[1] or match[3]
    value = known.get(name) if name else None
    if value is None and name not in known:
        value = match[2]
    return UNKNOWN_TEXT if value is None else value


def _simple_commands(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words between operators; a redirection's target is dropped."""
    command: list[str] = []
    redirected = False
    for word in words:
        if word and set(word) <= _OPERATORS:
            redirected = bool({"<", ">"} & set(word))
            if redirected:
                if command and command[-1].isdigit():
                    command.pop()
                continue
            yield command
            command = []
        elif redirected:
            redirected = False
        else:
            command.append(word)
    yield command


def _without_assignments(words: list[str], known: dict[str, str | None]) -> list[str]:
    """Take leading `NAME=value` (also after `export`) into the variables; return the rest."""
    index = 0
    while index < len(words):
        match = _ASSIGNMENT.fullmatch(words[index])
        if match is not None:
            known[match[1]] = None if UNKNOWN_TEXT in match[2] else match[2]
        elif words[index] not in ("export", "exec", "then", "do", "else", "env", "nohup", "{"):
            break
        index += 1
    return words[index:]
