"""Applying definitions to a sandbox, and only what changed since the last time."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Final

import requests

from sandbox.core.errors import SandboxError
from sandbox.core.kube import Api, ApiError, Object
from sandbox.crds.sources import CrdLock, PinnedDefinition

_COLLECTION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SERVED_TIMEOUT_SEC: Final = 60.0
_SENT_TIMEOUT_SEC: Final = 180.0


def apply(
    new_api: Callable[[], Api], record: Path, definitions: Sequence[PinnedDefinition]
) -> tuple[int, int]:
    """Apply `definitions` and wait until they are established; return how many, of how many.

    `record` remembers what was applied, so that a second start does not send megabytes again. It is
    trusted only for definitions that the server still has.
    """
    api = new_api()
    known: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    present = api.names(_COLLECTION)
    changed = [
        definition
        for definition in definitions
        if known.get(definition.lock.name) != _digest(definition)
        or definition.lock.name not in present
    ]
    if not changed:
        return 0, len(definitions)

    def send(part: Sequence[PinnedDefinition]) -> None:
        own = new_api()
        for definition in part:
            _send(own, definition, new=definition.lock.name not in present)

    # More at once than there are cores only makes each of them slow enough to time out.
    lanes = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(max_workers=lanes) as pool:
        list(pool.map(send, [changed[lane::lanes] for lane in range(lanes)]))
    _wait_served(api, [definition.lock for definition in definitions])
    known |= {definition.lock.name: _digest(definition) for definition in changed}
    record.write_text(json.dumps(known))
    return len(changed), len(definitions)


def _send(api: Api, definition: PinnedDefinition, *, new: bool) -> None:
    """Create or apply a definition; what a busy machine did not answer in time is asked again."""
    path = f"{_COLLECTION}/{definition.lock.name}"
    deadline = time.monotonic() + _SENT_TIMEOUT_SEC
    while True:
        try:
            if new:
                # Cheaper for the server than an apply, which is felt with large schemas.
                api.create(_COLLECTION, definition.text)
            else:
                api.apply(path, definition.text)
        except (ApiError, requests.Timeout) as error:
            late = isinstance(error, requests.Timeout) or error.status == HTTPStatus.GATEWAY_TIMEOUT
            if not late or time.monotonic() > deadline:
                raise
            # It may have been taken all the same.
            new = api.get(path) is None
        else:
            return


def _digest(definition: PinnedDefinition) -> str:
    return hashlib.sha256(definition.text).hexdigest()


def _wait_served(api: Api, locks: Sequence[CrdLock]) -> None:
    """Wait until discovery lists every definition, which it does once they are established."""
    deadline = time.monotonic() + _SERVED_TIMEOUT_SEC
    waiting = list(locks)
    while True:
        waiting = [lock for lock in waiting if not _is_served(api, lock)]
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise SandboxError(
                f"CRDs {', '.join(lock.name for lock in waiting)} are not served after "
                f"{_SERVED_TIMEOUT_SEC:.0f} s: kubectl describe crd NAME tells why"
            )
        time.sleep(0.2)


def _is_served(api: Api, lock: CrdLock) -> bool:
    version = next(version.name for version in lock.versions if version.served)
    group = api.get(f"/apis/{lock.group}/{version}")
    resources: list[Object] = group["resources"] if group else []
    return any(resource["name"] == lock.plural for resource in resources)
