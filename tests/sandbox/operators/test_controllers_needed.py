"""What a region's settings ask of its sandbox: definitions, and made-up secrets."""

from typing import Any

import pytest
from cryptography import x509

from models.settings.certificates import CertificateSettings, Issuer
from sandbox.core.errors import SandboxError
from sandbox.crds.sources import DEFAULT_SETS, read_lock, select
from sandbox.engine.diagnosis import explain_object
from sandbox.operators.controllers import sources
from sandbox.operators.controllers.needed import crd_sets
from sandbox.operators.controllers.table import CONTROLLERS, wanted
from tests.helpers.plans.dev import bare, dev_plan
from tests.helpers.plans.secrets import region_of, with_source

pytestmark = pytest.mark.pure


def test_definitions_follow_the_settings() -> None:
    """Each set costs seconds at the first start, and its controller memory for good."""
    assert crd_sets(dev_plan(bare).regions[0].settings) == DEFAULT_SETS
    sets = crd_sets(region_of(with_source()).settings)
    assert set(sets) - set(DEFAULT_SETS) == {"cert-manager", "external-secrets"}
    assert select(read_lock(), sets), "every set is in the lock"
    assert [each.name for each in wanted(sets)] == [each.name for each in CONTROLLERS]
    assert wanted(DEFAULT_SETS) == ()


def test_what_cannot_become_ready_here_is_refused() -> None:
    """A wait of ten minutes would end in a message about a condition."""
    region = region_of(with_source()).settings
    acme = CertificateSettings(issuer=Issuer.ACME, email="platform@example.com")
    with pytest.raises(SandboxError, match="no public authority"):
        crd_sets(region.model_copy(update={"certificates": acme}))
    outside = region_of(with_source("aws-secrets-manager", aws_region="us-east-1")).settings
    with pytest.raises(SandboxError, match="on a cluster outside AWS"):
        crd_sets(outside)


def test_made_up_secrets_have_what_is_asked_for() -> None:
    """A key pair must be one that cert-manager and a listener take; the rest is random."""
    first = sources.invented(("access_key_id", "secret_access_key"), None)
    assert set(first) == {"access_key_id", "secret_access_key"}
    assert first != sources.invented(("access_key_id", "secret_access_key"), None)
    pair = sources.invented(("tls.crt", "tls.key"), "models.triplane.test")
    certificate = x509.load_pem_x509_certificate(pair["tls.crt"].encode())
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert constraints.ca
    certificate.verify_directly_issued_by(certificate)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([{"type": "Ready", "status": "True"}], None),
        ([{"type": "Ready", "status": "False", "reason": "R", "message": "M"}], "R: M"),
        ([], "no controller has looked at it"),
    ],
)
def test_what_is_not_ready_is_explained(
    conditions: list[dict[str, Any]], words: str | None
) -> None:
    """The line that a failed update ends with."""
    found = {
        "kind": "ExternalSecret",
        "metadata": {"namespace": "a", "name": "b"},
        "status": {"conditions": conditions},
    }
    line = explain_object(found)
    assert (line is None) if words is None else (line == f"ExternalSecret a/b: {words}")
