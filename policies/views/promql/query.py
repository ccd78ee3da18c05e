"""What scaling depends on in a PromQL query: how many series it returns, and whether its value
grows with the number of pods.

The language is read by promql-parser. What is not understood counts as many series.
"""

import re
from dataclasses import dataclass
from typing import Final

from promql_parser import (
    AggModifierType,
    AggregateExpr,
    BinaryExpr,
    Call,
    Expr,
    NumberLiteral,
    ParenExpr,
    StringLiteral,
    SubqueryExpr,
    UnaryExpr,
    parse,
)

_AGGREGATIONS: Final = {
    **dict.fromkeys(("sum", "count"), True),
    **dict.fromkeys(("avg", "min", "max", "quantile", "stddev", "stdvar", "group"), False),
}
"""Whether the value of an aggregation over pods grows with their number."""

_LIMITING: Final = ("topk", "bottomk", "limitk")
_CONSTANTS: Final = ("time", "pi", "vector", "absent", "absent_over_time")
_SETS: Final = ("and", "unless")
_COMPARISONS: Final = ("==", "!=", "<=", ">=", "<", ">")
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}|\$\{?\w+\}?")
_STRING: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`')
_WINDOW: Final = re.compile(r"\[[^\[\]]*(?:\{\{|\$)[^\[\]]*\]")


@dataclass(frozen=True, slots=True)
class QueryShape:
    """`single`: one series at most. `grows`: with the pods; None where that cannot be told."""

    single: bool
    grows: bool | None


_MANY: Final = QueryShape(single=False, grows=None)
_CONSTANT: Final = QueryShape(single=True, grows=False)


def shape(query: str) -> QueryShape:
    """Return the shape of a query's result."""
    try:
        return _shape(_parsed(query))
    except ValueError:
        return _MANY


def fault(query: str) -> str | None:
    """Return why a text is not PromQL; None where it is, or where a template stands in it.

    Templates of charts and dashboards are filled in later, with whatever makes it a query.
    """
    try:
        _parsed(query)
    except ValueError as error:
        return None if _TEMPLATE.search(_STRING.sub("", query)) else str(error)
    return None


def metrics(query: str) -> frozenset[str]:
    """Return the names in a query that carry a prefix like `vllm:`."""
    return frozenset(re.findall(r"[A-Za-z_]\w*:[\w:]+", _STRING.sub('""', query)))


def _parsed(query: str) -> Expr:
    """Return the query's tree; a window that a template gives is as good as any other."""
    return parse(_WINDOW.sub("[5m]", query))


def _shape(expression: Expr) -> QueryShape:
    match expression:
        case ParenExpr() | UnaryExpr() | SubqueryExpr():
            return _shape(expression.expr)
        case NumberLiteral() | StringLiteral():
            return _CONSTANT
        case BinaryExpr():
            return _binary(str(expression.op), _shape(expression.lhs), _shape(expression.rhs))
        case AggregateExpr():
            return _aggregate(expression)
        case Call():
            return _call(expression.func.name, expression.args)
        case _:
            return _MANY


def _binary(operator: str, left: QueryShape, right: QueryShape) -> QueryShape:
    if operator in _SETS or operator in _COMPARISONS:
        return left
    single = left.single and right.single
    if operator == "or":
        return QueryShape(single, left.grows)
    return QueryShape(single, _growth(operator, left.grows, right.grows))


def _growth(operator: str, left: bool | None, right: bool | None) -> bool | None:
    if left is None or right is None:
        return None
    if operator == "/":
        return left and not right
    return left or right


def _aggregate(expression: AggregateExpr) -> QueryShape:
    name, modifier = str(expression.op), expression.modifier
    if name in _LIMITING:
        first = expression.param
        return QueryShape(single=isinstance(first, NumberLiteral) and first.val == 1, grows=None)
    if name not in _AGGREGATIONS:
        return _MANY
    # `by ()` keeps no label and `without (...)` keeps the others.
    kept = modifier is not None and (
        modifier.type == AggModifierType.Without or bool(modifier.labels)
    )
    return QueryShape(single=not kept, grows=_AGGREGATIONS[name])


def _call(name: str, arguments: list[Expr]) -> QueryShape:
    """Return the shape of a function: that of its vector argument, but for a few."""
    if name in _CONSTANTS:
        return _CONSTANT
    if name == "scalar":
        return QueryShape(single=True, grows=_shape(arguments[0]).grows)
    if name == "histogram_quantile":
        return QueryShape(single=_is_by_bucket(arguments[1]), grows=False)
    shapes = [_shape(each) for each in arguments if not isinstance(each, StringLiteral)]
    if not shapes:
        return _MANY
    grows = None if any(each.grows is None for each in shapes) else any(e.grows for e in shapes)
    return QueryShape(single=all(each.single for each in shapes), grows=grows)


def _is_by_bucket(expression: Expr) -> bool:
    """Whether an expression leaves one histogram: it is aggregated by `le` and nothing else."""
    while isinstance(expression, ParenExpr):
        expression = expression.expr
    if not isinstance(expression, AggregateExpr) or expression.modifier is None:
        return False
    modifier = expression.modifier
    return modifier.type == AggModifierType.By and modifier.labels == ["le"]
