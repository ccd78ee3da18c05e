"""The pack as the engine sees it: complete, mandatory, documented."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pulumi_policy import (
    EnforcementLevel,
    PolicyCustomTimeouts,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationPolicy,
    proxy,
)
from pulumi_policy import policy as sdk

from models.core.findings import Finding
from policies.core.context import Context
from policies.core.rule import Rule
from policies.core.rule import rule as rule_of
from policies.frame import registry
from policies.frame.explain import renewed
from policies.frame.pack import policies
from policies.frame.sdk import watch_configuration
from policies.frame.session import Session
from tests.helpers.policies import compliant_stack

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parents[3]
RULES: list[Rule[Any]] = [each.rule for each in registry.RULES]


@dataclass(frozen=True)
class Labeled:
    """A subject that no scope shows."""

    label: str


def test_every_decorated_function_of_a_rules_file_is_registered() -> None:
    """A rule that nobody runs proves nothing; nothing but its file says that it exists."""
    folder = ROOT / "policies" / "rules"
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text().count("\n@rule(\n")
        for path in folder.rglob("*.py")
    }
    made = Counter(rule.check.__module__ for rule in RULES)
    assert made.total() > 100
    assert made == Counter({module: count for module, count in files.items() if count})


def test_rules_stand_in_the_order_of_their_files() -> None:
    """What a preview says of the same stack is the same text every time."""
    modules = list(dict.fromkeys(rule.check.__module__ for rule in RULES))
    assert modules == sorted(modules)


def test_a_rule_whose_subject_nothing_shows_is_refused_at_once() -> None:
    """It would be registered and never run."""

    @rule_of("k8s-text-be-short", "Every text is short.", remedy="shorten it")
    def be_short(text: Labeled, context: Context) -> Iterator[Finding]:
        yield Finding("", "it is long")

    module = ModuleType(__name__)
    vars(module)["be_short"] = be_short
    with pytest.raises(
        TypeError, match=r"k8s-text-be-short.*Labeled.*must be one of Manifest, Pod"
    ):
        list(registry.rules_of(module))


def test_ids_are_unique_and_follow_one_grammar() -> None:
    """Exceptions, configuration and documentation refer to them."""
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"(k8s|plan|aws)(-[a-z0-9]+)+", rule_id) for rule_id in ids)


def test_every_rule_says_what_and_how_to_mend() -> None:
    """Descriptions are whole sentences; remedies are instructions."""
    for rule in RULES:
        assert rule.description[0].isupper()
        assert rule.description.endswith(".")
        assert rule.remedy
        assert rule.tags
        assert rule.check.__doc__, rule.id


def test_every_rule_is_a_mandatory_policy() -> None:
    """What is advisory is waved through."""
    made = policies(Session(compliant_stack.TODAY))
    advisory = {each.name for each in made if each.enforcement_level != EnforcementLevel.MANDATORY}
    assert advisory == {"k8s-object-show-warnings", "k8s-stack-show-warnings"}
    assert {each.name for each in made} >= {rule.id for rule in RULES}
    assert all(isinstance(each, ResourceValidationPolicy | StackValidationPolicy) for each in made)


def test_the_documentation_has_each_rule_once_in_the_rules_own_words() -> None:
    """A message names an id; the page must know it, and say what the rule says (`make docs`)."""
    page = (ROOT / "docs" / "policies.md").read_text()
    assert [rule.id for rule in RULES if page.count(f"\n| `{rule.id}` |") != 1] == []
    assert renewed(page) == page


def test_a_row_of_a_rule_that_is_gone_is_noticed() -> None:
    with pytest.raises(KeyError, match="k8s-pod-be-gone"):
        renewed("| `k8s-pod-be-gone` | No pod is gone. | It was. | bring it back |\n")


def test_the_stacks_configuration_reaches_the_pack() -> None:
    """The SDK drops it; without the exceptions in it, a preview refuses what was agreed."""
    received: list[dict[str, str]] = []
    original = vars(sdk)["_PolicyAnalyzerServicer"].ConfigureStack
    try:
        watch_configuration(lambda configuration: received.append(dict(configuration)))
        servicer = vars(sdk)["_PolicyAnalyzerServicer"]
        one = object.__new__(servicer)

        request = SimpleNamespace(config={"triplane:platform": "{}"}, tags={})
        servicer.ConfigureStack(one, request, None)
    finally:
        vars(sdk)["_PolicyAnalyzerServicer"].ConfigureStack = original
    assert received == [{"triplane:platform": "{}"}]


class Collector:
    """Takes reports as the SDK would."""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    def __call__(self, text: str, urn: str | None = None) -> None:
        self.told.append(text)


def shown(session: Session, body: dict[str, Any], resource_type: str) -> dict[str, list[str]]:
    """Return what each policy reports of one resource, as the SDK calls them."""
    opts = PolicyResourceOptions(True, [], None, [], PolicyCustomTimeouts(9000, 9000, 0), [])
    reports: dict[str, list[str]] = {}
    for policy in policies(session):
        if isinstance(policy, ResourceValidationPolicy):
            args = ResourceValidationArgs(
                resource_type, proxy.unknown_checking_proxy(body), "urn", "x", opts, None
            )
            told = reports.setdefault(policy.name, [])
            validate: Any = vars(ResourceValidationPolicy)["validate"]
            validate(policy, args, Collector(told))
    return {name: told for name, told in reports.items() if told}


def test_a_compliant_resource_is_not_reported() -> None:
    """Through the SDK's own proxies."""
    session = Session(compliant_stack.TODAY)
    assert (
        shown(session, compliant_stack.compliant()["engine"], "kubernetes:apps/v1:StatefulSet")
        == {}
    )


def test_changed_inputs_are_read_anew() -> None:
    """One process serves the preview and the update that follows it."""
    session = Session(compliant_stack.TODAY)
    kind = "kubernetes:apps/v1:StatefulSet"
    assert shown(session, compliant_stack.compliant()["engine"], kind) == {}
    body = compliant_stack.broken("engine.spec.template.spec.hostNetwork", True)["engine"]
    assert set(shown(session, body, kind)) == {"k8s-pod-stay-off-host"}
    assert shown(session, compliant_stack.compliant()["engine"], kind) == {}


def test_an_unknown_in_a_proxy_is_reported_by_its_rule() -> None:
    """The SDK would turn the exception into advice."""
    body = compliant_stack.broken(
        "engine.spec.template.spec.containers.0.image", proxy.UNKNOWN_STRING_VALUE
    )
    told = shown(Session(compliant_stack.TODAY), body["engine"], "kubernetes:apps/v1:StatefulSet")
    assert "cannot verify" in told["k8s-container-pin-image"][0]


def test_an_excused_finding_is_shown_as_advice() -> None:
    """Shown in every preview, with owner and date."""
    session = Session(compliant_stack.TODAY)
    record = (
        '{"exceptions": [{"rule": "k8s-container-pin-image", "owner": "platform team", '
        '"object": "StatefulSet/triplane-models/llama", "reason": "waits for a release", '
        '"expires": "2026-12-31"}]}'
    )
    session.configure({"triplane:platform": record})
    body = compliant_stack.broken(
        "engine.spec.template.spec.containers.0.image", "a/vllm-openai:latest"
    )
    told = shown(session, body["engine"], "kubernetes:apps/v1:StatefulSet")
    assert list(told) == ["k8s-object-show-warnings"]
    assert "platform team" in told["k8s-object-show-warnings"][0]


def test_an_expired_exception_refuses_the_preview() -> None:
    """On the stack itself, so that it is seen whatever else is there."""
    session = Session(compliant_stack.TODAY)
    record = (
        '{"exceptions": [{"rule": "a", "object": "b", "reason": "long enough", "owner": "c", '
        '"expires": "2026-01-01"}]}'
    )
    session.configure({"triplane:platform": record})
    told = shown(session, {}, "pulumi:pulumi:Stack")
    assert "expired" in told["k8s-stack-hold-exceptions"][0]
    assert "recorded exception" in told["k8s-object-show-warnings"][0]
