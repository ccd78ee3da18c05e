"""Tables that stand for themselves: every row has a source that the file explains, or says so."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from catalog.readers import tables
from catalog.readers.own import HERE
from models.core.base import UNRESOLVED, Model
from models.core.problems import ProblemsError
from models.facts.sourced import SourcedFile

pytestmark = pytest.mark.pure

FILES = {
    "gpu_families.yaml": tables.gpu_families,
    "rules/node_gpus.yaml": tables.node_gpus,
    "rules/router_metrics.yaml": tables.router_metrics,
    "rules/injectors.yaml": tables.injectors,
    "rules/iam_risks.yaml": tables.iam_risks,
}
SOURCED: tuple[Callable[[], SourcedFile], ...] = (
    tables.node_gpus,
    tables.router_metrics,
    tables.iam_risks,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A catalog whose tables may be broken."""
    _ = shutil.copytree(HERE / "rules", tmp_path / "rules")
    _ = shutil.copy(HERE / "gpu_families.yaml", tmp_path)
    return tmp_path


def test_every_table_of_the_rules_is_read() -> None:
    assert {f"rules/{path.name}" for path in (HERE / "rules").iterdir()} < set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_key_that_a_table_does_not_have_is_refused(name: str, root: Path) -> None:
    """A misspelt key would be a row that nobody reads."""
    with (root / name).open("a") as file:
        _ = file.write("familys: []\n")
    with pytest.raises(ProblemsError, match="familys"):
        _ = FILES[name](root)


@pytest.mark.parametrize("name", [name for name in FILES if "injectors" not in name])
def test_a_source_that_the_file_does_not_explain_is_refused(name: str, root: Path) -> None:
    text = (root / name).read_text()
    start = text.index("source: ", text.index("sources:") + len("sources:"))
    _ = (root / name).write_text(f"{text[:start]}source: hearsay{text[text.index('}', start) :]}")
    with pytest.raises(ProblemsError, match="no source of the name hearsay"):
        _ = FILES[name](root)


@pytest.mark.parametrize("read", SOURCED, ids=lambda read: read.__name__)
def test_every_source_is_used(read: Callable[[], SourcedFile]) -> None:
    table: Model = read()
    assert isinstance(table, SourcedFile)
    used = {row.source for row in table.sourced_rows()}
    assert set(table.sources) == used - {UNRESOLVED}


@pytest.mark.parametrize(
    ("key", "value", "injects"),
    [
        ("sidecar.istio.io/inject", "true", True),
        ("sidecar.istio.io/inject", "false", False),
        ("sidecar.istio.io/Inject", " True ", True),
        ("istio.io/rev", "1-22", True),
        ("istio.io/rev", "false", False),
        ("linkerd.io/inject", "ingress", True),
        ("linkerd.io/inject", "disabled", False),
        ("instrumentation.opentelemetry.io/inject-python", "true", True),
        ("instrumentation.opentelemetry.io/inject-python", "false", False),
        ("app.kubernetes.io/name", "true", False),
    ],
)
def test_what_adds_a_sidecar(key: str, value: str, injects: bool) -> None:
    assert tables.injectors().injects(key, value) is injects


@pytest.mark.parametrize(
    ("machine", "found"),
    [
        ("a2-highgpu-4g", ("a100-40gb", 4)),
        ("a3-edgegpu-8g", ("h100-80gb", 8)),
        ("p3.8xlarge", ("V100 16GB", None)),
        ("Standard_NC48ads_A100_v4", ("a100-80gb", None)),
        ("n2-standard-8", None),
    ],
)
def test_machines_of_other_clouds(machine: str, found: tuple[str, int | None] | None) -> None:
    assert tables.node_gpus().machine(machine) == found


def test_a_labels_value_is_compared_without_dashes_and_case() -> None:
    assert tables.node_gpus().named("NVIDIA-Tesla-A100") == "a100-40gb"
    assert tables.node_gpus().named("nvidia-h100-mega-80gb") == "h100-80gb"
    assert tables.node_gpus().named("NVIDIA-L40S") is None
