"""One case: builds the rank, plans its cache, and gives both as plain values."""

from contextlib import ExitStack
from typing import Any

from goldens.oracle.build import Built, build
from goldens.oracle.counting import totals
from goldens.oracle.plan import planned


def answer(case: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """Return what the engine says of a case."""
    built = build(case, stack)
    return {
        "engine": _engine(built),
        "weights": totals(built.weights),
        "weights_created_bytes": totals(built.created)["raw_bytes"],
        "kernel_backends": _backends(built.model),
        "process_failures": built.failures,
        **planned(built, case["asks"]),
    }


def _engine(built: Built) -> dict[str, Any]:
    config = built.config
    model, cache, scheduler = config.model_config, config.cache_config, config.scheduler_config
    return {
        "architecture": model.architectures[0],
        "dtype": str(model.dtype).removeprefix("torch."),
        "quantization": model.quantization,
        "max_model_len": model.max_model_len,
        "max_num_seqs": scheduler.max_num_seqs,
        "max_num_batched_tokens": scheduler.max_num_batched_tokens,
        "kv_cache_dtype": cache.cache_dtype,
        "prefix_caching": bool(cache.enable_prefix_caching),
        "mamba_cache_mode": cache.mamba_cache_mode,
    }


def _backends(model: Any) -> list[str]:
    """Return the kernels that quantization methods chose, as `Method:KERNEL`."""
    found: set[str] = set()
    for module in model.modules():
        method = getattr(module, "quant_method", None)
        if method is None:
            continue
        for name in (
            "mxfp4_backend",
            "fp8_backend",
            "nvfp4_backend",
            "unquantized_backend",
            "int8_backend",
            "wna16_backend",
            "kernel",
            "fp8_linear",
        ):
            kernel = getattr(method, name, None)
            if kernel is not None:
                label = getattr(kernel, "name", None) or type(kernel).__name__
                found.add(f"{type(method).__name__}:{label}")
        scheme = getattr(module, "scheme", None)
        for name in ("kernel", "fp8_linear"):
            kernel = getattr(scheme, name, None)
            if kernel is not None:
                found.add(f"{type(scheme).__name__}:{type(kernel).__name__}")
    return sorted(found)
