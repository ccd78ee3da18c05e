"""Builds one rank of a model in the engine's own order, on fake tensors."""

import json
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldens.oracle.counting import Sizes, count
from goldens.oracle.engine import package
from goldens.oracle.process import processed


@dataclass
class Built:
    """A model that is built: its configuration, weights, and what could not be post-processed."""

    config: Any
    model: Any
    created: Sizes
    weights: Sizes
    failures: list[str]


def configured(case: dict[str, Any], stack: ExitStack) -> Any:
    """Return the engine's configuration for a case: its own reading of arguments and files."""
    arguments = package("vllm.engine.arg_utils").EngineArgs
    usage = package("vllm.usage.usage_lib").UsageContext
    folder = Path(tempfile.mkdtemp(prefix="golden-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    (folder / "config.json").write_text(json.dumps(case["config"]), encoding="utf-8")
    given = dict(case["arguments"])
    engine = arguments(
        model=str(folder),
        served_model_name=[case["model"]],
        skip_tokenizer_init=True,
        load_format="dummy",
        distributed_executor_backend="mp" if given.get("tensor_parallel_size", 1) > 1 else None,
        **given,
    )
    return engine.create_engine_config(usage.OPENAI_API_SERVER)


def build(case: dict[str, Any], stack: ExitStack) -> Built:
    """Build rank 0; `stack` keeps the fake mode and the engine's context open for the planner."""
    torch = package("torch")
    config = configured(case, stack)
    tensor = config.parallel_config.tensor_parallel_size
    fake_pg = package("torch.testing._internal.distributed.fake_pg")
    torch.distributed.init_process_group(
        backend="fake", rank=0, world_size=tensor, store=fake_pg.FakeStore()
    )
    package("vllm.platforms").current_platform.check_if_supports_dtype(config.model_config.dtype)
    stack.enter_context(package("vllm.config").set_current_vllm_config(config))
    stack.enter_context(torch.inference_mode(mode=False))
    stack.enter_context(torch.no_grad())
    worker = package("vllm.v1.worker.gpu_worker")
    worker.init_worker_distributed_environment(config, 0, "fake://", 0, "nccl")
    stack.enter_context(
        package("torch._subclasses.fake_tensor").FakeTensorMode(allow_non_fake_inputs=True)
    )
    device = torch.device("cuda:0")
    workspace = package("vllm.v1.worker.workspace")
    workspace.init_workspace_manager(device, 1)
    loader = package("vllm.model_executor.model_loader.utils")
    with (
        package("vllm.utils.torch_utils").set_default_torch_dtype(config.model_config.dtype),
        device,
    ):
        model = loader.initialize_model(config, model_config=config.model_config)
    created = count()
    with package("vllm.utils.torch_utils").set_default_torch_dtype(config.model_config.dtype):
        weights, failures = processed(model, config, device)
    return Built(config=config, model=model, created=created, weights=weights, failures=failures)
