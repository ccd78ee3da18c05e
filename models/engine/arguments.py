"""Engine arguments: the one type of them, which is also the one table of what they are called.

A field of `EngineArguments` has the name that the engine's own parser gives the argument
(`tensor_parallel_size`), from which its option follows (`--tensor-parallel-size`); short options
and other spellings come from the release's contract (`models/engine/command.py`). What we call an
argument besides, and whether a measured run holds for one value only, stands at the field, in
`Also`. Everything else that knows arguments derives from here: cases, logs, profiles, goldens, the
policies' reading of a container, the command line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, get_args

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from models.core.base import Model
from models.engine.command_line import option_of

MOST_UTILIZATION: Final = 0.95
"""What is left of a card is the CUDA context's and other processes'."""

Count = Annotated[int, Field(gt=0, le=2**40)]
"""More than any run has; what is larger is a mistake, and may be too large for a float."""

CacheBytes = Annotated[int, Field(gt=0, le=2**50)]
"""Bytes of a KV cache: a PiB is more than any node has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Also:
    """What is said of an argument beside its type.

    `case` is its name in lines of `--cases` and its short option of our own commands, `stored` the
    one in memory profiles and in a deployment's parallelism. With `loads` other values load or
    allocate other things, so that a measured run holds for this value only. `inside` is the option
    whose JSON holds the argument.
    """

    case: str | None = None
    stored: str | None = None
    loads: bool = False
    inside: str | None = None


class EngineArguments(Model):
    """Arguments of one replica by the engine's own names; None leaves the choice to the release.

    In the order in which a command line has them.
    """

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    max_model_len: Count | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Count | None = None
    kv_cache_dtype: str | None = None
    dtype: str | None = None
    quantization: Annotated[str | None, Also(case="quant")] = None
    block_size: Count | None = None
    kv_cache_memory_bytes: CacheBytes | None = None
    attention_backend: str | None = None
    """Of memory it only tells which engine golden is of the same case."""
    tensor_parallel_size: Annotated[Count, Also(case="tp", stored="tensor", loads=True)] = 1
    pipeline_parallel_size: Annotated[Count, Also(case="pp", stored="pipeline", loads=True)] = 1
    data_parallel_size: Annotated[Count, Also(case="dp", stored="data", loads=True)] = 1
    decode_context_parallel_size: Annotated[
        Count, Also(case="dcp", stored="context", loads=True)
    ] = 1
    cpu_offload_gb: Annotated[
        float, Field(ge=0, le=2**20), Also(stored="cpu_offload_gib", loads=True)
    ] = 0.0
    """GiB of weights that each GPU leaves in the host's memory."""
    num_speculative_tokens: Annotated[
        int,
        Field(ge=0, le=1024),
        Also(
            case="speculative_tokens",
            stored="speculative_tokens",
            loads=True,
            inside="speculative_config",
        ),
    ] = 0
    enable_prefix_caching: bool | None = None
    enforce_eager: bool | None = None
    enable_expert_parallel: Annotated[
        bool, Also(case="ep", stored="expert_parallel", loads=True)
    ] = False
    language_model_only: Annotated[bool, Also(loads=True)] = False

    @property
    def gpus(self) -> int:
        """GPUs that one replica takes."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.data_parallel_size


class ServeArguments(EngineArguments):
    """The complete arguments of one `vllm serve`.

    `model_path` is the directory of the weights in the pod; `extra_args` are passed as they are.
    """

    model_path: str
    served_model_name: str
    gpu_memory_utilization: float  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] - frozen and by keyword, so that narrowing is safe
    max_model_len: Count  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] - frozen and by keyword, so that narrowing is safe
    kv_cache_dtype: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] - frozen and by keyword, so that narrowing is safe
    extra_args: tuple[str, ...] = ()


class ValueKind(StrEnum):
    """How an argument's value is written."""

    COUNT = "count"
    NUMBER = "number"
    TEXT = "text"
    SWITCH = "switch"


_KINDS: Final = {
    bool: ValueKind.SWITCH,
    int: ValueKind.COUNT,
    float: ValueKind.NUMBER,
    str: ValueKind.TEXT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    """One row of the table."""

    name: str
    option: str
    kind: ValueKind
    case: str
    stored: str
    loads: bool
    inside: str | None


def kinds_of(model: type[BaseModel]) -> dict[str, ValueKind]:
    """Return how each field of a model is written."""
    return {name: _kind(field.annotation) for name, field in model.model_fields.items()}


def _kind(annotation: object) -> ValueKind:
    if isinstance(annotation, type) and annotation in _KINDS:
        return _KINDS[annotation]
    return next(_kind(part) for part in get_args(annotation) if part is not type(None))


def _argument(name: str, field: FieldInfo) -> Argument:
    also = next((each for each in field.metadata if isinstance(each, Also)), Also())
    return Argument(
        name=name,
        option=option_of(name),
        kind=_kind(field.annotation),
        case=also.case or name,
        stored=also.stored or name,
        loads=also.loads,
        inside=also.inside,
    )


ARGUMENTS: Final[Mapping[str, Argument]] = {
    name: _argument(name, field) for name, field in EngineArguments.model_fields.items()
}
