"""Attempts to slip past in fields, values and charts: all refused."""

import pytest

from policies.core.nodes import Node
from policies.core.unknowns import SENTINELS
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import Manifest, ResourceOptions
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTAINER, CONTEXT, POD
from tests.helpers.policies.slips import QOS, Attempt, custom, engine, only, pod_spec, release

pytestmark = pytest.mark.pure

ATTEMPTS: dict[str, tuple[str, Attempt]] = {
    "GPUs by a resource claim": (
        QOS,
        lambda: only(
            custom(
                "Pod",
                {
                    "resourceClaims": [{"name": "gpu"}],
                    "containers": [
                        {"name": "e", "image": "a:1", "resources": {"claims": [{"name": "gpu"}]}}
                    ],
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
                        "spec": {
                            "hostNetwork": True,
                            "containers": [compliant_stack.small_container("a")],
                        }
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
                        options=ResourceOptions(type="kubernetes:helm.sh/v4:Chart", urn="u"),
                        implied_kind="Chart",
                    )
                ],
                CONTEXT,
            )
        ),
    ),
    "an unprotected volume": (
        "k8s-data-be-protected",
        lambda: only(
            compliant_stack.compliant()["claim"], type="kubernetes:core/v1:PersistentVolumeClaim"
        ),
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
    found = compliant_stack.refused(made(), rule)
    assert found, f"{attempt} slips past {rule}"
    assert all(each.subject and each.message and each.remedy for each in found)
