"""Runs the command in this process and gives back its code and both outputs."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from cli.__main__ import main

ROOT: Final = Path(__file__).resolve().parents[3]
SHARED: Final = ROOT.parent / "shared"

FIELDS: Final = (
    "id",
    "verdict",
    "weights_gib",
    "activation_gib",
    "non_torch_gib",
    "cuda_graph_gib",
    "kv_cache_gib",
    "kv_cache_gib_low",
    "kv_bytes_per_token",
    "gpu_blocks",
    "kv_cache_tokens",
    "max_concurrency",
    "needed_kv_gib",
    "margin_gib",
    "reasons",
    "remedies",
    "sources",
)


class Ran(NamedTuple):
    """What a run gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def row(self) -> dict[str, Any]:
        assert isinstance(self.json, dict), self.out
        return cast("dict[str, Any]", self.json)


def triplane(*arguments: str) -> Ran:
    """Run `triplane` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return Ran(code, out.getvalue(), err.getvalue())


def budget(*arguments: str) -> Ran:
    """Run `triplane budget .. --json`."""
    return triplane("budget", *arguments, "--json")


def shared(name: str) -> Path:
    """Return a file beside the project that this tier needs."""
    path = SHARED / name
    assert path.exists(), f"../shared/{name} is missing: these tests measure against it"
    return path


def qwen(**changes: Any) -> dict[str, Any]:
    """Return a small dense configuration."""
    config: dict[str, Any] = {
        "model_type": "qwen3",
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": True,
    }
    return {**config, **changes}
