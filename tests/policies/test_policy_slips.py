"""Attempts to slip past the rules: another kind, another shape, another spelling. All refused."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import policies_lab as lab
import pytest
from policies_lab import CONTAINER, CONTEXT, POD, Json

from policies.evaluate import findings
from policies.finding import Finding
from policies.manifest import Manifest, Options, of_text
from policies.nodes import Node
from policies.unknowns import SENTINELS, plain

pytestmark = pytest.mark.pure

Attempt = Callable[[], list[Finding]]
QOS = "k8s-pod-be-guaranteed"


def engine(path: str = "", value: Any = None) -> Json:
    """Return the engine's StatefulSet, with one field changed."""
    return (lab.broken(path, value) if path else lab.compliant())["engine"]


def pod_spec(path: str = f"{CONTAINER}.resources.limits.cpu", value: Any = lab.ABSENT) -> Json:
    """Return a pod's spec that is not Guaranteed, or broken otherwise."""
    return engine(path, value)["spec"]["template"]["spec"]


def only(*bodies: Json, fragment: bool = False, type: str = "") -> list[Finding]:
    """Return the findings at these objects alone."""
    made = [lab.manifest(body) for body in bodies]
    if type:
        made = [replace(each, options=Options(type=type)) for each in made]
    context = replace(CONTEXT, whole=False)
    return list(findings([replace(each, fragment=fragment) for each in made], context))


def custom(kind: str, spec: Json, api: str = "example.com/v1") -> Json:
    """Return a custom resource in our namespace."""
    meta = {"name": "x", "namespace": lab.NAMESPACE}
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}


def in_text(body: Json) -> list[Finding]:
    """Return the findings at a ConfigGroup that is given several documents as one text."""
    text = "# a chart\n---\n" + json.dumps(custom("Harmless", {})) + "\n---\n"
    group: Json = {"yaml": text + json.dumps(body)}
    options = Options(type="kubernetes:yaml/v2:ConfigGroup")
    group_manifest = Manifest(body=Node(plain(group)), options=options, implied_kind="ConfigGroup")
    return list(findings([group_manifest], CONTEXT))


def release(**values: Any) -> list[Finding]:
    """Return the findings at a Helm release with these inputs."""
    options = Options(type="kubernetes:helm.sh/v3:Release", protect=True)
    body = {"name": "r", "chart": "tools", **values}
    made = Manifest(body=Node(plain(body)), options=options, implied_kind="Release")
    return list(findings([made], CONTEXT))


def leader_worker(**templates: Json) -> Json:
    """Return a LeaderWorkerSet."""
    named = {key: {"spec": spec} for key, spec in templates.items()}
    return custom("LeaderWorkerSet", {"leaderWorkerTemplate": {"size": 2, **named}})


ATTEMPTS: dict[str, tuple[str, Attempt]] = {
    "a Deployment": (
        QOS,
        lambda: only(
            {**engine(f"{CONTAINER}.resources.limits.cpu", lab.ABSENT), "kind": "Deployment"}
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
                    {"metadata": {"name": "p", "namespace": lab.NAMESPACE}, "spec": pod_spec()}
                ],
            }
        ),
    ),
    "several documents in one text": (
        QOS,
        lambda: in_text(engine(f"{CONTAINER}.resources.limits.cpu", lab.ABSENT)),
    ),
    "a kind in other letters": (
        QOS,
        lambda: only(
            {**engine(f"{CONTAINER}.resources.limits.cpu", lab.ABSENT), "kind": "STATEFULSET"}
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
    "almost the same memory": (
        QOS,
        lambda: only(engine(f"{CONTAINER}.resources.requests.memory", "64G")),
    ),
    "a quantity in millibytes": (
        QOS,
        lambda: only(engine(f"{CONTAINER}.resources.requests.memory", "68719476735999m")),
    ),
    "an exponent": (QOS, lambda: only(engine(f"{CONTAINER}.resources.requests.cpu", "8e1"))),
    "no quantity at all": (
        QOS,
        lambda: only(engine(f"{CONTAINER}.resources.requests.cpu", "8 cores")),
    ),
    "a number for a quantity": (
        QOS,
        lambda: only(engine(f"{CONTAINER}.resources.requests.cpu", 7.999)),
    ),
    "an init container": (QOS, lambda: only(engine(f"{POD}.initContainers.0.resources", {}))),
    "a native sidecar": (
        QOS,
        lambda: only(engine(f"{POD}.initContainers.1.resources.requests.cpu", "100m")),
    ),
    "a second container": (
        QOS,
        lambda: only(engine(f"{POD}.containers.1", {"name": "log", "image": "a:1"})),
    ),
    "an ephemeral container": (
        QOS,
        lambda: only(engine(f"{POD}.ephemeralContainers", [{"name": "debug", "image": "a:1"}])),
    ),
    "a sidecar by annotation": (
        "k8s-pod-refuse-injection",
        lambda: only(
            engine("engine|spec|template|metadata|annotations|LinkerD.io/inject", "Enabled")
        ),
    ),
    "a sidecar by Vault": (
        "k8s-pod-refuse-injection",
        lambda: only(
            engine(
                "engine|spec|template|metadata|annotations|vault.hashicorp.com/agent-inject", "true"
            )
        ),
    ),
    "Istio with unequal bounds": (
        "k8s-pod-refuse-injection",
        lambda: only(
            engine(
                "engine|spec|template|metadata|annotations",
                {"sidecar.istio.io/inject": "true", "sidecar.istio.io/proxyCPU": "1"},
            )
        ),
    ),
    "a tag in capitals": (
        "k8s-container-pin-image",
        lambda: only(engine(f"{CONTAINER}.image", "vllm/vllm-openai:LATEST")),
    ),
    "a registry's port for a tag": (
        "k8s-container-pin-image",
        lambda: only(engine(f"{CONTAINER}.image", "registry.example:5000/vllm/vllm-openai")),
    ),
    "a nightly tag": (
        "k8s-container-pin-image",
        lambda: only(engine(f"{CONTAINER}.image", "vllm/vllm-openai:nightly-abc")),
    ),
    "a deleted image with its registry": (
        "k8s-object-name-no-deleted-image",
        lambda: only(engine(f"{CONTAINER}.image", "index.docker.io/MinIO/minio:RELEASE")),
    ),
    "a deleted image in a custom resource": (
        "k8s-object-name-no-deleted-image",
        lambda: only(custom("Tenant", {"image": "minio/minio:1"}, "minio.min.io/v2")),
    ),
    "a deleted image in chart values": (
        "k8s-object-name-no-deleted-image",
        lambda: release(values={"mcImage": {"repository": "minio/mc", "tag": "1"}}),
    ),
    "a moved image in chart values": (
        "k8s-object-name-no-deleted-image",
        lambda: release(values={"image": {"registry": "docker.io", "repository": "bitnami/redis"}}),
    ),
    "parallelism in a shell's text": (
        "k8s-container-share-memory",
        lambda: only(
            {
                **custom(
                    "Pod",
                    {
                        "containers": [
                            {
                                "name": "e",
                                "command": ["sh", "-c"],
                                "args": ["exec vllm serve /m \\\n --tensor_parallel_size 2"],
                            }
                        ]
                    },
                    "v1",
                )
            }
        ),
    ),
    "parallelism by a variable": (
        "k8s-container-share-memory",
        lambda: only(
            custom(
                "Pod",
                {
                    "containers": [
                        {
                            "name": "e",
                            "command": ["vllm", "serve"],
                            "args": ["-tp", "$(TP)"],
                            "env": [{"name": "TP", "value": "4"}],
                        }
                    ]
                },
                "v1",
            )
        ),
    ),
    "a secret after its option": (
        "k8s-container-hide-secrets",
        lambda: only(engine(f"{CONTAINER}.args", ["--hf-token", "abcdef"])),
    ),
    "a secret in a shell's text": (
        "k8s-container-hide-secrets",
        lambda: only(
            custom(
                "Pod",
                {
                    "containers": [
                        {
                            "name": "e",
                            "image": "a:1",
                            "command": ["sh", "-c", "tool --password hunter2 run"],
                        }
                    ]
                },
                "v1",
            )
        ),
    ),
    "a secret in an init container": (
        "k8s-container-hide-secrets",
        lambda: only(
            engine(
                f"{POD}.initContainers.0.env",
                [{"name": "AWS_SECRET_ACCESS_KEY", "value": "x" * 20}],
            )
        ),
    ),
    "a secret in lower case": (
        "k8s-container-hide-secrets",
        lambda: only(
            engine(f"{POD}.initContainers.0.env", [{"name": "dbPassword", "value": "hunter2"}])
        ),
    ),
    "a token under a harmless name": (
        "k8s-object-hide-secrets",
        lambda: only(engine(f"{CONTAINER}.env.1", {"name": "NOTE", "value": "hf_" + "Ab1" * 10})),
    ),
    "a key in a ConfigMap": (
        "k8s-object-hide-secrets",
        lambda: only(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "c"},
                "data": {"api-key": "abcdef"},
            }
        ),
    ),
    "a password in a URL": (
        "k8s-object-hide-secrets",
        lambda: release(values={"url": "redis://user:hunter2@cache:6379"}),
    ),
    "GPUs of another maker": (
        QOS,
        lambda: only(
            custom(
                "Pod",
                {
                    "containers": [
                        {"name": "e", "image": "a:1", "resources": {"limits": {"amd.com/gpu": 1}}}
                    ]
                },
                "v1",
            )
        ),
    ),
    "a slice of a GPU": (
        QOS,
        lambda: only(
            custom(
                "Pod",
                {
                    "containers": [
                        {
                            "name": "e",
                            "image": "a:1",
                            "resources": {"limits": {"nvidia.com/mig-3g.40gb": 1}},
                        }
                    ]
                },
                "v1",
            )
        ),
    ),
    "a toleration of everything": (
        "k8s-pod-keep-off-gpu-nodes",
        lambda: only(
            custom(
                "Pod",
                {
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "web", "image": "a:1"}],
                },
                "v1",
            )
        ),
    ),
    "GPU nodes by affinity": (
        "k8s-pod-keep-off-gpu-nodes",
        lambda: only(
            custom(
                "Pod",
                {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {
                                        "matchExpressions": [
                                            {"key": "nvidia.com/gpu.present", "operator": "Exists"}
                                        ]
                                    }
                                ]
                            }
                        }
                    },
                    "containers": [{"name": "web", "image": "a:1"}],
                },
                "v1",
            )
        ),
    ),
    "an alternative without GPUs": (
        "k8s-pod-select-gpu-nodes",
        lambda: only(
            custom(
                "Pod",
                {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {
                                        "matchExpressions": [
                                            {
                                                "key": "triplane.dev/pool",
                                                "operator": "In",
                                                "values": ["gpu"],
                                            }
                                        ]
                                    },
                                    {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
                                ]
                            }
                        }
                    },
                    "containers": pod_spec()["containers"],
                },
                "v1",
            )
        ),
    ),
    "privileges as text": (
        "k8s-pod-stay-off-host",
        lambda: only(engine(f"{CONTAINER}.securityContext.privileged", "True")),
    ),
    "a capability with its prefix": (
        "k8s-pod-stay-off-host",
        lambda: only(engine(f"{CONTAINER}.securityContext.capabilities.add", ["cap_sys_admin"])),
    ),
    "a DaemonSet of ours on the host": (
        "k8s-pod-stay-off-host",
        lambda: only(
            custom(
                "DaemonSet",
                {
                    "template": {
                        "spec": {"hostNetwork": True, "containers": [lab.small_container("a")]}
                    }
                },
                "apps/v1",
            )
        ),
    ),
    "an engine in a chart's values": (
        "k8s-release-ship-no-engine",
        lambda: release(values={"servingEngineSpec": {"modelSpec": [{"name": "x"}]}}),
    ),
    "GPUs in a chart's values": (
        "k8s-release-ship-no-engine",
        lambda: release(values={"a": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}),
    ),
    "an engine's chart": (
        "k8s-release-ship-no-engine",
        lambda: release(chart="oci://registry.example/charts/vllm-stack"),
    ),
    "an engine's image in a chart's values": (
        "k8s-release-ship-no-engine",
        lambda: release(values={"x": "docker.io/vllm/vllm-openai:v0.33.0"}),
    ),
    "values that are not known": (
        "k8s-release-ship-no-engine",
        lambda: release(values=SENTINELS[6]),
    ),
    "a release without a name": ("k8s-object-have-fixed-name", lambda: release(name=None)),
    "a chart whose objects are not seen": (
        "k8s-component-show-objects",
        lambda: list(
            findings(
                [
                    Manifest(
                        body=Node({"chart": "x"}),
                        options=Options(type="kubernetes:helm.sh/v4:Chart", urn="u"),
                        implied_kind="Chart",
                    )
                ],
                CONTEXT,
            )
        ),
    ),
    "an unprotected volume": (
        "k8s-data-be-protected",
        lambda: only(lab.compliant()["claim"], type="kubernetes:core/v1:PersistentVolumeClaim"),
    ),
    "an unprotected set with volumes": (
        "k8s-data-be-protected",
        lambda: only(
            custom(
                "StatefulSet", {"volumeClaimTemplates": [{"metadata": {"name": "a"}}]}, "apps/v1"
            ),
            type="kubernetes:apps/v1:StatefulSet",
        ),
    ),
    "a name that Pulumi makes up": (
        "k8s-object-have-fixed-name",
        lambda: only({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a"}}),
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_to_slip_past_is_refused(attempt: str) -> None:
    """Each of these got past somebody's checks."""
    rule, made = ATTEMPTS[attempt]
    found = lab.refused(made(), rule)
    assert found, f"{attempt} slips past {rule}"
    assert all(each.object and each.message and each.remedy for each in found)


def test_there_are_many_attempts() -> None:
    """The table must not shrink unseen."""
    assert len(ATTEMPTS) >= 60


def test_a_second_autoscaler_is_refused() -> None:
    """KEDA-01: a legacy HPA beside a ScaledObject, whatever the API version says."""
    stack = lab.compliant()
    hpa = copy.deepcopy(stack["scaler"])
    hpa.update(apiVersion="autoscaling/v2", kind="HorizontalPodAutoscaler")
    hpa["metadata"]["name"] = "legacy"
    hpa["spec"] = {"scaleTargetRef": {"kind": "StatefulSet", "name": "llama"}, "maxReplicas": 2}
    found = lab.refused(lab.found({**stack, "hpa": hpa}), "k8s-workload-have-one-autoscaler")
    assert [each.object for each in found] == ["HorizontalPodAutoscaler/triplane-models/legacy"]


def test_sidecars_by_a_foreign_namespace_are_refused() -> None:
    """QOS-01: the namespace is somebody else's, the engine in it is bounded all the same."""
    stack = lab.compliant()
    for body in stack.values():
        if body["kind"] == "Namespace":
            body["metadata"] = {"name": "ml", "labels": {"istio-injection": "enabled"}}
        else:
            body["metadata"]["namespace"] = "ml"
    found = lab.refused(lab.found(stack), "k8s-namespace-inject-no-engine")
    assert [each.object for each in found] == ["Namespace/ml"]


def test_ignored_replicas_are_accepted() -> None:
    """PULK-01: ignore_changes leaves the count to the autoscaler as well."""
    stack = lab.broken("engine.spec.replicas", 2)
    made = [lab.manifest(body) for body in stack.values()]
    calm = Options(type="x", create_sec=3600, update_sec=3600, ignore_changes=("spec.replicas",))
    made = [replace(each, options=calm) if each.kind == "StatefulSet" else each for each in made]
    assert lab.refused(findings(made, CONTEXT), "k8s-workload-leave-replicas") == []


def test_a_simulator_and_a_router_are_no_engines() -> None:
    """Their images are named after the engine; none of its rules is meant for them."""
    text = "\n---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: b}}, spec: {{containers: "
        f"[{{name: c, image: '{image}'}}]}}}}"
        for image in ("ghcr.io/llm-d/llm-d-inference-sim:v1", "lmcache/lmstack-router:v1")
    )
    context = replace(CONTEXT, pulumi=False, whole=False)
    assert [str(each) for each in findings(of_text(text), context)] == []
