"""More single words and signs that rules hang on, each seen from both sides."""

from typing import Any

import pytest

from policies.core.context import Context
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.engine_files import engine, errors, found, scaler, severities

pytestmark = pytest.mark.pure

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
OPTIONS = "k8s-container-take-known-options"
RESTRICTED = "k8s-pod-meet-restricted"
OUTLIVE = "k8s-route-outlive-answers"
METRICS = "k8s-query-name-known-series"
ACCEPTED = "k8s-certificate-be-accepted"
Json = dict[str, Any]

PERMITTED = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
    *("projected", "secret"),
)
"""Volume types of the restricted Pod Security Standard (kubernetes.io, Pod Security Standards)."""


@pytest.mark.parametrize(("volume", "said"), [*((each, 0) for each in PERMITTED), ("nfs", 1)])
def test_the_restricted_standard_has_eight_types_of_volumes(volume: str, said: int) -> None:
    body = engine([LLAMA])
    body["spec"]["template"]["spec"]["volumes"] = [{"name": "v", volume: {"some": "thing"}}]
    kinds = [each for each in found(RESTRICTED, body) if "a volume is of kind" in each.message]
    assert len(kinds) == said


def test_a_floating_tag_is_compared_in_silence_where_another_rule_refuses_it() -> None:
    """In this project's own stack the image must be pinned: its options need no second word."""
    body = engine([LLAMA], image="vllm/vllm-openai:latest")
    words = "can only be compared with the newest release"
    other = found(OPTIONS, body, context=Context(whole=False))
    ours = found(OPTIONS, body, context=Context(whole=False, pulumi=True))
    assert [words in each.message for each in other] == [True]
    assert ours == []


def certificate(duration: str, **spec: Any) -> Json:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "tls", "namespace": compliant_stack.NAMESPACE},
        "spec": {"duration": duration, "issuerRef": {"name": "ca"}, **spec},
    }


@pytest.mark.parametrize(
    ("duration", "said"),
    [("9552h", 0), ("9552h1s", 1), ("9551h59m60s", 0), ("9551h60m1s", 1)],
)
def test_a_server_certificate_lives_398_days_at_most(duration: str, said: int) -> None:
    """CA/Browser Forum, ballot SC22: 398 days are 9,552 hours."""
    assert len(found(ACCEPTED, certificate(duration))) == said
    assert found(ACCEPTED, certificate("87600h", isCA=True)) == [], "an authority lives longer"


@pytest.mark.parametrize(("before", "said"), [("2159h", 0), ("2160h", 1), ("2161h", 1)])
def test_a_certificate_is_renewed_after_it_begins(before: str, said: int) -> None:
    assert len(found(ACCEPTED, certificate("2160h", renewBefore=before))) == said


def http_route(**backend: Any) -> Json:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "chat", "namespace": "llm"},
        "spec": {"rules": [{"backendRefs": [backend], "timeouts": {"request": "30s"}}]},
    }


def service(name: str, selector: dict[str, str]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "llm"},
        "spec": {"selector": selector, "ports": [{"port": 8000}]},
    }


@pytest.mark.parametrize(
    ("backend", "cut"),
    [
        ({"name": "my-vllm-router"}, True),
        ({"name": "web"}, False),
        ({"name": "chat"}, True),
        ({"name": "chat", "kind": "Service"}, True),
        ({"name": "pool", "kind": "InferencePool"}, True),
        ({"name": "chat", "kind": "Bucket"}, False),
    ],
)
def test_a_route_leads_to_a_model_by_its_backends_name_kind_or_pods(
    backend: Json, cut: bool
) -> None:
    """EAIG-02: a backend without a kind is a Service (Gateway API)."""
    body = engine([LLAMA])
    body["spec"]["template"]["metadata"]["labels"] = {"app": "llama"}
    chat = service("chat", {"app": "llama"})
    messages = errors(OUTLIVE, http_route(**backend), body, chat)
    assert any("ends answers in the middle" in each for each in messages) is cut


@pytest.mark.parametrize("image", ["lmcache/lmstack-router:v0.1.8", "example.com/router:1"])
def test_a_series_that_engines_lost_is_a_routers_where_one_runs(image: str) -> None:
    """The production stack's router still exports what engines before the rewrite had."""
    query = scaler("sum(vllm:gpu_prefix_cache_hit_rate)")
    router: Json = engine(None, image=image, gpus=0)
    router["metadata"]["name"] = "router"
    assert severities(METRICS, query, engine([LLAMA])) == ["error"]
    assert severities(METRICS, query, engine([LLAMA]), router) == []


def ai_route(*requests: str | None) -> Json:
    """Return a route with a rule for each request timeout, None for a rule without one."""
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "ai"}
    backends = [{"name": "llama"}]
    rules: list[Json] = [
        {"backendRefs": backends} | ({} if each is None else {"timeouts": {"request": each}})
        for each in requests
    ]
    return {
        "apiVersion": "aigateway.envoyproxy.io/v1beta1",
        "kind": "AIGatewayRoute",
        "metadata": {"name": "chat", "namespace": "llm"},
        "spec": {"parentRefs": [parent], "rules": rules},
    }


def test_each_rule_of_a_route_is_judged_by_itself() -> None:
    """EAIG-02: a rule that is well says nothing of the next one."""
    [said] = found(OUTLIVE, ai_route("0s", None))
    assert said.path == "spec.rules[1]"
    assert found(OUTLIVE, ai_route("0s", "0s")) == []
    assert len(found(OUTLIVE, ai_route(None, None))) == 2


def test_a_pod_that_stands_alone_is_not_called_one_of_a_group() -> None:
    """VLLM-19: the message says what the pod has."""
    rule = "k8s-container-match-gpus"
    [message] = errors(rule, engine([LLAMA, "--tensor-parallel-size=4"], gpus=2))
    assert "its pod 2 GPUs" in message
    assert "in each of" not in message


def tenant(group: str, kind: str = "Tenant") -> Json:
    return {
        "apiVersion": f"{group}/v2",
        "kind": kind,
        "metadata": {"name": "objects", "namespace": "llm"},
        "spec": {"pools": [{"servers": 3, "volumesPerServer": 1}]},
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (tenant("minio.min.io"), 1),
        (tenant("example.com"), 0),
        (tenant("minio.min.io", "PolicyBinding"), 0),
    ],
)
def test_a_tenant_is_minios_by_kind_and_group(body: Json, said: int) -> None:
    """MINIO-02: three drives make no erasure set; other kinds have pools too."""
    assert len(found("k8s-minio-form-erasure-sets", body)) == said
