"""What of torch and vLLM has to give way so that the engine's own code runs on fake tensors.

Everything is changed at run time and nothing of the engine's is copied. About fifteen private names
are touched; a release that renames one fails here, by name.
"""

import sys
from types import SimpleNamespace
from typing import Any

from goldens.oracle.engine import answering, package


def patch_torch() -> None:
    """Fake tensors that never ask for the device, and process groups without processes."""
    torch = package("torch")
    fake = package("torch._subclasses.fake_tensor")
    fake.FakeTensorMode.avoid_device_init = property(answering(value=True))
    fake.FakeTensor.item = _one
    fake.FakeTensor.__float__ = answering(1.0)
    fake.FakeTensor.__bool__ = answering(value=True)
    fake.FakeTensor.__int__ = answering(1)
    fake.FakeTensor.any = _any
    fake.FakeTensor.tolist = _listed
    torch.allclose = answering(value=True)
    torch.equal = answering(value=True)
    torch.__future__.set_swap_module_params_on_conversion(value=False)
    distributed = package("torch.distributed")
    package("torch.testing._internal.distributed.fake_pg")
    original = distributed.new_group

    def new_group(ranks: Any = None, *args: object, **kwargs: object) -> Any:
        return original(ranks, backend="fake")

    distributed.new_group = new_group


def _one(tensor: Any) -> Any:
    return 1.0 if tensor.dtype.is_floating_point else 1


def _any(tensor: Any, *args: object, **kwargs: object) -> Any:
    """Without an axis it asks for something wrong (a NaN, a mismatch): no. Else it is a tensor."""
    return package("torch").any(tensor, *args, **kwargs) if args or kwargs else False


def _listed(tensor: Any) -> Any:
    value = _one(tensor)
    for size in reversed(tensor.shape):
        value = [value] * int(size)
    return value


def patch_engine() -> None:
    """Keep parameter classes on fake tensors, stay in one process, copy nothing for reloads."""
    _keep_parameter_classes()
    _inspect_in_process()
    _one_process()
    _humming()
    _shapes_for_values()
    utils = package("vllm.model_executor.model_loader.utils")
    utils.record_metadata_for_reloading = answering(None)


def _shapes_for_values() -> None:
    """Steps that compute on values, where only the shape of the result matters here."""
    package("torch").unique = _first
    values = package("vllm.model_executor.layers.quantization.utils.quant_utils")
    package("vllm.model_executor.kernels.linear.mixed_precision.marlin")
    package("vllm.model_executor.layers.quantization.utils.marlin_utils")
    _everywhere(values.unpack_cols, _unpacked)
    _everywhere(values.pack_cols, _packed)
    fp8 = package("vllm.model_executor.layers.quantization.utils.fp8_utils")
    fp8.transform_sf_into_required_layout = _scale_layout


def _first(tensor: Any, *args: object, **kwargs: object) -> Any:
    return tensor.flatten()[:1]


def _unpacked(packed: Any, bits: int, rows: int, columns: int) -> Any:
    return packed.new_empty((rows, columns), dtype=package("torch").int32)


def _packed(values: Any, bits: int, rows: int, columns: int) -> Any:
    return values.new_empty((rows, columns * bits // 32), dtype=package("torch").int32)


def _everywhere(old: Any, new: Any) -> None:
    """Replace a function in every module of the engine that has imported it by name."""
    name = old.__name__
    for key, module in list(sys.modules.items()):
        if key.startswith("vllm.") and getattr(module, name, None) is old:
            setattr(module, name, new)


def _scale_layout(
    *, sf: Any, mn: int, k: int, recipe: tuple[int, int, int], num_groups: int | None = None,
    is_sfa: bool = False,
) -> Any:  # fmt: skip  # DeepGEMM's own signature, in its own order
    """DeepGEMM's layout of block scales: as it is on Hopper; on Blackwell one scale per row, four
    exponents in an int32, rows in steps of four.
    """
    if package("vllm.platforms").current_platform.get_device_capability().major < 10:
        return sf
    rows, groups = -(-mn // 4) * 4, -(-k // recipe[2])
    return sf.new_empty((*sf.shape[:-2], rows, -(-groups // 4)), dtype=package("torch").int32)


def _humming() -> None:
    """Humming asks the driver by itself; it gets the pretended card too."""
    info = package("humming.device").DeviceInfo
    properties = package("torch").cuda.get_device_properties(0)
    memory = properties.shared_memory_per_block_optin
    value = SimpleNamespace(
        index=0,
        name=properties.name,
        is_ppu=False,
        sm_count=properties.multi_processor_count,
        sm_major=properties.major,
        sm_minor=properties.minor,
        sm_version=properties.major * 10 + properties.minor,
        max_smem_size=memory,
        max_smem_size_kb=memory / 1024,
        default_smem_size=49152,
        max_threads_per_block=1024,
        max_threads_per_sm=2048,
        max_registers_per_sm=65536,
        l2_cache_size=properties.L2_cache_size,
        l2_cache_size_mb=properties.L2_cache_size / 1024**2,
    )
    info._get_value = answering(value)
    original = info.__new__

    def new(cls: Any, index: Any = None) -> Any:
        made = original(cls, -1)
        made._index = 0 if index is None else index
        return made

    info.__new__ = new


def _keep_parameter_classes() -> None:
    """`Parameter` of a fake tensor is a plain fake tensor: give it back the class it is made as."""
    fake_tensor = package("torch._subclasses.fake_tensor").FakeTensor
    parameter = package("torch.nn").Parameter
    base = package("vllm.model_executor.parameter").BasevLLMParameter
    made: dict[type, type] = {}

    def class_of(wanted: Any) -> type:
        if issubclass(wanted, fake_tensor):
            return wanted
        if wanted not in made:
            made[wanted] = type(wanted.__name__, (wanted, fake_tensor), {})
        return made[wanted]

    def new(cls: Any, data: Any, **kwargs: object) -> Any:
        found = parameter.__new__(parameter, data, requires_grad=False)
        if isinstance(found, fake_tensor):
            found.__class__ = class_of(cls)
        else:
            found.__class__ = cls
        return found

    base.__new__ = staticmethod(new)
    kernel = package("vllm.model_executor.kernels.linear.mixed_precision.MPLinearKernel")

    def shallow_copy(param: Any) -> Any:
        copy = param.data.detach()
        kept = dict(copy.__dict__)
        copy.__class__ = type(param)
        copy.__dict__.update(param.__dict__)
        copy.__dict__.update(kept)
        return copy

    kernel._shallow_copy = shallow_copy


def _inspect_in_process() -> None:
    """The registry asks a subprocess about a model's class, which would see no GPU."""
    registry = package("vllm.model_executor.models.registry")

    def inspect(self: Any) -> Any:
        return registry._ModelInfo.from_model_cls(self.load_model_cls())

    registry._LazyRegisteredModel.inspect_model_cls = inspect


def _one_process() -> None:
    """One rank of a world that has no others: no communicators, no queues, one node."""
    state = package("vllm.distributed.parallel_state")
    original = state.GroupCoordinator.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        names = (
            "group_ranks", "local_rank", "torch_distributed_backend", "use_device_communicator",
            "use_message_queue_broadcaster", "group_name", "use_all2all",
        )  # fmt: skip  # a list of words
        given = dict(zip(names, args, strict=False)) | kwargs
        given["use_device_communicator"] = False
        given["use_message_queue_broadcaster"] = False
        original(self, **given)

    state.GroupCoordinator.__init__ = init
    state._node_count = answering(1)
    state.in_the_same_node_as = answering([True] * 8)
