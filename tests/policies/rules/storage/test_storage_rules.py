"""Longhorn and MinIO: LH-01, LH-02, LH-04, MINIO-01, MINIO-02, MINIO-03, broken field by field."""

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from models.core.findings import Finding, Severity
from models.plan.summary.stack import plan_inputs
from policies.changes.preview import preview_findings
from policies.core.nodes import Node
from policies.core.unknowns import SENTINELS, plain
from policies.frame.agreements import of_settings
from policies.frame.evaluate import findings
from policies.rules.storage import longhorn as rules
from policies.views.aws.resource import AwsPlaced, AwsResource, AwsStack
from policies.views.kubernetes.manifest import Manifest, ResourceOptions
from policies.views.plan import PlanView
from tests.helpers.plans.dev import dev_plan
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import ABSENT, CONTEXT, TODAY, Json

pytestmark = pytest.mark.pure

WITH_GPUS = replace(CONTEXT, pools={"gpu-l4-pool": "l4"}, environment="prod")
GPU: Json = {
    "key": "nvidia.com/gpu",
    "operator": "Equal",
    "value": "present",
    "effect": "NoSchedule",
}
GPU_TEXT = "nvidia.com/gpu=present:NoSchedule"


def release(
    chart: str, values: Json, repository: str = "https://charts.example", version: str = "1.12.1"
) -> Manifest:
    """Return a Helm release as a Pulumi program registers it."""
    body: Json = {
        "name": chart.rsplit("/", 1)[-1],
        "chart": chart,
        "version": version,
        "repositoryOpts": {"repo": repository},
        "values": values,
    }
    options = ResourceOptions(
        type="kubernetes:helm.sh/v3:Release", urn="urn::triplane-east-longhorn"
    )
    return Manifest(body=Node(plain(body)), options=options, implied_kind="Release")


def longhorn() -> Json:
    """Return compliant values."""
    return {
        "longhornManager": {"tolerations": [dict(GPU)]},
        "longhornDriver": {"tolerations": [dict(GPU)]},
        "defaultSettings": {"taintToleration": GPU_TEXT},
    }


def about(rule: str, made: Manifest, context: Any = WITH_GPUS) -> list[Finding]:
    return [each for each in findings([made], context) if each.rule == rule]


TAINTS = "k8s-longhorn-reach-every-node"


def test_tolerations_in_both_forms_are_taken() -> None:
    """LH-01: what the structured form says, the setting says too."""
    assert about(TAINTS, release("longhorn", longhorn())) == []
    both = longhorn()
    extra = {"key": "team", "operator": "Exists", "effect": "NoExecute"}
    for part in ("longhornManager", "longhornDriver"):
        both[part]["tolerations"].append(extra)
    both["defaultSettings"]["taintToleration"] = f"{GPU_TEXT}; team:NoExecute"
    assert about(TAINTS, release("oci://mirror/longhorn", both)) == []
    assert about(TAINTS, release("/charts/longhorn-1.12.1.tgz", both)) == []
    assert about(TAINTS, release("postgres", {})) == []


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("defaultSettings.taintToleration", ABSENT, "and defaultSettings.taintToleration does not"),
        ("defaultSettings.taintToleration", "", "and defaultSettings.taintToleration does not"),
        (
            "defaultSettings.taintToleration",
            "nvidia.com/gpu=other:NoSchedule",
            "longhornManager does not",
        ),
        (
            "defaultSettings.taintToleration",
            f"{GPU_TEXT};a=b:NoSchedule",
            "a=b:NoSchedule, and longhornDriver does not",
        ),
        ("longhornManager.tolerations", [], "longhornManager does not run on GPU nodes"),
        ("longhornDriver.tolerations", [], "longhornDriver does not run on GPU nodes"),
        ("longhornDriver.tolerations.0.effect", "NoExecute", "longhornDriver does not run on GPU"),
    ],
)
def test_a_toleration_in_one_form_only_is_refused(path: str, value: Any, says: str) -> None:
    """LH-01: the CSI plugin never reaches the GPU nodes, and engines never get their volume."""
    changed = compliant_stack.broken(f"values.{path}", value, {"values": longhorn()})["values"]
    found = about(TAINTS, release("longhorn", changed))
    assert any(says in each.message for each in found), [str(each) for each in found]
    assert all(each.severity is Severity.ERROR for each in found)


def test_without_gpu_pools_nothing_needs_tolerating() -> None:
    """LH-01, the neighbor: a region of CPU nodes."""
    assert about(TAINTS, release("longhorn", {}), replace(CONTEXT, pools={})) == []
    assert about(TAINTS, release("longhorn", {}), WITH_GPUS)


def test_an_unknown_toleration_cannot_be_verified() -> None:
    values = longhorn()
    values["defaultSettings"]["taintToleration"] = SENTINELS[0]
    found = about(TAINTS, release("longhorn", values))
    assert [each.severity for each in found] == [Severity.UNKNOWN]


@pytest.mark.parametrize(
    ("version", "old"),
    [("1.6.4", True), ("v1.7.1", True), ("1.7.2", False), ("1.12.1", False), ("2.0.0", False)],
)
def test_an_old_release_restarts_all_engines_at_once(version: str, old: bool) -> None:
    """LH-04."""
    made = release("longhorn", longhorn(), version=version)
    assert bool(about("k8s-longhorn-share-safely", made)) is old


def shared(**parameters: Any) -> dict[str, Json]:
    """Return a claim of a Longhorn class."""
    kind: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "shared"},
        "provisioner": "driver.longhorn.io",
        "parameters": {
            "numberOfReplicas": "2",
            "dataLocality": "best-effort",
            "shareManagerNodeSelector": "triplane.dev/pool:cpu-pool",
            **parameters,
        },
    }
    claim = copy.deepcopy(compliant_stack.compliant()["claim"])
    claim["spec"]["storageClassName"] = "shared"
    return {"class": kind, "claim": claim}


SHARE = "k8s-class-keep-share-off-gpus"


def test_a_share_manager_without_a_place_is_refused() -> None:
    """LH-04: it lands on a spot GPU node, and every engine of the volume hangs with it."""
    assert not compliant_stack.refused(compliant_stack.found(shared()), SHARE)
    (found,) = compliant_stack.refused(
        compliant_stack.found(shared(shareManagerNodeSelector="")), SHARE
    )
    assert "PersistentVolumeClaim/triplane-models/models" in found.message
    alone = shared(shareManagerNodeSelector="")
    alone["claim"]["spec"]["accessModes"] = ["ReadWriteOnce"]
    assert not compliant_stack.refused(compliant_stack.found(alone), SHARE), (
        "a volume of one pod has no share manager"
    )


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, False),
        ({"numberOfReplicas": "0"}, True),
        ({"numberOfReplicas": "two"}, True),
        ({"dataLocality": "strict-local"}, True),
        ({"dataLocality": "strict-local", "numberOfReplicas": "1"}, False),
    ],
)
def test_parameters_that_longhorn_refuses_together(parameters: Json, refused: bool) -> None:
    found = compliant_stack.refused(
        compliant_stack.found(shared(**parameters)), "k8s-class-suit-longhorn"
    )
    assert bool(found) is refused


def node_group(ami: str, user_data: str | None = None, *, releases: bool = True) -> list[Finding]:
    """Return what is found about a node group of a cluster with Longhorn."""
    group = AwsResource(
        kind="eks.NodeGroup",
        name="triplane-east-gpu",
        urn="urn::group",
        body=Node(plain({"amiType": ami, "launchTemplate": {"id": "lt-1", "version": "1"}})),
    )
    text = None if user_data is None else base64.b64encode(user_data.encode()).decode()
    template = AwsResource(
        kind="ec2.LaunchTemplate",
        name="triplane-east-gpu",
        urn="urn::template",
        body=Node(plain({"userData": text})),
    )
    stack = AwsStack(
        resources=(group, template),
        releases=(release("longhorn", longhorn()),) if releases else (),
        links={("urn::group", "launchTemplate"): ("urn::template",)},
    )
    placed = AwsPlaced(resource=group, stack=stack)
    return list(rules.carry_longhorn(placed, replace(CONTEXT, regions=("east", "west"))))


def test_longhorn_on_machines_that_cannot_attach_is_refused() -> None:
    """LH-02: Bottlerocket takes no packages, AL2023 needs one."""
    installs = "#!/bin/sh\ndnf install -y iscsi-initiator-utils\n"
    assert node_group("AL2023_x86_64_NVIDIA", installs) == []
    (bare,) = node_group("AL2023_x86_64_NVIDIA", "#!/bin/sh\ntrue\n")
    assert "no user data installs one" in bare.message
    assert node_group("AL2023_x86_64_NVIDIA", None)
    (rocket,) = node_group("BOTTLEROCKET_x86_64_NVIDIA", installs)
    assert "takes none" in rocket.message
    assert node_group("BOTTLEROCKET_x86_64_NVIDIA", installs, releases=False) == []


Change = Callable[[Json, Json], None]


def broken_plan() -> Json:
    """Return a plan's inputs whose storage cannot be carried: Longhorn on Bottlerocket."""
    inputs: Any = copy.deepcopy(plan_inputs(dev_plan(_on_longhorn)))
    _pool("ami", "bottlerocket")(inputs, inputs["regions"][0])
    return inputs


def planned(change: Change) -> list[Finding]:
    """Return what the plan's rule finds once its inputs were changed."""
    inputs: Any = copy.deepcopy(plan_inputs(dev_plan(_on_longhorn)))
    change(inputs, inputs["regions"][0])
    return list(rules.storage(PlanView(Node(plain(inputs))), CONTEXT))


def _on_longhorn(settings: Json) -> None:
    storage = settings["regions"][0]["storage"]
    storage["volumes"] = "longhorn"
    pools = [{"servers": 4, "volumes_per_server": 1, "volume_gib": 50}]
    storage["objects"] = {
        "kind": "minio",
        "bucket": "models",
        "credentials": "config",
        "minio": {"pools": pools},
    }


def _set(key: str, value: Any) -> Change:
    def change(_: Json, region: Json) -> None:
        region["storage"][key] = value

    return change


def _pool(key: str, value: Any) -> Change:
    def change(_: Json, region: Json) -> None:
        region["storage"]["pools"][2][key] = value

    return change


def _nodes(count: int) -> Change:
    def change(_: Json, region: Json) -> None:
        region["pools"][2]["min"] = count

    return change


def _prod(inputs: Json, region: Json) -> None:
    inputs["environment"] = "prod"


def test_a_plan_that_can_be_carried_is_taken() -> None:
    assert planned(_nodes(1)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_pool("ami", "bottlerocket"), "LH-02"),
        (_pool("capacityType", "spot"), "LH-04"),
        (_nodes(0), "may have no node"),
        (_set("replicas", 2), "2 copies of each block need as many storage nodes"),
        (_set("tenant", [{"servers": 3, "volumesPerServer": 7}]), "MINIO-02"),
        (_set("tenant", [{"servers": 2, "volumesPerServer": 1}]), "MINIO-02"),
        (_prod, "4 servers need a node each"),
    ],
)
def test_a_plan_that_cannot_be_carried_is_refused(change: Change, says: str) -> None:
    """The program proves the same; a plan that another program registers is proven here."""
    found = planned(change)
    assert any(says in each.message for each in found), [str(each) for each in found]
    assert {each.subject for each in found} == {"local"}


def test_an_unknown_part_of_the_plan_cannot_be_verified() -> None:
    (found,) = planned(_set("volumes", SENTINELS[2]))
    assert found.severity is Severity.UNKNOWN


SETS = "k8s-minio-form-erasure-sets"


def tenant(*pools: tuple[int, int]) -> Json:
    """Return a tenant with pools of (servers, drives of a server)."""
    return {
        "apiVersion": "minio.min.io/v2",
        "kind": "Tenant",
        "metadata": {"name": "objects", "namespace": "triplane-objects"},
        "spec": {
            "image": "quay.io/minio/minio:RELEASE.2025-09-07T16-13-09Z",
            "pools": [
                {
                    "name": f"pool-{index}",
                    "servers": servers,
                    "volumesPerServer": drives,
                    "volumeClaimTemplate": {
                        "spec": {
                            "storageClassName": "fast",
                            "resources": {"requests": {"storage": "100Gi"}},
                        }
                    },
                }
                for index, (servers, drives) in enumerate(pools)
            ],
        },
    }


@pytest.mark.parametrize(
    ("pools", "environment", "refused"),
    [
        ([(4, 1)], "prod", False),
        ([(1, 4)], "prod", False),
        ([(4, 1), (4, 2)], "prod", False),
        ([(1, 1)], "dev", False),
        ([(1, 1)], "", False),
        ([(1, 1)], "prod", True),
        ([(2, 1)], "dev", True),
        ([(3, 7)], "prod", True),
        ([(4, 1), (3, 2)], "prod", True),
        ([(0, 1)], "prod", True),
    ],
)
def test_drives_form_sets_or_are_refused(
    pools: list[tuple[int, int]], environment: str, refused: bool
) -> None:
    """MINIO-02."""
    context = replace(CONTEXT, environment=environment)
    assert (
        bool(compliant_stack.refused(compliant_stack.found({"t": tenant(*pools)}, context), SETS))
        is refused
    )


@pytest.mark.parametrize(
    ("values", "environment", "refused"),
    [
        ({"mode": "distributed", "replicas": 4}, "prod", False),
        ({}, "prod", False),
        ({"mode": "standalone"}, "dev", False),
        ({"mode": "standalone"}, "prod", True),
        ({"mode": "distributed", "replicas": 1, "drivesPerNode": 1}, "dev", True),
        ({"mode": "distributed", "replicas": 3, "drivesPerNode": 7}, "prod", True),
    ],
)
def test_values_of_minios_own_chart_are_judged_too(
    values: Json, environment: str, refused: bool
) -> None:
    """MINIO-02: one replica in distributed mode renders a list of servers with none in it."""
    context = replace(CONTEXT, environment=environment)
    assert bool(about(SETS, release("minio", values), context)) is refused


IMAGES = "k8s-release-replace-lost-images"
MIRROR = {"repository": "registry.example/minio"}


@pytest.mark.parametrize(
    ("chart", "repository", "values", "refused"),
    [
        ("minio", "https://charts.min.io", {"image": MIRROR, "mcImage": MIRROR}, False),
        ("minio", "https://charts.min.io", {"image": MIRROR}, True),
        ("minio", "https://charts.min.io", {}, True),
        ("oci://registry-1.docker.io/bitnamicharts/minio", "", {}, True),
        ("redis", "https://charts.bitnami.com/bitnami", {}, True),
        ("operator", "https://operator.min.io", {}, False),
        ("longhorn", "https://charts.longhorn.io", {}, False),
    ],
)
def test_a_charts_own_images_that_are_gone_must_be_replaced(
    chart: str, repository: str, values: Json, refused: bool
) -> None:
    """MINIO-03: what the chart's own values name stands in no manifest."""
    assert bool(about(IMAGES, release(chart, values, repository))) is refused


def change(old: Json, new: Json, kind: str = "") -> tuple[Finding, ...]:
    """Return what stands against an update in a preview's JSON."""
    token = kind or f"kubernetes:{old['apiVersion']}:{old['kind']}"
    states = {
        "oldState": {"type": token, "inputs": old},
        "newState": {"type": token, "inputs": new},
    }
    return preview_findings({"steps": [{"op": "update", **states}]}, CONTEXT)


def test_a_pools_servers_cannot_be_changed_in_place() -> None:
    """MINIO-01: the new servers never join, and names of claims change."""
    (found,) = change(tenant((4, 1)), tenant((8, 1)))
    assert found.severity is Severity.ERROR
    assert "servers of pool 'pool-0' changes from 4 to 8" in found.message
    assert "add a further pool" in (found.remedy or "")
    (drives,) = change(tenant((4, 2)), tenant((4, 1)))
    assert "volumesPerServer" in drives.message
    assert change(tenant((4, 1)), tenant((4, 1), (4, 2))) == (), "a pool may be added"


def test_a_removed_pool_needs_an_approval() -> None:
    """MINIO-01: after it was drained, its removal is what is wanted."""
    old, new = tenant((4, 1), (4, 1)), tenant((4, 1))
    (found,) = change(old, new)
    assert "decommission" in (found.remedy or "")
    states = {
        key: {"type": "kubernetes:minio.min.io/v2:Tenant", "inputs": body}
        for key, body in (("oldState", old), ("newState", new))
    }
    accepted = replace(CONTEXT, accept_data_loss=frozenset({found.subject}))
    assert preview_findings({"steps": [{"op": "update", **states}]}, accepted) == ()


def test_volumes_grow_and_never_shrink() -> None:
    """The API server refuses it too, in the middle of an update."""
    old = compliant_stack.compliant()["claim"]
    grown = compliant_stack.broken("claim.spec.resources.requests.storage", "200Gi")["claim"]
    shrunk = compliant_stack.broken("claim.spec.resources.requests.storage", "99Gi")["claim"]
    assert change(old, grown) == ()
    (found,) = change(old, shrunk)
    assert "shrinks from 100 to 99 GiB" in found.message
    unknown = compliant_stack.broken("claim.spec.resources.requests.storage", SENTINELS[2])["claim"]
    (cannot,) = change(old, unknown)
    assert cannot.severity is Severity.UNKNOWN


@pytest.mark.parametrize(
    ("chart", "old", "new", "says"),
    [
        ("longhorn", "1.11.3", "1.12.1", None),
        ("longhorn", "1.12.0", "1.12.1", None),
        ("/charts/longhorn-1.12.1.tgz", "1.10.2", "1.12.1", "jumps from 1.10.2 to 1.12.1"),
        ("longhorn", "1.12.1", "2.0.0", "jumps"),
        ("longhorn", "1.12.1", "1.11.3", "goes back"),
        ("keda", "2.10.0", "2.20.2", None),
    ],
)
def test_charts_that_upgrade_step_by_step(chart: str, old: str, new: str, says: str | None) -> None:
    """Longhorn's manager refuses to start after a jump, and volumes stay detached."""
    token = "kubernetes:helm.sh/v3:Release"
    found = change(
        {"chart": chart, "version": old, "name": "x"},
        {"chart": chart, "version": new, "name": "x"},
        token,
    )
    assert (found == ()) if says is None else (says in found[0].message)


PROTECTED = "k8s-data-be-protected"


@pytest.mark.parametrize(
    ("chart", "protect", "refused"),
    [
        ("longhorn", False, True),
        ("oci://mirror.example/longhorn", False, True),
        ("longhorn", True, False),
        ("keda", False, False),
    ],
)
def test_longhorns_release_is_protected(chart: str, protect: bool, refused: bool) -> None:
    """Every volume of the cluster goes with it, whoever's: no claim of ours stands for those."""
    made = release(chart, longhorn() if "longhorn" in chart else {})
    assert made.options is not None
    made = replace(made, options=replace(made.options, protect=protect))
    assert bool(about(PROTECTED, made)) is refused
    given_up = replace(WITH_GPUS, accept_data_loss=frozenset({"Release/longhorn"}))
    assert about(PROTECTED, made, given_up) == []


def test_removing_longhorns_release_needs_an_approval() -> None:
    """The preview calls it "delete", and the chart's uninstall deletes every volume."""
    state = {
        "type": "kubernetes:helm.sh/v3:Release",
        "inputs": {"name": "longhorn", "chart": "longhorn", "version": "1.12.1"},
    }
    document = {"steps": [{"op": "delete", "oldState": state}]}
    (found,) = preview_findings(document, CONTEXT)
    assert (found.subject, found.severity) == ("Release/longhorn", Severity.ERROR)
    assert '"accept_data_loss": ["Release/longhorn"]' in (found.remedy or "")
    accepted = replace(CONTEXT, accept_data_loss=frozenset({found.subject}))
    assert preview_findings(document, accepted) == ()
    state["inputs"] = {"name": "keda", "chart": "keda", "version": "2.20.2"}
    assert preview_findings(document, CONTEXT) == ()


def test_other_tolerations_are_told_with_what_to_do_first() -> None:
    """LH-01: with volumes attached the setting is kept and not acted on."""
    old, new = longhorn(), longhorn()
    new["defaultSettings"]["taintToleration"] = f"{GPU_TEXT};team=a:NoSchedule"
    kind = "kubernetes:helm.sh/v3:Release"
    bodies = [{"name": "longhorn", "chart": "longhorn", "values": each} for each in (old, new)]
    (found,) = change(bodies[0], bodies[1], kind)
    assert (found.severity, found.subject) == (Severity.WARNING, "Release/longhorn")
    assert "once all volumes are detached" in found.message
    assert "scale the engines down" in (found.remedy or "")
    assert change(bodies[0], bodies[0], kind) == ()


def test_a_handover_leaves_longhorns_release_unprotected_on_purpose() -> None:
    """It stays in the cluster, and protection would keep the stack from forgetting it."""
    for operators, left in (("handover", {"Release/longhorn"}), ("managed", set[str]())):
        agreed = of_settings(json.dumps({"environment": "dev", "operators": operators}), TODAY)
        assert agreed.accept_data_loss == left


@pytest.mark.parametrize(
    ("was", "now", "refused"),
    [
        ("managed", "external", True),
        ("managed", "handover", False),
        ("handover", "external", False),
        ("handover", "managed", False),
        ("external", "managed", False),
        (None, "external", False),
    ],
)
def test_operators_are_handed_over_and_not_given_up(
    was: str | None, now: str, refused: bool
) -> None:
    """Uninstalled, a chart takes its definitions along, and every object that is made of them."""
    old, new = (
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "triplane-models",
                "annotations": {} if who is None else {"triplane.dev/operators": who},
            },
        }
        for who in (was, now)
    )
    found = change(old, new)
    assert bool(found) is refused
    for each in found:
        assert each.subject == "Namespace/triplane-models"
        assert "set operators to handover and update" in (each.remedy or "")
        assert "accept_data_loss" not in (each.remedy or ""), "no approval helps"
