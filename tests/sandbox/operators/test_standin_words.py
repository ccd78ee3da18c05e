"""Single words and signs that the stand-ins of operators hang on."""

import pytest

from sandbox.operators.standins import envoy, minio
from sandbox.operators.standins.registry import KINDS

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("written", "value"),
    [('""', ""), ("''", ""), ('"a"', "a"), ('"', '"'), ("", ""), ("\"a'", "\"a'"), ("a", "a")],
)
def test_a_value_of_the_tenants_configuration_is_unquoted_as_a_shell_would(
    written: str, value: str
) -> None:
    """MinIO's operator reads `export KEY="value"` lines."""
    assert minio.unquoted(written) == value


def test_a_backend_is_accepted_by_upstreams_own_condition() -> None:
    """Envoy Gateway v1.8.0, api/v1alpha1: BackendConditionAccepted is "Accepted"."""
    body = {
        "metadata": {"name": "saas", "namespace": "llm", "generation": 3},
        "spec": {"endpoints": [{"fqdn": {"hostname": "api.example.com", "port": 443}}]},
    }
    [said] = envoy.backend(body, envoy_objects())["conditions"]
    assert (said["type"], said["status"], said["reason"]) == ("Accepted", "True", "Accepted")
    assert said["observedGeneration"] == 3


def envoy_objects() -> envoy.Objects:
    """Return a cluster without objects."""
    return envoy.Objects()


def test_plurals_are_those_of_the_definitions() -> None:
    """The API server serves a kind at its plural only (the definitions' spec.names.plural)."""
    assert {kind.kind: kind.collection.rsplit("/", 1)[-1] for kind in KINDS}[
        "ReferenceGrant"
    ] == "referencegrants"
    for kind in KINDS:
        plural = kind.collection.rsplit("/", 1)[-1]
        singular = kind.kind.lower()
        assert plural in {singular, f"{singular}s", f"{singular}es", f"{singular[:-1]}ies"}
