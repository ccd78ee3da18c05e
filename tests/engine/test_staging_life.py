"""The staging stack, whole, on the stand-in for AWS under the real engine and scheduler.

One region on EKS with its GPU pools, managed operators, storage, engines and gateway. The tests of
this module share one stack and run in order.
"""

import base64
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from typing import Any, Final, cast

import pytest
from cryptography import x509

from models.settings.regions import POOL_LABEL
from sandbox.aws.core.api import Aws
from sandbox.engine.stack import CHECKED, SandboxStack
from sandbox.engine.workspace import Workspace
from tests.helpers.engine.events import Events, updated, waves_overlap
from tests.helpers.engine.stacks import pulumi, urns

pytestmark = pytest.mark.engine

HOSTNAME: Final = "models.staging.example.com"
ZONE: Final = "Z0EXAMPLESTAGING"
AUTHORITY_SECRET: Final = "triplane/staging/us-east-1/certificate-authority"


@pytest.fixture(scope="module")
def stack() -> Iterator[SandboxStack]:
    """Return the stack as its file says, AWS played."""
    instance = f"test-{os.getpid()}-{secrets.token_hex(3)}"
    made = SandboxStack(env="staging", instance=instance, stand_in=True)
    yield made
    made.purge()


@pytest.fixture(scope="module")
def workspace(stack: SandboxStack) -> Workspace:
    return stack.start()


def listed(stack: SandboxStack, workspace: Workspace, *what: str) -> list[dict[str, Any]]:
    """Return objects of the region's cluster."""
    assert stack.aws is not None
    (kubeconfig,) = stack.aws.contexts().values()
    command = [str(workspace.toolchain.path("kubectl")), "--kubeconfig", str(kubeconfig)]
    done = subprocess.run(
        [*command, "get", *what, "-o", "json"],
        env=workspace.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    return cast("list[dict[str, Any]]", json.loads(done.stdout)["items"])


def values(stack: SandboxStack, workspace: Workspace, namespace: str, name: str) -> dict[str, str]:
    """Return what a Secret of the region's cluster holds."""
    chosen = ("-n", namespace, f"--field-selector=metadata.name={name}")
    [found] = listed(stack, workspace, "secrets", *chosen)
    return {key: base64.b64decode(text).decode() for key, text in found["data"].items()}


def ready(found: dict[str, Any]) -> str | None:
    """Return what an object's condition Ready says."""
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    return conditions.get("Ready")


def moto(stack: SandboxStack) -> Aws:
    """Return the region's account, as an administrator with other tools would reach it."""
    assert stack.aws is not None
    _, endpoint = stack.aws.stand_in.home.read_config()
    return Aws(region="us-east-1", endpoint=endpoint, account="111122223333")


def test_the_first_preview_passes_the_pack_and_makes_nothing(
    stack: SandboxStack, workspace: Workspace
) -> None:
    text = pulumi(workspace, "preview", *CHECKED)
    assert "triplane@v" in text, "the pack ran"
    assert "can't run policy" not in text
    assert stack.aws is not None
    assert not stack.aws.contexts(), "no cluster exists yet"


@pytest.fixture(scope="module")
def events(workspace: Workspace) -> Events:
    """Return the engine's events of the first update."""
    return updated(workspace)


def test_up_brings_the_region_up(workspace: Workspace, events: Events) -> None:
    outputs = json.loads(pulumi(workspace, "stack", "output", "--json"))
    assert outputs["environment"] == "staging"
    assert outputs["totals"]["usdPerHourMax"] > outputs["totals"]["usdPerHourMin"] > 0
    (region,) = outputs["regions"].values()
    assert len(region["models"]) >= 7
    assert region["kubeconfig"] == "[secret]"
    assert region["gatewayUrl"] == f"https://{HOSTNAME}"


def test_waves_come_one_after_the_other(events: Events) -> None:
    """Whatever is made of a later wave relies on what is ready of the earlier ones."""
    assert waves_overlap(events, {-4, -3, -2, -1, 0, 1}) == []


def test_secrets_come_from_secrets_manager(stack: SandboxStack, workspace: Workspace) -> None:
    """The authority's key goes from AWS into the cluster, past Pulumi, and is what signs there."""
    for kind in ("secretstores", "externalsecrets", "clusterissuers", "certificates"):
        found = listed(stack, workspace, kind, "-A")
        assert found
        assert [ready(each) for each in found] == ["True"] * len(found)
    client = moto(stack).client("secretsmanager")
    kept = json.loads(client.get_secret_value(SecretId=AUTHORITY_SECRET)["SecretString"])
    assert values(stack, workspace, "cert-manager", "triplane-ca") == kept
    outputs = json.loads(pulumi(workspace, "stack", "output", "--json"))
    authority = x509.load_pem_x509_certificate(
        outputs["regions"]["us-east-1"]["gatewayCa"].encode()
    )
    assert authority == x509.load_pem_x509_certificate(kept["tls.crt"].encode())
    served = values(stack, workspace, "triplane-gateway", "gateway-tls")["tls.crt"]
    x509.load_pem_x509_certificate(served.encode()).verify_directly_issued_by(authority)
    state = pulumi(workspace, "stack", "export", "--show-secrets")
    for text in (
        kept["tls.key"].splitlines()[1],
        base64.b64encode(kept["tls.key"].encode()).decode(),
    ):
        assert text not in state, "not even encrypted"


def test_the_hostname_is_registered(stack: SandboxStack, events: Events) -> None:
    """In the zone that the settings name, by its id."""
    told = moto(stack).pages(
        "route53", "list_resource_record_sets", "ResourceRecordSets", HostedZoneId=ZONE
    )
    [record] = [each for each in told if each["Type"] not in ("NS", "SOA")]
    assert (record["Name"].rstrip("."), record["Region"]) == (HOSTNAME, "us-east-1")


def test_every_engine_runs_on_a_node_of_its_pool(stack: SandboxStack, workspace: Workspace) -> None:
    """The real scheduler placed them; what they ask is guaranteed to them."""
    nodes = {
        each["metadata"]["name"]: each["metadata"]["labels"]
        for each in listed(stack, workspace, "nodes")
    }
    pods = listed(
        stack, workspace, "pods", "-n", "triplane-models", "-l", "app.kubernetes.io/name=vllm"
    )
    assert len(pods) >= 8
    for pod in pods:
        wanted = pod["spec"]["nodeSelector"][POOL_LABEL]
        assert nodes[pod["spec"]["nodeName"]][POOL_LABEL] == wanted
        assert pod["status"]["qosClass"] == "Guaranteed"
        assert pod["status"]["phase"] == "Running"


def test_a_second_up_changes_nothing(workspace: Workspace) -> None:
    pulumi(workspace, "up", "--yes", "--skip-preview", "--expect-no-changes")


def test_a_refresh_finds_no_drift(workspace: Workspace) -> None:
    pulumi(workspace, "refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_what_is_protected_survives_a_destroy(workspace: Workspace) -> None:
    before = urns(workspace)
    done = workspace.attempt(["destroy", "--yes"], quiet=True)
    assert done.returncode != 0
    assert "because it is protected" in done.stdout + done.stderr
    assert urns(workspace) == before, "the preview fails, and nothing is deleted"


def test_down_leaves_the_cloud_empty(stack: SandboxStack) -> None:
    """It lifts the protection first and raises where anything is left."""
    stack.down()
    assert stack.aws is not None
    assert not stack.aws.contexts()
