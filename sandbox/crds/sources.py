"""Which custom resource definitions a sandbox loads, and where their text comes from.

In this order, each checked against `catalog/crds.lock`: the shared data directory beside the
project, a download of the upstream file, and a permissive definition made from the lock's group,
kind and scope, with a warning. Strict where possible, running always.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal

import requests
from pydantic import BaseModel, ConfigDict, ValidationError

from sandbox.core.errors import SandboxError
from sandbox.core.kube import Object
from sandbox.core.paths import PROJECT_ROOT
from sandbox.crds.text import parse, spec_digest

LOCK_PATH: Final = PROJECT_ROOT / "catalog" / "crds.lock"
SHARED_DIR: Final = PROJECT_ROOT.parent / "shared" / "data" / "crds"

DEFAULT_SETS: Final = (
    "gateway-api-1.5",
    "envoy-gateway-1.8",
    "envoy-ai-gateway",
    "keda",
    "prometheus-operator",
)
"""What the platform's own objects need; each further set costs seconds at the first start."""

_DOWNLOAD_TIMEOUT_SEC: Final = (3.0, 15.0)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CrdVersion(_Frozen):
    """One version of a definition."""

    name: str
    served: bool
    storage: bool
    status: bool
    """Whether the version has a status subresource."""


class CrdLock(_Frozen):
    """What is known of one definition without its text."""

    file: str
    group: str
    kind: str
    plural: str
    scope: Literal["Namespaced", "Cluster"]
    versions: tuple[CrdVersion, ...]
    url: str
    ref: str
    sha256: str
    """Of the file in the shared data directory."""
    spec_sha256: str
    """Of the definition's spec as canonical JSON: some upstream files are chart templates or hold
    several definitions, so their bytes differ from the file's while the definition does not."""

    @property
    def name(self) -> str:
        """The name of the CustomResourceDefinition object."""
        return f"{self.plural}.{self.group}"

    @property
    def set(self) -> str:
        """The set (directory) it belongs to."""
        return self.file.split("/", 1)[0]


class _LockFile(_Frozen):
    crds: tuple[CrdLock, ...]


Source = Literal["shared", "download", "permissive"]


class PinnedDefinition(_Frozen):
    """A definition ready to be applied: YAML or JSON text, and where it is from."""

    lock: CrdLock
    text: bytes
    source: Source


def read_lock(path: Path = LOCK_PATH) -> tuple[CrdLock, ...]:
    """Read the lock; raises `SandboxError` when it is missing or malformed."""
    try:
        return _LockFile.model_validate_json(path.read_bytes()).crds
    except (OSError, ValidationError) as error:
        raise SandboxError(
            f"{path} cannot be used: {error}; make it again with python -m sandbox.crds.lock"
        ) from error


def select(locks: Sequence[CrdLock], sets: Iterable[str]) -> tuple[CrdLock, ...]:
    """Return the entries of the named sets; raises `SandboxError` for a name without any."""
    wanted = tuple(sets)
    known = sorted({lock.set for lock in locks})
    if unknown := sorted(set(wanted) - set(known)):
        raise SandboxError(
            f"CRD sets {', '.join(unknown)} are not in {LOCK_PATH.name}: it has {', '.join(known)}"
        )
    return tuple(lock for lock in locks if lock.set in wanted)


def permissive(lock: CrdLock) -> Object:
    """Return a definition that accepts any body: the last resort."""
    names = {
        "kind": lock.kind,
        "listKind": f"{lock.kind}List",
        "plural": lock.plural,
        "singular": lock.kind.lower(),
    }
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions: list[Object] = [
        {
            "name": version.name,
            "served": version.served,
            "storage": version.storage,
            "schema": {"openAPIV3Schema": anything},
            "subresources": {"status": {}} if version.status else {},
        }
        for version in lock.versions
    ]
    spec = {"group": lock.group, "names": names, "scope": lock.scope, "versions": versions}
    return _object(lock, spec)


def _object(lock: CrdLock, spec: Object) -> Object:
    # The API server wants a note of approval for groups of the Kubernetes project.
    annotations = {"api-approved.kubernetes.io": lock.url}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": lock.name, "annotations": annotations},
        "spec": spec,
    }


Fetch = Callable[[str], bytes]


def download(url: str) -> bytes:
    """Return the bytes at `url`; raises `requests.RequestException` when it cannot be reached."""
    answer = requests.get(url, timeout=_DOWNLOAD_TIMEOUT_SEC)
    answer.raise_for_status()
    return answer.content


def resolve(lock: CrdLock, shared: Path = SHARED_DIR, fetch: Fetch = download) -> PinnedDefinition:
    """Return the text of one definition by the order this module describes.

    Raises `SandboxError` when a source answers with something else than the lock says: wrong text
    is never replaced by a weaker one in silence.
    """
    local = shared / lock.file
    if local.exists():
        text = local.read_bytes()
        found = hashlib.sha256(text).hexdigest()
        if found != lock.sha256:
            raise SandboxError(
                f"CRD file {local} has sha256 {found}, catalog/crds.lock says {lock.sha256}: "
                "restore the file, or, if the change is meant, run python -m sandbox.crds.lock"
            )
        return PinnedDefinition(lock=lock, text=text, source="shared")
    try:
        data = fetch(lock.url)
    except requests.RequestException:
        text = json.dumps(permissive(lock)).encode()
        return PinnedDefinition(lock=lock, text=text, source="permissive")
    specs: list[Object] = [
        crd["spec"]
        for crd in parse(data, chart="/templates/" in lock.url)
        if crd["metadata"]["name"] == lock.name
    ]
    found = spec_digest({"spec": specs[0]}) if specs else "no such definition"
    if found != lock.spec_sha256:
        raise SandboxError(
            f"CRD {lock.name} from {lock.url} has spec sha256 {found}, catalog/crds.lock says "
            f"{lock.spec_sha256}: the address changed its content, do not use it unread"
        )
    text = json.dumps(_object(lock, specs[0])).encode()
    return PinnedDefinition(lock=lock, text=text, source="download")


def resolve_all(
    locks: Sequence[CrdLock],
    say: Callable[[str], None],
    shared: Path = SHARED_DIR,
    fetch: Fetch = download,
) -> list[PinnedDefinition]:
    """Resolve many definitions, with one warning for all that had to be permissive."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        jobs = [pool.submit(resolve, lock, shared, fetch) for lock in locks]
        found = [job.result() for job in jobs]
    if weak := [definition.lock.name for definition in found if definition.source == "permissive"]:
        say(
            f"warning: {len(weak)} CRDs are permissive, their objects are not validated, since "
            f"neither {shared} nor their addresses can be read: {', '.join(weak)}"
        )
    return found
