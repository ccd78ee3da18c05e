"""Releases as numbers: `0.33.0` of the engine, `2.18.0` of an operator.

Not `packaging.version`: these come from our own catalog, without suffixes, and importing it takes a
thirtieth of what a whole command does.
"""

from collections.abc import Iterable


def numbers(release: str) -> tuple[int, ...]:
    """Return a release's numbers, fit for comparison; raises `ValueError` for anything else."""
    return tuple(int(part) for part in release.split("."))


def newest(releases: Iterable[str]) -> str:
    """Return the newest of some releases; raises `ValueError` where there are none."""
    return max(releases, key=numbers)
