"""`triplane check`: forty files with one fault or with a trap, and files that cannot be read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.command import ROOT
from tests.helpers.cli.command import triplane as run

pytestmark = pytest.mark.pure

FILES = ROOT / "tests" / "check"
CLEAN = sorted((FILES / "clean").iterdir())
FAULTY = sorted((FILES / "faulty").iterdir())
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
        - {name: vllm, image: "vllm/vllm-openai:v0.18.0", args: [m, ARGUMENT]}
"""


def deployment(name: str = "engine", argument: str = "--swap-space=4") -> str:
    """Return a Deployment with one fault, by default."""
    return DEPLOYMENT.replace("NAME", name).replace("ARGUMENT", argument)


def rules(answer: dict[str, Any], severity: str = "error") -> set[str]:
    """Return the rules that found something of a severity."""
    return {each["rule"] for each in answer["findings"] if each["severity"] == severity}


def test_there_are_at_least_thirty_of_each() -> None:
    """The figures of the acceptance rest on them."""
    assert len(CLEAN) >= 30
    assert len(FAULTY) >= 30


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_a_clean_file_has_no_error(path: Path) -> None:
    """A false alarm costs more trust than a fault that is missed."""
    ran = run("check", "--json", "-f", str(path))
    assert [each for each in ran.json["findings"] if each["severity"] == "error"] == []
    assert ran.json["unreadable"] == []
    assert ran.code == 0


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_a_fault_is_found_and_nothing_else(path: Path) -> None:
    """One fault, one rule: the message must lead there."""
    head = path.read_text()[:300]
    found = re.search(r"# fault: ([\w-]+)", head)
    assert found is not None
    told = re.search(r"^# with: (.*)$", head, re.MULTILINE)
    ran = run("check", "--json", *(told[1].split() if told else ()), "-f", str(path))
    assert rules(ran.json) == {found[1]}
    assert all(each["file"] == str(path) and each["remedy"] for each in ran.json["findings"])
    assert ran.code == 1


def test_findings_have_the_fields_that_programs_read(tmp_path: Path) -> None:
    """Whoever reads JSON reads them by name."""
    file = tmp_path / "a.yaml"
    file.write_text(deployment())
    answer = run("check", "--json", "-f", str(file)).json
    assert set(answer) == {"findings", "files", "unreadable"}
    fields = {"rule", "severity", "object", "file", "path", "message", "remedy"}
    assert all(set(each) == fields for each in answer["findings"])
    assert {each["object"] for each in answer["findings"]} == {"Deployment/engine"}


def test_one_broken_document_stops_no_other(tmp_path: Path) -> None:
    """All findings of all files at once, with file and line of what does not parse."""
    broken = tmp_path / "broken.yaml"
    broken.write_text(f"a: b\n---\nkind: [open\n---\n{deployment()}")
    (tmp_path / "binary.yaml").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "latin.yml").write_bytes("a: é".encode("latin-1"))
    (tmp_path / "notes.txt").write_text("not read in a folder")
    ran = run("check", "--json", "-f", str(tmp_path))
    assert ran.code == 2
    assert rules(ran.json) == {"k8s-container-take-known-options"}
    unread = {Path(each["file"]).name: each for each in ran.json["unreadable"]}
    assert set(unread) == {"broken.yaml", "binary.yaml", "deep.json", "latin.yml"}
    assert 2 <= unread["broken.yaml"]["line"] <= 4
    assert ran.json["files"] == 5


@pytest.mark.parametrize("content", [b"\x00\x01\x02", b"a: [", b"{"])
def test_nothing_readable_is_exit_code_two(tmp_path: Path, content: bytes) -> None:
    """A pipeline that checks nothing must not be green."""
    file = tmp_path / "a.yaml"
    file.write_bytes(content)
    assert run("check", "-f", str(file)).code == 2
    assert run("check", "-f", str(tmp_path / "absent.yaml")).code == 2
    assert run("check").code == 2


def test_unknowns_are_errors_only_when_strict(tmp_path: Path) -> None:
    """What cannot be verified passes by default, and says so."""
    file = tmp_path / "a.yaml"
    file.write_text(deployment(argument='"${MODEL_ARGS}"').replace("v0.18.0", "${TAG}"))
    ran = run("check", "--json", "-f", str(file))
    assert rules(ran.json, "unknown")
    assert (ran.code, rules(ran.json)) == (0, set())
    assert run("check", "--strict", "-f", str(file)).code == 1


def test_house_rules_are_errors_only_in_the_profile(tmp_path: Path) -> None:
    """QoS, isolation and pinned images are this project's conventions."""
    file = tmp_path / "a.yaml"
    text = deployment(argument="--max-model-len=4096").replace(":v0.18.0", ":latest")
    gpu = "resources: {limits: {nvidia.com/gpu: 1}}"
    file.write_text(text.replace("args:", f"{gpu}, args:"))
    ran = run("check", "--json", "-f", str(file))
    assert ran.code == 0
    house = {"k8s-pod-be-guaranteed", "k8s-container-pin-image"}
    assert house <= rules(ran.json, "warning")
    strict = run("check", "--json", "--profile", "triplane", str(file))
    assert strict.code == 1
    assert house <= rules(strict.json)


def test_versions_tell_what_files_do_not(tmp_path: Path) -> None:
    """A digest says no release."""
    file = tmp_path / "a.yaml"
    file.write_text(deployment().replace(":v0.18.0", "@sha256:" + "0" * 64))
    assert run("check", "-f", str(file)).code == 0
    assert run("check", "--versions", "vllm=0.18.0", "-f", str(file)).code == 1
    assert run("check", "--versions", "zork=1", "-f", str(file)).code == 2


def test_alternatives_are_no_single_stack(tmp_path: Path) -> None:
    """Two examples with the same names: each one's engine decides over its own queries."""
    query = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: engine}\nspec:\n"
    query += "  scaleTargetRef: {name: engine}\n  maxReplicaCount: 1\n  minReplicaCount: 1\n"
    query += "  triggers: [{type: prometheus, metadata: {query: sum(vllm:gpu_cache_usage_perc)}}]\n"
    for name, version in (("old", "v0.10.2"), ("new", "v0.12.0")):
        text = deployment(argument="--max-num-seqs=8").replace("v0.18.0", version)
        (tmp_path / f"{name}.yaml").write_text(f"{text}---\n{query}")
    answer = run("check", "--json", str(tmp_path)).json
    errors = [each for each in answer["findings"] if each["severity"] == "error"]
    assert {Path(each["file"]).name for each in errors} == {"new.yaml"}


def test_people_get_the_place_the_reason_and_the_remedy(tmp_path: Path) -> None:
    """Conventions are counted only, so that the fault stands out."""
    file = tmp_path / "a.yaml"
    file.write_text(deployment())
    said = run("check", "-f", str(file)).out
    assert "no longer has the option --swap-space" in said
    assert "remedy: use --kv-offloading-size" in said
    assert "conventions (--profile triplane lists them)" in said
    assert "k8s-pod-meet-restricted" not in said


def test_every_document_of_a_large_file_is_judged(tmp_path: Path) -> None:
    """A rendered cluster is one file of many documents; none of them is passed over."""
    file = tmp_path / "a.yaml"
    file.write_text("---\n".join(deployment(f"engine-{index}") for index in range(100)))
    answer = run("check", "--json", "-f", str(file)).json
    errors = {each["object"] for each in answer["findings"] if each["severity"] == "error"}
    assert len(errors) == 100


def test_the_catalog_passes_its_own_gate() -> None:
    """Every LIVE and STAGED model runs on some card of the catalog."""
    ran = run("check", "--catalog", "--json")
    assert ran.code == 0
    assert rules(ran.json) == set()
    assert json.dumps(ran.json)


def test_a_stack_is_held_against_its_own_pools(tmp_path: Path) -> None:
    """A catalog that fits some card somewhere says nothing of the cards that a stack has."""
    dev = ROOT / "Pulumi.dev.yaml"
    ran = run("check", "--json", "--stack", str(dev))
    assert ran.code == 0
    assert rules(ran.json) == set()
    told = {each["object"] for each in ran.json["findings"]}
    assert "Model/deepseek-r1" in told
    assert "Model/qwen3-8b" not in told
    assert {each["file"] for each in ran.json["findings"]} == {str(dev)}

    broken = tmp_path / "Pulumi.broken.yaml"
    broken.write_text(dev.read_text().replace("model: qwen3-8b", "model: qwen3-32b"))
    refused = run("check", "--json", "--stack", str(broken))
    assert refused.code == 1
    assert rules(refused.json) == {"catalog-model-fits-stack"}

    (tmp_path / "other.yaml").write_text("config: {}")
    assert run("check", "--stack", str(tmp_path / "other.yaml")).code == 2
    assert run("check", "--stack", str(tmp_path / "absent.yaml")).code == 2


def test_a_service_is_read_with_the_runtime_beside_it(tmp_path: Path) -> None:
    """Its own arguments name neither image nor engine; without the runtime nothing is known."""
    text = (FILES / "faulty" / "46-kserve-service-with-its-runtime.yaml").read_text()
    runtime, _, service = text.partition("\n---\n")
    file = tmp_path / "a.yaml"
    for changed, wanted in (
        (text, {"k8s-container-take-known-options"}),
        (text.replace("      runtime: vllm-cuda\n", ""), {"k8s-container-take-known-options"}),
        (text.replace("runtime: vllm-cuda", "runtime: other"), set[str]()),
        (text.replace("v0.18.0", "v0.16.0"), set[str]()),
        (service, set[str]()),
        (runtime, set[str]()),
    ):
        file.write_text(changed)
        assert rules(run("check", "--json", "-f", str(file)).json) == wanted


def test_releases_are_those_of_known_components(tmp_path: Path) -> None:
    """A misspelt component would leave its gate open without a word."""
    file = FILES / "faulty" / "48-external-secret-of-an-old-release.yaml"
    assert run("check", "-f", str(file)).code == 0
    assert run("check", "--versions", "eso=v2.9.0", "-f", str(file)).code == 1
    assert run("check", "--versions", "external-secrets=0.15.1", "-f", str(file)).code == 1
    for wrong in ("external-secret=2.9.0", "external-secrets=", "external-secrets=new", "keda"):
        assert run("check", "--versions", wrong, "-f", str(file)).code == 2
    house = run("check", "--json", "--profile", "triplane", "-f", str(file))
    assert "k8s-object-use-served-version" in rules(house.json)
