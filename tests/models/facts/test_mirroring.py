"""Images and charts from a mirror: the host is replaced, the rest stays."""

from typing import Any

import pytest

from models.core.problems import ProblemsError
from models.facts.charts import chart_source
from models.facts.mirroring import mirrored
from tests.helpers.plans.dev import catalog, dev_plan

pytestmark = pytest.mark.pure

REGISTRY = "registry.example:5000/mirror"


@pytest.mark.parametrize(
    ("repository", "path"),
    [
        ("quay.io/jetstack/cert-manager-controller", "jetstack/cert-manager-controller"),
        ("docker.io/vllm/vllm-openai", "vllm/vllm-openai"),
        ("vllm/vllm-openai", "vllm/vllm-openai"),
        ("busybox", "library/busybox"),
        ("docker.io/busybox", "library/busybox"),
        ("docker.io/library/busybox", "library/busybox"),
        ("localhost:5000/x", "x"),
        ("nvcr.io/nvidia", "nvidia"),
    ],
)
def test_the_path_stays(repository: str, path: str) -> None:
    assert mirrored(repository, REGISTRY) == f"{REGISTRY}/{path}"
    assert mirrored(repository, None) == repository


def test_engines_are_pulled_from_the_mirror_too() -> None:
    """A digest stays: it names the same image wherever it is pulled from."""

    def change(settings: dict[str, Any]) -> None:
        settings["mirror"] = {"registry": REGISTRY}

    model = dev_plan(change).regions[0].models[0]
    assert model.contract.image.repository == f"{REGISTRY}/vllm/vllm-openai"
    assert model.contract.image.digest == catalog().engines[model.entry.engine].image.digest


def test_charts_come_from_where_the_mirror_says() -> None:
    charts = catalog().charts
    keda, gateway = charts["keda"], charts["envoy-gateway"]
    assert chart_source(keda, None).repository == keda.repository
    assert chart_source(gateway, None).chart == "oci://docker.io/envoyproxy/gateway-helm"
    assert chart_source(keda, "https://charts.example/x").repository == "https://charts.example/x"
    assert chart_source(keda, "oci://registry.example/x/").chart == "oci://registry.example/x/keda"
    packed = chart_source(keda, "file:///srv/charts")
    assert (packed.chart, packed.repository) == (f"/srv/charts/keda-{keda.version}.tgz", None)


@pytest.mark.parametrize(
    "mirror",
    [
        {"charts": "http://charts.example"},
        {"charts": "https://user:password@charts.example"},
        {"charts": "file://relative"},
        {"registry": "https://registry.example"},
        {"registry": "Registry.example"},
        {"images": "registry.example"},
    ],
)
def test_a_mirror_that_cannot_be_meant_is_refused(mirror: dict[str, str]) -> None:
    """Plain http would let anybody on the way put code into the cluster."""

    def change(settings: dict[str, Any]) -> None:
        settings["mirror"] = mirror

    with pytest.raises(ProblemsError, match="mirror"):
        dev_plan(change)
