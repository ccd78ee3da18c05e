"""Planted secrets: not in the state, the outputs, the logs or the rendered tree, in clear."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine.stack import CHECKED, SandboxStack
from tests.helpers.engine.stacks import kubectl, pulumi
from tests.helpers.plans.dev import bare

pytestmark = pytest.mark.engine

PLANTED = "planted-9b1d7c2e"
ENCODED = base64.b64encode(PLANTED.encode()).decode()


def _with_credentials(settings: dict[str, Any]) -> None:
    bare(settings)
    settings["regions"][0]["storage"]["objects"]["credentials"] = "config"


def _texts(home: Path) -> list[tuple[str, str]]:
    """Return every text file of a workspace with its name, the plain settings file excepted."""
    return [
        (str(path.relative_to(home)), path.read_text(errors="replace"))
        for path in home.rglob("*")
        if path.is_file() and not path.is_symlink() and "program" not in path.parts
    ]


def test_a_planted_secret_is_never_in_clear(make_stack: Callable[..., SandboxStack]) -> None:
    """The object store's keys go from encrypted configuration into a Secret, and nowhere else."""
    stack = make_stack(_with_credentials)
    workspace = stack.start()
    keys = json.dumps({"access_key_id": "AKIAEXAMPLE", "secret_access_key": PLANTED})
    name = "triplane:local-object-store"
    pulumi(workspace, "config", "set", "--secret", name, keys)
    printed = pulumi(workspace, "preview", *CHECKED)
    printed += pulumi(workspace, "up", "--yes", *CHECKED)
    printed += pulumi(workspace, "stack", "output", "--json")
    printed += pulumi(workspace, "stack", "export")
    held = kubectl(
        workspace, "get", "secret", "object-store", "-n", "triplane-models", "-o", "json"
    )
    assert json.loads(held)["data"]["AWS_SECRET_ACCESS_KEY"] == ENCODED, "the Job gets its keys"
    jobs = kubectl(workspace, "get", "jobs,pods,configmaps", "-n", "triplane-models", "-o", "json")
    token = json.loads((stack.home / "kubeconfig").read_text())["users"][0]["user"]["token"]
    for what, text in [("output", printed), ("jobs", jobs), *_texts(workspace.home / "backend")]:
        assert PLANTED not in text, what
        assert ENCODED not in text, what
        assert token not in text, f"{what} has the kubeconfig's token"
    (workspace.project / "Pulumi.dev.yaml").read_text().index("secure:")
