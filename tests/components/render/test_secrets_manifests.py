"""Manifests of stores, ExternalSecrets and certificates as plain data."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from components.render.secrets import certificates, secrets
from components.render.storage import minio
from models.core.names import TENANT_CONFIG_SECRET
from models.plan.secret_uses import secret_uses
from models.settings.certificates import CertificateSettings, Issuer
from models.settings.secrets import SecretKey, SecretsKind, SecretSource, SecretUse, filled
from tests.helpers.plans.dev import ROOT
from tests.helpers.plans.secrets import HOSTNAME, region_of, with_source

pytestmark = pytest.mark.pure

DEFINITIONS: Final = ROOT.parent / "shared" / "data" / "crds"
AWS: Final = SecretSource(kind=SecretsKind.AWS, prefix="team/models/")


def _schema(path: str, version: str) -> dict[str, Any]:
    found = DEFINITIONS / path
    if not found.exists():
        pytest.fail(f"{found} is needed: it holds the definitions' defaults")
    body = yaml.safe_load(found.read_text())
    versions = cast("list[dict[str, Any]]", body["spec"]["versions"])
    chosen = next(each for each in versions if each["name"] == version)
    return cast("dict[str, Any]", chosen["schema"]["openAPIV3Schema"]["properties"]["spec"])


def defaulted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Fill in a schema's defaults, as the API server does."""
    if isinstance(value, dict):
        members: dict[str, Any] = dict(cast("dict[str, Any]", value))
        for key, part in schema.get("properties", {}).items():
            if key not in members and "default" in part:
                members[key] = copy.deepcopy(part["default"])
            if key in members:
                members[key] = defaulted(members[key], part)
        return members
    if isinstance(value, list):
        return [defaulted(each, schema.get("items", {})) for each in cast("list[Any]", value)]
    return value


def _use(**changes: Any) -> SecretUse:
    fields: dict[str, Any] = {
        "name": "hub",
        "remote": "team/models/hub",
        "properties": ("user", "token"),
        "namespace": "triplane-models",
        "secret": "hub",
        "keys": (SecretKey(key="HF_TOKEN", property="token"),),
    }
    return SecretUse(**{**fields, **changes})


@pytest.mark.parametrize("source", [AWS, SecretSource(kind=SecretsKind.KUBERNETES)])
def test_the_server_fills_in_nothing(source: SecretSource) -> None:
    """ESO-02: a default that is written out makes no difference for anybody to find later."""
    external = secrets.external_secret(_use(), source)
    schema = _schema("external-secrets/externalsecrets.external-secrets.io.yaml", "v1")
    assert defaulted(external, schema) == external
    store = secrets.secret_store(source, "us-east-1")
    schema = _schema("external-secrets/secretstores.external-secrets.io.yaml", "v1")
    assert defaulted(store, schema) == store


def test_the_defaults_of_the_controller_are_written_too() -> None:
    """ESO-02: these three have no default in the definition; the controller acts on one."""
    entry = secrets.external_secret(_use(), AWS)["data"][0]
    assert entry["remoteRef"] == {
        "key": "team/models/hub",
        "property": "token",
        "conversionStrategy": "Default",
        "decodingStrategy": "None",
        "metadataPolicy": "None",
    }


def test_certificates_and_issuers_have_no_defaults_left() -> None:
    """The definition of cert-manager has none today; a new one must be looked at."""
    schema = _schema("cert-manager/certificates.cert-manager.io.yaml", "v1")
    for spec in (
        certificates.authority("dev", "local"),
        certificates.gateway_certificate(HOSTNAME, "gateway-tls", 90),
        certificates.authority_bundle(90),
    ):
        assert defaulted(spec, schema) == spec


def test_a_file_around_properties_becomes_a_template() -> None:
    """MinIO reads its keys from a shell file; the store must make it, not Pulumi."""
    use = _use(keys=(SecretKey(key="config.env", text='export A="{user}"\nexport B="{token}"\n'),))
    spec = secrets.external_secret(use, AWS)
    assert spec["target"]["template"].get("data") == {
        "config.env": 'export A="{{ index . "user" }}"\nexport B="{{ index . "token" }}"\n'
    }
    assert [each["secretKey"] for each in spec["data"]] == ["user", "token"]
    assert filled(use, {"user": "u", "token": "t"}) == {
        "config.env": 'export A="u"\nexport B="t"\n'
    }


def test_a_property_beside_a_file_is_templated_too() -> None:
    """A Secret with a template has only what the template makes: a plain key would be lost."""
    keys = (
        SecretKey(key="config.env", text='export A="{user}"\n'),
        SecretKey(key="TOKEN", property="token"),
    )
    spec = secrets.external_secret(_use(keys=keys), AWS)
    assert spec["target"]["template"].get("data") == {
        "config.env": 'export A="{{ index . "user" }}"\n',
        "TOKEN": '{{ index . "token" }}',
    }


def test_a_missing_property_is_named_and_no_value_is() -> None:
    """The message of a wrong secret must not print the rest of it."""
    with pytest.raises(ValueError, match="lacks token") as caught:
        filled(_use(), {"user": "planted-value"})
    assert "planted-value" not in str(caught.value)


def test_a_store_reads_named_secrets_of_one_namespace() -> None:
    """Least privilege: neither list nor watch, and nothing that its namespace does not use."""
    assert secrets.reader_rules(["b", "a"]) == [
        {
            "api_groups": [""],
            "resources": ["secrets"],
            "resource_names": ["a", "b"],
            "verbs": ["get"],
        }
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m0s"), (3600, "1h0m0s"), (5400, "1h30m0s"), (45, "45s")]
)
def test_a_duration_is_written_as_it_is_stored(seconds: int, text: str) -> None:
    """`1h` would be stored as `1h0m0s` and differ forever."""
    assert secrets.duration(seconds) == text


def test_the_authority_keeps_its_key_and_servers_do_not() -> None:
    """Clients hold the authority's certificate; nobody holds a server's."""
    authority = certificates.authority("dev", "local")
    server = certificates.gateway_certificate(HOSTNAME, "gateway-tls", 90)
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert server["privateKey"]["rotationPolicy"] == "Always"
    assert (server.get("duration"), server.get("renewBefore")) == ("2160h0m0s", "720h0m0s")
    assert certificates.gateway_certificate(HOSTNAME, "x", None).get("duration") is None


def test_acme_asks_by_dns_in_the_one_zone() -> None:
    """A private gateway answers no challenge by HTTP."""
    options = CertificateSettings(
        issuer=Issuer.ACME, email="platform@example.com", server="https://acme.test/directory"
    )
    acme = certificates.acme_issuer(options, "us-east-1", "Z0123456789").get("acme")
    assert acme is not None
    assert acme["server"] == "https://acme.test/directory"
    solver = acme["solvers"][0]
    assert solver == {"dns01": {"route53": {"region": "us-east-1", "hostedZoneID": "Z0123456789"}}}


def test_the_rows_ask_for_what_the_settings_need() -> None:
    """A Secret that nobody uses is one that leaks for nothing."""
    by_store = {use.label for use in region_of(with_source()).secrets}
    assert by_store == {"Secret/triplane-models/object-store"}
    private = {use.label for use in region_of(with_source(issuer="private-ca")).secrets}
    assert private == {*by_store, "Secret/cert-manager/triplane-ca"}
    kept = {use.label for use in region_of(with_source(issuer="secret-store")).secrets}
    assert kept == {*by_store, "Secret/triplane-gateway/gateway-tls"}


def test_names_in_aws_lie_below_environment_and_region() -> None:
    """Another region's or environment's secrets are out of reach of a region's role."""
    change = with_source("aws-secrets-manager", aws_region="us-east-1")
    assert [use.remote for use in region_of(change).secrets] == ["triplane/dev/local/object-store"]
    in_config = region_of(with_source("config", issuer="private-ca"))
    assert in_config.config_keys == {"certificate-authority": "local-certificate-authority"}


def test_a_tenant_gets_the_object_stores_keys_as_its_own_file() -> None:
    """MinIO and its readers share one remote secret: they cannot disagree."""

    def change(settings: dict[str, Any]) -> None:
        with_source()(settings)
        pool = {"servers": 1, "volumes_per_server": 1, "volume_gib": 200}
        settings["regions"][0]["storage"]["objects"] = {
            "kind": "minio",
            "bucket": "models",
            "credentials": "secret-store",
            "minio": {"pools": [pool]},
        }

    uses = region_of(change).secrets
    assert {use.remote for use in uses} == {"object-store"}
    assert {use.label for use in uses} == {
        "Secret/triplane-models/object-store",
        "Secret/triplane-objects/objects-config",
    }
    tenant = next(use for use in uses if use.secret == "objects-config")
    assert tenant.secret == TENANT_CONFIG_SECRET
    made = filled(tenant, {"access_key_id": "abc", "secret_access_key": "12345678"})
    assert made == {minio.CONFIG_KEY: minio.config_env("abc", "12345678")}


def test_every_row_names_properties_that_its_keys_use() -> None:
    """A key without its property would be filled with nothing."""
    region = region_of(with_source(issuer="private-ca"))
    for use in secret_uses(region.settings, region.gateway, "dev"):
        filled(use, dict.fromkeys(use.properties, "x"))


def test_the_shared_definitions_are_where_the_sandbox_reads_them() -> None:
    """One place for both, so that the test and the sandbox see the same release."""
    from sandbox.crds.sources import SHARED_DIR

    assert Path(SHARED_DIR) == DEFINITIONS
