"""Every key that we set in a chart's values exists in upstream's defaults, with its type.

Helm ignores a misspelt key without a word, so nothing else would notice. Default values are read
from the shared data directory (docs/operators.md says which versions they are of).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
import yaml

from catalog.readers.chart_values import VALUES_DIR, default_values
from components.render.charts.counters import COUNTERS
from components.render.operators import VALUES
from models.plan.operators import OPERATORS
from models.plan.plan import PlatformPlan
from policies.views.kubernetes.chart_values import faults
from tests.helpers.plans.dev import catalog, dev_plan

pytestmark = pytest.mark.pure

Change = Callable[[dict[str, Any]], None]


def _managed(settings: dict[str, Any]) -> None:
    settings["operators"] = "managed"


def _mirrored(settings: dict[str, Any]) -> None:
    _managed(settings)
    settings["mirror"] = {"registry": "registry.example:5000/mirror"}


def _shared(settings: dict[str, Any]) -> None:
    _managed(settings)
    settings["regions"][0]["pools"][1]["sharing"] = {"kind": "time-slicing", "replicas": 2}
    settings["models"][1]["engine"] = {"gpu_memory_utilization": 0.46, "max_model_len": 1024}
    settings["models"] = settings["models"][:1]


def _longhorn(settings: dict[str, Any]) -> None:
    _managed(settings)
    settings["regions"][0]["storage"]["volumes"] = "longhorn"


EKS_ONLY: Final = frozenset({"aws-load-balancer-controller", "cluster-autoscaler"})
"""Charts whose values name an EKS cluster; tests/components/aws/test_aws_pools.py builds one."""

PLANS: Final[Mapping[str, Change]] = {
    "managed": _managed,
    "mirrored": _mirrored,
    "shared": _shared,
    "longhorn": _longhorn,
}


def _plan(name: str) -> PlatformPlan:
    return dev_plan(PLANS[name])


def _defaults(chart: str) -> Any:
    upstream = catalog().charts[chart].chart
    text = default_values().get(upstream)
    if text is None:
        pytest.skip(f"{VALUES_DIR} has no default values of {upstream}")
    return yaml.safe_load(text) or {}


@pytest.mark.parametrize("plan", sorted(PLANS))
@pytest.mark.parametrize("chart", sorted(VALUES))
def test_every_key_exists_upstream(chart: str, plan: str) -> None:
    """A misspelt key would be ignored, and the chart would keep its default."""
    defaults = _defaults(chart)
    made = _plan(plan)
    values = VALUES[chart](made, made.regions[0])
    assert list(faults(values, defaults, catalog().charts[chart].open_values, strict=True)) == []


def test_a_misspelt_key_is_found() -> None:
    defaults = _defaults("gpu-operator")
    assert list(faults({"driver": {"enable": False}}, defaults, {})) == [
        "driver.enable is not a key of the chart"
    ]


def test_a_switch_written_as_text_is_found() -> None:
    """To Helm the text "false" is true."""
    defaults = _defaults("gpu-operator")
    found = list(faults({"driver": {"enabled": "false"}}, defaults, {}))
    assert found == ["driver.enabled is a str, the default a bool"]


def test_every_operator_has_values_and_a_chart() -> None:
    charts = [row.chart for row in OPERATORS]
    assert sorted(charts) == sorted(VALUES)
    assert len(charts) == len(set(charts))
    assert set(charts) <= set(catalog().charts)


def test_a_mirror_replaces_every_host_that_a_chart_lets_us_replace() -> None:
    """An image that is still pulled from upstream fails only once the region is cut off."""
    made = _plan("mirrored")
    for row in OPERATORS:
        if row.chart == "ai-gateway-crds" or row.chart in EKS_ONLY:
            continue
        values = VALUES[row.chart](made, made.regions[0])
        assert "registry.example:5000/mirror" in str(values), row.chart


def test_the_exporter_reads_the_counters_that_our_rules_use() -> None:
    made = _plan("managed")
    exporter = VALUES["gpu-operator"](made, made.regions[0])["dcgmExporter"]
    assert exporter["config"]["data"] == COUNTERS
    for name in ("FB_USED", "FB_FREE", "FB_RESERVED", "XID_ERRORS", "GPU_UTIL"):
        assert f"DCGM_FI_DEV_{name}," in COUNTERS
    assert exporter["serviceMonitor"]["honorLabels"] is True
