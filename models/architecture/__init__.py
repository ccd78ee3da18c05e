"""From a Hugging Face `config.json` to what memory depends on: weights, caches, quantization.

`architecture` is pure. It refuses, with every problem at once, a configuration whose model type,
layer kinds or quantization it does not know, and one that lacks a field it needs.
"""

from models.architecture.build import architecture, classes_of, with_quantization
from models.architecture.config.patterns import matches
from models.architecture.config.quantization import named_scheme, scheme_of
from models.architecture.types import (
    TOWERS,
    Architecture,
    CacheKind,
    CacheLayers,
    Family,
    Part,
    Quantization,
    Rows,
    Scheme,
    SchemeKind,
    Shard,
    State,
    Weight,
)

__all__ = [
    "TOWERS",
    "Architecture",
    "CacheKind",
    "CacheLayers",
    "Family",
    "Part",
    "Quantization",
    "Rows",
    "Scheme",
    "SchemeKind",
    "Shard",
    "State",
    "Weight",
    "architecture",
    "classes_of",
    "matches",
    "named_scheme",
    "scheme_of",
    "with_quantization",
]
