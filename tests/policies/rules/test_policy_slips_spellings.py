"""Attempts to slip past by notation, role, annotation or spelling: all refused."""

import pytest

from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTAINER, POD
from tests.helpers.policies.slips import QOS, Attempt, custom, engine, only, release

pytestmark = pytest.mark.pure

ATTEMPTS: dict[str, tuple[str, Attempt]] = {
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
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_to_slip_past_is_refused(attempt: str) -> None:
    """Each of these got past somebody's checks."""
    rule, made = ATTEMPTS[attempt]
    found = compliant_stack.refused(made(), rule)
    assert found, f"{attempt} slips past {rule}"
    assert all(each.subject and each.message and each.remedy for each in found)
