"""When the stand-in does not serve: other endpoints, no switch, foreign settings, bad faults."""

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.clusters import registry
from sandbox.aws.clusters.registry import EksEntry
from sandbox.aws.core import faults, home, repeats
from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.faults import NoCapacity, ZoneLost
from sandbox.aws.core.home import PlaneNeeds, StandInHome, require_loopback
from sandbox.aws.lifecycle import shim
from sandbox.aws.lifecycle.side import is_on
from sandbox.aws.plugin import config
from sandbox.cluster.nodes import NodeSpec
from sandbox.core.errors import SandboxError
from sandbox.engine.stack import SandboxStack

pytestmark = pytest.mark.pure

FOREIGN = (
    "https://ec2.us-east-1.amazonaws.com",
    "http://ec2.us-east-1.amazonaws.com",
    "http://localhost:5000",
    "http://10.0.0.1:5000",
    "https://127.0.0.1:5000",
    "http://127.0.0.1.evil.example:5000",
    "http://0.0.0.0:5000",
    "127.0.0.1:5000",
    "",
)


@pytest.mark.parametrize("endpoint", FOREIGN)
def test_an_endpoint_that_is_not_loopback_is_refused_everywhere(
    endpoint: str, tmp_path: Path
) -> None:
    with pytest.raises(StandInError, match="refuses the endpoint"):
        require_loopback(endpoint)
    with pytest.raises(StandInError, match="refuses the endpoint"):
        Aws(region="us-east-1", endpoint=endpoint)
    with pytest.raises(StandInError, match="refuses the endpoint"):
        StandInHome(root=tmp_path).write_config("lab", endpoint, {})
    written = StandInHome(root=tmp_path)
    written.config.write_text(json.dumps({"label": "x", "endpoint": endpoint, "planes": {}}))
    with pytest.raises(StandInError, match="refuses the endpoint"):
        written.read_config()


def test_a_request_that_would_leave_is_stopped_before_it_is_sent() -> None:
    """Whatever builds a URL: the last look is at the request itself."""
    aws = Aws(region="us-east-1", endpoint="http://127.0.0.1:1")
    client = aws.client("s3")

    def elsewhere(request: Any, **_: Any) -> None:
        request.url = "http://192.0.2.1/bucket"

    client.meta.events.register_first("before-send", elsewhere)
    with pytest.raises(StandInError, match="refuses the endpoint"):
        aws.call("s3", "list_buckets")


@pytest.mark.parametrize("value", ["", "0", "true", "yes", None])
def test_only_one_value_switches_it_on(value: str | None) -> None:
    environ = {} if value is None else {home.SWITCH: value}
    assert not is_on(environ)
    assert is_on({home.SWITCH: "1"})


def test_a_stack_on_eks_is_refused_without_it_with_both_ways_on() -> None:
    stack = SandboxStack(env="prod", stand_in=False)
    with pytest.raises(SandboxError) as refused:
        stack.settings()
    assert "SANDBOX=1 make up ENV=prod" in str(refused.value)
    assert "pulumi up --stack prod" in str(refused.value)
    assert "us-east-1, us-west-2, edge" in str(refused.value)
    assert SandboxStack(env="prod", stand_in=True).settings().environment == "prod"


def test_a_purge_speaks_of_existing_clusters_only(capsys: pytest.CaptureFixture[str]) -> None:
    """A region on EKS has no sandbox under its own name: "there is none" would be a false alarm."""
    stack = SandboxStack(env="prod", instance=f"test-{secrets.token_hex(4)}", stand_in=False)
    stack.purge()
    said = capsys.readouterr().err
    assert f"sandbox {stack.sandbox_name('edge')}: there is none" in said
    assert "us-east-1" not in said


@pytest.mark.parametrize(
    "given",
    [
        {"region": "us-east-1", "endpoints": [{"ec2": "https://example.org"}]},
        {"region": "us-east-1", "s3UsePathStyle": True},
        {},
    ],
)
def test_provider_settings_that_cannot_be_honored_are_refused(given: dict[str, Any]) -> None:
    assert config.problems(given)


def test_credentials_are_ignored_and_not_shown() -> None:
    given = {"region": "us-east-1", "accessKey": "AK", "secretKey": "very secret"}
    assert config.problems(given) == []
    found = config.problems({"region": "us-east-1", "someKey": "very secret"})
    assert "very secret" not in str(found[0])


def test_a_faults_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A drill that injects nothing would prove nothing."""
    path = tmp_path / "faults.json"
    assert faults.read(path) == ()
    path.write_text('[{"kind": "thunder"}]')
    with pytest.raises(StandInError, match="cannot be used"):
        faults.read(path)
    known = ZoneLost(kind="zone-lost", zone="us-east-1a")
    faults.write(path, known)
    assert faults.read(path) == (known,)
    faults.write(path)
    assert not path.exists()


def test_machines_are_missing_by_type_and_zone() -> None:
    known = (
        ZoneLost(kind="zone-lost", zone="a"),
        NoCapacity(kind="insufficient-capacity", instance_type="p5.48xlarge", zone="b"),
        NoCapacity(kind="insufficient-capacity", instance_type="g6.xlarge"),
    )
    zones = ["a", "b", "c"]
    assert list(faults.missing_zones(known, "p5.48xlarge", zones)) == ["a", "b"]
    assert list(faults.missing_zones(known, "m7i.xlarge", zones)) == ["a"]
    assert list(faults.missing_zones(known, "g6.xlarge", zones)) == zones


def test_control_planes_of_two_stacks_or_regions_never_meet() -> None:
    names = {
        registry.sandbox_name(label, account, region, cluster)
        for label in ("prod", "prod-x")
        for account in ("111122223333", "444455556666")
        for region in ("us-east-1", "us-west-2")
        for cluster in ("triplane-prod-" + "x" * 40, "triplane-prod-" + "x" * 41)
    }
    assert len(names) == 16
    assert all(len(name) <= 40 for name in names)


def entry(tmp_path: Path) -> EksEntry:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({"users": [{"user": {"token": "the-token"}}]}))
    return EksEntry(
        cluster="lab",
        region="us-east-1",
        account="111122223333",
        sandbox="lab-1",
        kubeconfig=str(kubeconfig),
    )


def test_the_registry_keeps_clusters_and_nodes(tmp_path: Path) -> None:
    known = registry.Registry(root=tmp_path / "clusters")
    made = entry(tmp_path)
    known.add(made)
    assert known.find("us-east-1", "111122223333", "lab") == made
    assert known.find("us-west-2", "111122223333", "lab") is None
    one, two = (NodeSpec(name=name, cpu=4, memory_mib=1024) for name in ("one", "two"))
    known.set_group("lab-1", "a", (one,))
    known.set_group("lab-1", "b", (two,))
    assert known.nodes("lab-1") == (one, two)
    known.remove_group("lab-1", "a")
    assert known.nodes("lab-1") == (two,)
    known.remove("lab-1")
    assert list(known.entries()) == []


def test_the_shim_gives_a_token_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.Registry(root=tmp_path / "clusters").add(entry(tmp_path))
    asked = ["eks", "get-token", "--cluster-name", "lab", "--region", "us-east-1"]
    assert shim.main(tmp_path, asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert told["status"] == {"token": "the-token"}
    assert shim.main(tmp_path, [*asked[:-1], "us-west-2"]) == 254
    assert shim.main(tmp_path, ["s3", "ls"]) == 252
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "aws eks get-token" in refused.err


def test_a_creation_is_repeated_only_once(tmp_path: Path) -> None:
    path = tmp_path / "repeated.json"
    repeats.write(path, {"urn:a": ("vpc-1",), "urn:b": ()})
    repeats.done(path, "urn:a")
    assert repeats.read(path) == {"urn:b": ()}
    repeats.done(path, "urn:b")
    assert not path.exists()


def test_the_home_keeps_what_control_planes_need(tmp_path: Path) -> None:
    needs = PlaneNeeds(crd_sets=("keda",), storage_classes=("models-rwx",))
    made = StandInHome(root=tmp_path)
    made.write_config("lab", "http://127.0.0.1:5000", {"us-east-1": needs})
    assert made.read_config() == ("lab", "http://127.0.0.1:5000")
    assert made.needs("us-east-1") == needs
    assert made.needs("us-west-2") == PlaneNeeds()
