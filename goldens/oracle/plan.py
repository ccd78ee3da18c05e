"""Asks the engine's own planner: KV specs, groups, and what it does with given bytes."""

from typing import Any

from goldens.oracle.build import Built
from goldens.oracle.engine import package


def planned(built: Built, asks: list[list[int]]) -> dict[str, Any]:
    """Return layout, groups, pool and the plans for each (max_model_len, KV bytes) asked."""
    config = built.config
    manager = package("vllm.v1.core.single_type_kv_cache_manager")
    planning = package("vllm.v1.core.kv_cache_planning")
    backends = package("vllm.distributed.kv_transfer.kv_connector.utils")
    layouts = package("vllm.v1.attention.backends.utils")
    package("vllm.platforms").current_platform.update_block_size_for_backend(config)
    manager.register_all_kvcache_specs(config)
    specs = package("vllm.v1.worker.gpu.attn_utils").get_kv_cache_spec(config)
    found = backends.get_current_attn_backends(config)
    names = [layout.name for layout in layouts.get_supported_kv_cache_layouts(found)]
    layout = layouts.resolve_kv_cache_layout(config, [names], list(specs.values()))
    groups = planning.get_global_kv_cache_groups(config, [specs])
    builder = package("vllm.v1.core.kv_cache_config_builder").get_kv_cache_config_builder(config)
    pool = planning._pool_bytes_per_block_from_builder(builder, config, groups)
    need: dict[str, int] = {}
    plans: list[dict[str, Any]] = []
    for length, available in asks:
        config.model_config.max_model_len = length
        need[str(length)] = planning._max_memory_usage_bytes_from_groups(builder, config, groups)
        plans.append(_plan(config, specs, groups, length, available))
    return {
        "attention": sorted({backend.get_name() for backend in found}),
        "layout": layout.name,
        "groups": [_group(group) for group in groups],
        "pool_bytes_per_block": pool,
        "need_bytes": need,
        "plans": plans,
    }


def _plan(config: Any, specs: Any, groups: Any, length: int, available: int) -> dict[str, Any]:
    planning = package("vllm.v1.core.kv_cache_planning")
    utils = package("vllm.v1.core.kv_cache_utils")
    plan: dict[str, Any] = {"max_model_len": length, "kv_bytes": available}
    try:
        made = planning.get_kv_cache_configs(config, [specs], [available], groups)
    except ValueError as error:
        return {**plan, "refusal": _sentence(str(error))}
    scheduler = utils.generate_scheduler_kv_cache_config(made)
    tokens, concurrency = utils.get_kv_cache_capacity(config, scheduler)
    return {
        **plan,
        "blocks": scheduler.num_blocks,
        "tokens": tokens,
        "concurrency": round(concurrency, 6),
    }


def _sentence(text: str) -> str:
    """Return a refusal without its general advice, which is the same every time."""
    return " ".join(text.split()).split(" Try increasing `gpu_memory_utilization`")[0]


def _group(group: Any) -> dict[str, Any]:
    spec = group.kv_cache_spec
    inner = getattr(spec, "kv_cache_specs", None)
    kinds = [type(each).__name__ for each in inner.values()] if inner else [type(spec).__name__]
    first = next(iter(inner.values())) if inner else spec
    found: dict[str, Any] = {
        "kind": "+".join(sorted(set(kinds))),
        "layers": len(group.layer_names),
        "block_size": spec.block_size,
        "page_bytes": spec.page_size_bytes,
    }
    for name in ("num_kv_heads", "head_size", "sliding_window"):
        value = getattr(first, name, None)
        if value is not None:
            found[name] = value
    dtype = getattr(first, "dtype", None)
    if dtype is not None:
        found["dtype"] = str(dtype).removeprefix("torch.")
    return found
