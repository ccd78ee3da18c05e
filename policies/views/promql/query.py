"""As much of PromQL as scaling depends on: how many series a query returns, and whether its value
grows with the number of pods.

No parser of the language: strings are cut out, then the outermost operators, functions and
aggregations are followed. What it does not understand counts as many series.
"""

import re
from dataclasses import dataclass
from typing import Final

_AGGREGATIONS: Final = {
    **dict.fromkeys(("sum", "count"), True),
    **dict.fromkeys(("avg", "min", "max", "quantile", "stddev", "stdvar", "group"), False),
}
"""Whether the value of an aggregation over pods grows with their number."""

_LIMITING: Final = ("topk", "bottomk", "limitk")
_SCALARS: Final = ("time", "pi", "vector")
_PER_SERIES: Final = ("absent", "absent_over_time")
_PRECEDENCE: Final = (
    r"\bor\b",
    r"\b(?:and|unless)\b",
    r"==|!=|<=|>=|<|>",
    r"\+|-",
    r"\*|/|%|\batan2\b",
    r"\^",
)
_CALL: Final = re.compile(r"^([a-z_][a-z0-9_]*)\s*(?:(by|without)\s*\(([^()]*)\)\s*)?\(", re.I)
_AFTER: Final = re.compile(r"^\s*(?:(by|without)\s*\(([^()]*)\))?\s*$", re.IGNORECASE)
_TAIL: Final = re.compile(
    r"(\[[^\]]*\]|\s+offset\s+-?\w+|\s*@\s*[\w.()]+|\s+bool\b)\s*$", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"^[+-]?(\d[\d_]*\.?\d*(e[+-]?\d+)?|\.\d+|inf|nan|0x[0-9a-f]+)$", re.I)
_MATCHING: Final = re.compile(
    r"^\s*(?:bool\s*)?(?:(?:on|ignoring)\s*\([^()]*\)\s*)?"
    r"(?:group_(?:left|right)\s*(?:\([^()]*\))?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """`single`: one series at most. `grows`: with the pods; None where that cannot be told."""

    single: bool
    grows: bool | None


_MANY: Final = Shape(single=False, grows=None)
_CONSTANT: Final = Shape(single=True, grows=False)


def shape(query: str) -> Shape:
    """Return the shape of a query's result."""
    text = re.sub(r"#[^\n]*", " ", _without_strings(query))
    text = re.sub(r"\{[^{}]*\}", "{}", text)
    return _shape(" ".join(text.split()))


def metrics(query: str) -> frozenset[str]:
    """Return the names in a query that carry a prefix like `vllm:`."""
    return frozenset(re.findall(r"[A-Za-z_]\w*:[\w:]+", _without_strings(query)))


def _without_strings(query: str) -> str:
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`', '""', query)


def _shape(text: str) -> Shape:
    text = text.strip().lstrip("+-").strip()
    while _wrapped(text):
        text = text[1:-1].strip()
    if _NUMBER.match(text):
        return _CONSTANT
    for level, operator in enumerate(_PRECEDENCE):
        parts = _split(text, operator)
        if parts is not None:
            return _binary(level, *parts)
    cut = _TAIL.sub("", text)
    return _shape(cut) if cut != text else _call(text)


def _wrapped(text: str) -> bool:
    return text.startswith("(") and _closing(text, 0) == len(text) - 1


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def _split(text: str, operator: str) -> tuple[str, str, str] | None:
    """Return left side, operator and right side of the last such operator outside brackets."""
    depths: list[int] = []
    depth = 0
    for character in text:
        depth += {"(": 1, "[": 1, "{": 1}.get(character, 0)
        depths.append(depth)
        depth -= {")": 1, "]": 1, "}": 1}.get(character, 0)
    for match in reversed(list(re.finditer(operator, text, re.IGNORECASE))):
        left = text[: match.start()].strip()
        if depths[match.start()] == 0 and left and left[-1] not in "+-*/%^<>=!@":
            before = left.rsplit(" ", 1)[-1].lower()
            if before not in ("offset", "or", "and", "unless", "bool"):
                return left, match[0].lower(), text[match.end() :]
    return None


def _binary(level: int, left_text: str, operator: str, right_text: str) -> Shape:
    left, right = _shape(left_text), _shape(_MATCHING.sub("", right_text))
    if level in (1, 2):
        return left
    single = left.single and right.single
    if level == 0:
        return Shape(single, left.grows)
    return Shape(single, _growth(operator, left.grows, right.grows))


def _growth(operator: str, left: bool | None, right: bool | None) -> bool | None:
    if left is None or right is None:
        return None
    if operator == "/":
        return left and not right
    return left or right


def _call(text: str) -> Shape:
    match = _CALL.match(text)
    if match is None:
        return _MANY
    name = match[1].lower()
    end = _closing(text, match.end() - 1)
    inside, after = text[match.end() : end], _AFTER.match(text[end + 1 :])
    if after is None:
        return _MANY
    keyword, labels = (match[2], match[3]) if match[2] else (after[1], after[2])
    if name in _AGGREGATIONS:
        # `by ()` keeps no label and `without (...)` keeps the others.
        kept = keyword is not None and (keyword.lower() == "without" or bool(labels.strip()))
        return Shape(single=not kept, grows=_AGGREGATIONS[name])
    if name in _LIMITING:
        return Shape(single=inside.split(",")[0].strip() == "1", grows=None)
    if name in _SCALARS:
        return _CONSTANT
    if name in _PER_SERIES:
        return _CONSTANT
    if name == "scalar":
        return Shape(single=True, grows=_shape(inside).grows)
    return _function(name, inside)


def _function(name: str, inside: str) -> Shape:
    """Return the shape of a function: that of its vector argument."""
    arguments = _arguments(inside)
    if name == "histogram_quantile" and len(arguments) == 2:
        by_bucket = re.search(r"\bby\s*\(\s*le\s*\)", arguments[1], re.IGNORECASE)
        return Shape(single=by_bucket is not None, grows=False)
    shapes = [_shape(argument) for argument in arguments if argument != '""']
    if not shapes:
        return _MANY
    grows = None if any(each.grows is None for each in shapes) else any(e.grows for e in shapes)
    return Shape(single=all(each.single for each in shapes), grows=grows)


def _arguments(inside: str) -> list[str]:
    arguments, depth, start = list[str](), 0, 0
    for index, character in enumerate(inside):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            arguments.append(inside[start:index].strip())
            start = index + 1
    last = inside[start:].strip()
    return [*arguments, last] if last else arguments
