"""Check: names and types by the SDK, then what the rules say; then the provider's own values."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.values import UNKNOWN, Props, has_unknown, is_empty, part, without_empty
from sandbox.aws.schema.check import check as check_shape
from sandbox.aws.schema.types import InputShape, TypeSchema

DEFAULTS: Final = "__defaults"
"""Key under which the names of filled-in properties are kept, as bridged providers do."""


def problems(kind: AwsKind, schema: TypeSchema, props: Props) -> Iterator[Finding]:
    """Yield everything that is wrong with a resource's inputs."""
    wrong = list(check_shape(props, schema.inputs))
    yield from wrong
    yield from _not_played(kind, schema, props)
    yield from _values(kind, props)
    if not wrong:
        yield from kind.check(props)


def _not_played(kind: AwsKind, schema: TypeSchema, props: Props) -> Iterator[Finding]:
    for at, path in _given(props, schema.inputs):
        if not kind.rules.accepts(path):
            yield Finding(
                path=at,
                message="the AWS stand-in does not act on this property, so it cannot vouch for it",
                remedy=f"leave it out, or add it to {kind.type} in sandbox/aws/kinds",
            )


def _given(
    value: Any, shape: InputShape, at: str = "", path: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield every single value that says something, by its path with and without indices."""
    if is_empty(value) or (value == UNKNOWN and path and shape.properties):
        return
    if shape.kind == "list" and shape.element is not None and isinstance(value, list):
        if not shape.element.properties:
            yield at, path
            return
        for index, each in enumerate(cast("list[Any]", value)):
            yield from _given(each, shape.element, f"{at}[{index}]", path)
    elif shape.properties and isinstance(value, Mapping):
        for key, each in cast("Props", value).items():
            inner = shape.properties.get(key)
            if inner is not None:
                dotted = f"{path}.{key}" if path else key
                yield from _given(each, inner, f"{at}.{key}" if at else key, dotted)
    else:
        yield at, path


def _values(kind: AwsKind, props: Props) -> Iterator[Finding]:
    for path, allowed in kind.rules.enums.items():
        for at, value in _at(props, path.split(".")):
            if value is not None and value != UNKNOWN and value not in allowed:
                yield Finding(
                    path=at,
                    message="a value that AWS does not know",
                    value=shown(value),
                    allowed=", ".join(allowed),
                )
    for group in kind.rules.exclusive:
        if len(both := [name for name in group if not is_empty(props.get(name))]) > 1:
            yield Finding(
                path=both[0],
                message=f"conflicts with {', '.join(both[1:])}",
                remedy="give one of them",
            )


def _at(value: Any, parts: list[str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value that a dotted path means, lists walked through."""
    if isinstance(value, list):
        for index, each in enumerate(cast("list[Any]", value)):
            yield from _at(each, parts, f"{path}[{index}]")
    elif not parts:
        yield path, value
    elif isinstance(value, Mapping):
        at = f"{path}.{parts[0]}" if path else parts[0]
        yield from _at(cast("Props", value).get(parts[0]), parts[1:], at)


def complete(kind: AwsKind, urn: str, props: Props, old: Props, seed: bytes) -> Props:
    """Return the inputs with what the provider fills in: defaults and a name."""
    made = without_empty(props)
    filled: list[str] = []
    rules = kind.rules
    for name, value in rules.defaults.items():
        if name not in made:
            made[name] = value
            filled.append(name)
    if rules.name is not None and rules.name not in made and not _prefixed(rules.name, made):
        kept = old.get(rules.name) if rules.name in old.get(DEFAULTS, []) else None
        made[rules.name] = kept or _name(urn, seed, rules.name_limit)
        filled.append(rules.name)
    if filled:
        made[DEFAULTS] = sorted(filled)
    return made


def _prefixed(name: str, made: Props) -> bool:
    return f"{name}Prefix" in made


def _name(urn: str, seed: bytes, limit: int) -> str:
    """Return the resource's own name and seven random digits, as Pulumi names things."""
    suffix = hashlib.sha256(seed or urn.encode()).hexdigest()[:7]
    base = urn.rpartition("::")[2][: limit - 8]
    return f"{base}-{suffix}"


def with_tags(kind: AwsKind, inputs: Props, default_tags: Mapping[str, str]) -> Props:
    """Return the inputs with `tagsAll`: the provider's default tags under the resource's own."""
    if not kind.rules.tagged:
        return inputs
    own: Any = inputs.get("tags")
    if has_unknown(own):
        return {**inputs, "tagsAll": UNKNOWN}
    return {**inputs, "tagsAll": {**default_tags, **part(inputs, "tags")}}
