"""The memory model: from an architecture, a card and engine arguments to what vLLM will report.

`budget(request)` is the entry. Nothing here reads files or clocks; constants that are learnt from
runs are in `constants.py`, everything else follows the engine's source (docs/memory-model.md).
"""

from models.memory.behaviour import (
    Behaviour,
    behaviour_of,
    behaviour_of_contract,
    release_of,
    size_defaults,
)
from models.memory.budget import budget
from models.memory.dtypes import UNSIZED_CACHE_DTYPES
from models.memory.introduced import first_release
from models.memory.kvcache import CacheGroup
from models.memory.request import Arguments, BudgetRequest, Card, arguments_of
from models.memory.result import Budget, Remedy, Source, Verdict

__all__ = [
    "UNSIZED_CACHE_DTYPES",
    "Arguments",
    "Behaviour",
    "Budget",
    "BudgetRequest",
    "CacheGroup",
    "Card",
    "Remedy",
    "Source",
    "Verdict",
    "arguments_of",
    "behaviour_of",
    "behaviour_of_contract",
    "budget",
    "first_release",
    "release_of",
    "size_defaults",
]
