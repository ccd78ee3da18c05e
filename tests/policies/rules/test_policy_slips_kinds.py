"""Attempts to slip past in another kind or shape of object: all refused."""

import copy
from dataclasses import replace

import pytest

from policies.core.nodes import Node
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import Manifest, ResourceOptions, of_text
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTAINER, CONTEXT
from tests.helpers.policies.slips import (
    QOS,
    Attempt,
    custom,
    engine,
    in_text,
    leader_worker,
    only,
    pod_spec,
)

pytestmark = pytest.mark.pure

ATTEMPTS: dict[str, tuple[str, Attempt]] = {
    "a Deployment": (
        QOS,
        lambda: only(
            {
                **engine(f"{CONTAINER}.resources.limits.cpu", compliant_stack.ABSENT),
                "kind": "Deployment",
            }
        ),
    ),
    "a bare Pod": (QOS, lambda: only(custom("Pod", pod_spec(), "v1"))),
    "a CronJob": (
        QOS,
        lambda: only(
            custom(
                "CronJob", {"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}}, "batch/v1"
            )
        ),
    ),
    "a DaemonSet": (
        QOS,
        lambda: only(custom("DaemonSet", {"template": {"spec": pod_spec()}}, "apps/v1")),
    ),
    "a ReplicaSet": (
        QOS,
        lambda: only(custom("ReplicaSet", {"template": {"spec": pod_spec()}}, "apps/v1")),
    ),
    "the leader of a group": (
        QOS,
        lambda: only(
            leader_worker(
                leaderTemplate=pod_spec(), workerTemplate=engine()["spec"]["template"]["spec"]
            )
        ),
    ),
    "the worker of a group": (
        QOS,
        lambda: only(
            leader_worker(
                leaderTemplate=engine()["spec"]["template"]["spec"], workerTemplate=pod_spec()
            )
        ),
    ),
    "an InferenceService's containers": (
        QOS,
        lambda: only(
            custom("InferenceService", {"predictor": pod_spec()}, "serving.kserve.io/v1beta1")
        ),
    ),
    "an InferenceService's model": (
        QOS,
        lambda: only(
            custom(
                "InferenceService",
                {
                    "predictor": {
                        "model": {
                            "modelFormat": {"name": "vLLM"},
                            "resources": {
                                "limits": {"cpu": "8", "nvidia.com/gpu": "1"},
                                "requests": {"cpu": "4"},
                            },
                        }
                    }
                },
                "serving.kserve.io/v1beta1",
            )
        ),
    ),
    "an InferenceService's worker": (
        QOS,
        lambda: only(
            custom(
                "InferenceService",
                {
                    "predictor": {
                        "model": {"modelFormat": {"name": "vLLM"}},
                        "workerSpec": pod_spec(),
                    }
                },
                "serving.kserve.io/v1beta1",
            )
        ),
    ),
    "a ServingRuntime": (
        QOS,
        lambda: only(custom("ServingRuntime", pod_spec(), "serving.kserve.io/v1alpha1")),
    ),
    "resources beside the model": (
        "k8s-inferenceservice-place-resources",
        lambda: only(
            custom(
                "InferenceService",
                {
                    "predictor": {
                        "model": {"modelFormat": {"name": "vLLM"}},
                        "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    }
                },
                "serving.kserve.io/v1beta1",
            )
        ),
    ),
    "a runtime whose container KServe does not know": (
        "k8s-inferenceservice-place-resources",
        lambda: only(custom("ServingRuntime", pod_spec(), "serving.kserve.io/v1alpha1")),
    ),
    "a template deep in a custom resource": (
        QOS,
        lambda: only(
            custom("Cluster", {"groups": [{"workers": {"podTemplate": {"spec": pod_spec()}}}]})
        ),
    ),
    "a KEDA ScaledJob": (
        QOS,
        lambda: only(
            custom(
                "ScaledJob",
                {"jobTargetRef": {"template": {"spec": pod_spec()}}},
                "keda.sh/v1alpha1",
            )
        ),
    ),
    "a List": (
        QOS,
        lambda: only(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [engine(f"{CONTAINER}.resources", {"limits": {"nvidia.com/gpu": 2}})],
            }
        ),
    ),
    "a List in a List": (
        QOS,
        lambda: only(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    {
                        "apiVersion": "v1",
                        "kind": "List",
                        "items": [
                            engine(f"{CONTAINER}.resources", {"limits": {"nvidia.com/gpu": 2}})
                        ],
                    }
                ],
            }
        ),
    ),
    "a typed list": (
        QOS,
        lambda: only(
            {
                "apiVersion": "v1",
                "kind": "PodList",
                "items": [
                    {
                        "metadata": {"name": "p", "namespace": compliant_stack.NAMESPACE},
                        "spec": pod_spec(),
                    }
                ],
            }
        ),
    ),
    "several documents in one text": (
        QOS,
        lambda: in_text(engine(f"{CONTAINER}.resources.limits.cpu", compliant_stack.ABSENT)),
    ),
    "a kind in other letters": (
        QOS,
        lambda: only(
            {
                **engine(f"{CONTAINER}.resources.limits.cpu", compliant_stack.ABSENT),
                "kind": "STATEFULSET",
            }
        ),
    ),
    "a patch of a workload": (
        "k8s-object-be-readable",
        lambda: only(
            custom(
                "StatefulSet", {"template": {"spec": {"containers": [{"name": "vllm"}]}}}, "apps/v1"
            ),
            fragment=True,
        ),
    ),
    "privileges in a patch": (
        "k8s-pod-stay-off-host",
        lambda: only(
            custom("StatefulSet", {"template": {"spec": {"hostPID": True}}}, "apps/v1"),
            fragment=True,
        ),
    ),
    "an object without a kind": (
        "k8s-object-be-readable",
        lambda: list(findings([Manifest(body=Node({"metadata": {}}))], CONTEXT)),
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_to_slip_past_is_refused(attempt: str) -> None:
    """Each of these got past somebody's checks."""
    rule, made = ATTEMPTS[attempt]
    found = compliant_stack.refused(made(), rule)
    assert found, f"{attempt} slips past {rule}"
    assert all(each.subject and each.message and each.remedy for each in found)


def test_a_second_autoscaler_is_refused() -> None:
    """KEDA-01: a legacy HPA beside a ScaledObject, whatever the API version says."""
    stack = compliant_stack.compliant()
    hpa = copy.deepcopy(stack["scaler"])
    hpa.update(apiVersion="autoscaling/v2", kind="HorizontalPodAutoscaler")
    hpa["metadata"]["name"] = "legacy"
    hpa["spec"] = {"scaleTargetRef": {"kind": "StatefulSet", "name": "llama"}, "maxReplicas": 2}
    found = compliant_stack.refused(
        compliant_stack.found({**stack, "hpa": hpa}), "k8s-workload-have-one-autoscaler"
    )
    assert [each.subject for each in found] == ["HorizontalPodAutoscaler/triplane-models/legacy"]


def test_sidecars_by_a_foreign_namespace_are_refused() -> None:
    """QOS-01: the namespace is somebody else's, the engine in it is bounded all the same."""
    stack = compliant_stack.compliant()
    for body in stack.values():
        if body["kind"] == "Namespace":
            body["metadata"] = {"name": "ml", "labels": {"istio-injection": "enabled"}}
        else:
            body["metadata"]["namespace"] = "ml"
    found = compliant_stack.refused(compliant_stack.found(stack), "k8s-namespace-inject-no-engine")
    assert [each.subject for each in found] == ["Namespace/ml"]


def test_ignored_replicas_are_accepted() -> None:
    """PULK-01: ignore_changes leaves the count to the autoscaler as well."""
    stack = compliant_stack.broken("engine.spec.replicas", 2)
    made = [compliant_stack.manifest(body) for body in stack.values()]
    calm = ResourceOptions(
        type="x", create_sec=3600, update_sec=3600, ignore_changes=("spec.replicas",)
    )
    made = [replace(each, options=calm) if each.kind == "StatefulSet" else each for each in made]
    assert compliant_stack.refused(findings(made, CONTEXT), "k8s-workload-leave-replicas") == []


def images(*references: str) -> set[str]:
    """Return the rules that refuse bare pods of these images."""
    text = "\n---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: b}}, spec: {{containers: "
        f"[{{name: c, image: '{image}'}}]}}}}"
        for image in references
    )
    context = replace(CONTEXT, pulumi=False, whole=False)
    return {each.rule for each in findings(of_text(text), context)}


def test_a_simulator_and_a_router_are_no_engines() -> None:
    """Their images are named after the engine; none of its rules is meant for them."""
    others = ("ghcr.io/llm-d/llm-d-inference-sim:v1", "lmcache/lmstack-router:v1")
    assert images(*others, "vllm/vllm-cpu-env:v1", "vllm/router:v1") == set()


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:v0.33.0",
        "lmcache/vllm-openai:v1",
        "me/vllm:demo",
        "r:5000/x/vllm-server:1",
    ],
)
def test_images_of_other_makers_are_engines(image: str) -> None:
    """Whoever built it, it loads weights and compiles."""
    assert QOS in images(image)
