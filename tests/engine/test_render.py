"""The manifest tree: deterministic, without secrets, and taken by the real API server."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.engine.stack import SandboxStack
from tests.helpers.engine.stacks import kubectl

pytestmark = pytest.mark.engine

PLANTED = "planted-secret-0f8c1e"


def _with_credentials(settings: dict[str, Any]) -> None:
    settings["regions"][0]["storage"]["objects"]["credentials"] = "config"


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., SandboxStack]) -> SandboxStack:
    keys = f'{{"access_key_id": "AKIAEXAMPLE", "secret_access_key": "{PLANTED}"}}'
    return make_stack(_with_credentials, {"triplane:local-object-store": keys})


def tree(root: Path) -> dict[str, str]:
    """Return the text of every file below `root` by its path."""
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.yaml")}


def listed(documents: list[dict[str, Any]]) -> str:
    """Return a Kubernetes List of the documents as text."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})


def test_two_renders_are_identical_and_without_secrets(stack: SandboxStack, tmp_path: Path) -> None:
    first = tree(stack.render(tmp_path / "one"))
    second = tree(stack.render(tmp_path / "two"))
    assert first == second
    assert len(first) > 25
    assert all(path.startswith("local/") for path in first)
    assert PLANTED not in "".join(first.values())
    assert not re.search(r"^kind: Secret$", "".join(first.values()), re.MULTILINE)


def test_every_object_passes_a_server_side_dry_run(stack: SandboxStack, tmp_path: Path) -> None:
    """Schema, CEL rules and Pod Security of the real API server, with upstream's own CRDs."""
    documents = [yaml.safe_load(text) for text in tree(stack.render(tmp_path / "tree")).values()]
    workspace = stack.start()
    namespaces = [each for each in documents if each["kind"] == "Namespace"]
    kubectl(workspace, "apply", "-f", "-", text=listed(namespaces))
    rest = listed([each for each in documents if each["kind"] != "Namespace"])
    said = kubectl(
        workspace,
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        "-",
        text=rest,
    )
    assert said.count("serverside-applied (server dry run)") == len(documents) - len(namespaces)
