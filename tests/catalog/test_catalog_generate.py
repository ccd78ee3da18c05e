"""The generators: what they read from a source tree, and that they agree with the files."""

import json
import os
from pathlib import Path
from typing import Final

import pytest

from catalog.generate import engine_contract, prices
from catalog.generate.vllm_flags import read_flags, read_literal
from catalog.generate.vllm_metrics import read_metrics
from catalog.loader import load
from models.facts.contract import MetricType
from tests.helpers.catalog.copies import CATALOG, SHARED

pytestmark = pytest.mark.pure

PARSER_LIST: Final = SHARED / "facts" / "vllm-args-0.33.0.json"
SOURCE_VARIABLE: Final = "TRIPLANE_VLLM_SOURCE"
"""Names an unpacked source tree of the pinned vLLM; without it the drift test is skipped."""

CONFIG: Final = """
from typing import Annotated, Literal, Optional
CacheDType = Literal["auto", "fp8"]
Wide = Literal["a", CacheDType]
class Base:
    shared: bool = False
class CacheConfig(Base):
    block_size: int | None = None
    dtype: CacheDType = "auto"
    wide: Wide = "a"
    share: Annotated[float, Field(gt=0)] = Field(default=0.92, gt=0, le=1)
    ids: Optional[list[int]] = None
    maybe: bool | str = True
    extra: dict[str, int] = field(default_factory=dict)
    token: ClassVar[int] = 3
"""
ARGUMENTS: Final = """
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        cache_kwargs = get_kwargs(CacheConfig)
        group.add_argument("--block-size", "-b", **cache_kwargs["block_size"])
        group.add_argument("--dtype", **cache_kwargs["dtype"])
        group.add_argument("--wide", **cache_kwargs["wide"])
        group.add_argument("--share", **cache_kwargs["share"])
        group.add_argument("--ids", **cache_kwargs["ids"])
        group.add_argument("--maybe", **cache_kwargs["maybe"])
        group.add_argument("--extra", **cache_kwargs["extra"])
        group.add_argument("--enable-shared", **{**cache_kwargs["shared"], "default": None})
        backend_kwargs = cache_kwargs["dtype"]
        group.add_argument("--backend", **backend_kwargs)
        group.add_argument("--quiet", action="store_true", default=False)
        group.add_argument("--level", choices=["low", "high"], default="low", type=str)
"""
SERVER: Final = """
class FrontendArgs:
    api_key: list[str] | None = None
    log_error: bool = False
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--headless", action="store_true")
"""
METRICS: Final = """
class Names:
    LOADS = "vllm:loads"
LABEL = "tier"
def build(self, labelnames):
    self._gauge_cls(name="vllm:running", labelnames=labelnames)
    self._counter_cls(name="vllm:done", labelnames=labelnames + ["reason"])
    Histogram("vllm:time_seconds", "help", ["operation"])
    specs = [("vllm:spec_decode_num_drafts", "help")]
    metrics[Names.LOADS] = TierCounterMetadata(documentation="...", labelnames=(LABEL,))
    if self.show_hidden_metrics:
        Gauge(name="vllm:old")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a source tree with the shapes that vLLM's has."""
    files = {
        "vllm/config/cache.py": CONFIG,
        "vllm/engine/arg_utils.py": ARGUMENTS,
        "vllm/entrypoints/common/cli_args.py": SERVER,
        "vllm/utils/argparse_utils.py": "class EnableDisableAction: ...",
        "vllm/v1/metrics.py": METRICS,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_options_are_read_with_type_choices_and_default(tree: Path) -> None:
    flags = {flag.names[0]: flag for flag in read_flags(tree)}
    assert flags["--block-size"].names == ("--block-size", "-b")
    assert flags["--block-size"].type == "int"
    assert flags["--dtype"].choices == ("auto", "fp8")
    assert flags["--wide"].choices == ("a", "auto", "fp8")
    assert flags["--share"].default == 0.92
    assert (flags["--ids"].type, flags["--ids"].arity) == ("int", "+")
    assert (flags["--maybe"].type, flags["--maybe"].arity) == ("str", "?")
    assert flags["--extra"].type == "json"
    assert flags["--backend"].choices == ("auto", "fp8")
    assert flags["--level"].choices == ("low", "high")
    assert flags["--api-key"].arity == "+"
    assert set(flags) >= {"--headless", "--quiet", "--log-error"}


def test_a_boolean_option_has_every_spelling_of_its_opposite(tree: Path) -> None:
    """The help shows --disable-x since 0.33, but --no-enable-x is still taken."""
    names = {flag.names[0]: flag.names for flag in read_flags(tree)}
    assert names["--enable-shared"] == (
        "--enable-shared",
        "--no-enable-shared",
        "--disable-shared",
    )
    assert names["--log-error"] == ("--log-error", "--no-log-error")
    (tree / "vllm/utils/argparse_utils.py").write_text("")
    names = {flag.names[0]: flag.names for flag in read_flags(tree)}
    assert names["--enable-shared"] == ("--enable-shared", "--no-enable-shared")


def test_metrics_are_read_with_type_series_and_labels(tree: Path) -> None:
    metrics = {metric.name: metric for metric in read_metrics(tree)}
    assert metrics["vllm:running"].type is MetricType.GAUGE
    assert metrics["vllm:done"].exposed == ("vllm:done_total",)
    assert metrics["vllm:done"].labels == ("model_name", "engine", "reason")
    assert metrics["vllm:time_seconds"].exposed[0] == "vllm:time_seconds_bucket"
    assert metrics["vllm:time_seconds"].labels == ("operation",)
    assert metrics["vllm:spec_decode_num_drafts"].type is MetricType.COUNTER
    assert metrics["vllm:loads"].labels == ("model_name", "engine", "tier")
    assert "vllm:old" not in metrics, "shown only on request"


def test_a_literal_type_is_read_by_name(tree: Path) -> None:
    assert read_literal(tree, "CacheDType") == ("auto", "fp8")
    assert read_literal(tree, "NoSuch") == ()


def test_a_tree_that_is_not_vllms_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_flags(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_metrics(tmp_path)


def test_written_lists_load_again_and_drift_is_told(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = tmp_path / "engines"
    engines.mkdir()
    monkeypatch.setattr(engine_contract, "ENGINES", engines)
    arguments = ["0.0.1", "--source", str(tree)]
    assert engine_contract.main(["write", *arguments]) == 0
    assert engine_contract.main(["drift", *arguments]) == 0
    source = tree / "vllm/engine/arg_utils.py"
    source.write_text(source.read_text().replace("--level", "--depth"))
    metrics = tree / "vllm/v1/metrics.py"
    metrics.write_text(metrics.read_text().replace("vllm:running", "vllm:active"))
    capsys.readouterr()
    assert engine_contract.main(["drift", *arguments]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "option gone: --level",
        "option new: --depth",
        "metric gone: vllm:running",
        "metric new: vllm:active",
    ]


def test_the_pinned_release_has_every_option_of_the_real_parser() -> None:
    """The list was taken from the parser itself; the file may only add hidden spellings."""
    if not PARSER_LIST.exists():
        pytest.skip("the shared facts are not here")
    contract = load().engines["0.33.0"]
    options = json.loads(PARSER_LIST.read_text())
    listed = {name for option in options for name in option["flags"]} - {"-h", "--help"}
    ours = {name for flag in contract.flags for name in flag.names}
    assert listed <= ours
    assert all(name.startswith("--no-") for name in ours - listed)
    for option in (option for option in options if "--help" not in option["flags"]):
        flag = contract.flag(option["flags"][0])
        assert flag is not None
        assert flag.arity == option["nargs"], flag.names


def test_the_pinned_release_has_not_drifted_from_its_source() -> None:
    source = os.environ.get(SOURCE_VARIABLE)
    if source is None:
        pytest.skip(f"{SOURCE_VARIABLE} does not name a vLLM source tree")
    assert list(engine_contract.drift("0.33.0", Path(source))) == []


def test_prices_are_what_the_tables_say() -> None:
    """Nothing is dropped and nothing is added by hand."""
    table = SHARED / "data" / "tables" / "prices.tsv"
    if not table.exists():
        pytest.skip("the shared tables are not here")
    extra = CATALOG / "generate" / "prices-extra.tsv"
    assert prices.text_of(prices.rows_of([table, extra])) == prices.PRICES.read_text()


def test_a_price_of_an_unknown_unit_is_refused() -> None:
    row = {
        "item": "x",
        "region": "r",
        "usd": "1",
        "unit": "fortnight",
        "date_of_source": "",
        "source": "s",
    }
    with pytest.raises(KeyError, match="fortnight"):
        prices.text_of([row])
    with pytest.raises(ValueError, match="about"):
        prices.text_of([{**row, "unit": "hour", "usd": "about 2"}])
