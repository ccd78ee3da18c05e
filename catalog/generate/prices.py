"""Writes `prices.yaml` from tables of prices with sources.

    python -m catalog.generate.prices TABLE.tsv [TABLE.tsv ...]

Columns: item, region, usd, unit, date_of_source, source, confidence. A figure that is no number
(`unresolved`, `not_offered`) is kept as it is: nothing is made up and nothing is dropped. A row of
a later table replaces the row of an earlier one for the same item and region. The file was written
from a table outside the tree (docs/sources.md#prices) and prices-extra.tsv beside this script;
its `sources` are the tables' own.
"""

import csv
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

PRICES: Final = Path(__file__).parent.parent / "prices.yaml"
_UNITS: Final = {"hour": "hour", "cluster-hour": "hour", "GB processed": "gb"}
_STORED: Final = "GB-month"
_WITHOUT_FIGURE: Final = ("unresolved", "not_offered")
_NO_DATE: Final = "undated"
_REFERENCE: Final = re.compile(r"^(?P<repo>[\w.-]+/[\w.-]+):\S+@[0-9a-f]{40}")
_HEAD: Final = """\
# USD on demand by item and region, written by catalog/generate/prices.py from tables in which every
# figure has a source and a date. `not_offered`: the source has the region but not the type there.
# `unresolved`: no figure was found. Neither becomes a price.
"""


def main(arguments: Sequence[str]) -> int:
    """Read the tables named in `arguments` and write the file. Returns the exit code."""
    PRICES.write_text(text_of(rows_of(map(Path, arguments))), encoding="utf-8")
    return 0


def rows_of(tables: Iterable[Path]) -> list[Mapping[str, str]]:
    """Return the rows of tables; of two for one item and region, the later."""
    rows: dict[tuple[str, str], Mapping[str, str]] = {}
    for path in tables:
        with path.open(encoding="utf-8", newline="") as table:
            for row in csv.DictReader(table, delimiter="\t"):
                rows[(row["item"], row["region"])] = row
    return list(rows.values())


def text_of(rows: Iterable[Mapping[str, str]]) -> str:
    """Return the file for a table's rows.

    Raises `KeyError` for a unit that is not known, `ValueError` for a figure that is no number.
    """
    sources: dict[str, str] = {}
    lines: list[str] = []
    for row in rows:
        unit = row["unit"]
        fields = {
            "item": row["item"],
            "region": row["region"],
            "usd": _figure(row["usd"]),
            "unit": "gb-month" if unit.startswith(_STORED) else _UNITS[unit],
            "date": f'"{row["date_of_source"].split(" (")[0] or _NO_DATE}"',
            "source": _source(row["source"], sources),
        }
        lines.append(f"  - {{{', '.join(f'{key}: {value}' for key, value in fields.items())}}}")
    named = [f"  {key}: >-\n    {text}" for key, text in sources.items()]
    return "\n".join([_HEAD + "sources:", *named, "prices:", *lines]) + "\n"


def _figure(text: str) -> str:
    """Return a price as the table writes it; raises `ValueError` where it is no number."""
    if text not in _WITHOUT_FIGURE:
        float(text)
    return text


def _source(text: str, sources: dict[str, str]) -> str:
    """Return a short name of a row's first reference, and keep the reference by that name."""
    match = _REFERENCE.match(text)
    reference = match.group(0) if match else " ".join(text.split())
    known = next((name for name, kept in sources.items() if kept == reference), None)
    if known is not None:
        return known
    base = match.group("repo").split("/")[1] if match else "pages"
    same = sum(name == base or name.startswith(f"{base}-") for name in sources)
    name = f"{base}-{same + 1}" if same or not match else base
    sources[name] = reference
    return name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
