"""What a checkpoint's name says of its quantization, where its configuration was found by name.

A name such as `DeepSeek-R1-AWQ` finds the configuration of the model that it was made from. What
was made of it is stored otherwise: by the method that the case states, else by the one in the
name. A configuration that somebody gives (`--model-config`) speaks for itself. Pure.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from models.architecture import Architecture, Quantization, SchemeKind
from models.architecture.config.quantization import named_scheme
from models.architecture.names.name_words import words_of
from models.engine.arguments import EngineArguments

_WORDS: Final[Mapping[str, str]] = {
    "nvfp4": "nvfp4",
    "fp4": "nvfp4",
    "mxfp4": "mxfp4",
    "mxfp8": "mxfp8",
    "fp8": "fp8",
    "awq": "awq",
    "gptq": "gptq",
    "int4": "int4",
    "w4a16": "int4",
    "int8": "int8",
    "w8a8": "int8",
    "w8a16": "int8",
    "bnb": "bitsandbytes",
    "bitsandbytes": "bitsandbytes",
    "exl2": "exl2",
    "exl3": "exl3",
}
"""Words of checkpoints' names and the methods that they stand for; EXL's bits are not in a name."""

_EIGHT_BIT: Final = frozenset({"int8", "8bit", "w8a8", "w8a16"})
_EITHER: Final = frozenset({"gptq", "awq", "bitsandbytes"})

_FAMILIES: Final[Mapping[SchemeKind, str]] = {
    SchemeKind.FP8_TENSOR: "fp8",
    SchemeKind.FP8_CHANNEL: "fp8",
    SchemeKind.FP8_BLOCK: "fp8",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """An architecture with the arguments that tell how it is stored, and what was assumed."""

    shape: Architecture
    arguments: EngineArguments
    note: str | None = None


def quantization_in_name(name: str | None) -> str | None:
    """Return the method that a checkpoint's name ends in or contains as a word, or None."""
    words = words_of(name or "")
    for word in words:
        if word in _WORDS:
            return _with_bits(_WORDS[word], words)
    blocks = re.search(r"\bq\d_[0-9a-z](?:_[a-z])?\b", re.sub("[-. ]", " ", (name or "").lower()))
    if blocks is not None:
        return f"gguf {blocks[0]}"
    return "gguf" if "gguf" in words else None


def _with_bits(method: str, words: Collection[str]) -> str:
    """Return the method in 8 bit where the name says so: GPTQ and bitsandbytes have 4 as well."""
    wide = method in _EITHER and not _EIGHT_BIT.isdisjoint(words)
    return "int8" if wide else method


def stored_as_named(name: str | None, shape: Architecture, arguments: EngineArguments) -> Stored:
    """Return the architecture of a checkpoint whose configuration was found by its name.

    Where the configuration's own quantization is of another kind than the one named, the named one
    replaces it; of the same kind it stays, since it knows more.
    """
    stated = arguments.quantization
    words = words_of(name or "")
    method = _with_bits(stated, words) if stated else quantization_in_name(name)
    if method is None:
        return Stored(shape=shape, arguments=arguments)
    own, scheme = shape.quantization, named_scheme(method)
    if own is not None and (scheme is None or _family(scheme.kind) in _families(own)):
        return Stored(shape=shape, arguments=arguments)
    named = arguments.model_copy(update={"quantization": method})
    note = None if stated else f"quantization: {method}, read from the model's name"
    if own is not None:
        shape = shape.model_copy(update={"quantization": None})
        note = f"quantization: {method} as named, not the {own.method} of the model it is made from"
    return Stored(shape=shape, arguments=named, note=note)


def _family(kind: SchemeKind) -> str:
    return _FAMILIES.get(kind, kind.value)


def _families(quantization: Quantization) -> frozenset[str]:
    schemes = [quantization.scheme, *(rule.scheme for rule in quantization.rules)]
    if quantization.expert_scheme is not None:
        schemes.append(quantization.expert_scheme)
    return frozenset(_family(scheme.kind) for scheme in schemes)
