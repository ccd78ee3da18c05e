"""The graph of a region on AWS under mocks, with what mocks hide: order, protection, providers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pulumi
from pulumi.runtime.mocks import MockMonitor

from catalog.loader import program
from components.aws.region_cluster import RegionCluster, RegionClusterArgs
from components.platform import Platform, PlatformArgs, RegionSecrets
from models.plan.plan import PlatformPlan
from tests.helpers.plans.dev import bare, dev_plan

ACCOUNT: Final = "111122223333"
AWS_REGION: Final = "us-east-1"
CLUSTER: Final = "triplane-dev-virginia"

_ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://api.example",
        "certificateAuthority": {"data": "Q0E="},
    },
    "aws:eks/nodeGroup:NodeGroup": {"resources": [{"autoscalingGroups": [{"name": "asg"}]}]},
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1},
}
"""Outputs that components read, by type."""


@dataclass
class Registered:
    """One registration: its type, inputs and what its options said.

    `links` are the resources that an input's value is made from.
    """

    type: str
    inputs: dict[str, Any]
    parent: str
    dependencies: frozenset[str]
    protect: bool
    ignored: tuple[str, ...]
    provider: str
    links: dict[str, tuple[str, ...]]


class _Mocks(pulumi.runtime.Mocks):
    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[Any, Any]]:
        given = cast("Any", args)
        outputs: dict[str, Any] = {
            "arn": f"arn:of:{given.name}",
            "keyId": f"{given.name}-key-id",
            "allocationId": f"{given.name}-allocation",
            **given.inputs,
            **_ANSWERS.get(given.typ, {}),
        }
        if given.typ.startswith("kubernetes:apiextensions"):
            served = [f"v{n}{stage}" for n in "12" for stage in ("", "alpha1", "alpha2", "beta1")]
            versions = [{"name": each, "served": True, "storage": True} for each in served]
            outputs["spec"] = {"versions": versions}
        elif given.typ.startswith("kubernetes:"):
            outputs["status"] = {"addresses": [{"value": "lb.example"}]}
        if given.typ == "aws:eks/cluster:Cluster":
            group = {"clusterSecurityGroupId": "sg-cluster"}
            outputs["vpcConfig"] = {**given.inputs["vpcConfig"], **group}
        return f"{given.name}-id", outputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], None]:
        message = f"the program calls {args.token}: what it asks would be unknown in a preview"
        raise AssertionError(message)


@dataclass
class Graph:
    """What was registered, by logical name."""

    resources: dict[str, Registered] = field(default_factory=dict[str, Registered])

    def of_type(self, suffix: str) -> dict[str, Registered]:
        """Return what has a type that ends like this, by name."""
        return {name: each for name, each in self.resources.items() if each.type.endswith(suffix)}

    def one(self, suffix: str) -> Registered:
        """Return the only one of a type."""
        [found] = self.of_type(suffix).values()
        return found

    def aws(self) -> dict[str, Registered]:
        """Return what is registered with AWS."""
        return {n: each for n, each in self.resources.items() if each.type.startswith("aws:")}

    def waits_for(self, name: str, other: str) -> bool:
        """Whether `name` waits for `other`, directly or through others.

        What a component waits for its children wait for too, since they are made after it and
        removed before it; and whatever has a provider waits for that.
        """
        seen: set[str] = set()
        todo = [name]
        while todo:
            current = todo.pop()
            if current in seen or current not in self.resources:
                continue
            seen.add(current)
            found = self.resources[current]
            todo += [*found.dependencies, found.parent, found.provider]
        return other in seen - {name}


class _Monitor(MockMonitor):
    def __init__(self, graph: Graph) -> None:
        super().__init__(_Mocks())
        self._graph = graph

    def RegisterResource(self, request: Any) -> Any:
        answer = cast("Any", super()).RegisterResource(request)
        if request.type != "pulumi:pulumi:Stack":
            inputs = pulumi.runtime.rpc.deserialize_properties(request.object)
            self._graph.resources[request.name] = Registered(
                type=request.type,
                inputs=cast("dict[str, Any]", inputs),
                parent=_name(request.parent),
                dependencies=frozenset(_name(urn) for urn in request.dependencies),
                protect=request.protect,
                ignored=tuple(request.ignoreChanges),
                provider=_name(request.provider.rsplit("::", 1)[0]),
                links={
                    key: tuple(_name(urn) for urn in found.urns)
                    for key, found in request.propertyDependencies.items()
                },
            )
        return answer


def _name(urn: str) -> str:
    return urn.rsplit("::", 1)[-1]


def aws_settings(settings: dict[str, Any]) -> None:
    """Turn the dev stack's settings into those of one region on AWS with two zones."""
    bare(settings)
    [region] = settings["regions"]
    region["name"] = "virginia"
    region["cluster"] = {
        "kind": "eks",
        "account_id": ACCOUNT,
        "aws_region": AWS_REGION,
        "version": "1.35",
        "cidr": "10.20.0.0/16",
        "zones": [f"{AWS_REGION}a", f"{AWS_REGION}b"],
        "private_cidrs": ["10.0.0.0/16"],
        "admins": [f"arn:aws:iam::{ACCOUNT}:role/platform-admin"],
    }
    region["pools"] = [
        {
            "name": "gpu-l4-pool",
            "accelerator": "l4",
            "instance_type": "g6.2xlarge",
            "min": 1,
            "max": 6,
        },
        {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 2, "max": 4},
    ]
    region["storage"] = {
        "volumes": "existing-class",
        "storage_class": "shared",
        "objects": {"kind": "s3", "bucket": "triplane-dev-weights", "region": AWS_REGION},
    }
    for model in settings["models"]:
        model["pool"] = "gpu-l4-pool"
    settings["accept_data_loss"] = []


def aws_plan(change: Callable[[dict[str, Any]], None] | None = None) -> PlatformPlan:
    """Return the plan of one region on AWS, its settings changed first."""

    def whole(settings: dict[str, Any]) -> None:
        aws_settings(settings)
        if change is not None:
            change(settings)

    return dev_plan(whole)


def _run(register: Callable[[], None]) -> Graph:
    graph = Graph()
    pulumi.runtime.set_mocks(_Mocks(), project="triplane", stack="dev", monitor=_Monitor(graph))
    # Untyped in the SDK; without it a failing assertion inside an apply would pass silently.
    cast("Any", pulumi.runtime).test(register)()
    return graph


def build_cluster(change: Callable[[dict[str, Any]], None] | None = None) -> Graph:
    """Register the cluster of one region on AWS under mocks; return what was registered."""
    plan = aws_plan(change)
    [region] = plan.regions
    assert region.eks is not None
    args = RegionClusterArgs(plan=plan, region=region, cluster=region.eks)

    def register() -> None:
        cluster = RegionCluster(f"triplane-{region.name}-cluster", args)
        address = pulumi.Output.from_input("lb.example")
        cluster.publish(cluster, plan.gateway.hostname, address)

    return _run(register)


def build(
    change: Callable[[dict[str, Any]], None] | None = None, render_to: str | None = None
) -> Graph:
    """Register the whole platform of one region on AWS under mocks."""
    plan = aws_plan(change)

    def register() -> None:
        secrets = {region.name: RegionSecrets() for region in plan.regions}
        args = PlatformArgs(
            plan=plan, secrets=secrets, seed_program=program("seed"), render_to=render_to
        )
        Platform("triplane", args)

    return _run(register)
