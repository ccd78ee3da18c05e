"""Recorded exceptions, accepted data loss, and what a preview's changes would replace."""

import datetime
import json
from dataclasses import replace
from typing import Any

import pytest

from models.core.findings import Finding, Severity
from policies.changes.preview import immutable_changes, preview_findings
from policies.frame import agreements
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import ResourceOptions
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTEXT, TODAY

pytestmark = pytest.mark.pure

FINDING = Finding(
    rule="k8s-pod-stay-off-host",
    severity=Severity.ERROR,
    subject="DaemonSet/longhorn-system/manager",
    path="spec",
    message="is privileged",
    remedy="do not",
)
RECORD = {
    "rule": FINDING.rule,
    "object": FINDING.subject,
    "reason": "storage needs the host's devices",
    "owner": "storage team",
    "expires": "2026-12-31",
}


def settings(**changes: Any) -> agreements.Agreements:
    """Return what settings with these keys agree."""
    return agreements.of_settings(json.dumps({"environment": "dev", **changes}), TODAY)


def test_a_recorded_exception_excuses_its_object_only() -> None:
    """An exception is a hole of one size."""
    agreed = settings(exceptions=[RECORD])
    other = replace(FINDING, subject="DaemonSet/other/manager")
    standing, excused = agreements.judged([FINDING, other], agreed.exceptions, TODAY)
    assert standing == [other]
    assert [finding for finding, _ in excused] == [FINDING]
    assert agreed.problems == ()


def test_an_exception_holds_through_its_last_day() -> None:
    """Dates are inclusive, as people read them."""
    agreed = settings(exceptions=[RECORD])
    last = datetime.date(2026, 12, 31)
    assert agreements.judged([FINDING], agreed.exceptions, last)[0] == []
    after = last + datetime.timedelta(days=1)
    assert agreements.judged([FINDING], agreed.exceptions, after)[0] == [FINDING]


def test_an_expired_exception_is_a_problem() -> None:
    """Nobody looks at a hole that was agreed last year."""
    old = {**RECORD, "expires": "2026-11-30"}
    (problem,) = settings(exceptions=[old]).problems
    assert "expired" in problem.message
    assert problem.remedy


@pytest.mark.parametrize("key", sorted(RECORD))
def test_an_exception_without_a_part_is_a_problem(key: str) -> None:
    """Reason, owner and date are what makes it recorded."""
    part = {name: value for name, value in RECORD.items() if name != key}
    agreed = settings(exceptions=[part])
    assert agreed.exceptions == ()
    assert any(key in problem.path for problem in agreed.problems)


def test_settings_that_cannot_be_read_are_a_problem() -> None:
    """Then nobody knows what was agreed."""
    assert agreements.of_settings("{", TODAY).problems
    assert agreements.of_settings("[]", TODAY).problems
    assert agreements.of_settings(None, TODAY) == agreements.Agreements()


def test_a_rules_configuration_implies_its_rule() -> None:
    """Other programs write exceptions under the rule's id in the pack's configuration."""
    row = {key: value for key, value in RECORD.items() if key != "rule"}
    agreed = agreements.of_config(FINDING.rule, {"exceptions": [row]}, TODAY)
    assert [each.rule for each in agreed.exceptions] == [FINDING.rule]
    broken = agreements.of_config(FINDING.rule, {"exceptions": [{"object": "x"}]}, TODAY)
    assert broken.problems


def test_labels_come_from_settings_or_configuration() -> None:
    """The rule's own configuration wins over the settings."""
    agreed = settings(observability={"monitor_labels": {"release": "a"}})
    own = agreements.of_config("x", {"monitorLabels": {"release": "b"}}, TODAY)
    assert agreed.monitor_labels == {"release": "a"}
    assert agreements.merged(agreed, own).monitor_labels == {"release": "b"}
    assert settings().monitor_labels


def test_accepted_data_loss_stands_for_protection() -> None:
    """One change may replace what is named; the next preview asks again."""
    claim = compliant_stack.manifest(
        compliant_stack.compliant()["claim"], ResourceOptions(type="kubernetes:v1:x")
    )
    assert compliant_stack.refused(findings([claim], CONTEXT), "k8s-data-be-protected")
    accepted = replace(CONTEXT, accept_data_loss=frozenset({claim.label}))
    assert not compliant_stack.refused(findings([claim], accepted), "k8s-data-be-protected")


def step(op: str, body: dict[str, Any], new: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return one step of a preview's JSON."""
    kind = f"kubernetes:{body['apiVersion']}:{body['kind']}"
    made: dict[str, Any] = {"op": op, "oldState": {"type": kind, "inputs": body}}
    if new is not None:
        made["newState"] = {"type": kind, "inputs": new}
    return made


@pytest.mark.parametrize("op", ["replace", "create-replacement", "delete-replaced", "delete"])
def test_replacing_what_holds_data_needs_an_approval(op: str) -> None:
    """PULK-02, MINIO-01: the preview calls it "replace", and the volume is gone."""
    stack = compliant_stack.compliant()
    new = compliant_stack.broken("claim.spec.accessModes", ["ReadWriteOnce"])["claim"]
    document = {"steps": [step(op, stack["claim"], new), step("update", stack["service"])]}
    (finding,) = preview_findings(document, CONTEXT)
    assert finding.severity is Severity.ERROR
    assert "spec.accessModes" in finding.message
    accepted = replace(CONTEXT, accept_data_loss=frozenset({finding.subject}))
    assert preview_findings(document, accepted) == ()


def test_replacing_an_engine_is_told() -> None:
    """PULK-02: all of its GPU pods go down at once."""
    old = compliant_stack.broken("engine.spec.replicas", 3)["engine"]
    (finding,) = preview_findings({"steps": [step("replace", old, old)]}, CONTEXT)
    assert finding.severity is Severity.WARNING
    assert "3 pods" in finding.message


def test_replacing_a_cluster_needs_an_approval() -> None:
    """Every child is previewed as a replacement, and explicit names collide."""
    state = {"type": "pulumi:providers:kubernetes", "urn": "urn:pulumi:dev::x::p::west-provider"}
    document = {"steps": [{"op": "replace", "oldState": state, "newState": state}]}
    (finding,) = preview_findings(document, CONTEXT)
    assert finding.subject == "Provider/west-provider"
    accepted = replace(CONTEXT, accept_data_loss=frozenset({finding.subject}))
    assert preview_findings(document, accepted) == ()


CHANGES: list[tuple[str, str, Any, tuple[str, ...]]] = [
    ("engine", "spec.serviceName", "other", ("spec.serviceName",)),
    ("engine", "spec.podManagementPolicy", "OrderedReady", ("spec.podManagementPolicy",)),
    ("engine", "spec.selector.matchLabels", {"a": "b"}, ("spec.selector",)),
    ("engine", "spec.volumeClaimTemplates", [{}], ("spec.volumeClaimTemplates",)),
    ("engine", "spec.replicas", 5, ()),
    ("engine", "spec.template.spec.containers.0.image", "a:2", ()),
    ("claim", "spec.accessModes", ["ReadWriteOnce"], ("spec.accessModes",)),
    ("claim", "spec.storageClassName", "other", ("spec.storageClassName",)),
    ("claim", "spec.resources.requests.storage", "200Gi", ()),
    ("service", "spec.clusterIP", compliant_stack.ABSENT, ("spec.clusterIP",)),
]


@pytest.mark.parametrize(("name", "path", "value", "fields"), CHANGES)
def test_immutable_fields_are_known(
    name: str, path: str, value: Any, fields: tuple[str, ...]
) -> None:
    """ARGO-01: the API server refuses the update, or the provider replaces the object."""
    old = compliant_stack.manifest(compliant_stack.compliant()[name])
    new = compliant_stack.manifest(compliant_stack.broken(f"{name}.{path}", value)[name])
    assert immutable_changes(old, new) == fields


def test_a_storage_class_cannot_change_at_all() -> None:
    """Its fields are immutable, and they stand at the top."""
    old = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "a"}
    new = {**old, "provisioner": "b"}
    assert immutable_changes(compliant_stack.manifest(old), compliant_stack.manifest(new)) == (
        "provisioner",
    )
