"""What `smoke` asks, and what must come back."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self, cast
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from cli.reading.outputs import ModelOutput, RegionOutput

_NO_MODEL: Final = "triplane-smoke-no-such-model"
_TOKENS: Final = 4
_TEXT: Final = 300
"""Characters of an unexpected answer that are shown."""
_MIB: Final = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """What came of a check."""

    check: str
    good: bool
    message: str
    seconds: float = 0.0


class UnexpectedError(Exception):
    """An answer is not what it should be; the message says what came and what should have."""


class _ByName(HTTPAdapter):
    """Checks the certificate for the gateway's name whatever address is asked."""

    def __init__(self, host: str) -> None:
        self._host = host
        super().__init__()

    def init_poolmanager(self, *args: Any, **keywords: Any) -> None:
        """Make the pool ask for the name in the handshake."""
        names = {"server_hostname": self._host, "assert_hostname": self._host}
        super().init_poolmanager(*args, **keywords, **names)


class Client:
    """Asks a region's gateway, by another address where one is given."""

    def __init__(
        self, region: RegionOutput, key: str | None, address: str | None, timeout_sec: float
    ) -> None:
        url = urlsplit(region.gateway_url)
        self._base = f"{url.scheme}://{address or url.netloc}"
        self._timeout = timeout_sec
        self._session = requests.Session()
        # Proxies and .netrc of the machine would ask somebody else, or send somebody else's keys.
        self._session.trust_env = False
        self._session.headers["Host"] = url.netloc
        self._key = key
        self._authority = _TrustedAuthority(region.gateway_ca)
        if url.scheme == "https":
            self._session.mount("https://", _ByName(url.hostname or ""))

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._session.verify = self._authority.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Close connections, and remove the authority's file."""
        self._session.close()
        self._authority.close()

    def get(self, path: str) -> requests.Response:
        """Ask with the client's key."""
        return self._session.get(
            f"{self._base}{path}", headers=self._auth(self._key), timeout=self._timeout
        )

    def post(
        self, path: str, body: bytes, *, key: str | None = None, stream: bool = False
    ) -> requests.Response:
        """Send JSON, with the client's key or another."""
        return self._session.post(
            f"{self._base}{path}",
            data=body,
            headers={
                "Content-Type": "application/json",
                **self._auth(self._key if key is None else key),
            },
            timeout=self._timeout,
            stream=stream,
        )

    @staticmethod
    def _auth(key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}


class _TrustedAuthority:
    """The gateway's authority as a file, which is all that `requests` takes."""

    def __init__(self, text: str | None) -> None:
        self._text = text
        self._file: Any = None

    def open(self) -> str | bool:
        """Return the file's path, or True where the machine's authorities are meant."""
        if self._text is None:
            return True
        import tempfile

        self._file = tempfile.NamedTemporaryFile("w", suffix=".pem")  # noqa: SIM115 - see close
        self._file.write(self._text)
        self._file.flush()
        return str(self._file.name)

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()


def checks_of(client: Client, region: RegionOutput) -> Iterator[tuple[str, CheckResult]]:
    """Yield what came of each check, with the model that it was about."""
    for model in region.models:
        yield model.id, _judged("is listed", lambda m=model: _listed(client, m))
        yield model.id, _judged("completes", lambda m=model: _completes(client, m))
        yield model.id, _judged("streams", lambda m=model: _streams(client, m))
    yield "", _judged("refuses an unknown model", lambda: _refuses_unknown(client))
    first = region.models[0]
    if region.client_keys:
        yield "", _judged("refuses a wrong key", lambda: _refuses_key(client, first, "wrong"))
        yield "", _judged("refuses no key", lambda: _refuses_key(client, first, ""))
    size = region.max_body_mib
    yield "", _judged(f"refuses more than {size} MiB", lambda: _refuses_size(client, first, size))


def _judged(check: str, ask: Callable[[], str]) -> CheckResult:
    began = time.monotonic()
    try:
        message, good = ask(), True
    except UnexpectedError as error:
        message, good = str(error), False
    except requests.RequestException as error:
        message, good = f"no answer: {error}", False
    return CheckResult(check=check, good=good, message=message, seconds=time.monotonic() - began)


def _listed(client: Client, model: ModelOutput) -> str:
    body = _json(_expect(client.get("/v1/models"), 200))
    listed = [str(each.get("id")) for each in _mappings(body.get("data"))]
    if model.id not in listed:
        raise UnexpectedError(f"/v1/models lists {', '.join(listed) or 'nothing'}")
    return f"one of {len(listed)}"


def _completes(client: Client, model: ModelOutput) -> str:
    body = _json(_expect(client.post("/v1/completions", _asked(model.id)), 200))
    choices = _mappings(body.get("choices"))
    if not choices or not isinstance(choices[0].get("text"), str):
        raise UnexpectedError(f"the answer has no text: {json.dumps(body)[:_TEXT]}")
    usage = body.get("usage")
    made = cast("dict[str, Any]", usage).get("completion_tokens") if isinstance(usage, dict) else 0
    if not made:
        raise UnexpectedError(f"the answer counts no tokens: {json.dumps(body)[:_TEXT]}")
    return f"{made} tokens"


def _streams(client: Client, model: ModelOutput) -> str:
    began, first, pieces, ended = time.monotonic(), 0.0, 0, False
    body = _asked(model.id, stream=True)
    with client.post("/v1/completions", body, stream=True) as response:
        kind = _expect(response, 200).headers.get("Content-Type", "")
        if not kind.startswith("text/event-stream"):
            raise UnexpectedError(f"the answer is {kind or 'of no type'}, not text/event-stream")
        for line in response.iter_lines():
            text = line.decode("utf-8", "replace")
            if not text.startswith("data:"):
                continue
            if text.removeprefix("data:").strip() == "[DONE]":
                ended = True
                break
            first = first or time.monotonic() - began
            pieces += 1
    if not ended or not pieces:
        raise UnexpectedError(f"the stream ended after {pieces} pieces without [DONE]")
    return f"{pieces} pieces, the first after {1000 * first:.0f} ms"


def _refuses_unknown(client: Client) -> str:
    _expect(client.post("/v1/completions", _asked(_NO_MODEL)), 404)
    return "404"


def _refuses_key(client: Client, model: ModelOutput, key: str) -> str:
    _expect(client.post("/v1/completions", _asked(model.id), key=key), 401)
    return "401"


def _refuses_size(client: Client, model: ModelOutput, limit_mib: int) -> str:
    body = _asked(model.id, prompt="x" * (limit_mib * _MIB + 1))
    try:
        _expect(client.post("/v1/completions", body), 413)
    except requests.ConnectionError as error:
        # A proxy may answer and close before the body is all sent; the answer is lost then.
        if "Broken pipe" in str(error) or "reset" in str(error).lower():
            return "closed the connection while the body was sent"
        raise
    return "413"


def _asked(model: str, *, prompt: str = "Say one word.", stream: bool = False) -> bytes:
    body: dict[str, Any] = {"model": model, "prompt": prompt, "max_tokens": _TOKENS}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return json.dumps(body).encode()


def _expect(response: requests.Response, status: int) -> requests.Response:
    if response.status_code != status:
        text = " ".join(response.text.split())[:_TEXT]
        raise UnexpectedError(f"{response.status_code} instead of {status}: {text or 'no text'}")
    return response


def _json(response: requests.Response) -> dict[str, Any]:
    try:
        body: object = response.json()
    except ValueError:
        raise UnexpectedError(f"the answer is not JSON: {response.text[:_TEXT]}") from None
    if not isinstance(body, dict):
        raise UnexpectedError(f"the answer is not an object: {response.text[:_TEXT]}")
    return cast("dict[str, Any]", body)


def _mappings(value: object) -> list[dict[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", each) for each in items if isinstance(each, dict)]
