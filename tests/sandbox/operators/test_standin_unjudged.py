"""An object that a stand-in cannot judge is not ready, whatever was said of it before."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.core.kube import ApiError, Object
from sandbox.operators.standins.objects import Objects
from sandbox.operators.standins.registry import KINDS, STANDIN_KINDS, StandIn, StandInKind
from sandbox.operators.standins.runner import Runner
from tests.helpers.sandbox.standins import SUBJECTS, all_conditions, evaluate, picture

pytestmark = pytest.mark.pure


def kind_of(name: str) -> StandInKind:
    """Return an entry of the registry."""
    (entry,) = [each for each in KINDS if each.kind == name]
    return entry


def subject(kind: str, objects: Objects) -> Object:
    """Return the picture's object of a kind."""
    found = objects.get(kind, "" if kind == "GatewayClass" else "llm", SUBJECTS[kind])
    assert found is not None
    return found


@pytest.mark.parametrize("name", STANDIN_KINDS)
@pytest.mark.parametrize("error", [AttributeError, KeyError, TypeError, ZeroDivisionError])
def test_an_evaluation_that_raises_says_no_with_the_reason(
    name: str, error: type[Exception]
) -> None:
    objects = Objects.of(picture())
    obj = subject(name, objects)
    before = evaluate(name, objects) or {}
    obj["status"] = before
    stand_in = kind_of(name).stand_in
    assert stand_in is not None

    def raising(_obj: Object, _objects: Objects) -> Object | None:
        raise error("what happened")

    broken = StandIn(evaluate=raising, refuse=stand_in.refuse)
    status = broken.status(obj, objects) or {}
    told = all_conditions(status)
    assert told, "a status without a verdict would leave the old one"
    verdicts = [each for each in told if each["type"] not in {"Active", "Fallback"}]
    assert {each["status"] for each in verdicts} == {"False"}
    assert all("what happened" in each["message"] for each in verdicts)
    assert set(before) == set(status), "every part that said yes is written anew"


def test_a_policy_without_named_targets_is_refused_where_it_was_accepted() -> None:
    objects = Objects.of(picture())
    obj = subject("BackendTrafficPolicy", objects)
    obj["status"] = evaluate("BackendTrafficPolicy", objects)
    obj["spec"] = {"targetSelectors": "odd"}
    status = evaluate("BackendTrafficPolicy", objects) or {}
    (ancestor,) = status["ancestors"]
    assert ancestor["ancestorRef"]["name"] == "chat"
    assert ancestor["conditions"][0]["status"] == "False"


class Writes:
    """In the place of an API: what is merged into which path."""

    def __init__(self, error: Exception | None = None) -> None:
        self.made: dict[str, Object] = {}
        self._error = error

    def merge(self, path: str, body: Object) -> Object:
        if self._error is not None:
            raise self._error
        self.made[path] = body
        return body


def run(objects: Objects, api: Any) -> None:
    """Evaluate everything once, as the runner does after a change."""
    runner = Runner(lambda: api)
    for (kind, _, _), obj in objects.items.items():
        if any(each.kind == kind for each in KINDS):
            runner._take("ADDED", obj)  # pyright: ignore[reportPrivateUsage] - no server here
    runner._evaluate(api)  # pyright: ignore[reportPrivateUsage] - its loop never ends


def test_a_shape_that_nobody_foresaw_turns_the_old_yes_into_a_no() -> None:
    """A permissive schema lets any shape in: waiting must end with the reason, not with a yes."""
    objects = Objects.of(picture())
    tenant = subject("Tenant", objects)
    before = evaluate("Tenant", objects) or {}
    assert before["currentState"] == "Initialized"
    tenant["status"] = before
    tenant["spec"]["pools"] = "four servers"
    api = Writes()
    run(objects, api)
    path = "/apis/minio.min.io/v2/namespaces/llm/tenants/objects/status"
    status = api.made[path]["status"]
    assert status["currentState"] == "Waiting for Tenant to be healthy"
    assert "cannot judge this object" in status["healthMessage"]
    gateway = "/apis/gateway.networking.k8s.io/v1/namespaces/llm/gateways/llm/status"
    assert gateway in api.made, "one odd object does not stop the others"


def test_nothing_is_written_that_stands_there_already() -> None:
    """Otherwise every write would bring the next evaluation."""
    objects = Objects.of(picture())
    first = Writes()
    run(objects, first)
    assert len(first.made) == len(STANDIN_KINDS)
    for kind in STANDIN_KINDS:
        obj = subject(kind, objects)
        entry = kind_of(kind)
        obj["status"] = first.made[entry.status_path(obj)]["status"]
    again = Writes()
    run(objects, again)
    assert again.made == {}


def test_a_status_that_cannot_be_written_does_not_end_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(Objects.of(picture()), Writes(ApiError("PATCH", "/x", 404, "gone")))
    told = capsys.readouterr().err
    assert told.count("status not written") == len(STANDIN_KINDS)


def test_times_of_a_first_verdict_are_of_now() -> None:
    api = Writes()
    run(Objects.of(picture()), api)
    path = "/apis/keda.sh/v1alpha1/namespaces/llm/scaledobjects/engine/status"
    conditions = api.made[path]["status"]["conditions"]
    moment = datetime.fromisoformat(conditions[0]["lastTransitionTime"])
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60
