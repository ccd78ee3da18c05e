"""What of torch and vLLM has to give way so that the engine's own code runs on fake tensors.

Everything is changed at run time and nothing of the engine's is copied. About fifteen private names
are touched; a release that renames one fails here, by name.
"""

from typing import Any

from goldens.oracle.engine import package


def patch_torch() -> None:
    """Fake tensors that never ask for the device, and process groups without processes."""
    torch = package("torch")
    fake = package("torch._subclasses.fake_tensor")
    fake.FakeTensorMode.avoid_device_init = property(lambda self: True)
    fake.FakeTensor.item = lambda self: _one(self)
    fake.FakeTensor.__float__ = lambda self: 1.0
    fake.FakeTensor.__bool__ = lambda self: True
    fake.FakeTensor.__int__ = lambda self: 1
    fake.FakeTensor.tolist = _listed
    torch.allclose = lambda *_a, **_k: True
    torch.equal = lambda *_a, **_k: True
    torch.__future__.set_swap_module_params_on_conversion(value=False)
    distributed = package("torch.distributed")
    package("torch.testing._internal.distributed.fake_pg")
    original = distributed.new_group

    def new_group(ranks: Any = None, *args: object, **kwargs: object) -> Any:
        return original(ranks, backend="fake")

    distributed.new_group = new_group


def _one(tensor: Any) -> Any:
    return 1.0 if tensor.dtype.is_floating_point else 1


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
    utils = package("vllm.model_executor.model_loader.utils")
    utils.record_metadata_for_reloading = lambda *_a, **_k: None


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
        )  # fmt: skip
        given = dict(zip(names, args, strict=False)) | kwargs
        given["use_device_communicator"] = False
        given["use_message_queue_broadcaster"] = False
        original(self, **given)

    state.GroupCoordinator.__init__ = init
    state._node_count = lambda _: 1
    state.in_the_same_node_as = lambda pg, source_rank=0: [True] * 8
