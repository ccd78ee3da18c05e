"""Upstream's default values of charts, from the data folder beside the project (docs/sources.md).

They are never copied into the tree; where the directory is absent, nothing can be said of keys.
"""

import csv
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VALUES_DIR: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "chart-values"
_INDEX: Final = "INDEX.tsv"


def default_values(values_dir: Path = VALUES_DIR) -> Mapping[str, str]:
    """Return default values as text, by upstream's chart name; nothing where there is no index."""
    index = values_dir / _INDEX
    if not index.is_file():
        return {}
    with index.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = {row["chart"]: values_dir / row["file"] for row in rows}
    return {chart: path.read_text() for chart, path in found.items() if path.is_file()}


@functools.cache
def shared_values() -> Mapping[str, str]:
    """Return `default_values` of the shared directory, read once."""
    return default_values()
