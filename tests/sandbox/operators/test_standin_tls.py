"""A listener's certificate: what Envoy Gateway would not serve is refused before anything waits.

The cases are those of its internal/gatewayapi/tls.go and validate.go (v1.8.3).
"""

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox.core.kube import Object
from sandbox.operators.standins.objects import Objects
from tests.helpers.sandbox.standins import (
    certificate,
    evaluate,
    key_pair,
    picture,
    private_key,
    private_pem,
    tls_secret,
    with_spec,
)

pytestmark = pytest.mark.pure

CHAIN, KEY = key_pair()
ENDED = certificate(private_key(), days=-1)
OTHER_KEY = private_pem(private_key(1))
NO_PEM = b"not in PEM"
SEALED = private_key().private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.BestAvailableEncryption(b"word"),
)
CUT = b"\n".join(KEY.splitlines()[:2] + KEY.splitlines()[-1:])


def told(objects: Objects) -> tuple[Object, Object]:
    """Return the conditions of the Gateway and of its listener by type."""
    status = evaluate("Gateway", objects) or {}
    (listener,) = status["listeners"]
    whole = {each["type"]: each for each in status["conditions"]}
    return whole, {each["type"]: each for each in listener["conditions"]}


def with_pair(chain: bytes, key: bytes) -> Objects:
    """Return the picture with another certificate and key."""
    objects = Objects.of(picture())
    objects.put(tls_secret("cert", chain, key))
    return objects


@pytest.mark.parametrize(
    ("chain", "key", "message"),
    [
        (b"", KEY, "Secret llm/cert lacks tls.crt or tls.key"),
        (CHAIN, b"", "Secret llm/cert lacks tls.crt or tls.key"),
        (NO_PEM, KEY, "Secret llm/cert holds no certificate in PEM in tls.crt"),
        (KEY, KEY, "Secret llm/cert holds no certificate in PEM in tls.crt"),
        (CHAIN, NO_PEM, "Secret llm/cert holds no private key in PEM (PKCS1, PKCS8 or EC)"),
        (CHAIN, CHAIN, "Secret llm/cert holds no private key in PEM (PKCS1, PKCS8 or EC)"),
        (CHAIN, SEALED, "Secret llm/cert holds no private key in PEM (PKCS1, PKCS8 or EC)"),
        (CHAIN, CUT, "Secret llm/cert holds a private key in tls.key that cannot be read"),
        (CHAIN, OTHER_KEY, "that is not the one of the certificate in tls.crt"),
        (ENDED, KEY, "Secret llm/cert holds a certificate in tls.crt that ended on "),
        (CHAIN + ENDED, KEY, "Secret llm/cert holds a certificate in tls.crt that ended on "),
    ],
)
def test_a_pair_that_no_server_could_use_is_refused(chain: bytes, key: bytes, message: str) -> None:
    """A yes here would be a gateway that never answers, there."""
    whole, listener = told(with_pair(chain, key))
    assert message in listener["ResolvedRefs"]["message"]
    assert listener["ResolvedRefs"]["status"] == "False"
    assert listener["ResolvedRefs"]["reason"] == "InvalidCertificateRef"
    assert listener["Programmed"]["status"] == "False"
    assert whole["Programmed"]["status"] == "False"
    assert whole["Accepted"]["status"] == "False", "its only listener is not valid"


@pytest.mark.parametrize("lines", [1, 2])
def test_no_message_shows_a_part_of_a_key(lines: int) -> None:
    secret = KEY.splitlines()[lines].decode()
    _, listener = told(with_pair(ENDED, KEY))
    _, other = told(with_pair(CHAIN, OTHER_KEY))
    assert secret not in str(listener) + str(other)


@pytest.mark.parametrize(
    "form",
    [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL],
)
def test_both_forms_of_both_kinds_of_keys_are_served(form: serialization.PrivateFormat) -> None:
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for chain, key in (
        (CHAIN, private_pem(private_key(), form)),
        (certificate(rsa_key), private_pem(rsa_key, form)),
        (CHAIN + certificate(rsa_key), private_pem(private_key(), form)),
    ):
        whole, listener = told(with_pair(chain, key))
        assert listener["Programmed"]["status"] == "True"
        assert whole["Programmed"]["status"] == "True"


@pytest.mark.parametrize("kind", ["Opaque", None])
def test_a_secret_of_another_type_is_refused(kind: str | None) -> None:
    objects = Objects.of(picture())
    secret = tls_secret("cert", CHAIN, KEY)
    secret["type"] = kind
    if kind is None:
        del secret["type"]
    objects.put(secret)
    _, listener = told(objects)
    assert "must be of type kubernetes.io/tls" in listener["ResolvedRefs"]["message"]


def _listener(**changed: Any) -> Callable[[Objects], None]:
    tls = {"certificateRefs": [{"name": "cert"}]}
    listener: Object = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}
    return with_spec("Gateway", listeners=[{**listener, **changed}])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tls": {}}, "a TLS listener needs a certificate"),
        ({"tls": {"certificateRefs": []}}, "a TLS listener needs a certificate"),
        ({"tls": {"mode": "Passthrough"}}, "Passthrough is not supported for HTTPS"),
        ({"protocol": "HTTP"}, "a listener of protocol HTTP must have no tls"),
        (
            {"tls": {"certificateRefs": [{"name": "cert", "group": "cert-manager.io"}]}},
            "Secret of group cert-manager.io is not supported here",
        ),
        (
            {"tls": {"certificateRefs": [{"name": "cert", "kind": "ConfigMap"}]}},
            "ConfigMap of group core is not supported here",
        ),
        (
            {"tls": {"certificateRefs": [{"name": "cert"}, {"name": "second"}]}},
            "Secret llm/second does not exist",
        ),
    ],
)
def test_a_listener_whose_tls_cannot_be_is_refused(changed: Object, message: str) -> None:
    objects = Objects.of(picture())
    _listener(**changed)(objects)
    _, listener = told(objects)
    assert message in listener["ResolvedRefs"]["message"]
    assert listener["Programmed"]["status"] == "False"


def test_a_certificate_elsewhere_needs_a_grant() -> None:
    objects = Objects.of(picture())
    refs = [{"name": "cert", "namespace": "certificates"}]
    _listener(tls={"certificateRefs": refs})(objects)
    _, listener = told(objects)
    assert listener["ResolvedRefs"]["reason"] == "RefNotPermitted"


def test_passthrough_needs_no_certificate() -> None:
    objects = Objects.of(picture())
    _listener(protocol="TLS", tls={"mode": "Passthrough"})(objects)
    _, listener = told(objects)
    assert listener["Programmed"]["status"] == "True"


def test_one_valid_listener_keeps_the_gateway_accepted_but_not_programmed() -> None:
    """What waits for Programmed must learn that one of two ports does not answer."""
    objects = Objects.of(picture())
    tls = {"certificateRefs": [{"name": "gone"}]}
    bad: Object = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": tls}
    good: Object = {"name": "http", "port": 80, "protocol": "HTTP"}
    with_spec("Gateway", listeners=[bad, good])(objects)
    status = evaluate("Gateway", objects) or {}
    verdicts = {each["type"]: each["status"] for each in status["conditions"]}
    assert verdicts == {"Accepted": "True", "Programmed": "False"}
    assert status["conditions"][0]["message"].startswith("listeners https are not valid")
    assert status["addresses"] == []
    assert {each["name"]: each["attachedRoutes"] for each in status["listeners"]} == {
        "https": 0,
        "http": 2,
    }
