"""The provider is built without the Go types of Kubernetes; its own components still work."""

import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

from sandbox import toolchain
from sandbox.core.paths import PROJECT_ROOT

pytestmark = pytest.mark.engine

PROGRAM: Final = '''
import pulumi
import pulumi_kubernetes as k8s
from pulumi import ResourceOptions
from pulumi_kubernetes.yaml.v2 import ConfigGroup

TEXT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: grouped, namespace: default}
spec:
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}
"""
provider = k8s.Provider("files", render_yaml_to_directory="rendered")
ConfigGroup("group", yaml=TEXT, opts=ResourceOptions(provider=provider))
'''


def test_a_config_group_registers_what_it_holds_under_the_usual_types(tmp_path: Path) -> None:
    """A core kind and a kind of a group: their types are spelt differently."""
    tools = toolchain.ensure()
    (tmp_path / "state").mkdir()
    runtime = {"name": "python", "options": {"virtualenv": str(PROJECT_ROOT / ".venv")}}
    (tmp_path / "Pulumi.yaml").write_text(json.dumps({"name": "lab", "runtime": runtime}))
    (tmp_path / "__main__.py").write_text(PROGRAM)
    env = tools.env()
    env.pop("KUBECONFIG", None)
    env |= {"PULUMI_BACKEND_URL": f"file://{tmp_path}/state", "PULUMI_CONFIG_PASSPHRASE": "lab"}

    def pulumi(*words: str) -> str:
        command = [str(tools.path("pulumi")), "--non-interactive", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    pulumi("stack", "select", "--create", "lab")
    pulumi("up", "--yes", "--skip-preview")
    resources = json.loads(pulumi("stack", "export"))["deployment"]["resources"]
    assert {each["type"] for each in resources} >= {
        "kubernetes:yaml/v2:ConfigGroup",
        "kubernetes:core/v1:ConfigMap",
        "kubernetes:apps/v1:Deployment",
    }
    assert len(list((tmp_path / "rendered").rglob("*.yaml"))) == 2
