"""The methods that need nothing installed: ours, the textbook's formula, the old calculator."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from benchmarks.peers.questions import Question
from models.architecture import SchemeKind
from models.core.base import GIB
from models.core.problems import ProblemsError
from models.memory import Verdict, budget
from models.memory.calculator import CalculatorInput, old_calculator
from models.memory.inputs.request import resolve
from models.memory.terms.constants import FITTED, Fitted
from models.memory.terms.kvcache import cache_plan

OURS: Final = "ours"
LEFT_OUT: Final = "ours, left out"
TEXTBOOK: Final = "textbook"
CALCULATOR: Final = "old calculator"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a method says of one GPU; None where it cannot tell. `why` says what it lacks.

    `bytes_per_token` is of a token as logs report it; `block_bytes` is a block of the engine's
    size.
    """

    weights_gib: float | None = None
    kv_gib: float | None = None
    need_gib: float | None = None
    bytes_per_token: float | None = None
    block_bytes: float | None = None
    fits: bool | None = None
    why: str | None = None


def ours(asked: Question, fitted: Fitted = FITTED) -> Answer:
    """Return our model's answer. The card enters only where the run states one."""
    try:
        plan = cache_plan(asked.request, resolve(asked.request))
        found = budget(asked.request, fitted)
    except ProblemsError as error:
        return Answer(why=str(error))
    # Of a large pool, so that rounding to whole blocks does not show.
    pool = 1024 * plan.need_bytes
    tokens = plan.tokens(plan.blocks(pool))
    known = asked.memory_gib is not None
    judged = known and found.verdict is not Verdict.UNKNOWN
    return Answer(
        weights_gib=found.weights_gib,
        kv_gib=found.kv_cache_gib if known else None,
        need_gib=plan.need_bytes / GIB,
        bytes_per_token=pool / tokens if tokens else None,
        block_bytes=plan.block_bytes,
        fits=found.verdict is Verdict.FITS if judged else None,
        why=None if judged else "; ".join(found.reasons) or "no GPU",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The fields of a `config.json` that simple formulas use."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int


def shape_of(config: Mapping[str, JsonValue]) -> Shape | None:
    """Read them, from the text part where there is one; None where one lacks."""
    inner = config.get("text_config")
    text = inner if isinstance(inner, Mapping) else config
    layers, heads = _whole(text, "num_hidden_layers"), _whole(text, "num_attention_heads")
    hidden = _whole(text, "hidden_size")
    if not layers or not heads or not hidden:
        return None
    return Shape(
        layers=layers,
        heads=heads,
        kv_heads=_whole(text, "num_key_value_heads") or heads,
        head_dim=_whole(text, "head_dim") or hidden // heads,
    )


def _whole(text: Mapping[str, JsonValue], name: str) -> int | None:
    value = text.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def weight_gib(asked: Question) -> float | None:
    """Return parameters x bytes over the GPUs, in GiB."""
    if asked.parameters is None:
        return None
    return asked.parameters * _weight_bytes(asked) / asked.gpus / GIB


def _weight_bytes(asked: Question) -> float:
    scheme = asked.scheme
    if scheme is None or scheme.kind is SchemeKind.NONE:
        return 4 if asked.dtype == "float32" else 2
    return scheme.bits / 8


def _cache_bytes(asked: Question) -> float:
    name = asked.cache_dtype
    if "fp8" in name or "int8" in name:
        return 1
    if "fp4" in name or "int4" in name:
        return 0.5
    return 4 if "float32" in (asked.dtype if name == "auto" else name) else 2


def leftover_gib(asked: Question, weights: float | None) -> float | None:
    """Return utilization x memory - weights, not below 0: the pool of methods that give none."""
    if weights is None or asked.memory_gib is None:
        return None
    return max(0.0, asked.utilization * asked.memory_gib - weights)


def textbook(asked: Question) -> Answer:
    """Return weights = parameters x bytes, KV = 2 x layers x KV heads x head size x bytes."""
    shape = shape_of(asked.config)
    if shape is None:
        return Answer(why="no attention heads in the configuration")
    kv_heads = max(1, shape.kv_heads // asked.tensor)
    each = 2 * shape.layers * kv_heads * shape.head_dim * _cache_bytes(asked) / asked.pipeline
    return simple_answer(asked, each, weight_gib(asked))


def simple_answer(asked: Question, each: float, weights: float | None) -> Answer:
    """Return the answer of a method that knows bytes per token and weights of one GPU."""
    kv, need = leftover_gib(asked, weights), each * asked.length / GIB
    return Answer(
        weights_gib=weights,
        kv_gib=kv,
        need_gib=need,
        bytes_per_token=each,
        block_bytes=None if asked.block is None else each * asked.block,
        fits=None if kv is None else 0 < need <= kv,
        why="no GPU, or weights that cannot be counted" if kv is None else None,
    )


_QUANTS: Final[Mapping[SchemeKind, str]] = {
    SchemeKind.FP8_TENSOR: "fp8",
    SchemeKind.FP8_CHANNEL: "fp8",
    SchemeKind.FP8_BLOCK: "fp8",
    SchemeKind.INT8_CHANNEL: "int8",
    SchemeKind.NVFP4: "nvfp4",
    SchemeKind.MXFP4: "mxfp4",
    SchemeKind.WNA16: "int4",
}


def _quant(asked: Question) -> str | None:
    """Return the old calculator's name of the weights' format, None if it has none."""
    if asked.scheme is None or asked.scheme.kind is SchemeKind.NONE:
        return "fp32" if asked.dtype == "float32" else "fp16"
    return _QUANTS.get(asked.scheme.kind)


def calculator(asked: Question) -> Answer:
    """Return the old calculator's answer for one request of full length.

    Its flags describe one machine: the memory of all GPUs, and the model on them. It gives no pool.
    """
    shape, weights = shape_of(asked.config), weight_gib(asked)
    quant = _quant(asked)
    if shape is None or quant is None or weights is None:
        return Answer(why="no heads, no parameter count, or a format that it does not know")
    gigabytes = GIB / 1e9
    found = old_calculator(
        CalculatorInput(
            total_vram=(asked.memory_gib or 1.0) * asked.gpus * gigabytes,
            model_size=weights * asked.gpus * gigabytes,
            quant=quant,
            batch=1,
            context=asked.length,
            layers=shape.layers,
            heads=shape.heads,
        )
    )
    if found is None:
        return Answer(why=f"it does not know the format {quant}")
    each = found.kv_cache_gb * 1e9 / asked.length / asked.gpus
    answer = simple_answer(asked, each, weights)
    return answer if asked.memory_gib is None else replace(answer, fits=found.fits)
