"""One kubeconfig for a stack: each region's control plane under the context its settings name."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def merged(contexts: Mapping[str, Path], target: Path) -> Path:
    """Write `target` (mode 0600) with one context per sandbox; return it.

    `contexts` maps a context's name to the kubeconfig of its control plane. JSON is YAML, and
    every reader of kubeconfigs takes it.
    """
    clusters: list[dict[str, Any]] = []
    users: list[dict[str, Any]] = []
    named: list[dict[str, Any]] = []
    for context, path in sorted(contexts.items()):
        read = json.loads(path.read_text())
        clusters.append({"name": context, "cluster": read["clusters"][0]["cluster"]})
        users.append({"name": context, "user": read["users"][0]["user"]})
        named.append({"name": context, "context": {"cluster": context, "user": context}})
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": clusters,
        "users": users,
        "contexts": named,
    }
    partial = target.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(document, file, indent=2)
    partial.replace(target)
    return target
