"""Engine contracts: complete lists, what is gone and since when, minima by card."""

import csv
from typing import Final

import pytest

from catalog.loader import load
from models.engine.arguments import ServeArguments
from models.engine.serve import command_line, problems_of
from models.facts.contract import EngineContract, MetricType
from models.memory import behavior_of_contract
from tests.helpers.catalog.copies import CATALOG, SHARED

pytestmark = pytest.mark.pure

ENGINES: Final = load().engines
PINNED: Final = ENGINES["0.33.0"]
TABLE: Final = SHARED / "facts" / "vllm-metrics-by-version.tsv"


def numbers(version: str) -> tuple[int, ...]:
    """Return a release as numbers, fit for comparison."""
    return tuple(int(part) for part in version.split("."))


def everything() -> ServeArguments:
    """Return arguments that render every option that we ever write."""
    return ServeArguments(
        model_path="/models/m",
        served_model_name="m",
        gpu_memory_utilization=0.9,
        max_model_len=4096,
        max_num_seqs=64,
        max_num_batched_tokens=2048,
        kv_cache_dtype="fp8",
        dtype="float16",
        quantization="fp8",
        enable_prefix_caching=False,
        block_size=16,
        enforce_eager=True,
        kv_cache_memory_bytes=1024,
        attention_backend="FLASH_ATTN",
        tensor_parallel_size=2,
        pipeline_parallel_size=2,
        data_parallel_size=2,
        enable_expert_parallel=True,
    )


@pytest.mark.parametrize("version", ["0.24.0", "0.31.0", "0.33.0"])
@pytest.mark.parametrize("caching", [True, False])
def test_the_engine_takes_every_option_that_we_render(version: str, caching: bool) -> None:
    """Argparse exits at an unknown option: the pod would crash in a loop."""
    args = everything().model_copy(update={"enable_prefix_caching": caching})
    words = command_line(args, ENGINES[version])
    assert not problems_of(words, ENGINES[version], "test")


def test_releases_come_oldest_first() -> None:
    assert list(ENGINES) == sorted(ENGINES, key=numbers)
    assert next(iter(ENGINES)) == "0.9.2"


@pytest.mark.parametrize("version", ENGINES)
def test_a_contract_names_each_option_and_series_once(version: str) -> None:
    contract = ENGINES[version]
    names = [name for flag in contract.flags for name in flag.names]
    assert len(names) == len(set(names))
    series = [name for metric in contract.metrics for name in metric.exposed]
    assert len(series) == len(set(series))
    assert all(metric.type is not MetricType.UNKNOWN for metric in contract.metrics)


@pytest.mark.parametrize("version", ENGINES)
def test_what_is_gone_is_not_there(version: str) -> None:
    contract = ENGINES[version]
    for flag in contract.removed_flags:
        assert contract.flag(flag.name) is None
    present = {metric.name for metric in contract.metrics}
    assert not present & {metric.name for metric in contract.removed_metrics}


def test_every_option_that_an_older_release_had_is_explained() -> None:
    """Whoever upgrades gets told what to use instead, for each option that went."""
    explained = {flag.name for flag in PINNED.removed_flags}
    opposites = ("--no-", "--disable-no-")
    for version, contract in ENGINES.items():
        for name in (name for flag in contract.flags for name in flag.names):
            gone = PINNED.flag(name) is None and not name.startswith(opposites)
            if gone and name.startswith("--"):
                assert name in explained, f"{version}: {name}"


def test_the_versions_of_removals_agree_with_the_lists() -> None:
    for row in ENGINES["0.33.0"].removed_flags:
        if row.gone_in is None or row.last_seen is None:
            continue
        assert ENGINES[row.last_seen].flag(row.name) is not None, row.name
        assert ENGINES[row.gone_in].flag(row.name) is None, row.name
        order = list(ENGINES)
        assert order.index(row.gone_in) == order.index(row.last_seen) + 1, row.name


def test_field_cases_of_removed_options() -> None:
    """VLLM-16: --swap-space in 0.18.0, --shutdown-timeout in 0.16.0, an option that never was."""
    texts = [str(found) for found in problems_of(("--swap-space=4",), ENGINES["0.18.0"], "p")]
    assert "no longer has" in texts[0]
    assert "--kv-offloading-size" in texts[0]
    assert not problems_of(("--swap_space=4",), ENGINES["0.16.0"], "p")
    assert problems_of(("--shutdown-timeout=5",), ENGINES["0.16.0"], "p")
    assert problems_of(("--enable-metrics",), PINNED, "p")
    assert problems_of(("--disable-log-requests",), ENGINES["0.18.0"], "p")
    assert not problems_of(("--disable-log-requests",), PINNED, "p"), "0.33.0 has it again"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"),
        ("vllm:gpu_cache_usage_factor", "vllm:kv_cache_usage_perc"),
        ("vllm:swap_out_blocks", "vllm:num_preemptions_total"),
        ("vllm_num_requests_running", "vllm:num_requests_running"),
        ("vllm:prompt_tokens", "vllm:prompt_tokens_total"),
        (
            "vllm:time_per_output_token_seconds_bucket",
            "vllm:inter_token_latency_seconds_bucket",
        ),
        ("vllm:no_such_thing", None),
    ],
)
def test_a_wrong_metric_name_leads_to_the_right_one(written: str, meant: str | None) -> None:
    """VLLM-12, FB-01: an empty answer scales nothing and alerts nobody."""
    assert PINNED.metric(written) is None
    assert PINNED.series_meant(written) == meant


def test_old_releases_still_have_the_old_metric() -> None:
    assert ENGINES["0.10.2"].metric("vllm:gpu_cache_usage_perc") is not None
    assert ENGINES["0.11.0"].metric("vllm:gpu_cache_usage_perc") is None, "hidden there"


def test_metrics_agree_with_the_shared_table() -> None:
    """The table has fewer (it missed five files of vLLM) and does not know some types."""
    if not TABLE.exists():
        pytest.skip("the shared facts are not here")
    rows = list(csv.DictReader(TABLE.read_text().splitlines(), delimiter="\t"))
    for version, contract in ENGINES.items():
        known = {metric.name: metric for metric in contract.metrics}
        for row in (row for row in rows if row.get(version) == "yes"):
            metric = known[row["metric_in_code"]]
            kind = MetricType.GAUGE if metric.type is MetricType.INFO else metric.type
            assert row["type"] in ("?", kind), row
        hidden = {row["metric_in_code"] for row in rows if row.get(version) == "hidden"}
        assert not hidden & set(known), version


def test_quantization_minima_depend_on_the_release() -> None:
    """VLLM-14: W4A16 on a T4 is refused by 0.11.0 and runs on 0.18.0; a V100 runs on neither."""
    scheme = "compressed-tensors/wna16"
    minima = {version: row.minimum_capability.quantization for version, row in ENGINES.items()}
    assert minima["0.11.0"][scheme] == "8.0"
    assert minima["0.18.0"][scheme] == "7.5"
    assert minima["0.11.0"]["awq"] == "7.5"
    assert PINNED.minimum_capability.engine == "7.5"


@pytest.mark.parametrize("version", ENGINES)
def test_every_method_that_a_checkpoint_may_name_has_a_minimum(version: str) -> None:
    contract = ENGINES[version]
    minima = contract.minimum_capability
    for method in contract.quantization_names.values():
        assert method in minima.quantization, method
    dtypes = contract.flag("--dtype")
    assert dtypes is not None
    assert set(dtypes.choices or ()) <= set(minima.dtype)


def test_bitsandbytes_is_not_a_method_of_the_pinned_release() -> None:
    assert "bitsandbytes" not in PINNED.quantization_names
    assert "bitsandbytes" in ENGINES["0.24.0"].quantization_names


@pytest.mark.parametrize("version", ENGINES)
def test_kv_dtypes_with_a_minimum_are_values_of_the_option(version: str) -> None:
    contract = ENGINES[version]
    option = contract.flag("--kv-cache-dtype")
    assert option is not None
    assert set(contract.minimum_capability.kv_cache_dtype) <= set(option.choices or ())


def test_defaults_by_size_fall_through_to_the_smallest_card() -> None:
    for contract in ENGINES.values():
        sizes = contract.memory.sizes
        assert [row.min_memory_gib for row in sizes] == sorted(
            (row.min_memory_gib for row in sizes), reverse=True
        )
        assert sizes[-1].min_memory_gib == 0
        assert not sizes[-1].except_products


def memory_of(contract: EngineContract) -> tuple[float, bool, str, str]:
    """Return what of a release's memory behavior changed over time."""
    memory = contract.memory
    return (
        memory.gpu_memory_utilization,
        memory.graphs_deducted,
        memory.reports,
        memory.allocator,
    )


def test_memory_behavior_follows_the_sources() -> None:
    """FB-13: the same utilization gives less KV after an upgrade across 0.20."""
    assert memory_of(ENGINES["0.18.0"]) == (0.9, False, "blocks", "old")
    assert memory_of(ENGINES["0.20.0"]) == (0.92, True, "blocks", "old")
    assert memory_of(ENGINES["0.24.0"]) == (0.92, True, "capacity", "new")
    assert memory_of(PINNED) == (0.92, True, "capacity", "new")


def test_some_classes_estimate_no_graphs_in_some_releases() -> None:
    """Nothing is deducted for them there, though the release deducts graphs."""
    name = "Qwen3ForCausalLM"
    said = {version: name in ENGINES[version].memory.no_graph_estimate_for for version in ENGINES}
    assert {version for version, none in said.items() if none} == {"0.24.0"}
    deducted = behavior_of_contract(ENGINES["0.24.0"], (name,)).graphs_deducted
    assert (deducted, behavior_of_contract(ENGINES["0.24.0"]).graphs_deducted) == (False, True)


def test_images_are_pinned_where_a_digest_is_known() -> None:
    assert ENGINES["0.24.0"].image.digest.startswith("sha256:251eba5c")
    assert PINNED.image.digest == "unresolved"
    files = {path.stem for path in (CATALOG / "engines").glob("*.yaml")}
    assert files - {"borders"} == set(ENGINES)
