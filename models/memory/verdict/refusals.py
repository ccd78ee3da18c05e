"""Why an engine refuses to start that is not about bytes, each with its remedy.

Rules and their sources: attention heads and KV heads by tensor parallelism (VLLM-01, VLLM-02),
quantization groups (VLLM-03), compute capability by dtype, KV cache dtype and method (VLLM-04, 05,
14, PSTK-05), GPUs (VLLM-19), utilization (VLLM-15), positions, prefix caching of pure SSMs
(VLLM-07). The letters are cases of docs/traps.md.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from models.architecture import (
    Architecture,
    CacheKind,
    Part,
    Quantization,
    SchemeKind,
    Shard,
    Weight,
    scheme_of,
)
from models.core.findings import Finding, Setting, Source
from models.core.rule_ids import MemoryRule
from models.facts.accelerators import capability
from models.memory.inputs.request import BudgetRequest, Resolved
from models.memory.terms.constants import CONTEXT_RESERVE_GIB
from models.memory.terms.dtypes import known_cache_dtype
from models.memory.terms.kernels import refined_block


def refusal(
    rule: MemoryRule,
    message: str,
    remedy: str,
    *,
    settings: Mapping[str, Setting] | None = None,
    argument: str = "",
    value: str | None = None,
) -> Finding:
    """Return why an engine refuses to start; `argument` is the engine's argument that it is about.

    `settings` are the remedy as names and values of arguments.
    """
    return Finding(
        argument,
        message,
        remedy=remedy,
        rule=rule,
        value=value,
        source=Source.ENGINE if rule is MemoryRule.ENGINE else Source.MEMORY,
        settings=settings or {},
    )


def refusals(request: BudgetRequest, resolved: Resolved) -> tuple[Finding, ...]:
    """Return every refusal that does not depend on bytes."""
    checks = (_gpus, _heads, _kv_heads, _groups, _positions, _capabilities, _utilization, _caching)
    return tuple(each for check in checks for each in check(request, resolved))


def _divisors(number: int, at_most: int) -> list[int]:
    return [each for each in range(1, min(number, at_most) + 1) if number % each == 0]


def _gpus(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    asked = request.arguments
    wanted = asked.gpus
    if request.n_gpus is None or wanted == request.n_gpus:
        return
    yield refusal(
        MemoryRule.GPUS,
        f"tensor {asked.tensor_parallel_size} x pipeline {asked.pipeline_parallel_size} x "
        f"data {asked.data_parallel_size} needs {wanted} GPUs, the replica gets "
        f"{request.n_gpus}",
        f"give the replica {wanted} GPUs, or set tensor x pipeline to {request.n_gpus}",
    )


def _heads(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    found, tensor = request.architecture, request.arguments.tensor_parallel_size
    heads = found.heads or _state_heads(found)
    if not heads or heads % tensor == 0:
        return
    legal = ", ".join(map(str, _divisors(heads, 64)))
    yield refusal(
        MemoryRule.HEADS,
        f"{heads} attention heads cannot be divided by tensor parallel size {tensor}",
        f"set the tensor parallel size to one of {legal}, or use pipeline parallelism",
        settings={"tensor_parallel_size": _divisors(heads, tensor)[-1]},
    )


def _state_heads(architecture: Architecture) -> int:
    return next((c.state.heads for c in architecture.caches if c.state is not None), 0)


def _kv_heads(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    tensor = request.arguments.tensor_parallel_size
    for cache in request.architecture.caches:
        if cache.kind.is_state or cache.kind in (CacheKind.MLA, CacheKind.MLA_SLIDING):
            continue
        heads = cache.kv_heads
        if heads % tensor and tensor % heads:
            legal = [n for n in range(1, 65) if heads % n == 0 or n % heads == 0]
            yield refusal(
                MemoryRule.KV_HEADS,
                f"{heads} KV heads neither divide nor are divided by tensor parallel size {tensor}",
                "set the tensor parallel size to one of " + ", ".join(map(str, legal[:12])),
            )
            return


def _groups(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    """Refuse row-split weights whose quantization groups a rank would have to cut."""
    found, tensor = request.architecture, request.arguments.tensor_parallel_size
    if found.quantization is None or tensor == 1:
        return
    for weight in found.weights:
        if weight.shard is not Shard.INPUT or not weight.linear or weight.part is Part.VISION:
            continue
        if weight.experts and (
            request.arguments.enable_expert_parallel or _cuts_blocks(request, weight)
        ):
            continue
        group = _group_of(found, weight)
        if group and weight.columns % (group * tensor):
            fitting = [n for n in (1, 2, 4, 8, 16) if weight.columns % (group * n) == 0]
            largest = fitting[-1] if fitting else 1
            yield refusal(
                MemoryRule.QUANTIZATION_GROUPS,
                f"{weight.modules[0].format('*')} has {weight.columns} inputs: groups of "
                f"{group} cannot be split over {tensor} ranks",
                f"set the tensor parallel size to {largest}, or use a padded checkpoint",
                settings={"tensor_parallel_size": largest},
            )
            return


_FP8_SINCE: Final = (8, 9)


def _cuts_blocks(request: BudgetRequest, weight: Weight) -> bool:
    """Whether a kernel takes experts whose FP8 blocks ranks cut.

    Triton's does, with refined scales; Marlin, which cards before 8.9 take, does not (the goldens'
    refusals).
    """
    found = request.architecture
    names = tuple(name.format(weight.layers[-1] if weight.layers else 0) for name in weight.modules)
    scheme = scheme_of(found.quantization, names, expert=True)
    newer = request.behavior.refined_fp8_blocks and request.card.capability >= _FP8_SINCE
    if not newer or scheme.kind is not SchemeKind.FP8_BLOCK or scheme.block is None:
        return False
    inner = weight.columns // request.arguments.tensor_parallel_size
    hidden = sum(rows.size for rows in weight.rows)
    return refined_block(scheme.block, inner, hidden) is not None


def _group_of(architecture: Architecture, weight: Weight) -> int:
    layer = weight.layers[-1] if weight.layers else 0
    names = tuple(name.format(layer) for name in weight.modules)
    scheme = scheme_of(architecture.quantization, names, expert=weight.experts > 0)
    if scheme.kind is SchemeKind.WNA16:
        return scheme.group
    if scheme.kind is SchemeKind.FP8_BLOCK and scheme.block is not None:
        return scheme.block[1]
    return 0


def _positions(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    limit = request.architecture.max_positions
    asked = request.arguments.max_model_len
    if limit is None or asked is None or asked <= limit:
        return
    yield refusal(
        MemoryRule.POSITIONS,
        f"max_model_len {asked} is more than the model's {limit} positions",
        f"set max_model_len to {limit} or less",
        settings={"max_model_len": limit},
    )


_MODELOPT: Final = {
    SchemeKind.NVFP4: "modelopt_fp4",
    SchemeKind.MXFP8: "modelopt_mxfp8",
}


def _method(quantization: Quantization) -> str:
    """Return the method's name; the engine tells ModelOpt's apart by what they store."""
    if quantization.method != "modelopt":
        return quantization.method
    schemes = {rule.scheme.kind for rule in quantization.rules} - {SchemeKind.NONE}
    if len(schemes | {quantization.scheme.kind} - {SchemeKind.NONE}) > 1:
        return "modelopt_mixed"
    return _MODELOPT.get(quantization.scheme.kind, quantization.method)


def _capabilities(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    have, least = request.card.capability, request.minimum
    if not known_cache_dtype(resolved.kv_cache_dtype):
        yield refusal(
            MemoryRule.KV_CACHE_DTYPE,
            f"the KV cache dtype {resolved.kv_cache_dtype!r} is not known",
            "set kv_cache_dtype to auto",
            settings={"kv_cache_dtype": "auto"},
        )
    found = request.architecture
    if resolved.dtype == "float16" and found.engine.refuses_float16:
        yield refusal(
            MemoryRule.CAPABILITY,
            f"models of type {found.model_type} are numerically unstable in float16, and "
            "the engine refuses it for them",
            "run it in bfloat16, on a card of compute capability 8.0 or newer",
            settings={"dtype": "bfloat16"},
        )
    if least is None:
        return
    method = None if found.quantization is None else _method(found.quantization)
    engine_name = request.quantization_names.get(method or "", method)
    values = {"dtype": resolved.dtype, "kv_cache_dtype": resolved.kv_cache_dtype}
    wanted: tuple[tuple[str, str, str | None, str, dict[str, Setting]], ...] = (
        ("", "this engine release", least.engine, "use an older release or a newer card", {}),
        (
            "dtype",
            f"dtype {resolved.dtype}",
            least.dtype.get(resolved.dtype),
            "set dtype to half (float16)",
            {"dtype": "half"},
        ),
        (
            "kv_cache_dtype",
            f"kv_cache_dtype {resolved.kv_cache_dtype}",
            least.kv_cache_dtype.get(resolved.kv_cache_dtype),
            "set kv_cache_dtype to auto",
            {"kv_cache_dtype": "auto"},
        ),
        (
            "quantization",
            f"quantization {method}",
            least.quantization.get(engine_name or ""),
            "use a checkpoint in a format that the card supports",
            {},
        ),
    )
    for argument, what, needed, remedy, settings in wanted:
        if needed is not None and have < capability(needed):
            yield refusal(
                MemoryRule.CAPABILITY,
                f"{what} needs compute capability {needed}, the card has {have[0]}.{have[1]}",
                remedy,
                settings=settings,
                argument=argument,
                value=values.get(argument),
            )


def _utilization(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    card = request.card
    if request.arguments.kv_cache_memory_bytes is not None:
        return
    wanted = card.memory_gib * resolved.gpu_memory_utilization
    free = card.memory_gib - CONTEXT_RESERVE_GIB - card.other_gib
    if wanted <= free:
        return
    most = max(0.01, int(100 * free / card.memory_gib) / 100)
    yield refusal(
        MemoryRule.UTILIZATION,
        f"gpu_memory_utilization {resolved.gpu_memory_utilization:g} asks for "
        f"{wanted:.2f} GiB; of {card.memory_gib:.2f} GiB about {max(0.0, free):.2f} are free "
        "at start",
        f"set gpu_memory_utilization to {most:g} or less",
        settings={"gpu_memory_utilization": most},
    )


def _caching(request: BudgetRequest, resolved: Resolved) -> Iterator[Finding]:
    states_only = all(cache.kind.is_state for cache in request.architecture.caches)
    if not states_only:
        return
    if request.arguments.enable_prefix_caching:
        yield refusal(
            MemoryRule.PREFIX_CACHING,
            "a model of recurrent layers only has no prefix cache",
            "leave out --enable-prefix-caching",
            settings={"enable_prefix_caching": False},
        )
    if request.arguments.block_size is not None:
        yield refusal(
            MemoryRule.BLOCK_SIZE,
            "a model of recurrent layers only has no KV blocks to size",
            "leave out --block-size",
        )
