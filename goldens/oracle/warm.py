"""Imports what every case needs, before the children are forked."""

from contextlib import suppress

from goldens.oracle.engine import package

_MODULES = (
    "vllm.engine.arg_utils",
    "vllm.usage.usage_lib",
    "vllm.model_executor.parameter",
    "vllm.model_executor.models.registry",
    "vllm.model_executor.model_loader.utils",
    "vllm.model_executor.kernels.linear.mixed_precision.MPLinearKernel",
    "vllm.distributed.parallel_state",
    "vllm.distributed.kv_transfer.kv_connector.utils",
    "vllm.v1.worker.gpu_worker",
    "vllm.v1.worker.gpu.attn_utils",
    "vllm.v1.worker.workspace",
    "vllm.v1.attention.backends.utils",
    "vllm.v1.core.kv_cache_config_builder",
    "vllm.v1.core.kv_cache_planning",
    "vllm.v1.core.kv_cache_utils",
    "vllm.v1.core.single_type_kv_cache_manager",
)


def imports(architectures: list[str]) -> None:
    """Import the engine's parts that the oracle uses, all backends and the models' classes."""
    for name in _MODULES:
        package(name)
    for backend in package("vllm.v1.attention.backends.registry").AttentionBackendEnum:
        if backend.name.startswith(("ROCM", "CPU", "XPU")):
            continue
        with suppress(Exception):
            backend.get_class()
    with suppress(ImportError):
        package("flashinfer")
    registry = package("vllm.model_executor.models.registry").ModelRegistry
    for name in architectures:
        model = registry.models.get(name)
        if model is not None:
            model.load_model_cls()
