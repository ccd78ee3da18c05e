"""Calls to AWS's APIs as moto plays them: the only way from the provider to the network.

One function for all services (`call`): here the endpoint is refused unless it is loopback, errors
become AWS's own words, faults are injected, and a creation carries its URN, by which moto's side
recognizes one that is repeated after a kill.
"""

import json
import secrets
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

from sandbox.aws.core import faults
from sandbox.aws.core.errors import AwsError, StandInError
from sandbox.aws.core.faults import Fault
from sandbox.aws.core.home import StandInHome, require_loopback

DEFAULT_ACCOUNT: Final = "123456789012"
"""moto's account where the program names none (`allowedAccountIds`)."""

MARK_HEADER: Final = "x-standin-mark"
ACCOUNT_HEADER: Final = "x-moto-account-id"
_GLOBAL: Final = frozenset({"iam", "route53", "sts"})
_ATTEMPTS: Final = 6
"""The Terraform provider tries 25 times; a laptop need not wait that long."""

_NOBODY: Final = "stand-in"
"""In place of keys: requests have to be signed with something."""

_LOCK: Final = threading.RLock()
_MARK: ContextVar[str | None] = ContextVar("mark", default=None)


@dataclass(kw_only=True)
class Aws:
    """One account and region, as a provider's configuration names them."""

    region: str
    endpoint: str
    account: str = DEFAULT_ACCOUNT
    home: StandInHome | None = None
    label: str = ""
    """The stack's name among sandboxes; clusters are named after it."""
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict[tuple[str, str], Any])

    def __post_init__(self) -> None:
        require_loopback(self.endpoint)

    def call(self, service: str, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation (`create_vpc`) and return its answer.

        Raises `AwsError` with AWS's code, `StandInError` where nothing can be reached.
        """
        client = self.client(service)
        try:
            return getattr(client, operation)(**arguments)
        except ClientError as error:
            told = error.response.get("Error", {})
            name = client.meta.method_to_api_mapping.get(operation, operation)
            raise AwsError(name, told.get("Code", "?"), told.get("Message", str(error))) from None
        except BotoCoreError as error:
            raise StandInError(str(error)) from None

    def find(
        self, service: str, operation: str, gone: tuple[str, ...], **arguments: Any
    ) -> dict[str, Any] | None:
        """Call an operation; None where AWS answers with one of the codes of `gone`.

        No other error counts as "it does not exist", an API that moto lacks least of all.
        """
        try:
            return self.call(service, operation, **arguments)
        except AwsError as error:
            if error.code in gone:
                return None
            raise

    def pages(self, service: str, operation: str, key: str, **arguments: Any) -> Iterator[Any]:
        """Yield the entries of a listing, page by page."""
        client = self.client(service)
        if not client.can_paginate(operation):
            yield from self.call(service, operation, **arguments)[key]
            return
        for page in client.get_paginator(operation).paginate(**arguments):
            yield from page[key]

    def client(self, service: str) -> Any:
        """Return boto3's client, made once: making it is not safe under threads, using it is."""
        with _LOCK:
            key = (service, self.region)
            if key not in self._clients:
                self._clients[key] = self._make(service)
            return self._clients[key]

    def elsewhere(self, region: str | None) -> "Aws":
        """Return the same account in another region (a resource's own `region` property)."""
        if region in (None, self.region):
            return self
        return replace(self, region=str(region), _clients={})

    def faults(self) -> tuple[Fault, ...]:
        """Return the faults that are injected at this moment."""
        return () if self.home is None else faults.read(self.home.faults)

    def arn(self, service: str, rest: str) -> str:
        """Return an ARN in this account and region."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{rest}"

    def _make(self, service: str) -> Any:
        session = cast("Any", boto3.Session)(
            aws_access_key_id=_NOBODY, aws_secret_access_key=_NOBODY, region_name=self.region
        )
        config = Config(
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            s3={"addressing_style": "path"},
            proxies={},
            read_timeout=120,
        )
        made = session.client(service, endpoint_url=self.endpoint, config=config)
        made.meta.events.register("before-call", self._mark)
        made.meta.events.register("before-send", partial(self._guard, service))
        return made

    def _mark(self, params: dict[str, Any], **_: Any) -> None:
        params["headers"][ACCOUNT_HEADER] = self.account
        mark = _MARK.get()
        if mark is not None:
            params["headers"][MARK_HEADER] = mark

    def _guard(self, service: str, request: Any, **_: Any) -> None:
        """Refuse what would leave this machine, and what an injected fault keeps from arriving."""
        require_loopback(request.url.split("?")[0])
        known = self.faults()
        if service not in _GLOBAL and faults.unreachable(known, self.region):
            host = f"https://{service}.{self.region}.amazonaws.com/"
            raise EndpointConnectionError(endpoint_url=host)


@contextmanager
def marked(urn: str, purpose: str) -> Generator[None]:
    """Mark every call within as belonging to a resource (`server.journal` says what for).

    `purpose` is `create`, `repeat` or `delete`.
    """
    mark = {"urn": urn, "attempt": secrets.token_hex(8), "purpose": purpose}
    token = _MARK.set(json.dumps(mark))
    try:
        yield
    finally:
        _MARK.reset(token)
