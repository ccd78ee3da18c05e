"""The WSGI application in front of moto: throttling, repeated creations, EKS's missing parts."""

import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sandbox.aws.core import faults
from sandbox.aws.server import zones
from sandbox.aws.server.eks import Eks
from sandbox.aws.server.journal import Journal
from sandbox.aws.server.wire import (
    AwsAnswer,
    AwsRequest,
    Environ,
    StartResponse,
    Wsgi,
    forward,
    json_answer,
    see,
    throttled,
)

_READS: Final = ("Describe", "List", "Get", "GET ", "HEAD ")


class Application:
    """Serves one stack, one request after another: moto's dictionaries are not locked."""

    def __init__(self, inner: Wsgi, *, faults_file: Path, generation: str, account: str) -> None:
        self._inner, self._faults = inner, faults_file
        self._generation, self._account = generation, account
        self._lock = threading.RLock()
        self._eks = Eks(faults_file)
        self._journal = Journal()
        self._throttled: Counter[str] = Counter()

    def __call__(self, environ: Environ, start: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if environ.get("PATH_INFO") == "/stand-in":
            return json_answer({"generation": self._generation}).send(start)
        seen = see(environ, self._account)
        with self._lock:
            return self._answer(seen, environ).send(start)

    def _answer(self, request: AwsRequest, environ: Environ) -> AwsAnswer:
        if self._is_throttled(request):
            return throttled(request.service)
        changes = not request.operation.startswith(_READS)
        if request.mark is None or not changes:
            return self._serve(request, environ)
        old = self._journal.echo(request.mark, request.operation)
        if old is not None:
            return old
        answer = self._serve(request, environ)
        if answer.good:
            self._journal.note(request.mark, request.operation, answer)
        return answer

    def _serve(self, request: AwsRequest, environ: Environ) -> AwsAnswer:
        if (request.service, request.operation) == ("route53", zones.CREATE):
            zones.keep_id(request)
        if request.service != "eks":
            return forward(self._inner, environ)
        own = self._eks.handle(request)
        if own is not None:
            return own
        return self._eks.complete(request, forward(self._inner, environ))

    def _is_throttled(self, request: AwsRequest) -> bool:
        for index, each in enumerate(faults.read(self._faults)):
            if not isinstance(each, faults.Throttle) or each.service != request.service:
                continue
            key = f"{index} {each.model_dump_json()}"
            wanted = each.operation in ("*", request.operation)
            if wanted and self._throttled[key] < each.times:
                self._throttled[key] += 1
                return True
        return False
