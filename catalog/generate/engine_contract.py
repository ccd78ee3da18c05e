"""Regenerates the lists of an engine contract from vLLM's source, and says what drifted.

    python -m catalog.generate.engine_contract write 0.33.0 --source DIR [--parser-list FILE]
    python -m catalog.generate.engine_contract drift 0.33.0 --source DIR

`--source` is an unpacked source distribution, or the folder that holds an installed `vllm` package.
`--parser-list` is a JSON list of the real parser's options (flags, nargs, choices, default, type):
where there is one, its types and defaults win, and the source adds the spellings that the parser
takes without showing them and the values that it checks only later.

The hand-written part, `engines/<version>.yaml`, is never touched. Exit code 1 means drift.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue, TypeAdapter

from catalog.generate.vllm_flags import read_flags, read_literal
from catalog.generate.vllm_metrics import read_metrics
from models.core.base import Model
from models.facts.contract import Flag, Metric

ENGINES: Final = Path(__file__).parent.parent / "engines"
_SUPPRESSED: Final = "==SUPPRESS=="
_HELP: Final = "--help"
# Options whose values the parser leaves to a later check, and the alias that lists them.
_LATER: Final = {"--kv-cache-dtype": "CacheDType", "--quantization": "QuantizationMethods"}


class ParserOption(Model):
    """One entry of a real parser's list."""

    flags: tuple[str, ...]
    nargs: int | str | None
    choices: tuple[JsonValue, ...] | None
    default: JsonValue
    type: str | None


_OPTIONS: Final[TypeAdapter[tuple[ParserOption, ...]]] = TypeAdapter(tuple[ParserOption, ...])


def flags_of(source: Path, parser_list: Path | None = None) -> tuple[Flag, ...]:
    """Return the options of a release, from its source and perhaps the real parser's list."""
    found = tuple(_with_later_choices(flag, source) for flag in read_flags(source))
    if parser_list is None:
        return found
    by_name = {flag.names[0]: flag for flag in found}
    options = _OPTIONS.validate_json(parser_list.read_bytes())
    return tuple(
        _merged(option, by_name.get(_names(option)[0]))
        for option in options
        if _HELP not in option.flags
    )


def drift(version: str, source: Path) -> Iterator[str]:
    """Yield how the catalog's lists of a release differ from a source tree, a line each."""
    flags = _read(version, "flags")
    metrics = _read(version, "metrics")
    old = {name for item in flags for name in Flag.model_validate_json(json.dumps(item)).names}
    new = {name for flag in flags_of(source) for name in flag.names}
    yield from _difference("option", old, new)
    kept = [Metric.model_validate_json(json.dumps(item)) for item in metrics]
    yield from _difference("metric", _series(kept), _series(read_metrics(source)))


def write(version: str, source: Path, parser_list: Path | None) -> None:
    """Write `<version>.flags.json` and `<version>.metrics.json`."""
    origin = f"vLLM {version}: source tree"
    with_parser = f"{origin} and the real parser's list" if parser_list else origin
    flags = [flag.model_dump(mode="json") for flag in flags_of(source, parser_list)]
    metrics = [metric.model_dump(mode="json") for metric in read_metrics(source)]
    _write(ENGINES / f"{version}.flags.json", "flags", with_parser, flags)
    _write(ENGINES / f"{version}.metrics.json", "metrics", origin, metrics)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns 1 where `drift` found a difference."""
    parser = argparse.ArgumentParser(description="Regenerate or compare an engine's lists.")
    parser.add_argument("action", choices=["write", "drift"])
    parser.add_argument("version")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--parser-list", type=Path)
    given = parser.parse_args(arguments)
    if given.action == "write":
        write(given.version, given.source, given.parser_list)
        return 0
    lines = list(drift(given.version, given.source))
    print("\n".join(lines) or f"{given.version}: no drift")
    return 1 if lines else 0


def _with_later_choices(flag: Flag, source: Path) -> Flag:
    alias = _LATER.get(flag.names[0])
    values = read_literal(source, alias) if alias else ()
    return flag.model_copy(update={"choices": values}) if values else flag


def _names(option: ParserOption) -> tuple[str, ...]:
    return tuple(sorted(option.flags, key=lambda name: not name.startswith("--")))


def _merged(option: ParserOption, read: Flag | None) -> Flag:
    names = _names(option)
    if read is not None:
        names = (*names, *(name for name in read.names if name not in names))
    choices = option.choices
    values = None if choices is None else tuple(str(item) for item in choices if item is not None)
    return Flag(
        names=names,
        type=option.type,
        arity=option.nargs,
        choices=values or (read.choices if read else None),
        default=None if option.default == _SUPPRESSED else option.default,
    )


def _read(version: str, what: str) -> list[JsonValue]:
    data: dict[str, list[JsonValue]] = json.loads(
        (ENGINES / f"{version}.{what}.json").read_text(encoding="utf-8")
    )
    return data[what]


def _write(path: Path, what: str, origin: str, items: Sequence[dict[str, JsonValue]]) -> None:
    """Write one item a line, so that a difference between two releases reads as lines."""
    lines = ",\n".join(json.dumps(_short(item), ensure_ascii=False) for item in items)
    text = f'{{"source": {json.dumps(origin)},\n"{what}": [\n{lines}\n]}}\n'
    path.write_text(text, encoding="utf-8")


def _short(item: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: value for key, value in item.items() if value is not None}


def _series(metrics: Iterable[Metric]) -> set[str]:
    return {name for metric in metrics for name in metric.exposed}


def _difference(what: str, old: set[str], new: set[str]) -> Iterator[str]:
    yield from (f"{what} gone: {name}" for name in sorted(old - new))
    yield from (f"{what} new: {name}" for name in sorted(new - old))


if __name__ == "__main__":
    sys.exit(main())
