"""A small client of one API server: enough for nodes, CRDs and stand-ins, without kubectl.

Objects are plain JSON (`Object`): the callers read a handful of fields of many kinds.
"""

import base64
import json
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import requests
import yaml

Object = dict[str, Any]
"""One Kubernetes object or list, as JSON."""

FIELD_MANAGER: Final = "triplane-sandbox"
_TIMEOUT_SEC: Final = 30.0
_APPLY: Final = "application/apply-patch+yaml"
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_MERGE: Final = "application/merge-patch+json"


class ApiError(RuntimeError):
    """The API server refused a request; `status` is the HTTP status code."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        try:
            message = json.loads(body)["message"]
        except (ValueError, KeyError, TypeError):
            message = body.strip()[:500]
        super().__init__(f"{method} {path}: {status}: {message}")
        self.status = status


class Api:
    """Requests to one API server as one user; one instance per thread."""

    def __init__(self, server: str, token: str, ca: Path) -> None:
        self._server = server.rstrip("/")
        self._session = requests.Session()
        # A proxy or CA bundle from the environment has no business on the loopback address.
        self._session.trust_env = False
        self._session.verify = str(ca)
        self._session.headers["Authorization"] = f"Bearer {token}"

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content_type: str = "application/json",
        params: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> Object:
        """Send one request and return the answer's JSON; raises `ApiError` from status 400 on."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = self._session.request(
            method,
            f"{self._server}{path}",
            data=data,
            params=params,
            headers={"Content-Type": content_type, "Accept": accept},
            timeout=_TIMEOUT_SEC,
        )
        if answer.status_code >= 400:
            raise ApiError(method, path, answer.status_code, answer.text)
        return answer.json()

    def healthy(self) -> bool:
        """Tell whether the address itself answers well; False when nothing answers."""
        try:
            return self._session.get(self._server, timeout=2.0).ok
        except requests.RequestException:
            return False

    def get(self, path: str) -> Object | None:
        """Return one object, or None when it does not exist."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path: str, **params: str) -> list[Object]:
        """Return the items of a collection; `params` are query parameters."""
        return self.request("GET", path, params=params)["items"] or []

    def names(self, path: str) -> set[str]:
        """Return the names in a collection without sending its objects: CRDs are megabytes."""
        items: list[Object] | None = self.request("GET", path, accept=_METADATA_ONLY)["items"]
        return {item["metadata"]["name"] for item in items or []}

    def create(self, path: str, body: Object | bytes) -> Object:
        """Create an object (JSON, or YAML as bytes) in the collection at `path`."""
        return self.request("POST", path, body=body, content_type="application/yaml")

    def apply(self, path: str, body: Object | bytes) -> Object:
        """Create or update the object at `path` by server-side apply, taking over conflicts."""
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self.request("PATCH", path, body=body, content_type=_APPLY, params=params)

    def merge(self, path: str, body: Object) -> Object:
        """Change the fields of `body` on the object (or subresource) at `path`."""
        return self.request("PATCH", path, body=body, content_type=_MERGE)

    def delete(self, path: str, *, grace_sec: int | None = None) -> None:
        """Delete the object or collection at `path`; what is gone already is no error."""
        options: Object = {"propagationPolicy": "Background"}
        if grace_sec is not None:
            options["gracePeriodSeconds"] = grace_sec
        try:
            self.request("DELETE", path, body=options)
        except ApiError as error:
            if error.status != 404:
                raise

    def watch(self, path: str, version: str, timeout_sec: int) -> Generator[Object]:
        """Yield the events of a collection after `version` until the server ends the watch.

        Raises `ApiError` with status 410 when `version` is too old: list again.
        """
        params = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(timeout_sec),
            "allowWatchBookmarks": "true",
        }
        with self._session.get(
            f"{self._server}{path}", params=params, stream=True, timeout=(5.0, timeout_sec + 10.0)
        ) as answer:
            if answer.status_code >= 400:
                raise ApiError("WATCH", path, answer.status_code, answer.text)
            for line in answer.iter_lines(chunk_size=None):
                event: Object = json.loads(line)
                if event["type"] == "ERROR":
                    status: Object = event["object"]
                    raise ApiError("WATCH", path, int(status.get("code", 500)), json.dumps(status))
                yield event


@contextmanager
def clients(path: Path) -> Generator[Callable[[], Api]]:
    """Yield what opens clients with a kubeconfig that carries token and CA inline."""
    config: Object = yaml.safe_load(path.read_text())
    cluster: Object = config["clusters"][0]["cluster"]
    token: str = config["users"][0]["user"]["token"]
    with tempfile.NamedTemporaryFile(suffix=".crt") as ca:
        ca.write(base64.b64decode(cluster["certificate-authority-data"]))
        ca.flush()
        yield lambda: Api(cluster["server"], token, Path(ca.name))


@contextmanager
def from_kubeconfig(path: Path) -> Generator[Api]:
    """Open one client with a kubeconfig that carries token and CA inline."""
    with clients(path) as new_api:
        yield new_api()
