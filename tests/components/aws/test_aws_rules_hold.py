"""What the components register on AWS, under the pack's own rules."""

from dataclasses import replace

import pytest

from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.unknowns import plain
from policies.frame.evaluate import aws_findings
from policies.frame.registry import Scope, registered
from policies.rules.aws import pools
from policies.views.aws.resource import AwsResource, kind_of
from tests.helpers.plans.aws_graph import Graph, build

pytestmark = pytest.mark.mocks


def resources(graph: Graph) -> list[AwsResource]:
    """Return what is registered as rules see it."""
    return [
        AwsResource(
            kind=kind_of(each.type),
            name=name,
            body=Node(plain(each.inputs)),
            urn=name,
            protect=each.protect,
            ignore_changes=each.ignored,
        )
        for name, each in graph.aws().items()
    ]


def test_a_region_on_aws_breaks_no_rule() -> None:
    """Least privilege, closed, encrypted, protected: as it is asked of any program.

    Rules that follow links between resources which have no plain name are left to the engine tests:
    mocks keep no links.
    """
    linked = {
        each.rule.id
        for each in registered(Scope.AWS_STACK)
        if each.rule.check.__module__ == pools.__name__
    }
    assert linked
    found = aws_findings(resources(build()), Context(pulumi=True, regions=("virginia",)))
    assert [str(each) for each in found if each.rule not in linked] == []


def test_without_protection_the_same_region_is_refused() -> None:
    """The rules see these very resources: the test above is no empty one."""
    bare = [replace(each, protect=False) for each in resources(build())]
    found = aws_findings(bare, Context(pulumi=True, regions=("virginia",)))
    kinds = {each.subject.split("/")[0] for each in found if each.rule == "aws-data-be-protected"}
    assert {"Cluster", "Key", "Bucket"} <= kinds
    accepted = Context(
        pulumi=True,
        regions=("virginia",),
        accept_data_loss=frozenset({"Cluster/virginia", "Bucket/virginia"}),
    )
    left = aws_findings(bare, accepted)
    assert not [each for each in left if each.rule == "aws-data-be-protected"]
