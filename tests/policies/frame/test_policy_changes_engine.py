"""Data survives changes in the real engine: protection fails the preview, its JSON is judged."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from models.core.findings import Severity
from policies.changes.preview import preview_findings
from sandbox.toolchain import ensure
from tests.helpers.cli.command import triplane
from tests.helpers.policies.compliant_stack import CONTEXT
from tests.helpers.policies.previews import ROOT

pytestmark = pytest.mark.engine

PROGRAM = """
import os
import pulumi
import pulumi_kubernetes as k8s

provider = k8s.Provider("p", render_yaml_to_directory="rendered")
k8s.core.v1.PersistentVolumeClaim(
    "claim",
    metadata={"name": "models", "namespace": "ml"},
    spec={
        "accessModes": ["ReadWriteMany"],
        "storageClassName": os.environ["CLASS"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
    opts=pulumi.ResourceOptions(provider=provider, protect=os.environ["PROTECT"] == "yes"),
)
"""


class Stack:
    """A stack with one claim, in a directory of its own."""

    def __init__(self, home: Path) -> None:
        tools = ensure()
        self.pulumi = str(tools.path("pulumi"))
        self.project = home / "project"
        self.project.mkdir()
        (home / "state").mkdir()
        runtime = {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}}
        file = json.dumps({"name": "lab", "runtime": runtime})
        (self.project / "Pulumi.yaml").write_text(file)
        (self.project / "__main__.py").write_text(PROGRAM)
        self.env = tools.env()
        self.env.pop("KUBECONFIG", None)
        self.env["PULUMI_BACKEND_URL"] = f"file://{home / 'state'}"
        self.env["PULUMI_CONFIG_PASSPHRASE"] = "lab"
        assert self.run("stack", "select", "--create", "lab").returncode == 0

    def run(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run pulumi with variables that the program reads."""
        return subprocess.run(
            [self.pulumi, "--non-interactive", *arguments],
            cwd=self.project,
            env={**self.env, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )


def test_a_change_that_replaces_data_is_stopped(tmp_path: Path) -> None:
    """A new storage class replaces the claim, and every engine's weights with it."""
    stack = Stack(tmp_path)
    up = stack.run("up", "--yes", "--skip-preview", CLASS="a", PROTECT="yes")
    assert up.returncode == 0, up.stdout + up.stderr

    protected = stack.run("preview", CLASS="b", PROTECT="yes")
    assert protected.returncode != 0
    assert "marked for protection" in protected.stdout + protected.stderr

    # Whoever drops the protection in the same change meets the pack, and this.
    document: dict[str, Any] = json.loads(
        stack.run("preview", "--json", CLASS="b", PROTECT="no").stdout
    )
    (finding,) = preview_findings(document, CONTEXT)
    assert finding.severity is Severity.ERROR
    assert finding.subject == "PersistentVolumeClaim/ml/models"
    assert "spec.storageClassName" in finding.message

    # The command, over both forms in which the engine writes the same preview.
    file = tmp_path / "preview.json"
    file.write_text(json.dumps(document))
    log = tmp_path / "events.jsonl"
    logged = ("preview", "--event-log", str(log))
    stack.run(*logged, CLASS="b", PROTECT="no", PULUMI_DEBUG_COMMANDS="true")
    for preview in (file, log):
        assert triplane("changes", str(preview)).code == 1
        assert triplane("changes", str(preview), "--approve", finding.subject).code == 0
