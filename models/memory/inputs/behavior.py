"""How one engine release turns memory into KV blocks, by version number.

The contract of a release in the catalog states the same for the releases that this project
deploys; the table is for reading other people's runs (`triplane budget --cases`, `check`).
Sources: docs/sources.md#memory-by-release and vLLM's own source (0.9.2 to 0.33.0; where it changed
between two releases that were read, the earliest of them that no run contradicts). Graphs are
deducted since 0.20.0 (`envs.py`), by the second model runner too since 0.31.0 at the latest. Its
log adds the estimate to the activation peak (`gpu_worker.py`), which explains the run of 0.31 that
seemed to show the opposite.
"""

import re
from typing import Annotated, Final, Literal

from pydantic import Field, PositiveInt

from models.core.base import Model
from models.facts.contract import EngineContract, SizeDefaults

Release = tuple[int, int]
_MAIN_BRANCH: Release = (0, 31)
UNKNOWN_RELEASE: Release = (0, 11)
"""Assumed where a run does not say its version: the middle of what the runs in the data used."""


class Behavior(Model):
    """What a release does with memory.

    `first_engine`: the engine before the rewrite (V0; the default to 0.7, optional to 0.10).
    `graphs_deducted`: CUDA graphs are taken out of the KV budget; else they live outside it.
    `reports`: `capacity` is int(concurrency x max_model_len), `blocks` is
    num_blocks // groups x block size. `in_flight_batches`: batches that a sliding window must hold
    at once. `hybrid_caching`: hybrid models cache prefixes by default.
    `null_block`: one block is held back in the start-up check. `chunked`: prompts are cut
    to max_num_batched_tokens; before that it grew with max_model_len. `hybrid_groups`: windows and
    states have their own KV groups. `padded_mxfp4`: MXFP4 experts are padded on Hopper;
    `marlin_mxfp4`: they go to Marlin there, unless somebody installed `triton_kernels` beside.
    `prefill_checkpoints`: a state aligned with prefix caching takes one block more.
    `counts_communication`: the profile sees NCCL's buffers. `sampler` `sorts` whole rows of logits
    for top-k and top-p, or does it in a fused kernel. `keeps_load_cache`: the profile counts what
    the allocator still holds from loading.
    """

    release: tuple[int, int]
    assumed: bool = False
    first_engine: bool
    graphs_deducted: bool
    reports: Literal["capacity", "blocks"]
    allocator: Literal["old", "new"]
    mamba_prefix_mode: Literal["none", "align"]
    hybrid_caching: bool
    in_flight_batches: PositiveInt
    null_block: bool
    chunked: bool
    hybrid_groups: bool
    padded_mxfp4: bool
    marlin_mxfp4: bool
    prefill_checkpoints: bool
    counts_communication: bool
    sampler: Literal["sorts", "fused"]
    keeps_load_cache: bool
    utilization: Annotated[float, Field(gt=0, le=1)]
    sizes: tuple[SizeDefaults, ...]


_SIZES_NOW: Final = (
    SizeDefaults(min_memory_gib=160, max_num_batched_tokens=16384, max_num_seqs=1024),
    SizeDefaults(
        min_memory_gib=70,
        except_products=("A100", "GB10"),
        max_num_batched_tokens=8192,
        max_num_seqs=1024,
    ),
    SizeDefaults(min_memory_gib=0, max_num_batched_tokens=2048, max_num_seqs=256),
)
_SIZES_V1: Final = (
    SizeDefaults(
        min_memory_gib=70, except_products=("A100",), max_num_batched_tokens=8192, max_num_seqs=1024
    ),
    SizeDefaults(min_memory_gib=0, max_num_batched_tokens=2048, max_num_seqs=256),
)
_SIZES_V0: Final = (SizeDefaults(min_memory_gib=0, max_num_batched_tokens=2048, max_num_seqs=256),)


_SIZES_LATE: Final = (_SIZES_NOW[0], *_SIZES_V1)


def _sizes(release: Release) -> tuple[SizeDefaults, ...]:
    """Return the default sizes of the second engine (`engine/arg_utils.py`)."""
    if release >= (0, 32):
        return _SIZES_NOW
    return _SIZES_LATE if release >= (0, 25) else _SIZES_V1


def _patch(text: str | None) -> int:
    found = re.search(r"\d+\.\d+\.(\d+)", text or "")
    return int(found[1]) if found else 0


_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_BY_MONTH: Final[tuple[tuple[tuple[int, int], Release], ...]] = (
    ((2026, 11), (0, 33)),
    ((2026, 10), (0, 31)),
    ((2026, 9), (0, 30)),
    ((2026, 8), (0, 28)),
    ((2026, 7), (0, 26)),
    ((2026, 6), (0, 24)),
    ((2026, 5), (0, 21)),
    ((2026, 4), (0, 19)),
    ((2026, 3), (0, 18)),
    ((2026, 2), (0, 16)),
    ((2026, 1), (0, 14)),
)
"""The release that was newest in a month: for forks and builds of the main branch that say when
they were made. Approximate by a release."""


def release_of(text: str | None) -> Release | None:
    """Return (major, minor) of a version as people write it (`~0.8 (Apr 2025)`), or None.

    A fork or a build of the main branch with a date of 2026 goes by its date: its number is that of
    a base long left behind.
    """
    plain = (text or "").lower()
    if re.search(r"fork|main|dev", plain):
        dated = _by_date(plain)
        if dated is not None:
            return dated
    found = re.search(r"(\d+)\.(\d+)", plain)
    if found is None:
        return None
    release = int(found[1]), int(found[2])
    return None if release == (0, 1) and "dev" in plain else release


def _by_date(plain: str) -> Release | None:
    found = re.search(r"([a-z]{3})[a-z]* (20\d\d)", plain)
    if found is None or found[1] not in _MONTHS:
        return None
    date = int(found[2]), _MONTHS.index(found[1]) + 1
    return next((release for since, release in _BY_MONTH if date >= since), None)


def behavior_of(version: str | None, at_least: Release | None = None) -> Behavior:
    """Return the behavior of a release; an unknown one is assumed, and says so.

    `at_least` is the first release that a run can have used (`introduced.py`). What changed at a
    release that is not known is taken from the side that leaves less.
    """
    stated: Release | None = release_of(version)
    if stated is None and version is not None and ("dev" in version or "main" in version):
        stated = _MAIN_BRANCH
    release: Release = max(UNKNOWN_RELEASE, at_least or (0, 0)) if stated is None else stated
    full: tuple[int, int, int] = (*release, _patch(version))
    words = version or ""
    first_engine = release < (0, 8) or (release < (0, 11) and "V0" in words)
    return Behavior(
        release=release,
        assumed=stated is None,
        first_engine=first_engine,
        graphs_deducted=release >= (0, 20),
        reports="capacity" if release >= (0, 21) else "blocks",
        allocator="new" if release >= (0, 22) else "old",
        mamba_prefix_mode="align" if release >= (0, 16) else "none",
        hybrid_caching=release >= (0, 25),
        in_flight_batches=2 if release >= (0, 24) else 1,
        null_block=release >= (0, 24),
        chunked=not first_engine,
        hybrid_groups=release >= (0, 10),
        padded_mxfp4=release < (0, 22),
        marlin_mxfp4=release < (0, 12),
        prefill_checkpoints=release >= (0, 32),
        counts_communication=full >= (0, 2, 5),
        sampler="fused" if stated and release >= (0, 16) else "sorts",
        keeps_load_cache=(0, 2, 5) <= full < (0, 5, 0),
        utilization=0.92 if stated and release >= (0, 20) else 0.9,
        sizes=_SIZES_V0 if first_engine else _sizes(release),
    )


def behavior_of_contract(contract: EngineContract, classes: tuple[str, ...] = ()) -> Behavior:
    """Return the behavior that a release's contract states for a model's classes.

    Some model classes run where the release estimates no graph memory.
    """
    memory = contract.memory
    estimated = not any(name in memory.no_graph_estimate_for for name in classes)
    return behavior_of(contract.version).model_copy(
        update={
            "graphs_deducted": memory.cuda_graphs_deducted and estimated,
            "reports": memory.token_report,
            "allocator": memory.weights_allocator,
            "mamba_prefix_mode": memory.mamba_prefix_mode,
            "utilization": contract.defaults.gpu_memory_utilization,
            "sizes": contract.defaults.sizes,
        }
    )


def size_defaults(behavior: Behavior, memory_gib: float, product: str) -> SizeDefaults:
    """Return the release's default batch sizes on a card of `memory_gib` GiB."""
    for sizes in behavior.sizes:
        listed = any(name.lower() in product.lower() for name in sizes.except_products)
        if memory_gib >= sizes.min_memory_gib and not listed:
            return sizes
    return behavior.sizes[-1]
