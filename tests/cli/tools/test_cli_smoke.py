"""`triplane smoke`: what a client would meet, against a gateway that can be wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.operators.controllers.sources import invented
from tests.helpers.cli.command import Ran, triplane
from tests.helpers.cli.small_gateway import KEY, MODELS, Behavior, gateway

pytestmark = pytest.mark.process


def outputs(url: str, **changes: Any) -> dict[str, Any]:
    """Return a stack's outputs with one region."""
    region = {
        "gatewayUrl": url,
        "gatewayCa": None,
        "clientKeys": True,
        "maxBodyMib": 1,
        "kubeconfig": "[secret]",
        "models": [
            {"id": name, "endpoint": f"{url}/v1", "maxModelLen": 4096, "kvTokens": None}
            for name in MODELS
        ],
        **changes,
    }
    return {"environment": "dev", "regions": {"local": region}}


@pytest.fixture
def smoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Return a runner of `triplane smoke` over outputs, with the client's key in place."""
    monkeypatch.setenv("TRIPLANE_API_KEY", KEY)

    def run(stack: object, *arguments: str) -> Ran:
        file = tmp_path / "outputs.json"
        file.write_text(stack if isinstance(stack, str) else json.dumps(stack))
        return triplane("smoke", str(file), *arguments)

    return run


def failed(ran: Ran) -> dict[str, str]:
    """Return the messages of checks that failed, by model and check."""
    return {
        f"{each['model']}: {each['check']}": each["message"]
        for each in ran.json["checks"]
        if not each["good"]
    }


def test_a_gateway_that_does_what_it_should_passes(smoke: Callable[..., Ran]) -> None:
    with gateway(Behavior()) as address:
        ran = smoke(outputs(f"http://{address}"))
    assert ran.code == 0, ran.out + ran.err
    # Three checks of two models, and four of the region.
    assert "10 checks, 0 failed" in ran.out
    assert KEY not in ran.out + ran.err


def test_without_keys_nobody_is_asked_for_one(
    smoke: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRIPLANE_API_KEY")
    with gateway(Behavior(needs_key=False)) as address:
        ran = smoke(outputs(f"http://{address}", clientKeys=False))
    assert ran.code == 0
    assert "8 checks, 0 failed" in ran.out


@pytest.mark.parametrize(
    ("behavior", "check", "said"),
    [
        (Behavior(models=("small",)), "large: is listed", "/v1/models lists small"),
        (Behavior(models=("small",)), "large: completes", "404 instead of 200"),
        (Behavior(models=("small",)), "large: streams", "404 instead of 200"),
        (Behavior(needs_key=False), "None: refuses no key", "200 instead of 401"),
        (Behavior(needs_key=False), "None: refuses a wrong key", "200 instead of 401"),
        (Behavior(limit=2**30), "None: refuses more than 1 MiB", "200 instead of 413"),
        (Behavior(unknown=200), "None: refuses an unknown model", "200 instead of 404"),
        (Behavior(stream_end=""), "small: streams", "after 1 pieces without [DONE]"),
        (Behavior(stream_type="application/json"), "small: streams", "not text/event-stream"),
        (Behavior(completion={"choices": []}), "small: completes", "the answer has no text"),
        (
            Behavior(completion={"choices": [{"text": ""}], "usage": {}}),
            "small: completes",
            "the answer counts no tokens",
        ),
        (Behavior(limit=10), "small: completes", "413 instead of 200"),
    ],
)
def test_what_a_client_would_meet_is_said(
    smoke: Callable[..., Ran], behavior: Behavior, check: str, said: str
) -> None:
    with gateway(behavior) as address:
        ran = smoke(outputs(f"http://{address}"), "--json")
    assert ran.code == 1
    assert said in failed(ran)[check]
    assert ran.json["failed"] == len(failed(ran))


def test_a_gateway_that_is_not_there_fails_every_check(smoke: Callable[..., Ran]) -> None:
    with gateway(Behavior()) as address:
        pass
    ran = smoke(outputs(f"http://{address}"), "--json", "--model", "small")
    assert ran.code == 1
    assert len(failed(ran)) == 7
    assert "no answer" in failed(ran)["small: is listed"]


def test_another_address_is_asked_under_the_gateways_name(smoke: Callable[..., Ran]) -> None:
    """A name that no DNS knows yet, as in the sandbox."""
    behavior = Behavior()
    with gateway(behavior) as address:
        ran = smoke(outputs("http://models.example.com"), "--address", address)
    assert ran.code == 0, ran.out
    assert set(behavior.hosts) == {"models.example.com"}


def test_the_certificate_is_checked_for_the_gateways_name(
    smoke: Callable[..., Ran], tmp_path: Path
) -> None:
    """By the authority in the outputs, whatever address is asked."""
    pair = invented(("tls.crt", "tls.key"), "models.example.com")
    file = tmp_path / "pair.pem"
    file.write_text(pair["tls.crt"] + pair["tls.key"])
    with gateway(Behavior(), file) as address:
        good = outputs("https://models.example.com", gatewayCa=pair["tls.crt"])
        assert smoke(good, "--address", address).code == 0
        other = outputs("https://other.example.com", gatewayCa=pair["tls.crt"])
        ran = smoke(other, "--address", address, "--json")
    assert ran.code == 1
    assert "other.example.com" in failed(ran)["small: is listed"]


def test_one_model_of_one_region_is_asked_where_it_is_chosen(smoke: Callable[..., Ran]) -> None:
    with gateway(Behavior()) as address:
        stack = outputs(f"http://{address}")
        stack["regions"]["away"] = {**stack["regions"]["local"], "suspended": True}
        every = smoke(stack)
        ran = smoke(stack, "--region", "away", "--model", "small")
    assert "away" not in every.out
    assert every.out.count("local/") == 6
    assert ran.code == 0
    assert ran.out.count("away/small") == 3
    assert "local" not in ran.out


@pytest.mark.parametrize(
    ("stack", "arguments", "said"),
    [
        ("no JSON", (), "these are not the outputs of a Triplane stack"),
        ({"environment": "dev"}, (), "regions: Field required"),
        (outputs("http://a/b"), (), "regions.local.gatewayUrl"),
        (outputs("http://a", maxBodyMib=0), (), "regions.local.maxBodyMib"),
        (outputs("http://a"), ("--region", "north"), "no region north; there are local"),
        (outputs("http://a"), ("--model", "medium"), "nothing to ask; models are large, small"),
        (outputs("http://a", suspended=True), (), "nothing to ask"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    smoke: Callable[..., Ran], stack: object, arguments: tuple[str, ...], said: str
) -> None:
    ran = smoke(stack, *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_a_key_that_is_missing_is_asked_for_by_its_variable(
    smoke: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRIPLANE_API_KEY")
    ran = smoke(outputs("http://a"))
    assert ran.code == 2
    assert "set the environment variable TRIPLANE_API_KEY" in ran.err


def test_one_address_is_not_two_regions(smoke: Callable[..., Ran]) -> None:
    stack = outputs("http://a")
    stack["regions"]["other"] = stack["regions"]["local"]
    ran = smoke(stack, "--address", "127.0.0.1:1")
    assert ran.code == 2
    assert "choose one by --region" in ran.err
