"""Reads a model's facts and configuration from a hub that speaks Hugging Face's API.

`HF_TOKEN` is sent where it is set, and never shown. A hub that cannot be reached is said to be so:
nothing is guessed in its place.
"""

import json
import os
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import quote

import requests
from pydantic import JsonValue

from cli.errors import InputError
from models.core.base import UNRESOLVED
from models.serving.formats import SIDE_FILES, merged_config
from models.serving.onboarding import SourceFacts, license_of

DEFAULT_HUB: Final = "https://huggingface.co"
_CONNECT_SEC: Final = 5
_READ_SEC: Final = 20
_LARGEST_CONFIG: Final = 5_000_000

Json = dict[str, JsonValue]


class HubUnreachableError(InputError):
    """No answer came from the hub; the message says what can be done without it."""


def from_hub(repository: str, hub: str, revision: str) -> tuple[SourceFacts, Json]:
    """Return what the hub tells of a model, and its configuration at the resolved commit."""
    base = hub.rstrip("/")
    path = f"{quote(repository)}/revision/{quote(revision, safe='')}"
    facts = _json(f"{base}/api/models/{path}?blobs=true", repository)
    sha = facts.get("sha")
    commit = sha if isinstance(sha, str) else UNRESOLVED
    files = _files(facts)
    at = revision if commit == UNRESOLVED else commit

    def read(name: str) -> Json:
        return _json(f"{base}/{quote(repository)}/resolve/{quote(at, safe='')}/{name}", repository)

    config = read("config.json")
    side = {name: read(name) for name in SIDE_FILES if name in files}
    card = facts.get("cardData")
    tags = facts.get("tags")
    known = SourceFacts(
        repository=repository,
        revision=commit,
        license=license_of(
            card if isinstance(card, dict) else {},
            [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
        ),
        files=files,
        source=f"the hub's {repository}",
    )
    return known, merged_config(config, side)


def _files(facts: Mapping[str, JsonValue]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    siblings = facts.get("siblings")
    for each in siblings if isinstance(siblings, list) else []:
        if isinstance(each, dict) and isinstance(name := each.get("rfilename"), str):
            size = each.get("size")
            found[name] = size if isinstance(size, int) and size >= 0 else None
    return found


def _json(url: str, repository: str) -> Json:
    token = os.environ.get("HF_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = requests.get(url, headers=headers, timeout=(_CONNECT_SEC, _READ_SEC))
    except requests.RequestException as error:
        place = url.split("/api/")[0].split("/resolve/")[0]
        raise HubUnreachableError(
            f"{repository}: the hub cannot be reached at {place} ({type(error).__name__}); give a "
            "local directory of the model instead, or --hub-url of a hub that can be reached"
        ) from None
    if answer.status_code in (401, 403):
        raise InputError(
            f"{repository}: the hub answers {answer.status_code}: the model does not exist, or is "
            "gated; accept its license there and set HF_TOKEN, or give a local directory"
        )
    if answer.status_code != requests.codes.ok:
        what = "has no such model, revision or file" if answer.status_code == 404 else "fails"
        raise InputError(f"{repository}: the hub {what} ({answer.status_code} for {url})")
    if len(answer.content) > _LARGEST_CONFIG:
        raise InputError(f"{repository}: the hub's answer is too large to be a configuration")
    try:
        data: object = json.loads(answer.text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise InputError(f"{repository}: the hub's answer is not a JSON object ({url})")
    return cast("Json", data)
