"""What every method is asked: the same inputs for all, and apart from them what was observed.

A question holds a run's (or a golden's) configuration and arguments with the release's defaults
filled in, and the checkpoint's header: how many elements of which dtype it stores, which tools
otherwise read from the hub. `Seen` is for scoring only and is passed to no method.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from pydantic import JsonValue

from benchmarks.peers.checkpoint import header
from benchmarks.shared.memory_cases import DATA, arguments_of_line, cases, model_names
from catalog.loader import load
from models.architecture import (
    Architecture,
    CacheKind,
    Scheme,
    architecture,
    with_quantization,
)
from models.architecture.names.names import ModelNames, model_key
from models.core.base import GIB
from models.core.problems import ProblemsError
from models.facts.catalog import Catalog
from models.memory import BudgetRequest, Card, behavior_of
from models.memory.inputs.request import resolve

CASES: Final = "vram_cases.jsonl"
GOLDENS: Final = "engine_goldens.jsonl"
NEEDED: Final = (CASES, GOLDENS, "model_configs.json", "engine_configs.json")

CLASSES: Final = ("dense", "MoE", "MLA", "SWA", "hybrid")

OPEN: Final[Mapping[str, str]] = {
    "kvsweep-": "draft tokens were used, which no input tells",
    "fail-q36-27b-262k-v100x2": "neither the exact model nor the release is stated",
    "recipes-kimi-k2-thinking-tp8-dcp8": "decode context parallelism is not among the inputs",
    "vllm-13061-r1distill-qwen14b-2x4090": "the line of the log is another rank's",
}
"""Runs (by the start of their ids) whose inputs leave KV bytes per token open, and why."""

_STAND_IN: Final = Card(memory_gib=80.0, capability=(8, 9))
"""The card of runs that state none: their KV layout can still be compared."""

_CLASS_OF_WORD: Final = (
    ("hybrid", "hybrid"),
    ("mla", "MLA"),
    ("swa", "SWA"),
    ("moe", "MoE"),
    ("dense", "dense"),
)
"""The word of a case's class that shapes its cache decides: `moe-swa` is a SWA model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question. `memory_gib` is None where the run states no GPU that is known.

    `header` counts the checkpoint's elements by safetensors dtype, None where they cannot be
    counted; `parameters` are the model's, whatever they are stored in. `request` is the same in
    our model's form; `block` is the engine's tokens per block where a golden states it.
    """

    id: str
    kind: str
    config: Mapping[str, JsonValue]
    request: BudgetRequest
    memory_gib: float | None
    utilization: float
    length: int
    tensor: int
    pipeline: int
    dtype: str
    cache_dtype: str
    scheme: Scheme | None
    method: str | None
    parameters: int | None
    header: Mapping[str, int] | None
    block: int | None = None

    @property
    def gpus(self) -> int:
        """GPUs that weights and cache are split over."""
        return self.tensor * self.pipeline


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What was observed: of a run its log, of a golden what the engine's own code says."""

    kv_gib: float | None = None
    need_gib: float | None = None
    bytes_per_token: float | None = None
    started: bool | None = None
    weights_gib: float | None = None
    block_bytes: int | None = None
    is_open: bool = False
    """Whether the inputs leave KV bytes per token open (see `OPEN`)."""


Asked = tuple[Question, Seen]


def missing_data(folder: Path = DATA) -> str | None:
    """Return what lacks of the shared data, in words, or None."""
    lacking = [name for name in NEEDED if not (folder / name).is_file()]
    if not lacking:
        return None
    return (
        f"lacking {', '.join(lacking)}: the cases belong in ../shared/data beside the project; "
        "without them nothing can be compared"
    )


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return a shared file's lines."""
    text = (DATA / name).read_text(encoding="utf-8")
    return [cast("dict[str, Any]", json.loads(line)) for line in text.splitlines() if line.strip()]


def from_cases() -> tuple[list[Asked], dict[str, int]]:
    """Return the real runs as questions, and why the others are none."""
    names, catalog = model_names(), load()
    lines = {str(line["id"]): line for line in read_lines(CASES)}
    found: list[Asked] = []
    left: Counter[str] = Counter()
    for case in cases():
        line = lines[case.id]
        config = _config(str(line["model"]), names, catalog)
        if config is None:
            left["no configuration of the model is known"] += 1
            continue
        if line.get("n_gpus") is None and line.get("tp") is None:
            left["neither GPUs nor tensor parallel size is given"] += 1
            continue
        try:
            found.append((_of_case(line, config, case.request), _seen(line)))
        except ProblemsError:
            left["the configuration is not understood"] += 1
    return found, dict(left.most_common())


def _config(name: str, names: ModelNames, catalog: Catalog) -> Mapping[str, JsonValue] | None:
    wanted = model_key(name)
    for model in catalog.models.values():
        if wanted in (model_key(model.entry.name), model_key(model.entry.repository)):
            return model.config
    return names.configuration(name)


def _of_case(
    line: Mapping[str, Any], config: Mapping[str, JsonValue], request: BudgetRequest | None
) -> Question:
    """Return a run as a question; without a card that is known, for its KV layout only."""
    version = line.get("vllm_version")
    layout = request or BudgetRequest(
        architecture=architecture(config),
        card=_STAND_IN,
        behavior=behavior_of(version if isinstance(version, str) else None, load().borders),
        arguments=arguments_of_line(line),
    )
    words = str(line["class"]).split("-")
    kind = next(label for word, label in _CLASS_OF_WORD if word in words)
    return question(str(line["id"]), kind, config, layout, request and request.card)


def _seen(line: Mapping[str, Any]) -> Seen:
    observed: Mapping[str, Any] = line["observed"]
    kv = observed.get("kv_cache_gib")
    tokens = observed.get("kv_cache_tokens")
    return Seen(
        kv_gib=kv if kv is not None else observed.get("available_kv_gib"),
        need_gib=observed.get("needed_kv_gib"),
        bytes_per_token=kv * GIB / tokens if kv and tokens else None,
        started=observed.get("oom") is not True,
        is_open=any(str(line["id"]).startswith(name) for name in OPEN),
    )


def class_of(found: Architecture) -> str:
    """Return the class of a model; one with only recurrent layers counts as hybrid."""
    kinds = set(found.attention_kinds)
    if any(kind.is_state for kind in kinds):
        return "hybrid"
    if kinds & {CacheKind.MLA, CacheKind.MLA_SLIDING}:
        return "MLA"
    if kinds & {CacheKind.SLIDING, CacheKind.CHUNKED}:
        return "SWA"
    return "MoE" if found.experts else "dense"


def question(
    name: str,
    kind: str,
    config: Mapping[str, JsonValue],
    request: BudgetRequest,
    card: Card | None,
    block: int | None = None,
) -> Question:
    """Return a request as every method gets it; `card` is None where the run states none."""
    found, counted = _quantized(request)
    resolved = resolve(request)
    scheme = None if found.quantization is None else _main_scheme(found)
    return Question(
        id=name,
        kind=kind,
        config=config,
        request=request,
        memory_gib=None if card is None else card.memory_gib,
        utilization=resolved.gpu_memory_utilization,
        length=resolved.max_model_len,
        tensor=request.arguments.tensor_parallel_size,
        pipeline=request.arguments.pipeline_parallel_size,
        dtype=resolved.dtype,
        cache_dtype=resolved.kv_cache_dtype,
        scheme=scheme,
        method=None if found.quantization is None else found.quantization.method,
        parameters=sum(found.parameters().values()) if counted else None,
        header=header(found, resolved.dtype) if counted else None,
        block=block,
    )


def _quantized(request: BudgetRequest) -> tuple[Architecture, bool]:
    """Return the architecture as it is stored, and whether its weights can be counted."""
    method, found = request.arguments.quantization, request.architecture
    if found.quantization is None and method is not None:
        try:
            found = with_quantization(found, method)
        except ProblemsError:
            return found, False
    return found, not found.incomplete


def _main_scheme(found: Architecture) -> Scheme | None:
    quantization = found.quantization
    return None if quantization is None else quantization.expert_scheme or quantization.scheme
