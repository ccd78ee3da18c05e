"""The engine's own answers (docs/sources.md#the-data-folder) as questions."""

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic import JsonValue

from benchmarks.peers.questions import GOLDENS, Asked, Seen, class_of, question, read_lines
from benchmarks.shared.memory_cases import DATA
from catalog.loader import load
from models.architecture import architecture, with_quantization
from models.core.base import GIB
from models.engine.arguments import EngineArguments
from models.facts.catalog import Catalog
from models.memory import BudgetRequest, Card, behavior_of


def from_goldens() -> list[Asked]:
    """Return the engine's own answers as questions."""
    configs = cast(
        "dict[str, dict[str, JsonValue]]",
        json.loads((DATA / "engine_configs.json").read_text(encoding="utf-8")),
    )
    catalog = load()
    found: list[Asked] = []
    for golden in read_lines(GOLDENS):
        request = golden_request(golden, configs[golden["model"]], catalog)
        asked = question(
            golden["id"],
            class_of(request.architecture),
            configs[golden["model"]],
            request,
            request.card,
            block=golden["engine"]["block_size"],
        )
        weights, need = golden.get("weights_alloc_bytes"), golden["need_bytes_one_request"]
        seen = Seen(
            weights_gib=weights / GIB if weights else None,
            block_bytes=golden["pool_bytes_per_block"],
            need_gib=need / GIB,
        )
        found.append((asked, seen))
    return found


def golden_request(
    golden: Mapping[str, Any], config: Mapping[str, JsonValue], catalog: Catalog
) -> BudgetRequest:
    """Return a golden's inputs; its blocks of 128 were asked for, all others chosen."""
    engine: Mapping[str, Any] = golden["engine"]
    found = architecture(config)
    if engine["quantization"] is not None:
        found = with_quantization(found, engine["quantization"])
    accelerator = catalog.accelerator_of(golden["gpu"])
    if accelerator is None:
        raise ValueError(f"{golden['id']}: GPU {golden['gpu']!r} is not in the catalog")
    return BudgetRequest(
        architecture=found,
        card=Card(memory_gib=accelerator.memory_gib, capability=accelerator.capability),
        behavior=behavior_of("0.33.0", load().borders),
        arguments=EngineArguments(
            max_model_len=engine["max_model_len"],
            max_num_seqs=engine["max_num_seqs"],
            max_num_batched_tokens=engine["max_num_batched_tokens"],
            kv_cache_dtype=engine["kv_cache_dtype"],
            dtype=engine["dtype"],
            tensor_parallel_size=engine["tp"],
            enable_expert_parallel=golden["id"].endswith("-ep"),
            enable_prefix_caching=engine["prefix_caching"],
            block_size=engine["block_size"] if golden["id"].startswith("r:llmd") else None,
        ),
    )
