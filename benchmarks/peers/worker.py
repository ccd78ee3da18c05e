"""Runs the published packages of other estimators; started by `peer_packages` in their own venv.

Reads questions as JSON from standard input, writes answers as JSON. Imports nothing of this
project, which is not installed there. The packages' code runs as published; only what they would
fetch from the hub (`config.json`, safetensors headers) is handed to them.
"""

import asyncio
import contextlib
import copy
import importlib
import importlib.metadata
import io
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

Entry = dict[str, Any]


def module(name: str) -> Any:
    """Return a module of the packages, whose types are not known where this is checked."""
    return importlib.import_module(name)


def config_of(asked: Entry) -> Entry:
    """Return the `config.json` that the hub would serve.

    A summary may lack the class, the dtype, and the quantization that only the run's arguments
    tell; all are filled in, so that no tool fails for the lack of them.
    """
    config = cast("Entry", copy.deepcopy(asked["config"]))
    config.pop("auto_map", None)
    config["torch_dtype"] = asked["dtype"]
    if not config.get("architectures"):
        auto = module("transformers.models.auto.modeling_auto")
        kind = str(config.get("model_type"))
        if "text_config" in config:
            names = auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
            config["architectures"] = [names.get(kind, f"{kind}ForConditionalGeneration")]
        else:
            names = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
            config["architectures"] = [names.get(kind, f"{kind}ForCausalLM")]
    if asked["method"] and "quantization_config" not in config:
        config["quantization_config"] = {"quant_method": asked["method"], "bits": asked["bits"]}
    return config


def hugging_face_config(config: Entry) -> Any:
    """Return the configuration object that the planner's own loader makes of it.

    A model type that transformers does not ship (remote code) becomes the plain base class.
    """
    planner = module("planner.capacity_planner")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config))
        try:
            return planner.get_model_config_from_hf.__wrapped__(folder)
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            base = module("transformers").PretrainedConfig
            plain = base(**config)
            if isinstance(config.get("text_config"), dict):
                plain.text_config = base(**config["text_config"])
            return plain


def planner_answer(asked: Entry) -> Entry:
    """Return llm-d-planner's answer: its KV detail, its allocatable memory, its concurrency."""
    planner = module("planner.capacity_planner")
    name, tp, pp, length = asked["id"], asked["tensor"], asked["pipeline"], asked["length"]
    found = hugging_face_config(config_of(asked))
    answer: Entry = {}
    detail = planner.KVCacheDetail(name, found, length, 1)
    answer["bytes_per_token"] = detail.per_token_memory_bytes / (tp * pp)
    answer["need_gib"] = detail.per_request_kv_cache_gb / (tp * pp)
    if asked["header"] is None:
        return answer
    header = SimpleNamespace(parameter_count=asked["header"])

    def metadata(_name: str, _token: str | None = None) -> SimpleNamespace:
        return header

    planner.get_safetensors_metadata_from_hf = metadata
    answer["weights_gib"] = planner.per_gpu_model_memory_required(name, found, tp, pp)
    if asked["memory_gib"] is None:
        return answer
    room = (asked["memory_gib"], asked["utilization"])
    total = planner.allocatable_kv_cache_memory(name, found, *room, tp, pp, 1, length, 1)
    answer["kv_gib"] = total / (tp * pp)
    requests = planner.max_concurrent_requests(name, found, length, *room, 1, tp, pp, 1)
    possible: list[int] = [tp]
    with contextlib.suppress(AttributeError):
        possible = planner.find_possible_tp(found)
    answer["fits"] = requests >= 1 and tp in possible
    return answer


def hf_mem_answer(asked: Entry) -> Entry:
    """Return hf-mem's answer, split over the GPUs, which it does not know.

    Where it asks for a KV cache dtype instead of answering, it gets bfloat16.
    """
    run = module("hf_mem.run")
    config, header = config_of(asked), asked["header"] or {"BF16": 1}
    tensors = {f"model.{name}": {"dtype": name, "shape": [n]} for name, n in header.items()}

    async def json_file(client: object, url: str, headers: object) -> Any:
        files = ("config.json", "model.safetensors")
        tree = [{"path": path, "type": "file"} for path in files]
        return tree if "/tree/" in url else copy.deepcopy(config)

    async def safetensors(client: object, url: str, headers: object) -> Any:
        return tensors

    run.get_json_file, run.fetch_safetensors_metadata = json_file, safetensors

    def estimate(cache_dtype: str) -> Any:
        options = {"max_model_len": asked["length"], "kv_cache_dtype": cache_dtype}
        return asyncio.run(run.arun(asked["id"], experimental=True, **options))

    try:
        found = estimate(asked["cache_dtype"])
    except RuntimeError as error:
        if asked["cache_dtype"] != "auto" or "kv_cache_dtype" not in str(error).replace("-", "_"):
            raise
        found = estimate("bfloat16")
    gpus = asked["tensor"] * asked["pipeline"]
    answer: Entry = {}
    if asked["header"] is not None:
        answer["weights_gib"] = found.memory / gpus / 2**30
    if found.kv_cache is not None:
        answer["bytes_per_token"] = found.kv_cache / asked["length"] / gpus
        answer["need_gib"] = found.kv_cache / gpus / 2**30
    return answer


def answered(method: Any, asked: Entry) -> Entry:
    """Return a method's answer, or why it has none."""
    try:
        return method(asked)
    except Exception as error:
        return {"why": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}


def main() -> None:
    """Answer every question with both packages."""
    # What the peers log and warn of is no part of their answers.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    questions = cast("list[Entry]", json.load(sys.stdin))
    methods = {"llm-d-planner": planner_answer, "hf-mem": hf_mem_answer}
    noise = io.StringIO()
    with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
        answers = {
            name: [answered(method, asked) for asked in questions]
            for name, method in methods.items()
        }
    versions = {name: importlib.metadata.version(name) for name in methods}
    json.dump({"versions": versions, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
