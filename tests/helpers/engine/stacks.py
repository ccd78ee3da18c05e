"""What the engine tests share: running pulumi quietly, asking the API server, changing settings."""

import json
import subprocess
from typing import Any, cast

from sandbox.engine.stack import SandboxStack
from sandbox.engine.workspace import Workspace

CONTEXT = "triplane-sandbox"


def pulumi(workspace: Workspace, *arguments: str, code: int = 0) -> str:
    """Run pulumi and return all that it printed; fails where the exit code is another."""
    done = workspace.attempt(arguments, quiet=True)
    text = done.stdout + done.stderr
    assert done.returncode == code, text
    return text


def kubectl(workspace: Workspace, *arguments: str, text: str | None = None) -> str:
    """Run kubectl against the stack's control plane; fails where it does."""
    command = [str(workspace.toolchain.path("kubectl")), "--context", CONTEXT, *arguments]
    done = subprocess.run(
        command, env=workspace.env(), input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done.stdout


def objects(workspace: Workspace, *arguments: str) -> list[dict[str, Any]]:
    """Return the objects that `kubectl get` lists."""
    listed = json.loads(kubectl(workspace, "get", *arguments, "-o", "json"))
    return cast("list[dict[str, Any]]", listed.get("items", [listed]))


def names(workspace: Workspace, *arguments: str) -> list[str]:
    """Return their names, sorted."""
    return sorted(each["metadata"]["name"] for each in objects(workspace, *arguments))


def state(workspace: Workspace) -> dict[str, Any]:
    """Return the stack's deployment as Pulumi exports it."""
    exported = json.loads(pulumi(workspace, "stack", "export"))
    return cast("dict[str, Any]", exported["deployment"])


def urns(workspace: Workspace) -> list[str]:
    """Return the URNs of all resources in the state."""
    return [each["urn"] for each in state(workspace).get("resources", [])]


def release(workspace: Workspace, name: str) -> dict[str, Any]:
    """Return the only Helm release of this name in the state."""
    kind = "kubernetes:helm.sh/v3:Release"
    found = [each for each in state(workspace)["resources"] if each["type"] == kind]
    (one,) = [each for each in found if each["outputs"]["name"] == name]
    return cast("dict[str, Any]", one)


def discard(stack: SandboxStack) -> None:
    """Remove every trace of a stack, whatever state it is in."""
    stack.purge()
