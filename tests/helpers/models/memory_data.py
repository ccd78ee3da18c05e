"""The shared data that the memory model is held against; its absence is a failure, not a skip."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pytest

from models.architecture import Architecture, architecture, with_quantization
from models.engine.arguments import EngineArguments
from models.memory import BudgetRequest, Card
from tests.helpers.models.releases import behavior_of

DATA: Final = Path(__file__).resolve().parents[4] / "shared" / "data"

CAPABILITIES: Final[dict[str, tuple[int, int]]] = {
    "NVIDIA H100 80GB HBM3": (9, 0),
    "NVIDIA H200": (9, 0),
    "NVIDIA B200": (10, 0),
    "NVIDIA A100-SXM4-80GB": (8, 0),
    "NVIDIA L4": (8, 9),
    "Tesla T4": (7, 5),
    "NVIDIA GeForce RTX 5090": (12, 0),
}

Golden = dict[str, Any]

SCALARS: Final = (16, 24, 32)
"""Bytes per attention layer that no size of a model tells: 4 to 8 float32 scales of one number."""


def scalars(found: Architecture) -> tuple[int, ...]:
    """Return what the scales of a model's attention layers may take together, in bytes."""
    layers = sum(len(cache.layers) for cache in found.caches if not cache.kind.is_state)
    return tuple(each * layers for each in SCALARS)


def step_floats(found: Architecture, tensor: int, step: int, attention: Iterable[str]) -> int:
    """Return the float32 that FlashInfer keeps per token of a step and query head, in bytes."""
    return 4 * step * (found.heads // tensor) if "FLASHINFER" in attention else 0


def read(name: str) -> str:
    """Return a shared file's text; fails where it is missing."""
    path = DATA / name
    if not path.exists():
        pytest.fail(f"lacking {name} in ../shared/data: the memory model cannot be checked")
    return path.read_text(encoding="utf-8")


@cache
def goldens() -> list[Golden]:
    """Return the engine's own answers."""
    lines = read("engine_goldens.jsonl").splitlines()
    return [cast("Golden", json.loads(line)) for line in lines if line.strip()]


@cache
def configs() -> dict[str, dict[str, Any]]:
    """Return the configurations that went into the goldens."""
    return cast("dict[str, dict[str, Any]]", json.loads(read("engine_configs.json")))


def golden_architecture(golden: Golden) -> Architecture:
    """Return a golden's architecture, with the engine's method where the checkpoint names none."""
    found = architecture(configs()[golden["model"]])
    method = golden["engine"]["quantization"]
    return found if method is None else with_quantization(found, method)


def golden_request(golden: Golden) -> BudgetRequest:
    """Return a golden's inputs as a request; blocks of 128 were asked for, all others chosen."""
    engine = golden["engine"]
    asked = engine["block_size"] if golden["id"].startswith("r:llmd") else None
    return BudgetRequest(
        architecture=golden_architecture(golden),
        card=Card(memory_gib=80.0, capability=CAPABILITIES[golden["gpu"]]),
        behavior=behavior_of("0.33.0"),
        arguments=EngineArguments(
            max_model_len=engine["max_model_len"],
            max_num_seqs=engine["max_num_seqs"],
            max_num_batched_tokens=engine["max_num_batched_tokens"],
            kv_cache_dtype=engine["kv_cache_dtype"],
            dtype=engine["dtype"],
            tensor_parallel_size=engine["tp"],
            enable_expert_parallel=golden["id"].endswith("-ep"),
            enable_prefix_caching=engine["prefix_caching"],
            block_size=asked,
        ),
    )
