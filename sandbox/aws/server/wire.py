"""One HTTP request to an AWS API, taken apart; and answers in each protocol's form."""

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Wsgi = Callable[[Environ, StartResponse], Iterable[bytes]]

_SCOPE: Final = re.compile(r"Credential=(?P<key>[^/]+)/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/")
_ACCOUNT: Final = "HTTP_X_MOTO_ACCOUNT_ID"
_XML_QUERY: Final = frozenset({"iam", "sts", "autoscaling"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """Which resource a call belongs to, and in which attempt to do what with it."""

    urn: str
    attempt: str
    purpose: str
    """`create`, `repeat` (a creation that a killed update left open) or `delete`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsRequest:
    """What a request asks: `operation` is the API's name, or method and path where it has none."""

    service: str
    region: str
    account: str
    method: str
    path: str
    query: Mapping[str, list[str]]
    body: bytes
    operation: str
    mark: "Mark | None"

    def json(self) -> dict[str, Any]:
        """Return the body of a REST-JSON request."""
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsAnswer:
    """A whole response, kept so that it can be changed, or given again."""

    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def good(self) -> bool:
        """Tell whether it is a success."""
        return self.status.startswith("2")

    def send(self, start: StartResponse) -> Iterable[bytes]:
        """Answer a request with it."""
        kept = [(name, value) for name, value in self.headers if name.lower() != "content-length"]
        start(self.status, [*kept, ("Content-Length", str(len(self.body)))])
        return [self.body]


def see(environ: Environ, default_account: str) -> AwsRequest:
    """Take a request apart; its body can be read again afterwards.

    Programs that cannot send moto's header (a controller of a cluster) say whose they are by their
    access key: an account's number.
    """
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    if scope and re.fullmatch(r"\d{12}", scope["key"]):
        environ.setdefault(_ACCOUNT, scope["key"])
    service = scope["service"].lower() if scope else ""
    path = unquote(environ.get("PATH_INFO", ""))
    return AwsRequest(
        service=service,
        region=scope["region"] if scope else "",
        account=environ.get(_ACCOUNT, default_account),
        method=environ["REQUEST_METHOD"],
        path=path,
        query=parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True),
        body=body,
        operation=_operation(environ, body, path),
        mark=_mark(environ.get("HTTP_X_STANDIN_MARK")),
    )


def _mark(text: str | None) -> Mark | None:
    return None if text is None else Mark(**json.loads(text))


def _operation(environ: Environ, body: bytes, path: str) -> str:
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        return str(target).rpartition(".")[2]
    if str(environ.get("CONTENT_TYPE", "")).startswith("application/x-www-form-urlencoded"):
        action = parse_qs(body.decode()).get("Action")
        if action:
            return action[0]
    return f"{environ['REQUEST_METHOD']} {path}"


def forward(inner: Wsgi, environ: Environ) -> AwsAnswer:
    """Pass a request on and return the whole answer."""
    told: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        told.append((status, tuple(headers)))

    body = b"".join(inner(environ, start))
    status, headers = told[-1]
    return AwsAnswer(status=status, headers=headers, body=body)


def json_answer(content: Mapping[str, Any]) -> AwsAnswer:
    """Return a success of a REST-JSON API."""
    body = json.dumps(content, default=str).encode()
    return AwsAnswer(status="200 OK", headers=(("Content-Type", "application/json"),), body=body)


def json_error(status: int, code: str, message: str) -> AwsAnswer:
    """Return an error of a REST-JSON API."""
    return AwsAnswer(
        status=f"{status} {code}",
        headers=(("Content-Type", "application/json"), ("x-amzn-ErrorType", code)),
        body=json.dumps({"message": message, "__type": code}).encode(),
    )


def throttled(service: str) -> AwsAnswer:
    """Return what a service says when it is called too often, in its own protocol."""
    if service == "ec2":
        text = "<Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message>"
        body = (
            f"<Response><Errors><Error>{text}</Error></Errors><RequestID>0</RequestID></Response>"
        )
        return _xml(503, body)
    if service == "s3":
        text = "<Code>SlowDown</Code><Message>Please reduce your request rate.</Message>"
        return _xml(503, f"<Error>{text}</Error>")
    if service in _XML_QUERY or service == "route53":
        text = "<Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message>"
        body = f"<ErrorResponse><Error>{text}</Error><RequestId>0</RequestId></ErrorResponse>"
        return _xml(400, body)
    return json_error(400, "ThrottlingException", "Rate exceeded")


def _xml(status: int, text: str) -> AwsAnswer:
    headers = (("Content-Type", "text/xml"),)
    return AwsAnswer(status=f"{status} Error", headers=headers, body=text.encode())
