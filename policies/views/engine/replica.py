"""One replica of an engine as the memory model asks for it, read from what a container is given."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from models.engine.command import UNKNOWN_TEXT, Line
from policies.core import knowledge
from policies.core.context import Context
from policies.core.memo import Memo
from policies.core.nodes import UnknownFieldError
from policies.views.engine.cards import Placement, placement
from policies.views.engine.container import Invocation

if TYPE_CHECKING:
    from models.memory import Arguments

MODEL_ANNOTATION: Final = "triplane.dev/model"
_TEXTS: Final = {
    "--kv-cache-dtype": "kv_cache_dtype",
    "--dtype": "dtype",
    "--quantization": "quantization",
}
_COUNTS: Final = {
    "--max-model-len": "max_model_len",
    "--max-num-seqs": "max_num_seqs",
    "--max-num-batched-tokens": "max_num_batched_tokens",
    "--block-size": "block_size",
    "--kv-cache-memory-bytes": "kv_cache_memory_bytes",
    "--tensor-parallel-size": "tensor",
    "--pipeline-parallel-size": "pipeline",
    "--decode-context-parallel-size": "context",
}
_SWITCHES: Final = {
    "--enable-prefix-caching": "enable_prefix_caching",
    "--enforce-eager": "enforce_eager",
    "--enable-expert-parallel": "expert_parallel",
    "--language-model-only": "language_model_only",
}
_BEYOND_THE_MODEL: Final = frozenset(
    {
        *("--config", "--hf-overrides", "--cpu-offload-gb", "--offload-backend", "--task"),
        *("--num-gpu-blocks-override", "--speculative-config", "--enable-lora", "--rope-scaling"),
        *("--convert", "--load-format", "--device", "--model-impl", "--offload-params"),
        *("--enable-weight-offload", "--config-format", "--revision"),
    }
)
"""Options after which the memory model does not answer for this command line."""

_HARMLESS_VALUES: Final = {
    "--load-format": ("auto", "safetensors", "runai_streamer", "fastsafetensors", "tensorizer"),
    "--revision": (),
}
_MULTIPLES: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """What is known of a replica; `missing` says why nothing can be said of its memory."""

    found: Invocation
    line: Line
    model: str | None
    sure: bool
    place: Placement
    missing: tuple[str, ...]

    def count(self, option: str, default: int = 1) -> int | None:
        """Return a whole number that an option is given, None where it is not known."""
        given = self.line.last(option)
        if given is None or given.value is None:
            return default
        return whole(given.value)


_REPLICAS: Final = Memo[Invocation, Replica]()


def replica(found: Invocation, context: Context) -> Replica:
    """Read a replica from its command line, its pod's annotations and its node labels."""
    return _REPLICAS.get(found, context, lambda: _replica(found, context))


def _replica(found: Invocation, context: Context) -> Replica:
    line = found.line()
    model, sure = _model(found, line)
    place = placement(found.container, context)
    missing = list(_missing(line))
    if model is None:
        missing.insert(0, _unknown_model(line))
    if not place.cards:
        missing.insert(1 if model is None else 0, "nothing says which GPU its nodes have")
    if found.open:
        missing.append("some of its arguments are unknown")
    return Replica(
        found=found, line=line, model=model, sure=sure, place=place, missing=tuple(missing)
    )


def _unknown_model(line: Line) -> str:
    said = next(_stated(line), None)
    if said is None or UNKNOWN_TEXT in said:
        return "the model is not known"
    return f"no configuration is known for the model {said!r}"


def _stated(line: Line) -> Iterator[str]:
    given = line.last("--model")
    if given is not None and given.value:
        yield given.value
    yield from (word for _, word in line.positionals[:1])


def _model(found: Invocation, line: Line) -> tuple[str | None, bool]:
    """Return the model's name as far as its configuration is known, and whether that is sure."""
    pod = found.container.pod
    try:
        annotation = {**pod.manifest.annotations(), **pod.annotations()}.get(MODEL_ANNOTATION)
    except UnknownFieldError:
        annotation = None
    for name in filter(None, (annotation, *_stated(line))):
        for candidate in _spellings(name):
            if knowledge.configuration(candidate) is not None:
                return candidate, True
    stored = found.container.node["storageUri"].value
    for candidate in _spellings(stored) if isinstance(stored, str) else ():
        if knowledge.configuration(candidate) is not None:
            return candidate, True
    served = line.last("--served-model-name")
    for name in served.values if served is not None else ():
        if "/" in name and knowledge.configuration(name) is not None:
            return name, False
    return None, True


def _spellings(name: str) -> Iterator[str]:
    """Yield a name itself, and the names that a path of weights may hold."""
    yield name
    if name.startswith(("/", ".", "s3://", "gs://", "hf://", "pvc://")):
        parts = [part for part in name.split("/") if part]
        yield from (f"{one}/{other}" for one, other in itertools.pairwise(parts))
        yield from (part.removeprefix("models--").replace("--", "/") for part in parts[::-1])


def whole(text: str) -> int | None:
    """Return the number that an option's value means (`32k`, `4096`); None where it is none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgKMG])?", text.strip())
    if match is None:
        return None
    return int(float(match[1]) * _MULTIPLES.get(match[2] or "", 1))


def _missing(line: Line) -> Iterator[str]:
    for option in line.options:
        if option.name in _BEYOND_THE_MODEL and not _is_harmless(option.name, option.value):
            yield f"{option.spelling} changes what is loaded"
        named = option.name in {*_TEXTS, *_COUNTS, "--gpu-memory-utilization"}
        if named and UNKNOWN_TEXT in (option.value or UNKNOWN_TEXT):
            yield f"the value of {option.spelling} is unknown"
    runner = line.last("--runner")
    if runner is not None and runner.value == "pooling":
        yield "it runs a pooling model"


def _is_harmless(option: str, value: str | None) -> bool:
    allowed = _HARMLESS_VALUES.get(option)
    return allowed is not None and (not allowed or value in allowed)


def arguments(line: Line) -> "Arguments":
    """Return what the memory model takes of a command line. Raises `ValidationError`."""
    from models.cases.cases import cache_dtype_of, dtype_of, quantization_of
    from models.memory import Arguments

    given: dict[str, object] = {}
    for option, key in _COUNTS.items():
        found = line.last(option)
        number = whole(found.value) if found is not None and found.value else None
        if number:
            given[key] = number
    for option, key in _SWITCHES.items():
        found = line.last(option)
        if found is not None:
            given[key] = not found.negated
    readers = {"kv_cache_dtype": cache_dtype_of, "dtype": dtype_of, "quantization": quantization_of}
    for option, key in _TEXTS.items():
        found = line.last(option)
        if found is not None:
            given[key] = readers[key](found.value)
    backend = line.last("--attention-backend")
    if backend is not None and backend.value:
        given["attention_backend"] = backend.value
    share = line.last("--gpu-memory-utilization")
    if share is not None and share.value:
        given["gpu_memory_utilization"] = float(share.value)
    return Arguments.model_validate(given)
