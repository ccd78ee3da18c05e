"""Single changes of a stand-in that the picture as a whole would not show."""

from typing import Any

import pytest

from sandbox.core.kube import Object
from sandbox.operators.standins.objects import Objects
from tests.helpers.sandbox.standins import (
    GATEWAY_API,
    GATEWAY_REF,
    evaluate,
    picture,
    second,
    standin_object,
    with_spec,
    without,
)

pytestmark = pytest.mark.pure

PROXY = {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": "proxy"}


def verdict(kind: str, objects: Objects) -> Object:
    """Return the first condition of the picture's object of a kind."""
    status = evaluate(kind, objects) or {}
    parts: list[Any] = status.get("ancestors") or status.get("parents") or [status]
    return parts[0]["conditions"][0]


def test_a_gateway_of_a_class_that_is_not_accepted_is_refused() -> None:
    objects = Objects.of(picture())
    with_spec("GatewayClass", parametersRef={**PROXY, "namespace": "elsewhere"})(objects)
    assert (
        "EnvoyProxy elsewhere/proxy does not exist" in verdict("GatewayClass", objects)["message"]
    )
    assert verdict("Gateway", objects)["message"] == "GatewayClass envoy is not accepted"
    with_spec("GatewayClass", parametersRef={**PROXY, "namespace": "llm"})(objects)
    assert verdict("Gateway", objects)["status"] == "True"


@pytest.mark.parametrize(("address", "status"), [("10.0.0.1", "True"), ("127.9.9.9", "False")])
def test_a_private_address_is_no_loopback_address(address: str, status: str) -> None:
    objects = Objects.of(picture())
    with_spec("Backend", endpoints=[{"ip": {"address": address, "port": 80}}])(objects)
    assert verdict("Backend", objects)["status"] == status


def test_a_dynamic_resolver_has_no_endpoints() -> None:
    objects = Objects.of(picture())
    with_spec("Backend", type="DynamicResolver", endpoints=[])(objects)
    assert verdict("Backend", objects)["status"] == "True"


def test_policies_of_two_sections_do_not_conflict() -> None:
    objects = Objects.of(picture())
    second("ClientTrafficPolicy")(objects)
    mine = objects.get("ClientTrafficPolicy", "llm", "clients") or {}
    mine["spec"] = {"targetRefs": [{**GATEWAY_REF, "sectionName": "https"}]}
    assert verdict("ClientTrafficPolicy", objects)["status"] == "True"


def test_a_rule_of_a_route_is_a_section() -> None:
    objects = Objects.of(picture())
    route = objects.get("HTTPRoute", "llm", "chat") or {}
    route["spec"]["rules"][0]["name"] = "first"
    target = {"group": GATEWAY_REF["group"], "kind": "HTTPRoute", "name": "chat"}
    for name, status in (("first", "True"), ("second", "False")):
        with_spec("BackendTrafficPolicy", targetRefs=[{**target, "sectionName": name}])(objects)
        assert verdict("BackendTrafficPolicy", objects)["status"] == status


def test_the_route_that_the_ai_gateway_will_make_is_a_target() -> None:
    objects = Objects.of(picture())
    target = {"group": GATEWAY_REF["group"], "kind": "HTTPRoute", "name": "models"}
    with_spec("BackendTrafficPolicy", targetRefs=[target])(objects)
    assert verdict("BackendTrafficPolicy", objects)["status"] == "True"
    without("AIGatewayRoute", "models")(objects)
    assert verdict("BackendTrafficPolicy", objects)["reason"] == "TargetNotFound"


def test_a_missing_target_is_said_before_a_missing_secret() -> None:
    objects = Objects.of(picture())
    without("Gateway", "llm")(objects)
    without("Secret", "clients")(objects)
    assert verdict("SecurityPolicy", objects)["reason"] == "TargetNotFound"


def test_a_selector_takes_the_targets_with_its_labels() -> None:
    objects = Objects.of(picture())
    gateway = objects.get("Gateway", "llm", "llm") or {}
    gateway["metadata"]["labels"] = {"tier": "gold"}
    selector = {"kind": "Gateway", "matchLabels": {"tier": "gold"}}
    with_spec("ClientTrafficPolicy", targetRefs=[], targetSelectors=[selector])(objects)
    assert verdict("ClientTrafficPolicy", objects)["status"] == "True"
    gateway["metadata"]["labels"] = {"tier": "silver"}
    assert evaluate("ClientTrafficPolicy", objects) is None


def test_an_api_key_has_its_own_key_in_the_secret() -> None:
    objects = Objects.of(picture())
    objects.put(standin_object("v1", "Secret", "saas", {}, data={"token": "eA=="}))
    assert verdict("BackendSecurityPolicy", objects)["status"] == "False"


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ("apiKey", "apiKey"),
        ("azureAPIKey", "apiKey"),
        ("anthropicAPIKey", "apiKey"),
        ("awsCredentials", "credentials"),
    ],
)
def test_every_way_to_prove_who_asks_has_its_secret(block: str, key: str) -> None:
    """By upstream's examples: the key that the controller reads, in the Secret that is named."""
    reference = {"secretRef": {"kind": "Secret", "name": "saas"}}
    held = {"region": "r", "credentialsFile": reference} if block == "awsCredentials" else reference
    objects = Objects.of(picture())
    policy = objects.get("BackendSecurityPolicy", "llm", "key") or {}
    policy["spec"] = {"targetRefs": policy["spec"]["targetRefs"], "type": "any", block: held}
    secret = objects.get("Secret", "llm", "saas") or {}
    secret["data"] = {key: "c2FtcGxl"}
    assert verdict("BackendSecurityPolicy", objects)["status"] == "True"
    secret["data"] = {"other": "c2FtcGxl"}
    refused = verdict("BackendSecurityPolicy", objects)
    assert (refused["status"], f"has no key {key}" in refused["message"]) == ("False", True)
    without("Secret", "saas")(objects)
    assert "Secret llm/saas does not exist" in verdict("BackendSecurityPolicy", objects)["message"]


def test_a_tenant_counts_its_servers_and_drives() -> None:
    objects = Objects.of(picture())
    with_spec("Tenant", pools=[{"name": "p", "servers": 4, "volumesPerServer": 2}])(objects)
    status = evaluate("Tenant", objects) or {}
    assert (status["availableReplicas"], status["drivesOnline"]) == (4, 8)
    without("Secret", "root")(objects)
    status = evaluate("Tenant", objects) or {}
    assert (status["availableReplicas"], status["drivesOnline"]) == (0, 0)


@pytest.mark.parametrize(
    ("source", "target", "space", "granted"),
    [
        ("llm", "engine", "other", True),
        ("llm", None, "other", True),
        ("llm", "another", "other", False),
        ("team", "engine", "other", False),
        ("llm", "engine", "third", False),
    ],
)
def test_a_grant_is_for_one_source_one_target_and_one_namespace(
    source: str, target: str | None, space: str, granted: bool
) -> None:
    objects = Objects.of(picture())
    ref = {"name": "engine", "namespace": "other", "port": 8000}
    with_spec("HTTPRoute", rules=[{"backendRefs": [ref]}])(objects)
    ports = [{"port": 8000}]
    objects.put(standin_object("v1", "Service", "engine", {"ports": ports}, space="other"))
    to: Object = {"group": "", "kind": "Service"} | ({"name": target} if target else {})
    giver = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": source}
    grant = standin_object(
        GATEWAY_API, "ReferenceGrant", "g", {"from": [giver], "to": [to]}, space=space
    )
    objects.put(grant)
    parents = (evaluate("HTTPRoute", objects) or {})["parents"]
    assert parents[0]["conditions"][1]["status"] == str(granted)
