"""Exit codes of `check` at their edges, and which files belong together.

docs/cli.md: 0 good, 1 a finding, 2 input that cannot be used, 3 our own fault.
"""

import io
from pathlib import Path

import pytest
from test_check import deployment, rules

from tests.helpers.cli.command import triplane as run

pytestmark = pytest.mark.pure

GOOD = deployment("good", "--max-num-seqs=8")
FAULT = deployment("faulty", "--swap-space=4")
UNKNOWN = deployment("open", '"${MODEL_ARGS}"').replace("v0.18.0", "${TAG}")
BROKEN = "kind: [open\n"
VALUES = "replicas: 2\nimage: {tag: v1}\n"


@pytest.mark.parametrize(
    ("texts", "code", "strict"),
    [
        ((GOOD,), 0, 0),
        ((GOOD, VALUES), 0, 0),
        ((VALUES,), 0, 0),
        ((GOOD, ""), 0, 0),
        ((UNKNOWN,), 0, 1),
        ((FAULT,), 1, 1),
        ((FAULT, UNKNOWN), 1, 1),
        ((GOOD, BROKEN), 2, 2),
        ((FAULT, BROKEN), 2, 2),
        ((UNKNOWN, BROKEN), 2, 2),
        ((f"{GOOD}---\n{BROKEN}",), 2, 2),
        ((BROKEN,), 2, 2),
        (("",), 2, 2),
        (("# rendered by nobody\n---\n# nothing\n", "\n\n---\n"), 2, 2),
    ],
)
def test_what_was_read_and_found_decides_the_code(
    tmp_path: Path, texts: tuple[str, ...], code: int, strict: int
) -> None:
    """A check that left something out is not green; what it found is told all the same."""
    for index, text in enumerate(texts):
        (tmp_path / f"{index}.yaml").write_text(text)
    ran = run("check", "--json", "-f", str(tmp_path))
    assert ran.code == code
    assert (FAULT in texts) == (rules(ran.json) != set())
    assert ran.json["files"] == len(texts)
    assert len(ran.json["unreadable"]) == sum(BROKEN in text for text in texts)
    assert run("check", "--strict", "-f", str(tmp_path)).code == strict


def test_a_folder_without_files_is_unusable(tmp_path: Path) -> None:
    """A misspelt glob or a build that wrote nothing."""
    ran = run("check", "-f", str(tmp_path))
    assert ran.code == 2
    assert "the input holds no document" in ran.err


def test_an_empty_pipe_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    """`helm template | triplane check -f -`, where helm failed."""

    class Stdin:
        def __init__(self, text: str) -> None:
            self.buffer = io.BytesIO(text.encode())

    for text, code in (("", 2), ("---\n", 2), (GOOD, 0), (FAULT, 1), (BROKEN, 2)):
        monkeypatch.setattr("sys.stdin", Stdin(text))
        assert run("check", "-f", "-").code == code, text


def test_a_fault_of_ours_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs it must not take our mistake for one of the file."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("invented")

    file = tmp_path / "a.yaml"
    file.write_text(GOOD)
    monkeypatch.setattr("cli.commands.check.object_findings", broken)
    ran = run("check", "-f", str(file))
    assert ran.code == 3
    assert "internal error, our fault: ZeroDivisionError: invented" in ran.err


def test_a_fragment_meets_only_rules_that_hold_for_parts(tmp_path: Path) -> None:
    """A patch lacks what the whole has; what it says itself is judged all the same."""
    kind = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: engine}\n"
    container = "{name: vllm, image: 'vllm/vllm-openai:v0.18.0', args: [m, ARGUMENT]}"
    spec = f"spec: {{template: {{spec: {{containers: [{container}]}}}}}}\n"
    gpu = "resources: {limits: {nvidia.com/gpu: 1}}, args:"
    for argument, wanted in (
        ("--swap-space=4", {"k8s-container-take-known-options"}),
        ("--max-num-seqs=8", set[str]()),
    ):
        text = f"{kind}{spec.replace('ARGUMENT', argument).replace('args:', gpu)}"
        (tmp_path / "engine.patch.yaml").write_text(text)
        ran = run("check", "--json", "--profile", "triplane", "-f", str(tmp_path))
        assert rules(ran.json) == wanted
        assert ran.code == (1 if wanted else 0)
    (tmp_path / "engine.patch.yaml").rename(tmp_path / "engine.yaml")
    whole = run("check", "--json", "--profile", "triplane", "-f", str(tmp_path))
    assert "k8s-pod-be-guaranteed" in rules(whole.json)


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: engine}
spec: {selector: {app: a}, ports: [{port: 8000}]}
"""
ROUTE = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: models}
spec:
  rules: [{backendRefs: [{name: engine, port: 8000}], timeouts: {request: 15s}}]
"""


def test_a_patch_beside_its_object_parts_no_stack(tmp_path: Path) -> None:
    """It names the same object again; two whole objects of a name are alternatives.

    The route's backend is an engine only where its Service and the pods are of one stack.
    """
    parts = {"engine": GOOD.replace("name: good", "name: engine"), "service": SERVICE}
    for name, text in {**parts, "route": ROUTE}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    cut = {"k8s-route-outlive-answers"}
    assert rules(run("check", "--json", "-f", str(tmp_path)).json) == cut

    second = tmp_path / "engine-patch.yaml"
    second.write_text(parts["engine"])
    assert rules(run("check", "--json", "-f", str(tmp_path)).json) == cut
    second.rename(tmp_path / "another.yaml")
    assert rules(run("check", "--json", "-f", str(tmp_path)).json) == set()


METRIC = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: engine}
spec:
  scaleTargetRef: {name: engine}
  minReplicaCount: 1
  maxReplicaCount: 1
  triggers: [{type: prometheus, metadata: {query: sum(vllm:gpu_cache_usage_perc)}}]
"""


@pytest.mark.parametrize(
    ("version", "code"),
    [("0.9.2", 0), ("v0.9.2", 0), ("0.33.0", 1), ("v0.33.0", 1)],
)
def test_a_release_is_read_with_and_without_its_v(tmp_path: Path, version: str, code: int) -> None:
    """vllm:gpu_cache_usage_perc is there in 0.9.2, hidden in 0.11.0 and gone in 0.12.0."""
    file = tmp_path / "a.yaml"
    digest = "@sha256:" + "0" * 64
    text = GOOD.replace(":v0.18.0", digest).replace("name: good", "name: engine")
    file.write_text(f"{text}---\n{METRIC}")
    assert run("check", "--versions", f"vllm={version}", "-f", str(file)).code == code


@pytest.mark.parametrize("release", ["vllm=0.18.0", "keda=2.17.0", "external-secrets=0.15.1"])
def test_a_v_before_a_release_changes_no_word(tmp_path: Path, release: str) -> None:
    """Messages name the release as everybody writes it, vLLM 0.18.0."""
    digest = "@sha256:" + "0" * 64
    fallback = "  fallback: {failureThreshold: 3, replicas: 1}\n"
    scaler = METRIC.replace("prometheus,", "prometheus, metricType: Value,") + fallback
    secret = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: x}\n"
    file = tmp_path / "a.yaml"
    file.write_text("---\n".join((FAULT.replace(":v0.18.0", digest), scaler, secret)))
    bare = run("check", "--json", "--versions", release, "-f", str(file))
    with_v = run("check", "--json", "--versions", release.replace("=", "=v"), "-f", str(file))
    assert bare.out == with_v.out
    name, _, version = release.partition("=")
    assert any(
        f"{name.lower()} {version}" in each["message"].lower() for each in bare.json["findings"]
    )
