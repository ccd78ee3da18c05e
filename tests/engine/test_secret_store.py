"""A stack with a store of secrets, a MinIO tenant and its own authority, with real controllers.

The tests of this module share one stack and run in order.
"""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography import x509

from sandbox.engine.diagnosis import unready_objects
from sandbox.engine.stack import CHECKED, UP, SandboxStack
from sandbox.engine.workspace import Workspace
from tests.helpers.engine.stacks import kubectl, names, objects, pulumi, urns
from tests.helpers.plans.secrets import HOSTNAME, with_source

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

SOURCE = ("-n", "triplane-secrets")
PLANTED = "planted-5c7e21f0"
ENCODED = base64.b64encode(PLANTED.encode()).decode()
ROOT_KEYS = f'export MINIO_ROOT_USER="someone"\nexport MINIO_ROOT_PASSWORD="{PLANTED}"\n'


def with_tenant(settings: dict[str, Any]) -> None:
    """A source, and a tenant whose root keys come from it."""
    with_source()(settings)
    settings["regions"][0]["storage"]["objects"] = {
        "kind": "minio",
        "bucket": "models",
        "credentials": "secret-store",
        "minio": {"pools": [{"servers": 1, "volumes_per_server": 1, "volume_gib": 50}], "cpu": 1},
    }
    settings["accept_data_loss"].append("Tenant/triplane-objects/objects")


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., SandboxStack]) -> SandboxStack:
    return make_stack(with_tenant)


@pytest.fixture(scope="module")
def workspace(stack: SandboxStack) -> Workspace:
    """Return the started control plane, with a value of our own in the source."""
    workspace = stack.start()
    _keep(workspace, {"access_key_id": "someone", "secret_access_key": PLANTED})
    return workspace


@pytest.fixture(scope="module")
def before(workspace: Workspace) -> list[str]:
    """Return the namespaced Secrets that were there before the stack."""
    return _secrets(workspace)


def _secrets(workspace: Workspace) -> list[str]:
    return sorted(
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in objects(workspace, "secrets", "-A")
    )


def _keep(workspace: Workspace, values: dict[str, str]) -> None:
    """Replace the remote secret of the object store."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "object-store", "namespace": "triplane-secrets"},
        "stringData": values,
    }
    kubectl(workspace, "delete", "secret", "object-store", *SOURCE, "--ignore-not-found")
    kubectl(workspace, "create", "-f", "-", text=json.dumps(body))


def _data(workspace: Workspace, space: str, name: str) -> dict[str, str]:
    found = json.loads(kubectl(workspace, "get", "secret", name, "-n", space, "-o", "json"))
    return {key: base64.b64decode(text).decode() for key, text in found["data"].items()}


def _outputs(workspace: Workspace) -> dict[str, Any]:
    return json.loads(pulumi(workspace, "stack", "output", "--json"))["regions"]["local"]


def test_what_the_source_lacks_stops_the_update_with_the_reason(
    workspace: Workspace, before: list[str]
) -> None:
    """Jobs that hang for hours on a Secret that never comes explain nothing."""
    _keep(workspace, {"access_key_id": "someone"})
    text = pulumi(workspace, *UP, code=1)
    assert "property secret_access_key does not exist in data of secret" in text
    assert "someone" not in text
    lines = unready_objects(workspace, "triplane-sandbox")
    [line] = [each for each in lines if each.startswith("ExternalSecret ")]
    assert "triplane-models/object-store" in line
    assert names(workspace, "jobs", "-n", "triplane-models") == [], "nothing runs without its keys"
    _keep(workspace, {"access_key_id": "someone", "secret_access_key": PLANTED})


def test_up_brings_secrets_and_certificates(workspace: Workspace) -> None:
    """The same update again, once the source has what was missing; the pack judges it."""
    pulumi(workspace, "up", "--yes", *CHECKED)
    assert _data(workspace, "triplane-models", "object-store") == {
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": PLANTED,
    }
    jobs = objects(workspace, "jobs", "-n", "triplane-models")
    assert jobs
    assert all(each["status"].get("succeeded") == 1 for each in jobs)


def test_a_tenants_root_keys_come_from_the_same_secret(workspace: Workspace) -> None:
    """MinIO reads them from a file: what the Jobs sign with must be what the servers know."""
    assert _data(workspace, "triplane-objects", "objects-config") == {"config.env": ROOT_KEYS}
    (tenant,) = objects(workspace, "tenants.minio.min.io", "-n", "triplane-objects")
    assert tenant["spec"]["configuration"] == {"name": "objects-config"}
    assert tenant["status"]["currentState"] == "Initialized"
    kept = objects(workspace, "externalsecrets.external-secrets.io", "-n", "triplane-objects")
    assert [each["spec"]["secretStoreRef"]["kind"] for each in kept] == ["SecretStore"]


def test_clients_can_check_the_gateway(workspace: Workspace) -> None:
    """`gatewayCa` verifies the certificate that the listener serves."""
    found = _outputs(workspace)
    assert found["gatewayUrl"] == f"https://{HOSTNAME}"
    authority = x509.load_pem_x509_certificate(found["gatewayCa"].encode())
    served = _data(workspace, "triplane-gateway", "gateway-tls")["tls.crt"]
    leaf = x509.load_pem_x509_certificate(served.encode())
    leaf.verify_directly_issued_by(authority)


def test_no_secret_is_in_the_state_or_the_output(stack: SandboxStack, workspace: Workspace) -> None:
    """With a store no value passes through Pulumi, not even encrypted; keys stay in the cluster."""
    printed = pulumi(workspace, "stack", "output", "--json")
    plain = pulumi(workspace, "stack", "export", "--show-secrets")
    printed += pulumi(workspace, "stack", "export")
    backend = [
        path.read_text(errors="replace")
        for path in (stack.home / "backend").rglob("*")
        if path.is_file()
    ]
    for text in (printed, plain, *backend):
        assert PLANTED not in text
        assert ENCODED not in text
        assert base64.b64encode(ROOT_KEYS.encode()).decode() not in text
    keys = [
        _data(workspace, space, name)["tls.key"]
        for space, name in (("cert-manager", "triplane-ca"), ("triplane-gateway", "gateway-tls"))
    ]
    for key in keys:
        encoded = base64.b64encode(key.encode()).decode()
        assert key not in plain, "even with the passphrase"
        assert encoded not in plain
    # The one Secret that is read is worth nothing, and encrypted all the same.
    idle = _data(workspace, "triplane-gateway", "gateway-ca")["tls.key"]
    for text in (printed, *backend):
        assert base64.b64encode(idle.encode()).decode() not in text


def test_a_second_up_changes_nothing(workspace: Workspace) -> None:
    pulumi(workspace, *UP, "--expect-no-changes")


def test_a_refresh_finds_no_drift(workspace: Workspace) -> None:
    """ESO-02: defaults that are written out stay what they are.

    Definitions that are only looked at are another test's.
    """
    text = pulumi(workspace, "refresh", "--yes", "--skip-preview")
    changed = [line for line in text.splitlines() if "[diff:" in line]
    assert [line for line in changed if "CustomResourceDefinition" not in line] == []


def test_a_preview_of_another_issuer_says_what_changes(workspace: Workspace) -> None:
    """The certificate is read only where there is one: a preview must not fail on it."""
    assert "unchanged" in pulumi(workspace, "preview", *CHECKED)


def test_destroy_leaves_what_is_yours_and_nothing_else(
    workspace: Workspace, before: list[str]
) -> None:
    """No key of the platform outlives it; the source is not the platform's."""
    pulumi(workspace, "destroy", "--yes", "--skip-preview")
    assert urns(workspace) == []
    assert _secrets(workspace) == before
    assert names(workspace, "roles,rolebindings", *SOURCE) == []
    assert names(workspace, "clusterissuers") == []
