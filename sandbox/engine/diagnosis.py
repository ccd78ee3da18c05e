"""Why pods, secrets and certificates are not ready, in one line each, after an update gave up.

The provider's message counts replicas or says that a condition did not come; the words of the
scheduler, the kubelet and the controllers are in the objects' conditions.
"""

import json
import subprocess
from typing import Any, Final, cast

from sandbox.engine.workspace import Workspace

_WAITED_FOR: Final = (
    "secretstores.external-secrets.io,externalsecrets.external-secrets.io",
    "clusterissuers.cert-manager.io,issuers.cert-manager.io,certificates.cert-manager.io",
)
"""Kinds that an update waits for, by the CRD set that serves them: absent sets are passed over."""


def unready_objects(workspace: Workspace, context: str) -> list[str]:
    """Return a line for every store, secret, issuer and certificate that is not ready."""
    lines: list[str] = []
    for kinds in _WAITED_FOR:
        command = [
            str(workspace.toolchain.path("kubectl")),
            *("--context", context, "get", kinds, "--all-namespaces", "-o", "json"),
        ]
        done = subprocess.run(
            command, env=workspace.env(), capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode == 0:
            found = cast("list[dict[str, Any]]", json.loads(done.stdout)["items"])
            lines += [line for each in found if (line := explain_object(each)) is not None]
    return lines


def explain_object(found: dict[str, Any]) -> str | None:
    """Return why an object with a condition Ready is not ready; None where it is."""
    status: dict[str, Any] = found.get("status", {})
    conditions: list[dict[str, Any]] = status.get("conditions", [])
    ready = {each["type"]: each for each in conditions}.get("Ready")
    if ready is not None and ready.get("status") == "True":
        return None
    metadata = found["metadata"]
    name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
    where = f"{found['kind']} {name}"
    if ready is None:
        return f"{where}: no controller has looked at it"
    return f"{where}: {ready.get('reason')}: {ready.get('message')}"


def unready_pods(workspace: Workspace, context: str) -> list[str]:
    """Return a line for every pod of a cluster that is neither ready nor done."""
    command = [
        str(workspace.toolchain.path("kubectl")),
        *("--context", context, "get", "pods", "--all-namespaces", "-o", "json"),
    ]
    done = subprocess.run(
        command, env=workspace.env(), capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0:
        return [f"pods could not be listed: {done.stderr.strip()}"]
    pods = cast("list[dict[str, Any]]", json.loads(done.stdout)["items"])
    return [line for pod in pods if (line := explain(pod)) is not None]


def explain(pod: dict[str, Any]) -> str | None:
    """Return why one pod is not ready; None where it is, or has ended well."""
    status: dict[str, Any] = pod.get("status", {})
    if status.get("phase") == "Succeeded":
        return None
    conditions: dict[str, dict[str, Any]] = {
        each["type"]: each for each in status.get("conditions", [])
    }
    if conditions.get("Ready", {}).get("status") == "True":
        return None
    metadata = pod["metadata"]
    where = f"pod {metadata['namespace']}/{metadata['name']}"
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return f"{where}: {scheduled.get('reason')}: {scheduled.get('message')}"
    waiting = [_container(each) for each in status.get("containerStatuses", [])]
    detail = "; ".join(each for each in waiting if each) or f"phase {status.get('phase')}"
    return f"{where}: {detail}"


def _container(status: dict[str, Any]) -> str | None:
    state: dict[str, dict[str, Any]] = status.get("state", {})
    found = state.get("waiting") or state.get("terminated")
    if not found:
        return None
    return f"container {status['name']}: {found.get('reason')} {found.get('message', '')}".strip()
