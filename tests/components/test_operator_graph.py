"""Operators in the component graph: what is installed, and what is only looked at."""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pulumi
import pytest

from components.platform import Platform, PlatformArgs, RegionSecrets
from models.plan.definitions import DEFINITIONS, kinds, missing_version, required
from models.plan.operators import OPERATORS, operators
from models.plan.plan import PlatformPlan
from tests.helpers.plans.dev import catalog, dev_plan
from tests.helpers.plans.secrets import secret_read

pytestmark = pytest.mark.mocks

RELEASE = "kubernetes:helm.sh/v3:Release"
BUILT_IN = tuple(
    f"kubernetes:{group}/"
    for group in (
        *("core", "apps", "batch", "policy", "helm.sh", "networking.k8s.io"),
        *("storage.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io"),
    )
)
DEFINITION = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"


class Graph(pulumi.runtime.Mocks):
    """Keeps inputs and types by logical name; definitions serve what the test says."""

    def __init__(self, serving: Mapping[str, str]) -> None:
        self.inputs: dict[str, dict[str, Any]] = {}
        self.types: dict[str, str] = {}
        self.serving = serving

    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[Any, Any]]:
        inputs = cast("dict[str, Any]", cast("Any", args).inputs)
        self.inputs[args.name], self.types[args.name] = inputs, args.typ
        found: dict[str, Any] = {"status": {"addresses": [{"value": "192.0.2.7"}]}}
        if args.typ == DEFINITION:
            version = self.serving.get(str(args.resource_id), "")
            found["spec"] = {"versions": [{"name": version, "served": True, "storage": True}]}
        return f"{args.name}-id", {**inputs, **found, **secret_read(args)}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], None]:
        raise AssertionError(args.token)


def managed(settings: dict[str, Any]) -> None:
    """Let the stack install its operators."""
    settings["operators"] = "managed"


def served(plan: PlatformPlan) -> dict[str, str]:
    """Return what a cluster serves that has everything the plan needs."""
    return {each.name: each.version for each in required(plan, plan.regions[0])}


def build(
    change: Callable[[dict[str, Any]], None] | None = None,
    serving: Mapping[str, str] | None = None,
    render_to: str | None = None,
) -> Graph:
    """Register dev's platform under mocks."""
    plan = dev_plan(change)
    graph = Graph(served(plan) if serving is None else serving)
    pulumi.runtime.set_mocks(graph, project="triplane", stack="dev")
    secrets = RegionSecrets() if render_to else RegionSecrets(kubeconfig="{}")

    def program() -> None:
        Platform(
            "triplane",
            PlatformArgs(
                plan=plan,
                secrets={"local": secrets},
                seed_program={"seed.py": "pass"},
                render_to=render_to,
            ),
        )

    cast("Any", pulumi.runtime).test(program)()
    return graph


def test_managed_operators_are_releases_with_fixed_names_that_are_waited_for() -> None:
    """PULK-07: a random suffix would break every plain string that names what a chart makes."""
    graph = build(managed)
    releases = {
        graph.inputs[n]["name"]: graph.inputs[n] for n, t in graph.types.items() if t == RELEASE
    }
    plan = dev_plan(managed)
    assert set(releases) == {row.chart for row in operators(plan, plan.regions[0])}
    for name, inputs in releases.items():
        chart = catalog().charts[name]
        assert inputs["version"] == chart.version
        assert inputs["skipAwait"] is False
        assert inputs["timeout"] >= 300
        if chart.repository.startswith("oci://"):
            assert inputs["chart"] == f"{chart.repository}/{chart.chart}"
            assert "repositoryOpts" not in inputs
        else:
            assert (inputs["chart"], inputs["repositoryOpts"]) == (
                chart.chart,
                {"repo": chart.repository},
            )


def test_a_mirror_holds_every_chart_under_upstreams_name() -> None:
    def mirrored(settings: dict[str, Any]) -> None:
        managed(settings)
        settings["mirror"] = {"charts": "oci://registry.example/charts"}

    graph = build(mirrored)
    charts = {graph.inputs[n]["chart"] for n, t in graph.types.items() if t == RELEASE}
    assert "oci://registry.example/charts/kube-prometheus-stack" in charts
    assert all(chart.startswith("oci://registry.example/charts/") for chart in charts)


def test_no_two_charts_have_one_name_upstream() -> None:
    """In a mirror one would hide the other."""
    names = [chart.chart for chart in catalog().charts.values()]
    assert len(names) == len(set(names))


def test_external_operators_are_looked_at_and_none_is_installed() -> None:
    graph = build()
    assert RELEASE not in graph.types.values()
    read = [name for name, typ in graph.types.items() if typ == DEFINITION]
    assert len(read) == len(required(dev_plan(), dev_plan().regions[0]))


def test_a_definition_that_serves_another_version_is_refused() -> None:
    """Installed is not enough: an old release would refuse our objects one by one."""
    plan = dev_plan()
    serving = {**served(plan), "scaledobjects.keda.sh": "v1"}
    with pytest.raises(pulumi.RunError) as refused:
        build(serving=serving)
    text = str(refused.value)
    assert "ScaledObject as keda.sh/v1alpha1" in text
    assert "serves v1." in text
    assert "'local'" in text


def test_a_version_that_exists_but_is_not_served_is_refused() -> None:
    wanted = DEFINITIONS["keda"][0]
    versions = [{"name": "v1alpha1", "served": False}, {"name": "v1", "served": True}]
    assert "serves v1." in (missing_version(wanted, versions, "the cluster") or "")
    assert missing_version(wanted, [{"name": "v1alpha1", "served": True}], "it") is None


def test_rendering_installs_nothing_and_reads_nothing() -> None:
    """The provider that writes files would install releases into whatever cluster is current."""
    for change in (None, managed):
        graph = build(change, render_to="build/x")
        assert RELEASE not in graph.types.values()
        assert DEFINITION not in graph.types.values()


def test_every_custom_resource_of_ours_has_its_definition_in_the_table() -> None:
    """A kind that is missing there would not be looked at where operators are external."""
    graph = build()
    known = kinds(each for group in DEFINITIONS.values() for each in group)
    ours = [
        typ.removeprefix("kubernetes:")
        for typ in graph.types.values()
        if typ.startswith("kubernetes:") and not typ.startswith(BUILT_IN)
    ]
    assert len(set(ours)) > 6
    assert set(ours) <= set(known)


def test_the_table_agrees_with_the_pinned_definitions() -> None:
    """Group, plural and version are checked against the lock, which is made from upstream."""
    from sandbox.crds.sources import read_lock

    pinned = {(lock.plural, lock.group): lock for lock in read_lock()}
    for group in DEFINITIONS.values():
        for each in group:
            lock = pinned[each.plural, each.group]
            assert lock.kind == each.kind
            assert each.version in [v.name for v in lock.versions if v.served]


def test_rows_name_charts_that_come_before_them() -> None:
    """A release waits for another of its wave only where that one is registered first."""
    seen: set[str] = set()
    for row in OPERATORS:
        assert set(row.after) <= seen, row.chart
        seen.add(row.chart)
    waves = [row.wave for row in OPERATORS]
    assert waves == sorted(waves)


def test_a_chart_without_a_source_is_refused_until_there_is_a_mirror() -> None:
    from models.plan.operators import chart_problems

    charts = dict(catalog().charts)
    lost = charts["keda"].model_copy(update={"repository": "unresolved"})
    rows = tuple(row for row in OPERATORS if row.chart == "keda")
    problems = chart_problems(rows, {**charts, "keda": lost}, None)
    assert ["mirror.charts" in str(each) for each in problems] == [True]
    assert chart_problems(rows, {**charts, "keda": lost}, "https://charts.example") == []


def test_operators_need_a_node_without_gpus_and_taints() -> None:
    from models.core.problems import ProblemsError

    def tainted(settings: dict[str, Any]) -> None:
        managed(settings)
        settings["regions"][0]["pools"][2]["taints"] = [{"key": "team"}]

    with pytest.raises(ProblemsError, match="operators find no node"):
        dev_plan(tainted)


def test_values_are_plain_data() -> None:
    """Policies read values at preview; an output in them would be unknown there."""
    graph = build(managed)
    for name, typ in graph.types.items():
        if typ == RELEASE:
            assert json.dumps(graph.inputs[name].get("values", {}))


def on_nodes(settings: dict[str, Any]) -> None:
    """Let the stack label its edge nodes and switch swap off there."""
    pool = settings["regions"][0]["pools"][0]
    pool.update(nodes=["edge-0", "edge-1"], swap_off=True, taints=[{"key": "team", "value": "ml"}])


def test_swap_is_switched_off_only_where_it_is_asked_for() -> None:
    """The privileged namespace exists for that alone."""
    plain = build()
    assert not [name for name in plain.types if "nodes" in name]
    graph = build(on_nodes)
    space = graph.inputs["triplane-local-nodes-namespace"]["metadata"]
    assert space["name"] == "triplane-node"
    assert space["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    pod = graph.inputs["triplane-local-nodes-swap-off"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert "hostNetwork" not in pod
    assert "hostPID" not in pod
    assert container["resources"]["limits"] == container["resources"]["requests"]
    assert "@sha256:" in container["image"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"][0]["values"] == ["gpu-edge-pool"]
    keys = [(each["key"], each.get("value")) for each in pod["tolerations"]]
    assert keys == [("nvidia.com/gpu", "present"), ("team", "ml")]


def test_named_nodes_get_the_pools_labels_and_taints() -> None:
    graph = build(on_nodes)
    patches = [n for n, typ in graph.types.items() if typ == "kubernetes:core/v1:NodePatch"]
    assert sorted(patches) == ["triplane-local-nodes-edge-0", "triplane-local-nodes-edge-1"]
    patch = graph.inputs[patches[0]]
    assert patch["metadata"]["labels"]["triplane.dev/pool"] == "gpu-edge-pool"
    assert [each["key"] for each in patch["spec"]["taints"]] == ["nvidia.com/gpu", "team"]
