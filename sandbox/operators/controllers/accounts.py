"""Service accounts of the controllers: their rights, their tokens, their kubeconfigs."""

import base64
import json
import os
from pathlib import Path
from typing import Final

import requests

from sandbox.core.kube import Api, Object
from sandbox.operators.controllers.table import Controller

NAMESPACE: Final = "triplane-sandbox"
"""Where the accounts are. Not the operators' own namespaces: a stack that installs them itself
deletes those when it is destroyed, and the tokens would die with them."""

_TOKEN_SEC: Final = 10 * 365 * 24 * 3600
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"


def ensure(api: Api, controller: Controller, server: str, ca: Path, folder: Path) -> Path:
    """Return the kubeconfig of `controller`, giving it account and rights; kept while it works."""
    for name in (NAMESPACE, controller.namespace):
        _apply(api, "/api/v1/namespaces", _object("v1", "Namespace", name))
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    _apply(api, accounts, _object("v1", "ServiceAccount", controller.name, NAMESPACE))
    for kind, body in _bindings(controller).items():
        _apply(api, f"{_RBAC}/{kind}", body)
    path = folder / f"{controller.name}.kubeconfig"
    if not _works(path, server, ca):
        token = _token(api, f"{accounts}/{controller.name}/token")
        _write(path, _kubeconfig(server, ca, controller.name, token))
    return path


def _bindings(controller: Controller) -> dict[str, Object]:
    name = f"{NAMESPACE}:{controller.name}"
    api = "rbac.authorization.k8s.io/v1"
    role = {**_object(api, "ClusterRole", name), "rules": list(controller.rights)}
    binding = {
        **_object(api, "ClusterRoleBinding", name),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": controller.name, "namespace": NAMESPACE},
        ],
    }
    return {"clusterroles": role, "clusterrolebindings": binding}


def _object(api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
    metadata: Object = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _apply(api: Api, collection: str, body: Object) -> None:
    api.apply(f"{collection}/{body['metadata']['name']}", body)


def _token(api: Api, path: str) -> str:
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SEC},
    }
    answer = api.request("POST", path, body=asked)
    return str(answer["status"]["token"])


def _works(path: Path, server: str, ca: Path) -> bool:
    """Tell whether a kubeconfig is for this server and its token is still taken."""
    try:
        config: Object = json.loads(path.read_text())
        token: str = config["users"][0]["user"]["token"]
        same = config["clusters"][0]["cluster"]["server"] == server
    except (OSError, ValueError, KeyError, IndexError):
        return False
    if not same:
        return False
    session = requests.Session()
    session.trust_env = False
    answer = session.get(
        f"{server}/api", headers={"Authorization": f"Bearer {token}"}, verify=str(ca), timeout=10
    )
    return answer.ok


def _kubeconfig(server: str, ca: Path, user: str, token: str) -> str:
    authority = base64.b64encode(ca.read_bytes()).decode()
    cluster = {"server": server, "certificate-authority-data": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sandbox",
        "clusters": [{"name": "sandbox", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user}}],
    }
    return json.dumps(document, indent=2)


def _write(path: Path, text: str) -> None:
    """Write `path` whole and readable only by its owner from the first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f"{path.name}.partial")
    with open(partial, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        out.write(text)
    partial.replace(path)
