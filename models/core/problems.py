"""What is wrong with an input, all of it, as one exception; and pydantic's errors as findings."""

from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from models.core.findings import Finding

_SHOWN_VALUE_CHARACTERS = 120


class ProblemsError(Exception):
    """The input cannot be used; carries every problem found, not only the first."""

    def __init__(self, what: str, problems: Iterable[Finding]) -> None:
        """Keep the problems; `what` names the input they were found in."""
        self.what = what
        self.problems = tuple(problems)
        super().__init__(self._text())

    def _text(self) -> str:
        count = len(self.problems)
        head = f"{self.what}: {count} problem{'' if count == 1 else 's'}"
        return "\n".join([head, *(f"  - {problem.ruled}" for problem in self.problems)])


def shown(value: object) -> str:
    """Return a value as it may be shown in a message: short, on one line."""
    text = repr(value)
    if len(text) <= _SHOWN_VALUE_CHARACTERS:
        return text
    return text[: _SHOWN_VALUE_CHARACTERS - 1] + "…"


_UNION_TAGS = frozenset({"eks", "existing", "mig", "time-slicing"})
"""Pydantic names the chosen variant in a path; the settings have no such key."""

_REMEDIES = {
    "extra_forbidden": "remove the key, or correct its spelling",
    "missing": "add the key",
    "json_invalid": "write valid JSON",
}


def from_validation(error: ValidationError, root: str = "") -> tuple[Finding, ...]:
    """Turn pydantic's errors into problems; `root` is put before each path.

    A model validator of ours raises `ValueError(message)`; its message stands as it is.
    """
    details = error.errors(include_url=False)
    return tuple(_from_detail(detail, root) for detail in details if not _is_echo(detail, details))


def _is_echo(detail: ErrorDetails, details: list[ErrorDetails]) -> bool:
    """Tell whether a list is only "too short" because its items were refused themselves."""
    if detail["type"] != "too_short":
        return False
    loc = detail["loc"]
    return any(other["loc"][: len(loc)] == loc and other["loc"] != loc for other in details)


def _from_detail(detail: ErrorDetails, root: str) -> Finding:
    path = root
    for part in detail["loc"]:
        if part in _UNION_TAGS:
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    kind = detail["type"]
    message = detail["msg"].removeprefix("Value error, ")
    context = detail.get("ctx", {})
    allowed = context.get("expected", context.get("pattern"))
    value = None if kind in ("missing", "json_invalid") else shown(detail["input"])
    return Finding(
        path=path or "(top)",
        message=message[0].lower() + message[1:] if message else kind,
        value=value,
        allowed=None if allowed is None else str(allowed),
        remedy=_REMEDIES.get(kind, ""),
    )
