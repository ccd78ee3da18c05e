"""Plain data, unknown values, quantities, words and queries: what every rule stands on."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_policy import proxy

from models.core.findings import Severity
from models.core.quantities import InvalidQuantityError, parse
from models.engine.command import Parser
from policies.core.knowledge import newest
from policies.core.nodes import Node
from policies.core.unknowns import SENTINELS, Unknown, plain
from policies.frame.evaluate import findings
from policies.views.kubernetes.manifest import of_text
from policies.views.kubernetes.words import words_of
from policies.views.promql import query as promql
from tests.helpers.policies import compliant_stack
from tests.helpers.policies.compliant_stack import CONTEXT

pytestmark = pytest.mark.pure


def test_the_sentinels_are_those_of_the_sdk() -> None:
    """A new SDK with other sentinels would make every unknown look like a value."""
    theirs = {value for name, value in vars(proxy).items() if name.startswith("UNKNOWN_")}
    assert set(SENTINELS) == theirs


def test_unknown_fields_of_a_proxy_become_sentinels_one_by_one() -> None:
    """The SDK raises at each; the known neighbors must stay readable."""
    props: dict[str, Any] = {"a": [1, SENTINELS[0], {"b": SENTINELS[2]}], "c": "known"}
    assert plain(proxy.unknown_checking_proxy(props)) == {
        "a": [1, Unknown("a[1]"), {"b": Unknown("a[2].b")}],
        "c": "known",
    }


def test_a_sentinel_inside_a_text_is_unknown() -> None:
    """The id of a resource that is yet to be made gets embedded in text, unseen by the SDK."""
    assert plain({"image": f"repo/{SENTINELS[2]}:v1"}) == {"image": Unknown("image")}


def test_dates_and_cycles_of_yaml_are_read() -> None:
    """YAML makes dates of unquoted text, and its anchors may go in circles."""
    (made,) = of_text("{kind: ConfigMap, metadata: {annotations: {since: 2026-12-01}}}")
    assert made.annotations() == {"since": "2026-12-01"}
    (cycle,) = of_text("&a {kind: Pod, spec: *a}")
    assert findings([cycle], CONTEXT) == ()


ENGINE_PATHS = sorted(
    path
    for path in compliant_stack.leaf_paths(compliant_stack.compliant()["engine"])
    # What identifies the object: without it, it is another one.
    if not path.startswith(("apiVersion", "kind", "metadata|name"))
)


@pytest.mark.parametrize("path", ENGINE_PATHS)
def test_an_unknown_field_is_refused_or_of_no_concern(path: str) -> None:
    """PULP-01: no rule raises, and whatever changes in the findings is a refusal."""
    found = findings(
        [compliant_stack.with_unknown(compliant_stack.compliant()["engine"], path)], CONTEXT
    )
    alone = {
        (each.rule, each.path)
        for each in compliant_stack.found({"engine": compliant_stack.compliant()["engine"]})
    }
    new = [each for each in found if (each.rule, each.path) not in alone]
    assert all(each.severity is Severity.UNKNOWN for each in new), [str(each) for each in new]


@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "spec.template",
        "spec.template.spec",
        "spec.template.spec.containers",
        "spec.template.spec.containers.0.image",
        "spec.template.spec.containers.0.args.1",
        "spec.template.spec.containers.0.resources.limits.cpu",
        "spec.template.spec.initContainers.0.resources",
        "spec.template.spec.tolerations",
        "spec.template.metadata.annotations",
        "metadata.namespace",
    ],
)
def test_what_a_rule_needs_is_refused_where_it_is_unknown(path: str) -> None:
    """A green preview that looked at nothing is worse than none."""
    found = findings(
        [compliant_stack.with_unknown(compliant_stack.compliant()["engine"], path)], CONTEXT
    )
    unknown = [each for each in found if each.severity is Severity.UNKNOWN]
    assert unknown
    assert all("cannot verify" in each.message for each in unknown)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("500m", Fraction(1, 2)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("12e-1", Fraction(6, 5)),
        ("1Ki", Fraction(1024)),
        ("1048576Ki", Fraction(2**30)),
        ("2Ei", Fraction(2**61)),
        ("1k", Fraction(1000)),
        ("100n", Fraction(1, 10**7)),
        ("+3u", Fraction(3, 10**6)),
        (4, Fraction(4)),
        (4.0, Fraction(4)),
        (0.1, Fraction(1, 10)),
    ],
)
def test_a_quantity_is_read_exactly(text: str | float, value: Fraction) -> None:
    """Two notations of one amount must compare equal, and 64G must not equal 64Gi."""
    assert parse(text) == value


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1GiB", "1K", "1mi", "one", "1e3Gi", "--1"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """Kubernetes refuses it too, later and without a hint."""
    with pytest.raises(InvalidQuantityError):
        parse(text)


@given(st.integers(0, 10**6))
def test_milli_and_whole_agree(amount: int) -> None:
    """1000m is one."""
    assert parse(f"{amount * 1000}m") == parse(str(amount))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.sampled_from(sorted(compliant_stack.compliant())), st.data())
def test_no_shape_makes_a_rule_raise(name: str, data: st.DataObject) -> None:
    """Other people's YAML holds anything anywhere; one bad file must not hide the others."""
    body = compliant_stack.compliant()[name]
    path = data.draw(st.sampled_from(sorted(compliant_stack.leaf_paths(body))))
    changed = compliant_stack.broken(f"{name}|{path}", data.draw(json_values))
    compliant_stack.found(changed)


@pytest.mark.parametrize(
    ("query", "single", "grows"),
    [
        ('vllm:x{model_name="a"}', False, None),
        ("sum(vllm:x)", True, True),
        ("SUM(vllm:x)", True, True),
        ("avg(rate(vllm:x[5m]))", True, False),
        ("sum by (pod) (vllm:x)", False, True),
        ("sum(vllm:x) by (pod)", False, True),
        ("sum without (pod) (vllm:x)", False, True),
        ("sum(x) by ()", True, True),
        ("sum(x) / sum(y)", True, False),
        ("sum(x) / 3", True, True),
        ("1 - avg(x)", True, False),
        ("-sum(x)", True, True),
        ("(avg(x) or vector(0))", True, False),
        ("vllm:x or vector(0)", False, None),
        ("rate(x[5m])", False, None),
        ("max_over_time(sum(x)[5m:1m])", True, True),
        ("histogram_quantile(0.95, sum(rate(x_bucket[5m])) by (le))", True, False),
        ("histogram_quantile(0.95, rate(x_bucket[5m]))", False, False),
        ("clamp_max(avg(x), 1)", True, False),
        ("sum(x) / on() count(y)", True, False),
        ('sum(x{m="a) or b"} offset 5m)', True, True),
        ('sum(x{m="a) or b"}) offset 5m', False, None),
        ("sum(rate(x[{{ .Values.window }}]))", True, True),
        ("sum(rate(x[$__rate_interval]))", True, True),
        ("sum(x", False, None),
        ("topk(1, x)", True, None),
        ("sum(x) > bool 3", True, True),
        ("sum(x) unless y", True, True),
        ('count_values("v", x)', False, None),
        ('label_replace(sum(x), "a", "b", "c", "d")', True, True),
        ("topk(3, x)", False, None),
        ("scalar(sum(x))", True, True),
        ("vector(1)", True, False),
    ],
)
def test_the_shape_of_a_query_is_seen(query: str, single: bool, grows: bool | None) -> None:
    """KEDA-08 and KEDA-09 both follow from it."""
    assert promql.shape(query) == promql.QueryShape(single, grows)


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("sum(vllm:x", True),
        ("sum(vllm:x) offset 5m", True),
        ("sum(vllm:x{a=b})", True),
        ('sum(vllm:x{a="b"})', False),
        ("sum({{ .Values.metric }})", False),
        ('sum(vllm:x{model="{{ .Values.model }}"', True),
        ("sum(rate(vllm:x[$window]))", False),
    ],
)
def test_what_prometheus_would_not_read_is_told_unless_a_template_stands_there(
    query: str, refused: bool
) -> None:
    """A modifier after an aggregation and a value without quotes are Prometheus' own errors."""
    assert (promql.fault(query) is not None) == refused


def option(words: Sequence[str], name: str) -> str | None:
    found = Parser(newest()).read(words).argument(name)
    return None if found is None else found.value


def test_words_are_found_wherever_they_hide() -> None:
    """Shell text, folded strings, references and continued lines."""
    words = words_of(
        ["sh", "-c", "exec vllm serve $MODEL \\\n  --tensor_parallel_size 4"], {"MODEL": "m"}
    )
    assert words[2:] == ("exec", "vllm", "serve", "m", "--tensor_parallel_size", "4")
    assert option(words, "tensor_parallel_size") == "4"
    assert option(["--tensor-p=2"], "tensor_parallel_size") == "2"
    assert option(["-tp", "8"], "tensor_parallel_size") == "8"
    assert option(["--max-model-len", "1"], "tensor_parallel_size") is None
    assert words_of(["$(A)", "$(B)"], {"A": "x"}) == ("x", "$(B)")


def test_what_is_absent_reads_as_absent() -> None:
    """Following keys never fails, so that rules read like the manifests they judge."""
    node = Node({"a": [{"b": 1}]})
    assert node.at("a", 0, "b").text() == "1"
    assert not node.at("a", 3, "b").present
    assert not node.at("x", "y", 0).present
