"""IAM documents: every action exists, is bound where AWS can bind it, and is somebody's need."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from policy_sentry.querying.actions import get_action_data

from models.aws import iam, names
from models.aws.iam import Document, Statement
from models.plan.aws.pod_roles import POD_ROLES, PodRole, RoleRequest, pod_roles
from tests.helpers.plans.aws_pools import eks_plan

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[3]
CLUSTER: Final = "triplane-dev-virginia"
GLOBAL_KEYS: Final = ("aws:SecureTransport", "s3:ResourceAccount")
"""Condition keys that hold for every request, and are in no action's own list."""


def asked_of(change: Callable[[dict[str, Any]], None] | None = None) -> RoleRequest:
    """Return an EKS region whose operators the stack installs."""

    def whole(stack: dict[str, Any]) -> None:
        stack["operators"] = "managed"
        if change is not None:
            change(stack)

    plan = eks_plan(whole)
    [region] = plan.regions
    assert region.eks is not None
    name = names.cluster_name(plan.environment.value, region.name)
    return RoleRequest(plan=plan, region=region, cluster=region.eks, cluster_name=name)


def row_of(purpose: str) -> PodRole:
    """Return a row by its purpose."""
    return next(row for row in POD_ROLES if row.purpose == purpose)


def statements() -> Iterator[tuple[str, Statement]]:
    """Yield every statement of every role, with a name for messages."""
    asked = asked_of()
    for row in pod_roles(asked):
        for each in row.policy(asked)["Statement"]:
            yield f"{row.purpose}.{each.get('Sid')}", each


ALL: Final = dict(statements())


def facts(action: str) -> list[dict[str, Any]]:
    """Return what AWS's list says of an action: a row per resource that it takes."""
    service, _, name = action.partition(":")
    found = get_action_data(service, name)
    assert found, f"AWS has no action {action}"
    return found[service]


@pytest.mark.parametrize("name", ALL)
def test_every_action_exists_and_is_bound_where_it_can_be(name: str) -> None:
    """An action with `*` where it takes resources reaches everything of the account."""
    statement = ALL[name]
    for action in statement.get("Action", []):
        assert "*" not in action, f"{name}: {action}"
        formats = {row["resource_arn_format"] for row in facts(action)}
        unbound = statement.get("Resource") == ["*"]
        assert unbound is (formats == {"*"}), f"{name}: {action} takes {sorted(formats)}"


@pytest.mark.parametrize("name", ALL)
def test_every_condition_is_one_that_the_action_knows(name: str) -> None:
    """A condition on a key that is never in the request makes the statement dead, or open."""
    statement = ALL[name]
    for action in statement.get("Action", []):
        known = {key.split("/")[0] for row in facts(action) for key in row["condition_keys"]}
        for keys in statement.get("Condition", {}).values():
            unknown = {key.split("/")[0] for key in keys} - known - set(GLOBAL_KEYS)
            assert not unknown, f"{name}: {action} knows no {sorted(unknown)}"


@pytest.mark.parametrize("name", ALL)
def test_resources_lie_in_the_account_and_region(name: str) -> None:
    """Names of buckets are the world's: theirs are whole, or an account stands beside them."""
    for resource in ALL[name].get("Resource", []):
        if resource == "*":
            continue
        _, partition, service, region, account, rest = resource.split(":", 5)
        assert partition == "aws"
        if service == "s3":
            assert rest.startswith("weights-virginia")
        else:
            assert account == "111122223333", resource
            assert region in ("us-east-1", "" if service == "iam" else "us-east-1"), resource


@pytest.mark.parametrize("name", [name for name in ALL if name.split(".")[0] == "load-balancers"])
def test_the_balancers_controller_changes_its_own_only(name: str) -> None:
    """Upstream's policy asks only whether some cluster's tag is there."""
    statement = ALL[name]
    writes = [
        each
        for each in statement.get("Action", [])
        if not each.split(":")[1].startswith(("Describe", "Get"))
    ]
    if not writes or name.endswith("CreateServiceRole"):
        return
    said = json.dumps(statement.get("Condition", {}))
    assert CLUSTER in said, name


def test_the_autoscaler_resizes_groups_of_its_own_cluster_only() -> None:
    resize = ALL["autoscaler.Resize"]
    assert resize.get("Condition") == {
        "StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{CLUSTER}": "owned"}
    }


def test_seeding_reads_below_its_prefix_and_writes_nothing() -> None:
    document = row_of("seeding").policy(asked_of())
    actions = [each for row in document["Statement"] for each in row.get("Action", [])]
    assert sorted(actions) == ["kms:Decrypt", "s3:GetObject", "s3:ListBucket"]
    where = "arn:aws:s3:::weights-virginia"
    assert ALL["seeding.ReadBelowPrefix"].get("Resource") == [f"{where}/models/*"]
    assert ALL["seeding.ListBelowPrefix"].get("Condition") == {
        "StringLike": {"s3:prefix": ["models/*"]},
        "StringEquals": {"s3:ResourceAccount": "111122223333"},
    }
    decrypt = json.dumps(ALL["seeding.DecryptObjects"].get("Condition"))
    assert f"alias/{CLUSTER}-objects" in decrypt
    assert "s3.us-east-1.amazonaws.com" in decrypt


def test_a_bucket_that_exists_is_read_with_its_own_key() -> None:
    key = "arn:aws:kms:eu-west-1:111122223333:key/abc"

    def change(stack: dict[str, Any]) -> None:
        objects = stack["regions"][0]["storage"]["objects"]
        objects.update(create=False, region="eu-west-1", key_arn=key)

    *_, decrypt = row_of("seeding").policy(asked_of(change))["Statement"]
    assert decrypt.get("Resource") == [key]
    assert "s3.eu-west-1.amazonaws.com" in json.dumps(decrypt.get("Condition"))


def test_a_bucket_that_exists_without_a_key_takes_no_right_to_any() -> None:
    def change(stack: dict[str, Any]) -> None:
        stack["regions"][0]["storage"]["objects"]["create"] = False

    text = json.dumps(row_of("seeding").policy(asked_of(change)))
    assert "kms" not in text


@pytest.mark.parametrize(
    "values",
    [{"credentials": "config"}, {"kind": "endpoint", "endpoint": "http://s3.example:8333"}],
)
def test_keys_and_other_stores_need_no_role(values: dict[str, Any]) -> None:
    def change(stack: dict[str, Any]) -> None:
        stack["regions"][0]["storage"]["objects"].update(values)

    assert "seeding" not in [row.purpose for row in pod_roles(asked_of(change))]


def test_operators_of_somebody_else_get_no_role_of_ours() -> None:
    def change(stack: dict[str, Any]) -> None:
        stack["operators"] = "external"

    purposes = [row.purpose for row in pod_roles(asked_of(change))]
    assert "seeding" in purposes
    assert not {"autoscaler", "load-balancers"} & set(purposes)


def test_a_pods_role_is_for_one_account_of_one_cluster() -> None:
    """Without the conditions every association in the account could hand it to any pod."""
    [statement] = iam.pod_trust(CLUSTER, "models", "seed")["Statement"]
    assert statement.get("Principal") == {"Service": "pods.eks.amazonaws.com"}
    assert statement.get("Condition") == {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-name": CLUSTER,
            "aws:RequestTag/kubernetes-namespace": "models",
            "aws:RequestTag/kubernetes-service-account": "seed",
        }
    }


def test_no_role_or_account_has_two_rows() -> None:
    """EKS takes one association per service account."""
    accounts = [(row.namespace, row.service_account) for row in POD_ROLES]
    assert len(set(accounts)) == len(accounts)
    assert len({row.purpose for row in POD_ROLES}) == len(POD_ROLES)


def test_names_of_roles_fit() -> None:
    longest = names.cluster_name("staging", "r" * 20)
    for row in POD_ROLES:
        assert len(names.role_name(longest, row.purpose)) <= names.ROLE_NAME_MAX


def test_documents_are_written_the_same_every_time() -> None:
    """A policy whose keys change places is a change in every preview."""
    asked = asked_of()
    documents: list[Document] = [row.policy(asked) for row in pod_roles(asked)]
    texts = [iam.text(each) for each in documents]
    assert [json.loads(text) for text in texts] == documents
    assert texts == [iam.text(dict(reversed(list(each.items())))) for each in documents]


def test_every_role_is_explained() -> None:
    """A right without a written need is never taken away again."""
    page = (ROOT / "docs/iam.md").read_text()
    for name, statement in ALL.items():
        purpose, sid = name.split(".")
        assert f"`{purpose}`" in page
        assert f"`{sid}`" in page, f"docs/iam.md does not explain {name}"
        assert statement.get("Effect") == "Allow"
