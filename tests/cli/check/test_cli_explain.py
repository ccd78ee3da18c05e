"""`triplane explain`: an id from a message leads to its reason and its remedy."""

import pytest

from tests.helpers.cli.command import triplane

pytestmark = pytest.mark.pure


def test_a_rule_is_explained_with_its_cases_and_its_mend() -> None:
    ran = triplane("explain", "k8s-pod-be-guaranteed")
    assert ran.code == 0
    assert "requests exactly what it is limited to" in ran.out
    assert "QOS-01, KSV-04 (docs/traps.md)" in ran.out
    assert "remedy:" in ran.out


def test_one_rule_is_one_object_and_several_are_a_list() -> None:
    one = triplane("explain", "plan-cost", "--json").json
    assert one["rule"] == "plan-cost"
    several = triplane("explain", "plan-cost", "k8s-data-survive-changes", "--json").json
    assert [each["rule"] for each in several] == ["plan-cost", "k8s-data-survive-changes"]
    assert several[1]["cases"] == ["PULK-02", "MINIO-01"]


def test_without_an_id_every_rule_is_listed() -> None:
    lines = triplane("explain").out.splitlines()
    assert len(lines) > 130
    assert any(line.startswith("k8s-container-fit-memory ") for line in lines)


def test_every_unknown_id_is_named_with_the_nearest() -> None:
    ran = triplane("explain", "k8s-pod-be-guaranted", "plan-cost", "nonsense")
    assert ran.code == 2
    assert "k8s-pod-be-guaranted: did you mean k8s-pod-be-guaranteed" in ran.err
    assert "there is no rule nonsense: `triplane explain` lists them" in ran.err
    assert ran.out == ""
