"""Why pods are not ready, in one line each, after an update that gave up waiting for them.

The provider's message counts replicas; the scheduler's and the kubelet's own words are in the
pods' conditions and container states.
"""

import json
import subprocess
from typing import Any, cast

from sandbox.workspace import Workspace


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
