"""Imports what every case needs, before the children are forked."""

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


def imports() -> None:
    """Import the engine's parts that the oracle uses."""
    for name in _MODULES:
        package(name)
