"""Settling what a killed update left behind: processes, its lock, and unfinished operations.

An engine that is killed in the middle of an update leaves plugins that still wait, a lock file,
and for every operation in flight a pending entry in the state. The next update repeats these
operations: with server-side apply a creation that already happened is taken over instead of made
twice, and a deletion of what is gone succeeds.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import psutil

from sandbox.aws.core import repeats
from sandbox.core.errors import SandboxError
from sandbox.core.processes import kill_now
from sandbox.engine.workspace import Workspace

_MANAGER: Final = "pulumi-kubernetes-"
_KUBERNETES: Final = "kubernetes:"
_AWS: Final = "aws:"


def recover(workspace: Workspace, repeated: Path | None = None) -> None:
    """Settle everything that a dead update of this stack left.

    `repeated` is where the stand-in for AWS learns which creations were left open.
    Raises `SandboxError` while another update of the stack is alive.
    """
    locks = _locks(workspace)
    for lock in locks:
        _refuse_if_alive(lock)
    for orphan in _orphans(workspace):
        kill_now(orphan)
    if locks:
        print(f"stack {workspace.stack}: clearing the lock of an update that was killed")
        workspace.run(["cancel", "--yes", workspace.stack], quiet=True)
    state = _export(workspace)
    pending = _pending(state)
    if repeated is not None:
        repeats.write(repeated, {**repeats.read(repeated), **_open_on_aws(state, pending)})
    if pending:
        print(f"stack {workspace.stack}: {len(pending)} operations never finished; repeating them")
        for operation in pending:
            _disown(workspace, state, operation)
        _forget(workspace, state)


def _locks(workspace: Workspace) -> list[Path]:
    return sorted((workspace.home / "backend" / ".pulumi" / "locks").rglob("*.json"))


def _refuse_if_alive(lock: Path) -> None:
    """Refuse where the process that a lock names still is a Pulumi engine."""
    try:
        pid = json.loads(lock.read_text()).get("pid")
        name = psutil.Process(pid).name() if isinstance(pid, int) else ""
    except (OSError, ValueError, psutil.Error):
        return
    if "pulumi" in name:
        message = (
            f"another update of this stack is running (pid {pid}); wait for it, or end it first"
        )
        raise SandboxError(message)


def _orphans(workspace: Workspace) -> Iterator[psutil.Process]:
    """Yield the processes that an engine of this workspace started and that outlived it.

    The backend's address in a process's environment tells whose it is.
    """
    mine = workspace.env()["PULUMI_BACKEND_URL"]
    for process in psutil.process_iter():
        try:
            if process.environ().get("PULUMI_BACKEND_URL") == mine and process.ppid() != 0:
                yield process
        except psutil.Error:
            continue


def _export(workspace: Workspace) -> dict[str, Any]:
    done = workspace.run(["stack", "export"], quiet=True)
    return cast("dict[str, Any]", json.loads(done.stdout))


def _pending(state: dict[str, Any]) -> list[dict[str, Any]]:
    deployment: dict[str, Any] = state.get("deployment") or {}
    return list(deployment.get("pending_operations") or [])


def _forget(workspace: Workspace, state: dict[str, Any]) -> None:
    """Write the state back without its pending operations; the next update repeats them."""
    state["deployment"].pop("pending_operations")
    path = workspace.home / "state.partial.json"
    path.touch(mode=0o600)
    try:
        path.write_text(json.dumps(state))
        workspace.run(["stack", "import", "--file", str(path)], quiet=True)
    finally:
        path.unlink()


def _open_on_aws(
    state: dict[str, Any], pending: list[dict[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """Return the creations on AWS that never finished, with the ids known under the same URN.

    The stand-in gives a creation that is repeated the answers of the first attempt again. The real
    AWS does not: what has a unique name then exists already, what has none exists twice.
    """
    known: list[dict[str, Any]] = state["deployment"].get("resources") or []
    urns = [
        str(each["resource"]["urn"])
        for each in pending
        if each["type"] == "creating" and str(each["resource"]["type"]).startswith(_AWS)
    ]
    return {
        urn: tuple(str(each.get("id", "")) for each in known if each["urn"] == urn) for urn in urns
    }


def _disown(workspace: Workspace, state: dict[str, Any], operation: dict[str, Any]) -> None:
    """Take an object's fields from the manager whose name the killed update never recorded.

    Each creation applies as a field manager of its own. Without this the object would have two of
    them after the repetition, and a field that is later dropped would stay forever.
    """
    resource = operation["resource"]
    if operation["type"] != "creating" or not resource["type"].startswith(_KUBERNETES):
        return
    kubectl = [str(workspace.toolchain.path("kubectl")), "--context", _context(state, resource)]
    target = _target(resource)
    read = _run(workspace, [*kubectl, "get", *target, "-o", "json", "--show-managed-fields"])
    if read.returncode != 0:
        return
    fields: list[dict[str, Any]] = json.loads(read.stdout)["metadata"].get("managedFields", [])
    kept = [each for each in fields if not str(each.get("manager", "")).startswith(_MANAGER)]
    patch = json.dumps({"metadata": {"managedFields": kept or [{}]}})
    _run(workspace, [*kubectl, "patch", *target, "--type=merge", "-p", patch])


def _run(workspace: Workspace, command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=workspace.env(), capture_output=True, text=True, check=False, timeout=60
    )


def _context(state: dict[str, Any], resource: dict[str, Any]) -> str:
    """Return the kubeconfig context of the provider that the operation belonged to."""
    urn = str(resource["provider"]).rsplit("::", 1)[0]
    for known in state["deployment"].get("resources", []):
        if known["urn"] == urn:
            inputs = known["inputs"]
            if "context" in inputs:
                return str(inputs["context"])
            # An EKS region's identifier is its cluster's ARN; the sandbox's context is the name.
            return str(inputs["clusterIdentifier"]).rpartition("/")[2]
    message = f"the state names no provider for {resource['urn']}"
    raise SandboxError(message)


def _target(resource: dict[str, Any]) -> list[str]:
    """Return kubectl's words for an object: kind.version.group, name, namespace."""
    version, kind = str(resource["type"]).removeprefix(_KUBERNETES).rsplit(":", 1)
    group, _, release = version.rpartition("/")
    metadata = resource["inputs"]["metadata"]
    core = group in ("", "core")
    words = [kind if core else f"{kind}.{release}.{group}", str(metadata["name"])]
    if "namespace" in metadata:
        words += ["--namespace", str(metadata["namespace"])]
    return words
