"""Templates and `${VAR}`: what is filled in later becomes a value that is not known.

A placeholder inside a text keeps the text around it, so that rules can still read the rest.
"""

import re
from typing import Final

from models.engine.command import UNKNOWN_TEXT
from policies.core.unknowns import Plain, Unknown, joined

_MARK: Final = "zPLACEHOLDERz"
_WHY: Final = "since it is a placeholder"
_CONTROL: Final = re.compile(
    r"^[ \t]*\{\{-?\s*(if|else|end|range|with|define|block|include|template|/\*|\$\w+\s*:?=).*$"
    r"|^[ \t]*\{\{-?\s*(?:toYaml|tpl|nindent|\.Values[\w.]*\s*\|\s*toYaml)[^}]*\}\}[ \t]*$",
    re.MULTILINE,
)
_COMMENT: Final = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.DOTALL)
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)

_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][\w.]*(?::?[-=?][^{}]*)?\}|__[A-Z][A-Z0-9_]+__")
_SHELL_KEYS: Final = frozenset({"command", "args"})


def is_template(text: str) -> bool:
    """Whether a text is a chart's template rather than YAML that quotes somebody's `{{ }}`.

    Alerts' annotations, dashboards' legends and KServe's `{{.Name}}` hold braces that stay.
    """
    if _CONTROL.search(text):
        return True
    return (
        re.search(r"\{\{-?\s*(\.Values|\.Release|\.Chart|include|template|toYaml)\b", text)
        is not None
    )


def marked(text: str) -> str:
    """Return a template with its control lines blank and each expression as one word."""
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = _CONTROL.sub("", text)
    return _TEMPLATE.sub(lambda match: _MARK + "\n" * match[0].count("\n"), text)


def known(value: Plain, path: str, *, shell: bool) -> Plain:
    """Return data with each text that holds a placeholder as a value that is not known.

    In command and arguments `${VAR}` is a shell's variable or the kubelet's, and stays.
    """
    if isinstance(value, str):
        return _text(value, path, shell=shell)
    if isinstance(value, list):
        return [known(each, joined(path, index), shell=shell) for index, each in enumerate(value)]
    if isinstance(value, dict):
        found: dict[str, Plain] = {}
        for key, member in value.items():
            inside = shell or key in _SHELL_KEYS
            named = Unknown(path, _WHY) if _MARK in key else None
            found[key] = named or known(member, joined(path, key), shell=inside)
        return found
    return value


def _text(value: str, path: str, *, shell: bool) -> Plain:
    marked = value.replace(_MARK, UNKNOWN_TEXT)
    if not shell and "\n" not in value:
        marked = _VARIABLE.sub(UNKNOWN_TEXT, marked)
    return Unknown(path, _WHY, marked) if UNKNOWN_TEXT in marked else value
