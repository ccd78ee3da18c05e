"""`triplane budget`: one model by name, by configuration, and every option."""

import json
from pathlib import Path

import pytest

from tests.helpers.cli.command import FIELDS, budget, qwen

pytestmark = pytest.mark.pure

L4 = ("qwen3-8b", "--gpu", "l4", "--max-model-len", "8192")


def test_a_catalog_name_gives_one_object_with_exactly_the_stated_fields() -> None:
    ran = budget(*L4)
    assert ran.code == 0
    assert tuple(ran.row) == FIELDS
    assert ran.row["verdict"] == "fits"
    assert ran.row["weights_gib"] == pytest.approx(15.27, abs=0.02)
    assert ran.row["kv_bytes_per_token"] == 147456


def test_another_verdict_exits_with_one_and_offers_remedies() -> None:
    ran = budget("qwen3-8b", "--gpu", "l4", "--max-model-len", "40960")
    assert ran.code == 1
    assert ran.row["verdict"] == "cannot-serve"
    assert ran.row["remedies"][0]["settings"]["max_model_len"] < 40960
    assert ran.row["reasons"]


@pytest.mark.parametrize(
    "gpu",
    ["l4", "L4", "NVIDIA L4", "NVIDIA-L4", "L4 24GB", "1x L4", "NVIDIA L4 (g6.xlarge)", "l4-24gb"],
)
def test_a_card_is_known_by_every_way_of_writing_it(gpu: str) -> None:
    """What is in a row of it: weights, all terms and the KV cache make 92 % of 22.16 GiB."""
    row = budget("qwen3-8b", "--gpu", gpu).row
    terms = ("weights_gib", "activation_gib", "non_torch_gib", "cuda_graph_gib", "kv_cache_gib")
    assert sum(row[name] for name in terms) == pytest.approx(0.92 * 22.16, abs=0.01)


@pytest.mark.parametrize(
    ("gpu", "gib"),
    [
        ("H100", 79.2),
        ("NVIDIA H100 80GB HBM3", 79.2),
        ("H100-80GB", 79.2),
        ("8xH100", 79.2),
        ("H100 NVL (Standard_NC80adis_H100_v5)", 93.0),
        ("A100 40GB (39.49 GiB)", 39.5),
        ("NVIDIA A100-SXM4-80GB", 79.2),
        ("Tesla T4", 14.74),
        ("NVIDIA GeForce RTX 4090", 23.6),
        ("RTX 5090 Laptop 24GB", 23.9),
        ("24GB (23.58 GiB) RTX 3090", 23.58),
        ("GB10 (DGX Spark, 128 GB unified)", 121.7),
        ("MI300X (192 GB)", 191.98),
        ("8GB-class (7.65 GiB)", 7.65),
        ("unheard-of 24GB", 22.35),
    ],
)
def test_cards_as_people_logs_and_nvml_write_them(gpu: str, gib: float) -> None:
    args = ("qwen3-06b", "--gpu", gpu, "--gpu-memory-utilization", "0.9", "--enforce-eager")
    row = budget(*args, "--max-num-seqs", "1", "--max-num-batched-tokens", "2048").row
    names = ("weights_gib", "activation_gib", "non_torch_gib", "kv_cache_gib")
    assert sum(row[name] for name in names) == pytest.approx(0.9 * gib, rel=0.005)


@pytest.mark.parametrize("gpu", ["NVIDIA A100-SXM4-80GB MIG 3g.40gb", "RTX A2000 Laptop GPU"])
def test_a_part_of_a_card_is_not_taken_for_the_whole(gpu: str) -> None:
    """A slice has less memory than the card that its name contains."""
    row = budget("qwen3-06b", "--gpu", gpu).row
    whole = budget("qwen3-06b", "--gpu", gpu.split(" MIG")[0].replace(" Laptop GPU", "")).row
    assert row["kv_cache_gib"] is None or row["kv_cache_gib"] < whole["kv_cache_gib"]


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "qwen/qwen3-8b", "QWEN3-8B", "Qwen3 8B"])
def test_a_model_is_known_by_catalog_and_hub_name(name: str) -> None:
    assert budget(name, "--gpu", "l4").row["weights_gib"] == pytest.approx(15.27, abs=0.02)


def test_a_configuration_file_or_its_folder_will_do(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(qwen()))
    by_file = budget("--model-config", str(folder / "config.json"), "--gpu", "l4").row
    by_folder = budget("--model-config", str(folder), "--gpu", "l4").row
    assert by_file["id"] == "my-model"
    assert by_file["weights_gib"] == by_folder["weights_gib"] > 3


def test_configurations_by_name_serve_a_single_model_too(tmp_path: Path) -> None:
    file = tmp_path / "configs.json"
    file.write_text(json.dumps({"acme/Tiny-1B": qwen()}))
    ran = budget("acme/Tiny-1B", "--model-configs", str(file), "--gpu", "l4")
    assert ran.row["verdict"] == "fits"


@pytest.mark.parametrize(
    ("option", "field"),
    [
        (("--tp", "2"), "weights_gib"),
        (("--pp", "2"), "weights_gib"),
        (("--dp", "2"), "id"),
        (("--ep",), "id"),
        (("--max-model-len", "4096"), "needed_kv_gib"),
        (("--gpu-memory-utilization", "0.8"), "kv_cache_gib"),
        (("--max-num-seqs", "1024"), "activation_gib"),
        (("--max-num-batched-tokens", "16384"), "activation_gib"),
        (("--kv-cache-dtype", "fp8"), "kv_bytes_per_token"),
        (("--dtype", "float16"), "id"),
        (("--quant", "fp8"), "weights_gib"),
        (("--enforce-eager",), "cuda_graph_gib"),
        (("--block-size", "64"), "gpu_blocks"),
        (("--no-enable-prefix-caching",), "id"),
        (("--vllm-version", "0.10.2"), "activation_gib"),
        (("--kv-cache-memory-bytes", "1000000000"), "kv_cache_gib"),
        (("--n-gpus", "1"), "id"),
        (("--gpu-mem-gib", "30"), "kv_cache_gib"),
    ],
)
def test_every_option_reaches_the_budget(option: tuple[str, ...], field: str) -> None:
    plain, changed = budget(*L4), budget(*L4, *option)
    assert changed.code in (0, 1), changed.err
    assert (changed.row[field] != plain.row[field]) is (field != "id")


def test_gpus_that_parallelism_does_not_use_up_are_refused() -> None:
    row = budget(*L4, "--n-gpus", "4", "--tp", "2").row
    assert row["verdict"] == "cannot-start"
    assert "GPUs" in row["reasons"][0]


def test_defaults_are_those_of_the_release_on_that_card() -> None:
    """0.33.0: 1024 sequences on an H100, 256 on an L4; utilization 0.92, before 0.21 0.90."""
    given = ("--gpu-memory-utilization", "0.92", "--max-num-seqs", "1024")
    spelled = budget("qwen3-8b", "--gpu", "h100", *given, "--max-num-batched-tokens", "8192").row
    assert spelled == budget("qwen3-8b", "--gpu", "h100").row
    assert budget(*L4, "--max-num-seqs", "256").row == budget(*L4).row
    old = budget(*L4, "--vllm-version", "0.10.2").row
    assert old == budget(*L4, "--vllm-version", "0.10.2", "--gpu-memory-utilization", "0.9").row


def test_an_old_card_computes_in_float16() -> None:
    row = budget("qwen3-06b", "--gpu", "t4").row
    assert row["verdict"] == "fits"
    assert any("float16" in reason for reason in row["reasons"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("qwen3-8b",), "gpu"),
        (("qwen3-8b", "--gpu", "no-such-card"), "gpu_mem_gib"),
        (("no-such-model", "--gpu", "l4"), "model"),
        (("qwen3-8B-instruct-of-ours", "--gpu", "gaudi3"), "gpu"),
        (("qwen3-8b", "--gpu", "l4", "--quant", "exl3"), "exl3"),
    ],
)
def test_what_cannot_be_resolved_is_unknown_and_named(
    arguments: tuple[str, ...], named: str
) -> None:
    ran = budget(*arguments)
    assert ran.code == 1
    assert ran.row["verdict"] == "unknown"
    assert named in " ".join(ran.row["reasons"])


def test_a_configuration_that_is_not_understood_names_the_field(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    for config, named in (({"model_type": "unheard"}, "model_type"), ({}, "model_type")):
        file.write_text(json.dumps(config))
        ran = budget("--model-config", str(file), "--gpu", "l4")
        assert (ran.code, ran.row["verdict"]) == (1, "unknown")
        assert named in ran.row["reasons"][0]
