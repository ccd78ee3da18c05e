"""What a provider needs of a kubeconfig: one context, with its cluster and its user.

The rest of the file is other clusters' credentials, which do not belong into this stack's state,
and a change of them would be a change of this stack.
"""

from collections.abc import Mapping
from typing import Any


def only(config: Mapping[str, Any], context: str) -> dict[str, Any] | None:
    """Return the kubeconfig with nothing but a context; None where it has no such context."""
    entry = _named(config, "contexts", context)
    if entry is None:
        return None
    inner: Mapping[str, Any] = entry.get("context") or {}
    kept = {
        "contexts": [entry],
        "clusters": [_named(config, "clusters", str(inner.get("cluster")))],
        "users": [_named(config, "users", str(inner.get("user")))],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        **{key: [each for each in found if each is not None] for key, found in kept.items()},
    }


def _named(config: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any] | None:
    listed: list[Mapping[str, Any]] = config.get(key) or []
    return next((each for each in listed if each.get("name") == name), None)
