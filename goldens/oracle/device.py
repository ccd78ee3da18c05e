"""A GPU that is not there: torch, triton and vLLM's platform answer from one table.

What backends and defaults the engine then chooses is its own decision.
"""

import os
import types
from contextlib import nullcontext
from typing import Any

from goldens.oracle.engine import answering, package

GPUS = 8
"""Devices that the machine claims to have: the largest tensor parallel size."""

_ENVIRONMENT = {
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_HAS_FLASHINFER_CUBIN": "1",  # as in the official image
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_WORKER_MULTIPROC_METHOD": "fork",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


class _Inert:
    """A stream, event, pool or graph that does nothing."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.args = args

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    def __enter__(self) -> "_Inert":
        return self

    def __exit__(self, *error: object) -> None:
        return None


def _nothing(*args: object, **kwargs: object) -> None:
    return None


def _zero(*args: object, **kwargs: object) -> int:
    return 0


def prepare_environment() -> None:
    """Set the engine's environment; before torch is imported."""
    for name, value in _ENVIRONMENT.items():
        os.environ[name] = value


def pretend(card: dict[str, Any]) -> None:
    """Make torch and triton believe in the card; before vLLM is imported."""
    torch = package("torch")
    for name in ("torch._dynamo", "torch._inductor.lowering"):  # they read torch.cuda's functions
        package(name)
    major, minor = card["capability"]
    memory = int(card["memory_bytes"])
    properties = types.SimpleNamespace(
        name=card["name"],
        major=major,
        minor=minor,
        multi_processor_count=card["sm_count"],
        total_memory=memory,
        warp_size=32,
        is_integrated=0,
        is_multi_gpu_board=0,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=card["shared_memory_optin"],
        shared_memory_per_multiprocessor=card["shared_memory_optin"] + 1024,
        L2_cache_size=50 * 1024**2,
        gcnArchName="",
        uuid="GPU-0",
    )
    answers: dict[str, object] = {
        "is_available": True,
        "is_initialized": True,
        "_is_compiled": True,
        "device_count": GPUS,
        "_device_count_nvml": GPUS,
        "current_device": 0,
        "get_device_capability": (major, minor),
        "get_device_properties": properties,
        "get_device_name": card["name"],
        "mem_get_info": (memory, memory),
        "is_bf16_supported": (major, minor) >= (8, 0),
        "memory_stats": {},
        "is_current_stream_capturing": False,
        "get_rng_state": torch.zeros(16, dtype=torch.uint8),
        "can_device_access_peer": True,
        "get_arch_list": [f"sm_{major}{minor}"],
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, answering(value))
    for name in (
        "_lazy_init", "init", "set_device", "synchronize", "empty_cache", "manual_seed",
        "manual_seed_all", "reset_peak_memory_stats", "set_stream", "set_rng_state",
        "_check_capability", "ipc_collect",
    ):  # fmt: skip  # a list of words
        setattr(torch.cuda, name, _nothing)
    for name in (
        "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    ):  # fmt: skip  # a list of words
        setattr(torch.cuda, name, _zero)
    for name in ("Stream", "Event", "MemPool", "CUDAGraph", "ExternalStream"):
        setattr(torch.cuda, name, type(name, (_Inert,), {}))
    for name in ("current_stream", "default_stream"):
        setattr(torch.cuda, name, answering(torch.cuda.Stream()))
    torch.cuda.stream = answering(nullcontext())
    torch.cuda.device = answering(nullcontext())
    torch.cuda.use_mem_pool = answering(nullcontext())
    _pretend_accelerator(torch, properties, memory)
    _pretend_triton(f"{major}{minor}")


def _pretend_accelerator(torch: Any, properties: Any, memory: int) -> None:
    answers: dict[str, object] = {
        "is_available": True,
        "device_count": GPUS,
        "current_device_index": 0,
        "current_device_idx": 0,
        "current_accelerator": torch.device("cuda"),
        "get_memory_info": (memory, memory),
        "memory_stats": {},
        "current_stream": torch.cuda.Stream(),
        "max_memory_allocated": 0,
        "memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "get_device_properties": properties,
        "get_device_capability": (properties.major, properties.minor),
    }
    for name, value in answers.items():
        setattr(torch.accelerator, name, answering(value))
    for name in (
        "set_device_index", "set_device_idx", "synchronize", "empty_cache", "set_stream",
        "reset_peak_memory_stats", "reset_accumulated_memory_stats",
    ):  # fmt: skip  # a list of words
        setattr(torch.accelerator, name, _nothing)


def _pretend_triton(arch: str) -> None:
    driver = package("triton.backends.nvidia.driver")
    driver.CudaDriver.is_active = staticmethod(answering(value=True))
    target = package("triton.backends.compiler").GPUTarget("cuda", int(arch), 32)
    fake, utils = _Inert(), _Inert()
    utils.__dict__["get_device_properties"] = answering(
        {
            "max_shared_mem": 232448,
            "multiprocessor_count": 132,
            "warpSize": 32,
            "max_num_regs": 65536,
        }
    )
    fake.__dict__.update(
        utils=utils,
        get_current_target=answering(target),
        get_current_device=answering(0),
        get_current_stream=answering(0),
        get_device_capability=answering((int(arch[:-1]), int(arch[-1]))),
        get_active_torch_device=answering(package("torch").device("cuda", 0)),
    )
    package("triton.runtime.driver").driver.set_active(fake)


def pretend_platform(card: dict[str, Any]) -> None:
    """Put the engine's own CUDA platform in place, with the card's answers; imports vLLM."""
    platforms = package("vllm.platforms")
    interface = package("vllm.platforms.interface")
    cuda = package("vllm.platforms.cuda")
    major, minor = card["capability"]
    answers: dict[str, object] = {
        "get_device_capability": interface.DeviceCapability(major=major, minor=minor),
        "get_device_name": card["name"],
        "get_device_total_memory": int(card["memory_bytes"]),
        "get_device_uuid": "GPU-0",
        "is_fully_connected": card["nvlink"],
        "device_count": GPUS,
        "is_integrated_gpu": False,
        "get_device_numa_node": None,
    }
    methods = {name: classmethod(answering(value)) for name, value in answers.items()}
    platforms._current_platform = type("PretendedCuda", (cuda.CudaPlatformBase,), methods)()
