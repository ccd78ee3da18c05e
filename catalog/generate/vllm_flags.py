"""Reads the options of `vllm serve` from vLLM's source without importing it.

vLLM builds its parser from the fields of its configuration classes: `get_kwargs(CacheConfig)` gives
argparse keywords by field, and `add_argument("--block-size", **cache_kwargs["block_size"])` uses
them. This module follows exactly those two patterns, and the loop that turns every field of the
server's own arguments into an option. What it cannot evaluate (a default that is computed, say)
stays None; names are complete (tests hold them against the real parser's list for one release).
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from catalog.generate.vllm_source import (
    SEQUENCES,
    Field,
    SourceTree,
    choices_of,
    configurations,
    literal,
    parse,
    read_source,
    words_of,
)
from models.facts.contract import Flag

_ARGUMENTS: Final = "vllm/engine/arg_utils.py"
_PARSER: Final = "vllm/utils/argparse_utils.py"
_SERVER_ARGUMENTS: Final = "vllm/entrypoints/*/cli_args.py"  # the folder moves between releases
_SERVER_CLASS: Final = "FrontendArgs"
_PAIRED_CLASS: Final = "EnableDisableAction"
_PAIRS: Final = {"--enable-": "--disable-", "--disable-": "--enable-"}
_HELP: Final = "--help"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Keywords:
    """What argparse would be told about an option, as far as the source says."""

    type: str | None = None
    arity: int | str | None = None
    choices: tuple[str, ...] | None = None
    default: JsonValue = None
    boolean: bool = False


def read_flags(root: Path) -> tuple[Flag, ...]:
    """Return the options of `vllm serve` in the source tree `root`, in the parser's order.

    Raises `FileNotFoundError` where the tree is not vLLM's.
    """
    server = next(root.glob(_SERVER_ARGUMENTS), None)
    if server is None:
        raise FileNotFoundError(f"{root}: no {_SERVER_ARGUMENTS}")
    arguments = parse(root / _ARGUMENTS)
    trees = [parse(path) for path in configurations(root)]
    source = read_source([*trees, arguments, parse(server)])
    reader = _FlagReader(source, paired=_pairs_switches(root))
    return (
        *reader.literal_calls(parse(server)),
        *reader.every_field(_SERVER_CLASS),
        *reader.literal_calls(arguments),
    )


def _pairs_switches(root: Path) -> bool:
    """Tell whether the release pairs `--enable-x` with `--disable-x`."""
    path = root / _PARSER
    return path.exists() and any(
        isinstance(node, ast.ClassDef) and node.name == _PAIRED_CLASS
        for node in ast.walk(parse(path))
    )


def read_literal(root: Path, alias: str) -> tuple[str, ...]:
    """Return the values of a `Literal` alias such as `CacheDType`; empty where there is none."""
    paths = configurations(root)
    paths.append(root / "vllm/model_executor/layers/quantization/__init__.py")
    source = read_source([parse(path) for path in paths if path.exists()])
    return choices_of(source.aliases.get(alias), source) or ()


class _FlagReader:
    """Turns `add_argument` calls into flags."""

    def __init__(self, source: SourceTree, *, paired: bool) -> None:
        self._source = source
        self._paired = paired

    def literal_calls(self, tree: ast.Module) -> Iterator[Flag]:
        """Yield a flag for every `add_argument` whose names are written out."""
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                scope = _assignments(function)
                for call in _calls(function, "add_argument"):
                    names = _names(call)
                    if names:
                        yield self._flag(names, self._keywords(call, scope))

    def every_field(self, name: str) -> Iterator[Flag]:
        """Yield a flag for every field of the server's own arguments."""
        for key, value in self._source.fields(name).items():
            yield self._flag((f"--{key.replace('_', '-')}",), self._of_field(value))

    def _flag(self, names: tuple[str, ...], keywords: _Keywords) -> Flag:
        return Flag(
            names=(*names, *self._negations(names)) if keywords.boolean else names,
            type=keywords.type,
            arity=keywords.arity,
            choices=keywords.choices,
            default=keywords.default,
        )

    def _negations(self, names: tuple[str, ...]) -> list[str]:
        return _negations(names, paired=self._paired)

    def _keywords(self, call: ast.Call, scope: Mapping[str, ast.expr]) -> _Keywords:
        found = _Keywords()
        for keyword in call.keywords:
            if keyword.arg is None:
                found = self._spread(keyword.value, scope)
        for keyword in call.keywords:
            if keyword.arg is not None:
                found = _with(found, keyword.arg, keyword.value)
        return found

    def _spread(self, value: ast.expr, scope: Mapping[str, ast.expr]) -> _Keywords:
        """Evaluate `**value`: a field of a class's keywords, perhaps with some of them replaced."""
        if isinstance(value, ast.Name) and value.id in scope:
            return self._spread(scope[value.id], scope)
        if isinstance(value, ast.Dict):
            found = _Keywords()
            for key, item in zip(value.keys, value.values, strict=True):
                if key is None:
                    found = self._spread(item, scope)
                elif isinstance(key, ast.Constant):
                    found = _with(found, str(key.value), item)
            return found
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            owner = _class_of(value.value, scope)
            fields = self._source.fields(owner) if owner else {}
            known = fields.get(str(value.slice.value))
            return self._of_field(known) if known else _Keywords()
        return _Keywords()

    def _of_field(self, known: Field) -> _Keywords:
        annotation = known.annotation
        words = words_of(annotation, self._source)
        default = known.default
        if "bool" in words and "str" not in words:
            return _Keywords(type="bool", arity=0, default=default, boolean=True)
        if "bool" in words:
            return _Keywords(type="str", arity="?", default=default)
        choices = None if "str" in words else choices_of(annotation, self._source)
        if words & SEQUENCES:
            kind = next((word for word in ("int", "float") if word in words), "str")
            return _Keywords(type=kind, arity="+", choices=choices, default=default)
        kind = next((word for word in ("int", "float", "str", "dict") if word in words), None)
        json = kind is None and choices is None
        kind = "json" if json or kind == "dict" else kind or "str"
        return _Keywords(type=kind, choices=choices, default=default)


def _negations(names: tuple[str, ...], *, paired: bool) -> list[str]:
    """Return the spellings that switch a boolean option the other way.

    argparse gives `--no-x`. vLLM releases with `EnableDisableAction` pair `--enable-x` with
    `--disable-x` as well, and keep taking `--no-enable-x`, which their help no longer shows.
    """
    long = [name for name in names if name.startswith("--")]
    found = [f"--no-{name[2:]}" for name in long if not name.startswith("--no-")]
    if paired:
        found += [
            inverse + name.removeprefix(prefix)
            for name in long
            for prefix, inverse in _PAIRS.items()
            if name.startswith(prefix)
        ]
    return [name for name in found if name not in names]


def _with(found: _Keywords, name: str, value: ast.expr) -> _Keywords:
    if name == "action":
        text = ast.unparse(value)
        if text.endswith("BooleanOptionalAction"):
            return replace(found, type="bool", arity=0, boolean=True)
        return replace(found, type="bool", arity=0) if "store_" in text else found
    if name == "type":
        return replace(found, type=value.id if isinstance(value, ast.Name) else None)
    if name == "default":
        return replace(found, default=literal(value))
    if name == "choices":
        values = literal(value)
        known = isinstance(values, list)
        return replace(found, choices=tuple(str(item) for item in values) if known else None)
    return found


def _assignments(function: ast.FunctionDef) -> dict[str, ast.expr]:
    return {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _class_of(value: ast.expr, scope: Mapping[str, ast.expr]) -> str | None:
    """Return the class whose keywords an expression holds: a `get_kwargs(Class)` or its name."""
    if isinstance(value, ast.Name) and value.id in scope:
        return _class_of(scope[value.id], scope)
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("get_kwargs"):
        first = value.args[0]
        return first.id if isinstance(first, ast.Name) else None
    return None


def _calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    calls = [
        found
        for found in ast.walk(node)
        if isinstance(found, ast.Call)
        and isinstance(found.func, ast.Attribute)
        and found.func.attr == name
    ]
    yield from sorted(calls, key=lambda call: call.lineno)


def _names(call: ast.Call) -> tuple[str, ...]:
    """Return an option's spellings, the long one first as in the real parser's list."""
    values = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    names = [str(value) for value in values if str(value).startswith("-")]
    if len(names) != len(call.args) or _HELP in names:
        return ()
    return tuple(sorted(names, key=lambda name: not name.startswith("--")))
