"""The memory model: from an architecture, a card and engine arguments to what vLLM will report.

`budget(request)` is the entry. Nothing here reads files or clocks; constants that are learnt from
runs are in `terms/constants.py`, everything else follows the engine's source
(docs/memory-model.md).
"""

from models.memory.budget import budget
from models.memory.inputs.behavior import (
    Behavior,
    behavior_of,
    behavior_of_contract,
    release_of,
    size_defaults,
)
from models.memory.inputs.request import BudgetRequest, Card
from models.memory.terms.dtypes import UNSIZED_CACHE_DTYPES
from models.memory.terms.kvcache import CacheGroup
from models.memory.verdict.result import Budget, Remedy, TermSource, Verdict

__all__ = [
    "UNSIZED_CACHE_DTYPES",
    "Behavior",
    "Budget",
    "BudgetRequest",
    "CacheGroup",
    "Card",
    "Remedy",
    "TermSource",
    "Verdict",
    "behavior_of",
    "behavior_of_contract",
    "budget",
    "release_of",
    "size_defaults",
]
