"""Clearing what a killed update left behind: its lock, and operations it never finished.

An engine that is killed in the middle of an update leaves a lock file, and for every operation in
flight a pending entry in the state. An object of a pending creation may or may not exist: it is
looked up in the cluster, adopted where it does and forgotten where it does not, so that nothing is
orphaned and nothing is made twice.
"""

import json
from pathlib import Path
from typing import Any, Final, cast

import psutil

from sandbox.errors import SandboxError
from sandbox.workspace import Workspace

_CREATING: Final = "creating"


def recover(workspace: Workspace) -> None:
    """Clear a dead update's lock and settle its pending operations.

    Raises `SandboxError` while another update of the stack is alive.
    """
    locks = _locks(workspace)
    for lock in locks:
        _refuse_if_alive(lock)
    if locks:
        print(f"stack {workspace.stack}: clearing the lock of an update that was killed")
        workspace.run(["cancel", "--yes", workspace.stack], quiet=True)
    pending = _pending(workspace)
    if pending:
        print(f"stack {workspace.stack}: settling {len(pending)} operations that never finished")
        _settle(workspace, pending)


def _locks(workspace: Workspace) -> list[Path]:
    return sorted((workspace.home / "backend" / ".pulumi" / "locks").rglob("*.json"))


def _refuse_if_alive(lock: Path) -> None:
    try:
        content = json.loads(lock.read_text())
    except (OSError, ValueError):
        return
    pid = content.get("pid")
    if not isinstance(pid, int) or not psutil.pid_exists(pid):
        return
    try:
        name = psutil.Process(pid).name()
    except psutil.Error:
        return
    if "pulumi" in name:
        message = (
            f"another update of this stack is running (pid {pid}); wait for it, or end it first"
        )
        raise SandboxError(message)


def _export(workspace: Workspace) -> dict[str, Any]:
    done = workspace.run(["stack", "export"], quiet=True)
    return cast("dict[str, Any]", json.loads(done.stdout))


def _pending(workspace: Workspace) -> list[dict[str, Any]]:
    deployment: dict[str, Any] = _export(workspace).get("deployment") or {}
    return list(deployment.get("pending_operations") or [])


def _settle(workspace: Workspace, pending: list[dict[str, Any]]) -> None:
    arguments = ["refresh", "--yes", "--skip-preview", "--suppress-permalink", "true"]
    for operation in pending:
        resource = operation["resource"]
        if operation["type"] == _CREATING and _exists(workspace, resource):
            arguments += ["--import-pending-creates", f"{resource['urn']} {_id(resource)}"]
    workspace.run([*arguments, "--clear-pending-creates"], quiet=True)


def _exists(workspace: Workspace, resource: dict[str, Any]) -> bool:
    raise NotImplementedError


def _id(resource: dict[str, Any]) -> str:
    metadata = resource["inputs"]["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
