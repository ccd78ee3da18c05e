"""The pack in the real engine, behind a cluster that does not exist yet: nothing slips through."""

from pathlib import Path
from typing import Any

import pytest

from policies.frame.registry import Scope, registered
from sandbox.toolchain import Toolchain, ensure
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTAINER, NAMESPACE, POD, Json
from tests.helpers.policies.previews import UNKNOWN, Preview, preview
from tests.policies.rules.operators import test_secret_rules as secret_rules
from tests.policies.rules.operators.test_accelerators import GPU, RELEASE, TEAM, engine
from tests.policies.rules.plan.test_policy_plan import BROKEN as BROKEN_PLANS
from tests.policies.rules.plan.test_policy_plan import inputs
from tests.policies.rules.storage.test_storage_rules import broken_plan, shared, tenant
from tests.policies.rules.test_gateway_failover import broken as broken_failover
from tests.policies.rules.test_policy_rules import BROKEN, ELSEWHERE

pytestmark = pytest.mark.engine

STACK_IDS = {each.rule.id for each in registered(Scope.STACK)}
ADVICE_OF_THE_SDK = "can't run policy"
LABELS = {"observability": {"monitor_labels": {"release": "monitoring"}}}
SHOWN_AT = {
    "k8s-namespace-deny-ingress": "engine",
    "k8s-claim-share-volume": "engine",
    "k8s-gateway-let-prompts-through": "gateway",
    "k8s-ratelimit-charge-known-costs": "backends",
}
"""Rules whose finding stands at another object than the broken one."""

SHORT_NAMES = set(compliant_stack.compliant())
INSIDE = {
    rule
    for module, rules in ELSEWHERE.items()
    if module != "test_policy_slips_*.py"
    for rule in rules
}
"""Rules about operators, storage, secrets and certificates: broken in a stack of their own."""

PLAN_OF_STORAGE = "plan-storage"
IN_PROD = {
    "environment": "prod",
    "regions": [{"name": "east", "pools": [{"name": "gpu-l4-pool", "accelerator": "l4"}]}],
    **LABELS,
}


@pytest.fixture(scope="module")
def tools() -> Toolchain:
    """Return the engine and the provider."""
    return ensure()


def moved(stack: dict[str, Json], namespace: str) -> dict[str, Json]:
    """Return the stack in a namespace of its own."""
    for body in stack.values():
        if body["kind"] == "Namespace":
            body["metadata"]["name"] = namespace
        else:
            body["metadata"]["namespace"] = namespace
    return stack


def first_rows() -> dict[str, tuple[str, Any]]:
    """Return one broken field of each rule."""
    rows: dict[str, tuple[str, Any]] = {}
    for rule, path, value, _ in BROKEN:
        rows.setdefault(rule, (path, value))
    return rows


def cases() -> tuple[dict[str, Json], set[tuple[str, str]]]:
    """Return objects with one broken field for each rule, and what must be refused."""
    objects: dict[str, Json] = {}
    wanted: set[tuple[str, str]] = set()
    for index, (rule, (path, value)) in enumerate(first_rows().items()):
        namespace = f"triplane-case-{index}"
        stack = moved(compliant_stack.broken(path, value), namespace)
        broken = path.replace("|", ".").split(".")[0]
        kept = SHORT_NAMES if rule in STACK_IDS else {broken}
        for name in kept:
            objects[f"case-{index}-{name}"] = stack[name]
        named = SHOWN_AT.get(rule, broken)
        wanted.add(
            (rule, compliant_stack.manifest(stack[named]).label if named != "service" else "")
        )
    return objects, wanted


def other_cases() -> tuple[dict[str, Json], set[tuple[str, str]]]:
    """Return cases that need other objects than the compliant stack has."""
    two = moved(compliant_stack.compliant(), "triplane-two")
    second = {**two["scaler"], "metadata": {"name": "second", "namespace": "triplane-two"}}
    foreign = moved(compliant_stack.compliant(), "foreign")
    foreign["namespace"]["metadata"]["labels"]["istio-injection"] = "enabled"
    meta = {"name": "isvc", "namespace": NAMESPACE}
    isvc: Json = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": meta,
        "spec": {"predictor": {"resources": {"limits": {"cpu": "1"}}}},
    }
    release: Json = {"apiVersion": "helm.sh/v3", "kind": "Release", "chart": "x/vllm-stack"}
    patch: Json = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSetPatch",
        "metadata": {"name": "patch", "namespace": NAMESPACE},
        "spec": {"template": {"spec": {"containers": [{"name": "vllm"}]}}},
    }
    chart: Json = {"apiVersion": "helm.sh/v4", "kind": "Chart", "chart": "tools"}
    objects = {f"two-{name}": body for name, body in two.items()}
    objects |= {f"foreign-{name}": body for name, body in foreign.items()}
    objects |= {"second": second, "isvc": isvc, "patch": patch, "release": release}
    objects |= {
        "chart": chart,
        "open": moved(compliant_stack.compliant(), "triplane-open")["claim"],
    }
    return objects, {
        ("k8s-workload-have-one-autoscaler", "ScaledObject/triplane-two/llama"),
        ("k8s-namespace-inject-no-engine", "Namespace/foreign"),
        ("k8s-inferenceservice-place-resources", f"InferenceService/{NAMESPACE}/isvc"),
        ("k8s-object-be-readable", f"StatefulSetPatch/{NAMESPACE}/patch"),
        ("k8s-release-ship-no-engine", "Release/(release)"),
        ("k8s-component-show-objects", "Chart/(chart)"),
        ("k8s-data-be-protected", "PersistentVolumeClaim/triplane-open/models"),
    }


def release(**inputs: Any) -> Json:
    """Return a Helm release as the engine shows it."""
    return {"apiVersion": "helm.sh/v3", "kind": "Release", **inputs}


def inside() -> dict[str, Json]:
    """Return a region's inside with each of its rules broken."""
    stack: dict[str, Json] = secret_rules.compliant()
    seen: set[str] = set()
    for rule, path, value, _ in secret_rules.CASES:
        if rule not in seen:
            stack = compliant_stack.broken(path, value, stack)
        seen.add(rule)
    stack |= shared(shareManagerNodeSelector="", dataLocality="strict-local", numberOfReplicas="2")
    bare = {"chart": "gpu-operator", "namespace": "gpu-operator", "skipAwait": True}
    stack["bare"] = release(**bare, values={"driver": {"enable": False}})
    stack["misspelt"] = release(**{**RELEASE, "values": {"driver": {"enable": False}}})
    stack["external"]["spec"]["refreshInterval"] = "0"
    old = {"name": "longhorn", "chart": "longhorn", "version": "1.6.4"}
    stack["longhorn"] = release(**old, values={})
    stack["lost"] = release(
        name="minio",
        chart="minio",
        version="5.4.0",
        repositoryOpts={"repo": "https://charts.min.io"},
        values={},
    )
    stack["tenant"] = tenant((1, 1))
    stack["taint"] = engine([GPU, TEAM])
    slices = moved({"slices": engine(resource="nvidia.com/mig-3g.40gb")}, "slices")
    turns = moved({"turns": engine(labels={"nvidia.com/gpu.product": "NVIDIA-L4-SHARED"})}, "turns")
    stack["node"] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-0", "labels": {"nvidia.com/gpu.present": "true"}},
        "status": {"nodeInfo": {"osImage": "Amazon Linux 2023.9"}},
    }
    stack["policy"] = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {"daemonsets": {"tolerations": [GPU]}, "driver": {"enabled": True}},
    }
    return {**stack, **slices, **turns, **broken_failover()}


def test_the_inside_of_a_region_is_refused_by_the_engine(tools: Toolchain, tmp_path: Path) -> None:
    """Operators, storage, secrets and certificates: each rule reaches the user."""
    done = preview(tmp_path, tools, inside(), plan=broken_plan(), settings=IN_PROD)
    assert done.exit_code != 0
    assert ADVICE_OF_THE_SDK not in done.text
    said = {rule for level, rule, _ in done.violations if level == "mandatory"}
    warned = {
        rule
        for rule in INSIDE
        if any(f" {rule}: {kind}/" in done.text for kind in ("ExternalSecret", "AIGatewayRoute"))
    }
    assert sorted((INSIDE | {PLAN_OF_STORAGE}) - said - warned) == [], done.text[:20000]
    risky = {"k8s-externalsecret-stay-fresh", "k8s-route-say-shares"}
    assert INSIDE - said <= risky, "risky, but no fault"


@pytest.fixture(scope="module")
def refused(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Preview:
    """Preview every broken object at once, with unknowns among them, and a broken plan."""
    unknown = moved(compliant_stack.broken(f"{CONTAINER}.args.1", UNKNOWN), "triplane-unknown")
    unknown["engine"]["spec"]["template"]["spec"]["containers"][0]["image"] = UNKNOWN
    objects = {**cases()[0], **other_cases()[0], "unknown": unknown["engine"]}
    plan = {"plan": inputs()}
    for rule, path, value, _ in BROKEN_PLANS:
        if rule != "plan-pools":
            plan = compliant_stack.broken(f"plan.{path}", value, plan)
    plan = compliant_stack.broken("plan.models.0.replicasMin", 99, plan)
    plan = compliant_stack.broken(
        "plan.models.0.budget", {"verdict": "cannot-serve", "reasons": []}, plan
    )
    home = tmp_path_factory.mktemp("refused")
    return preview(home, tools, objects, plan=plan["plan"], settings=LABELS, unprotected=["open"])


def test_the_preview_is_refused_without_any_advice_of_the_sdk(refused: Preview) -> None:
    """PULP-01: the SDK's own handling of an unknown is a green preview."""
    assert refused.exit_code != 0, refused.text
    assert ADVICE_OF_THE_SDK not in refused.text


def test_one_broken_field_of_each_rule_is_refused_by_the_engine(refused: Preview) -> None:
    """What the plain functions find must reach the user, mandatory and by name."""
    mandatory = {(rule, label) for level, rule, label in refused.violations if level == "mandatory"}
    rules = {rule for rule, _ in mandatory}
    wanted = cases()[1] | other_cases()[1]
    missing = {
        (rule, label)
        for rule, label in wanted
        if (label and (rule, label) not in mandatory) or rule not in rules
    }
    assert not missing, f"{sorted(missing)}\n{refused.text[:20000]}"
    known = {each.rule.id for each in registered(Scope.OBJECT)} | STACK_IDS
    assert {rule for rule, _ in wanted} == known - INSIDE
    assert {each.rule.id for each in registered(Scope.PLAN)} - {PLAN_OF_STORAGE} <= rules


def test_unknown_values_are_refused_field_by_field(refused: Preview) -> None:
    """A really unknown image and argument, and the rules that need them."""
    label = f"StatefulSet/triplane-unknown/llama: {CONTAINER.removeprefix('engine.')}"
    label = label.replace("containers.0", "containers[0]")
    assert f"{label}.image: cannot verify that every container's image is pinned" in refused.text
    assert f"{label}.args[1]: cannot verify that" in refused.text


def test_a_compliant_stack_passes_and_its_exceptions_are_shown(
    tools: Toolchain, tmp_path: Path
) -> None:
    """All rules mandatory, the cluster unknown, an exception from either source: exit code 0."""
    stack = compliant_stack.broken(f"{CONTAINER}.image", "vllm/vllm-openai:latest")
    stack = compliant_stack.broken(f"{POD}.hostIPC", True, stack)
    record = {
        "rule": "k8s-container-pin-image",
        "object": "StatefulSet/triplane-models/llama",
        "reason": "waits for the release of the week",
        "owner": "platform team",
        "expires": "2999-12-31",
    }
    settings = {"exceptions": [record], **LABELS}
    row = {**record, "owner": "cache team"}
    del row["rule"]
    pack = {"k8s-pod-stay-off-host": {"exceptions": [row]}}
    done = preview(tmp_path, tools, stack, plan=inputs(), settings=settings, pack=pack)
    assert done.exit_code == 0, done.text
    assert {level for level, _, _ in done.violations} == {"advisory"}
    assert "excused until 2999-12-31 by platform team" in done.text
    assert "excused until 2999-12-31 by cache team" in done.text
    assert "recorded exception" in done.text
    assert ADVICE_OF_THE_SDK not in done.text
