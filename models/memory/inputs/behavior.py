"""How one engine release turns memory into KV blocks, by what a run says of its version.

What a release does is data (`catalog/engines/borders.yaml`); here is how a version is read as
people write it, and what is assumed where it is not known.
"""

import re
from typing import Final

from models.core.releases import numbers
from models.facts.borders import Borders
from models.facts.contract import EngineContract, MemoryBehavior, SizeDefaults

Release = tuple[int, int]


class Behavior(MemoryBehavior):
    """What a run's release does with memory.

    `assumed`: the run does not say its release. `first_engine`: it runs the engine before the
    rewrite (V0).
    """

    release: Release
    assumed: bool = False
    first_engine: bool

    @property
    def chunked(self) -> bool:
        """Whether prompts are cut to max_num_batched_tokens, which grew with max_model_len."""
        return not self.first_engine


_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


def release_of(text: str | None, borders: Borders) -> Release | None:
    """Return (major, minor) of a version as people write it (`~0.8 (Apr 2025)`), or None.

    A fork or a build of the main branch with a date of 2026 goes by its date: its number is that of
    a base long left behind.
    """
    plain = (text or "").lower()
    if re.search(r"fork|main|dev", plain):
        dated = _by_date(plain, borders)
        if dated is not None:
            return dated
    found = re.search(r"(\d+)\.(\d+)", plain)
    if found is None:
        return None
    release = int(found[1]), int(found[2])
    return None if release == (0, 1) and "dev" in plain else release


def _by_date(plain: str, borders: Borders) -> Release | None:
    found = re.search(r"([a-z]{3})[a-z]* (20\d\d)", plain)
    if found is None or found[1] not in _MONTHS:
        return None
    date = int(found[2]), _MONTHS.index(found[1]) + 1
    past = [month for month in borders.months if month.date <= date]
    return _minor(past[-1].newest) if past else None


def _minor(release: str) -> Release:
    major, minor = release.split(".")
    return int(major), int(minor)


def _patch(text: str | None) -> int:
    found = re.search(r"\d+\.\d+\.(\d+)", text or "")
    return int(found[1]) if found else 0


def behavior_of(version: str | None, borders: Borders, at_least: Release | None = None) -> Behavior:
    """Return the behavior of a release; an unknown one is assumed, and says so.

    `at_least` is the first release that a run can have used (`EngineTraits.first_release`).
    What changed at a release that is not known is taken from the side that leaves less.
    """
    stated = release_of(version, borders)
    if stated is None and version is not None and ("dev" in version or "main" in version):
        stated = _minor(borders.main_branch)
    release = max(_minor(borders.unstated), at_least or (0, 0)) if stated is None else stated
    memory = borders.memory_at((*release, _patch(version)), stated=stated is not None)
    asked = memory.first_engine_runs == "optional" and "V0" in (version or "")
    first = asked or memory.first_engine_runs == "default"
    return Behavior.model_validate(
        {
            **dict(memory),
            **({"sizes": borders.first_engine.sizes} if first else {}),
            "release": release,
            "assumed": stated is None,
            "first_engine": first,
        }
    )


def behavior_of_contract(contract: EngineContract, classes: tuple[str, ...] = ()) -> Behavior:
    """Return the behavior of a contract's release for a model's classes.

    Some model classes run where the release estimates no graph memory.
    """
    memory = contract.memory
    estimated = not any(name in memory.no_graph_estimate_for for name in classes)
    major, minor, _ = numbers(contract.version)
    return Behavior.model_validate(
        {
            **dict(memory),
            "graphs_deducted": memory.graphs_deducted and estimated,
            "release": (major, minor),
            "first_engine": memory.first_engine_runs == "default",
        }
    )


def size_defaults(behavior: Behavior, memory_gib: float, product: str) -> SizeDefaults:
    """Return the release's default batch sizes on a card of `memory_gib` GiB."""
    for sizes in behavior.sizes:
        listed = any(name.lower() in product.lower() for name in sizes.except_products)
        if memory_gib >= sizes.min_memory_gib and not listed:
            return sizes
    return behavior.sizes[-1]
