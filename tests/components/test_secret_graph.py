"""Secrets and certificates in the component graph: what is registered, in what order, and what not.

Whether a controller takes it is seen in tests/sandbox/operators/test_controllers.py.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pulumi
import pytest

from components.core.stack_secrets import stored
from components.platform import Platform, PlatformArgs, RegionSecrets
from tests.helpers.plans.dev import bare, dev_plan
from tests.helpers.plans.secrets import AUTHORITY, HOSTNAME, secret_read, with_source

pytestmark = pytest.mark.mocks

SERVED = ("v1", "v2", "v1alpha1", "v1beta1", "v1beta2")


class Graph(pulumi.runtime.Mocks):
    """Keeps inputs and types by logical name, in the order of registration."""

    def __init__(self) -> None:
        self.inputs: dict[str, dict[str, Any]] = {}
        self.types: dict[str, str] = {}
        self.order: list[str] = []

    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[Any, Any]]:
        inputs = cast("dict[str, Any]", cast("Any", args).inputs)
        self.inputs[args.name], self.types[args.name] = inputs, args.typ
        self.order.append(args.name)
        found: dict[str, Any] = {"status": {"addresses": [{"value": "192.0.2.7"}]}}
        if args.typ.endswith(":CustomResourceDefinition"):
            found["spec"] = {"versions": [{"name": name, "served": True} for name in SERVED]}
        return f"{args.name}-id", {**inputs, **found, **secret_read(args)}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], None]:
        raise AssertionError(args.token)

    def of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the inputs of every object of a kind, by logical name."""
        return {
            name: self.inputs[name]
            for name in self.order
            if self.types[name].rpartition(":")[2] == kind
        }


def build(
    change: Callable[[dict[str, Any]], None],
    values: Mapping[str, Mapping[str, str]] | None = None,
    *,
    render_to: str | None = None,
) -> tuple[Graph, dict[str, Any]]:
    """Register the dev platform; return the graph and the region's outputs, resolved."""
    graph = Graph()
    pulumi.runtime.set_mocks(graph, project="triplane", stack="dev")
    plan = dev_plan(change)
    secret = {name: pulumi.Output.secret(value) for name, value in (values or {}).items()}
    given = RegionSecrets(kubeconfig="{}", values=cast("Any", secret))
    outputs: dict[str, Any] = {}

    def keep(found: dict[str, Any]) -> None:
        outputs.update(found)

    def program() -> object:
        args = PlatformArgs(
            plan=plan,
            secrets={"local": RegionSecrets() if render_to else given},
            seed_program={"__main__.py": "pass"},
            render_to=render_to,
        )
        regions = cast("dict[str, Any]", Platform("triplane", args).outputs["regions"])
        return pulumi.Output.from_input(regions["local"]).apply(keep)

    cast("Any", pulumi.runtime).test(program)()
    return graph, outputs


def test_a_kubernetes_store_is_one_per_namespace_with_a_reader_of_its_own() -> None:
    """A namespace that is taken over reads what it uses anyway, and nothing more."""
    graph, _ = build(with_source(issuer="private-ca"))
    stores = graph.of_kind("SecretStore")
    spaces = {
        store["metadata"]["namespace"]
        for store in stores.values()
        if "apiVersion" in store and store["apiVersion"] == "external-secrets.io/v1"
    }
    assert spaces == {"triplane-models", "cert-manager"}
    roles = graph.of_kind("Role")
    allowed = {
        role["metadata"]["name"]: role["rules"][0]["resourceNames"] for role in roles.values()
    }
    assert allowed == {
        "triplane-models": ["object-store"],
        "triplane-cert-manager": ["certificate-authority"],
    }
    assert {role["metadata"]["namespace"] for role in roles.values()} == {"triplane-secrets"}


def test_every_custom_resource_waits_until_it_is_ready() -> None:
    """An update that says it is done while a secret is missing would end in pods that hang."""
    graph, _ = build(with_source())
    kinds = ("ExternalSecret", "Certificate", "ClusterIssuer", "Issuer")
    found = [each for kind in kinds for each in graph.of_kind(kind).values()]
    assert len(found) == 6
    for each in found:
        assert each["metadata"]["annotations"]["pulumi.com/waitFor"] == "condition=Ready"


def test_with_a_store_no_value_passes_through_pulumi() -> None:
    """That is what a store is for."""
    graph, _ = build(with_source())
    secrets = graph.of_kind("Secret")
    assert list(secrets) == ["triplane-local-certificates-bundle-secret"], "read, not made"


def test_the_gateway_serves_the_certificate_that_is_issued() -> None:
    """One name ties Certificate, Secret and listener together."""
    graph, outputs = build(with_source())
    certificate = graph.inputs["triplane-local-certificates-gateway"]["spec"]
    listener = graph.inputs["triplane-local-gateway-gateway"]["spec"]["listeners"][0]
    assert certificate["dnsNames"] == [HOSTNAME] == [listener["hostname"]]
    assert listener["tls"]["certificateRefs"] == [
        {"kind": "Secret", "name": certificate["secretName"]}
    ]
    assert listener["protocol"] == "HTTPS"
    assert outputs["gatewayUrl"] == f"https://{HOSTNAME}"


def test_clients_are_told_the_authority_and_no_key() -> None:
    """`gatewayCa` is the certificate alone, readable without the stack's passphrase."""
    _, outputs = build(with_source())
    assert outputs["gatewayCa"] == AUTHORITY


def test_certificates_come_after_what_they_need() -> None:
    """An issuer without its key pair is not ready, and its certificate waits in vain."""
    graph, _ = build(with_source(issuer="private-ca"))
    order = graph.order.index
    issuer = order("triplane-local-certificates-issuer")
    assert order("triplane-local-secrets-cert-manager-certificate-authority") < issuer
    assert issuer < order("triplane-local-certificates-gateway")
    assert order("triplane-local-certificates-gateway") < order("triplane-local-gateway-gateway")
    assert "triplane-local-certificates-ca" not in graph.order, "the authority is not ours to make"


def test_without_a_store_secrets_come_from_encrypted_configuration() -> None:
    """Kind `config`: the Secret is registered with secret values, in the shape that is needed."""
    pair = {"tls.crt": "certificate", "tls.key": "key"}
    graph, _ = build(with_source("config", issuer="private-ca"), {"certificate-authority": pair})
    made = graph.inputs["triplane-local-secrets-cert-manager-certificate-authority"]
    assert made["type"] == "kubernetes.io/tls"
    assert made["stringData"]["value"] == pair, "wrapped: the engine encrypts it in the state"
    assert graph.of_kind("ExternalSecret") == {}


def test_nothing_is_registered_where_nothing_is_asked_for() -> None:
    """A stack without secrets and certificates needs neither operator."""
    graph, outputs = build(bare)
    for kind in ("SecretStore", "ExternalSecret", "Certificate", "ClusterIssuer", "Issuer"):
        assert graph.of_kind(kind) == {}
    assert outputs["gatewayCa"] is None


def test_rendering_reads_no_cluster() -> None:
    """Manifests are written without one: there is no certificate to read."""
    graph, outputs = build(with_source(), render_to="build")
    assert outputs["gatewayCa"] is None
    assert graph.of_kind("Secret") == {}
    assert len(graph.of_kind("Certificate")) == 2
    json.dumps(list(graph.inputs))


def test_a_secret_setting_in_clear_is_refused_and_not_shown() -> None:
    """`pulumi config set` without `--secret` writes it into the file for everybody."""
    name = "triplane:local-certificate-authority"
    planted = json.dumps({"tls.key": "planted"})
    pulumi.runtime.set_all_config({name: planted}, [])
    with pytest.raises(pulumi.RunError, match="--secret") as caught:
        stored(pulumi.Config("triplane"), "local-certificate-authority")
    assert "planted" not in str(caught.value)
    pulumi.runtime.set_all_config({name: planted}, [name])
    stored(pulumi.Config("triplane"), "local-certificate-authority")
