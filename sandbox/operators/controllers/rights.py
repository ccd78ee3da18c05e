"""What each controller may do in a sandbox: the rules of its ClusterRole.

Written from what the two controllers do and checked by running them; their charts grant the same to
the kinds that we use, and more to those that we do not.
"""

from typing import Final

from sandbox.core.kube import Object

_READ: Final = ["get", "list", "watch"]
_WRITE: Final = [*_READ, "create", "update", "patch", "delete"]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


_EVENTS: Final = _rule("", ["events"], ["create", "patch"])

CERT_MANAGER: Final[tuple[Object, ...]] = (
    _rule(
        "cert-manager.io",
        ["certificates", "issuers", "clusterissuers"],
        [*_READ, "update", "patch"],
    ),
    _rule("cert-manager.io", ["certificaterequests"], _WRITE),
    _rule(
        "cert-manager.io",
        [
            "certificates/status",
            "certificates/finalizers",
            "certificaterequests/status",
            "certificaterequests/finalizers",
            "issuers/status",
            "clusterissuers/status",
        ],
        ["update", "patch"],
    ),
    _rule("", ["secrets"], _WRITE),
    _EVENTS,
)

EXTERNAL_SECRETS: Final[tuple[Object, ...]] = (
    _rule(
        "external-secrets.io",
        ["externalsecrets", "secretstores", "clustersecretstores"],
        [*_READ, "update", "patch"],
    ),
    _rule(
        "external-secrets.io",
        [
            "externalsecrets/status",
            "externalsecrets/finalizers",
            "secretstores/status",
            "secretstores/finalizers",
        ],
        ["get", "update", "patch"],
    ),
    _rule("", ["secrets"], _WRITE),
    _rule("", ["configmaps", "namespaces", "serviceaccounts"], _READ),
    _rule("", ["serviceaccounts/token"], ["create"]),
    _EVENTS,
)
