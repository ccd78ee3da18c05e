"""The stand-ins as a process: they write what they find, and look again when things change."""

import pytest

from sandbox.cluster.cluster import Sandbox
from sandbox.core.kube import Object
from tests.helpers.sandbox.cluster import conditions, namespace, until

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]


def test_a_scaled_object_turns_ready_when_its_target_appears(shared_box: Sandbox) -> None:
    """Pulumi creates both at once: the first verdict must not be the last."""
    api = shared_box.api()
    space = namespace(api)
    metadata = {"serverAddress": "http://prometheus:9090", "query": "up", "threshold": "1"}
    path = f"/apis/keda.sh/v1alpha1/namespaces/{space}/scaledobjects"
    scaled: Object = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "engine"},
        "spec": {
            "scaleTargetRef": {"kind": "StatefulSet", "name": "engine"},
            "triggers": [{"type": "prometheus", "metadata": metadata}],
        },
    }
    api.create(path, scaled)

    def ready() -> Object:
        return conditions(api.get(f"{path}/engine")).get("Ready", {})

    until(lambda: ready().get("status") == "False", "a refusal")
    assert f"StatefulSet {space}/engine does not exist" in ready()["message"]
    labels = {"app": "engine"}
    container = {"name": "main", "image": "registry.invalid/engine:1"}
    target: Object = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "engine"},
        "spec": {
            "replicas": 0,
            "serviceName": "engine",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    api.create(f"/apis/apps/v1/namespaces/{space}/statefulsets", target)
    until(lambda: ready().get("status") == "True", "readiness after the target appeared")
    api.delete(f"/apis/apps/v1/namespaces/{space}/statefulsets/engine")
    until(lambda: ready().get("status") == "False", "a refusal after the target went")


def test_a_gateway_chain_is_accepted_from_its_class_to_its_route(shared_box: Sandbox) -> None:
    """Statuses pass the real schemas of the CRDs, not only our own idea of them."""
    api = shared_box.api()
    space = namespace(api)
    gateways = "/apis/gateway.networking.k8s.io/v1"
    routes = f"/apis/aigateway.envoyproxy.io/v1beta1/namespaces/{space}"
    listener = {"name": "http", "protocol": "HTTP", "port": 80}
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "llm"}
    match = {"headers": [{"type": "Exact", "name": "x-ai-eg-model", "value": "m"}]}
    backend = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": "engine"}
    fqdn = {"hostname": f"engine.{space}.svc.cluster.local", "port": 8000}
    made: list[tuple[str, str, str, Object]] = [
        (
            f"{routes}/aigatewayroutes",
            "AIGatewayRoute",
            "aigateway.envoyproxy.io/v1beta1",
            {
                "parentRefs": [parent],
                "rules": [{"matches": [match], "backendRefs": [{"name": "llm"}]}],
            },
        ),
        (
            f"{routes}/aiservicebackends",
            "AIServiceBackend",
            "aigateway.envoyproxy.io/v1beta1",
            {"schema": {"name": "OpenAI"}, "backendRef": {**backend, "name": "llm"}},
        ),
        (
            f"/apis/gateway.envoyproxy.io/v1alpha1/namespaces/{space}/backends",
            "Backend",
            "gateway.envoyproxy.io/v1alpha1",
            {"endpoints": [{"fqdn": fqdn}]},
        ),
        (
            f"{gateways}/namespaces/{space}/gateways",
            "Gateway",
            "gateway.networking.k8s.io/v1",
            {"gatewayClassName": space, "listeners": [listener]},
        ),
    ]
    for path, kind, version, spec in made:
        body: Object = {"apiVersion": version, "kind": kind, "metadata": {"name": "llm"}}
        api.create(path, {**body, "spec": spec})

    def verdict(index: int, kind: str) -> Object:
        return conditions(api.get(f"{made[index][0]}/llm")).get(kind, {})

    until(lambda: "NotAccepted" in conditions(api.get(f"{made[0][0]}/llm")), "the route's no")
    until(lambda: verdict(2, "Accepted").get("status") == "False", "the backend's no")
    service = {"clusterIP": "None", "ports": [{"name": "http", "port": 8000}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "engine"}}
    api.create(f"/api/v1/namespaces/{space}/services", {**body, "spec": service})
    class_spec = {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}
    body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass"}
    api.create(
        f"{gateways}/gatewayclasses", {**body, "metadata": {"name": space}, "spec": class_spec}
    )
    for index in range(len(made)):
        until(
            lambda index=index: verdict(index, "Accepted").get("status") == "True", made[index][1]
        )
    assert verdict(3, "Programmed")["status"] == "True"
    gateway = api.get(f"{gateways}/namespaces/{space}/gateways/llm") or {}
    assert gateway["status"]["listeners"][0]["attachedRoutes"] == 1
