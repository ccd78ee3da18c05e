"""One replica of an engine as the memory model asks for it, read from what a container is given."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from models.engine.arguments import ARGUMENTS, ValueKind
from models.engine.command import UNKNOWN_TEXT, Line
from models.engine.command_line import option_of
from models.engine.values import count_of
from policies.core import knowledge
from policies.core.context import Context
from policies.core.memo import Memo
from policies.core.nodes import UnknownFieldError
from policies.views.engine.cards import CardPlacement, placement
from policies.views.engine.container import Invocation

MODEL_ANNOTATION: Final = "triplane.dev/model"
_BEYOND_THE_MODEL: Final = frozenset(
    map(
        option_of,
        (
            *("config", "hf_overrides", "cpu_offload_gb", "offload_backend", "task"),
            *("num_gpu_blocks_override", "speculative_config", "enable_lora", "rope_scaling"),
            *("convert", "load_format", "device", "model_impl", "offload_params"),
            *("enable_weight_offload", "config_format", "revision"),
        ),
    )
)
"""Options after which the memory model does not answer for this command line."""

_READ: Final = frozenset(
    row.option
    for row in ARGUMENTS.values()
    if row.kind is not ValueKind.SWITCH and row.name != "attention_backend"
)
"""Options whose values memory depends on."""

_HARMLESS_VALUES: Final = {
    "--load-format": ("auto", "safetensors", "runai_streamer", "fastsafetensors", "tensorizer"),
    "--revision": (),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """What is known of a replica; `missing` says why nothing can be said of its memory."""

    invocation: Invocation
    line: Line
    model: str | None
    sure: bool
    place: CardPlacement
    missing: tuple[str, ...]

    def given(self, name: str) -> str | None:
        """Return the value that an argument is given, as it is written; the last one counts."""
        option = self.line.argument(name)
        return None if option is None else option.value

    def count(self, name: str, default: int = 1) -> int | None:
        """Return a whole number that an argument is given, None where it is not known."""
        given = self.given(name)
        return default if given is None else count_of(given)


_REPLICAS: Final = Memo[Invocation, Replica]()


def replica_of(invocation: Invocation, context: Context) -> Replica:
    """Read a replica from its command line, its pod's annotations and its node labels."""
    return _REPLICAS.get(invocation, context, lambda: _replica(invocation, context))


def _replica(invocation: Invocation, context: Context) -> Replica:
    line = invocation.line()
    model, sure = _model(invocation, line)
    place = placement(invocation.container, context)
    missing = list(_missing(line))
    if model is None:
        missing.insert(0, _unknown_model(line))
    if not place.cards:
        missing.insert(1 if model is None else 0, "nothing says which GPU its nodes have")
    if invocation.open:
        missing.append("some of its arguments are unknown")
    return Replica(
        invocation=invocation,
        line=line,
        model=model,
        sure=sure,
        place=place,
        missing=tuple(missing),
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


def _model(invocation: Invocation, line: Line) -> tuple[str | None, bool]:
    """Return the model's name as far as its configuration is known, and whether that is sure."""
    pod = invocation.container.pod
    try:
        annotation = {**pod.manifest.annotations(), **pod.annotations()}.get(MODEL_ANNOTATION)
    except UnknownFieldError:
        annotation = None
    for name in filter(None, (annotation, *_stated(line))):
        for candidate in _spellings(name):
            if knowledge.configuration(candidate) is not None:
                return candidate, True
    stored = invocation.container.node["storageUri"].value
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


def _missing(line: Line) -> Iterator[str]:
    for option in line.options:
        if option.name in _BEYOND_THE_MODEL and not _is_harmless(option.name, option.value):
            yield f"{option.spelling} changes what is loaded"
        if option.name in _READ and UNKNOWN_TEXT in (option.value or UNKNOWN_TEXT):
            yield f"the value of {option.spelling} is unknown"
    runner = line.last("--runner")
    if runner is not None and runner.value == "pooling":
        yield "it runs a pooling model"


def _is_harmless(option: str, value: str | None) -> bool:
    allowed = _HARMLESS_VALUES.get(option)
    return allowed is not None and (not allowed or value in allowed)
