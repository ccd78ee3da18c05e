"""A stack's AWS side: its accounts and regions, started before pulumi, checked after a destroy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from models.settings.regions import EksClusterSettings, RegionSettings
from models.settings.settings import Settings
from sandbox.aws.clusters import registry
from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.home import SWITCH, PlaneNeeds
from sandbox.aws.lifecycle import given, inventory
from sandbox.aws.lifecycle.service import AwsStandIn, Say
from sandbox.cluster import storage_classes
from sandbox.operators.controllers.needed import crd_sets
from sandbox.toolchain import Toolchain

STATE_LOST: Final = (
    "moto no longer runs, and with it is gone everything that the stack had on AWS (it keeps its "
    "state in memory: a reboot or a kill ends it), while Pulumi's state still has {count} AWS "
    "resources. Start anew: make down ENV={env} SANDBOX=1 PURGE=1, then make up ENV={env} SANDBOX=1"
)


def is_on(environ: Mapping[str, str]) -> bool:
    """Tell whether the stand-in is asked for: `SANDBOX=1`, and nothing else."""
    return environ.get(SWITCH) == "1"


def eks_regions(settings: Settings) -> Iterator[tuple[RegionSettings, EksClusterSettings]]:
    """Yield the regions on EKS with their clusters."""
    for region in settings.regions:
        if isinstance(region.cluster, EksClusterSettings):
            yield region, region.cluster


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsSide:
    """The stand-in of one stack."""

    env: str
    label: str
    tools: Toolchain

    @property
    def stand_in(self) -> AwsStandIn:
        """Its processes and files."""
        return AwsStandIn(label=self.label, tools=self.tools)

    def start(self, settings: Settings, state: Mapping[str, Any]) -> None:
        """Start what the stack's AWS regions need; `state` is Pulumi's deployment.

        Raises `StandInError` where moto lost what Pulumi's state says is there.
        """
        made = [each for each in _resources(state) if str(each["type"]).startswith("aws:")]
        if made and not self.stand_in.running():
            raise StandInError(STATE_LOST.format(count=len(made), env=self.env))
        needs = {
            cluster.aws_region: PlaneNeeds(
                crd_sets=crd_sets(region), storage_classes=storage_classes.expected(region)
            )
            for region, cluster in eks_regions(settings)
        }
        self.stand_in.start(needs)
        given.provide(self._places(settings), settings)

    def _places(self, settings: Settings) -> Iterator[given.Place]:
        for region, cluster in eks_regions(settings):
            yield region, cluster, self._aws(cluster)

    def _aws(self, cluster: EksClusterSettings) -> Aws:
        label, endpoint = self.stand_in.home.read_config()
        return Aws(
            region=cluster.aws_region,
            endpoint=endpoint,
            account=cluster.account_id,
            home=self.stand_in.home,
            label=label,
        )

    def contexts(self) -> dict[str, Path]:
        """Return the kubeconfig of each EKS cluster that exists, by the cluster's name."""
        known = registry.of(self.stand_in.home).entries()
        return {
            each.cluster: Path(each.kubeconfig) for each in known if Path(each.kubeconfig).exists()
        }

    def lift_deletion_protection(self, settings: Settings, say: Say) -> None:
        """Switch off what keeps EKS from deleting a cluster, as an administrator could by hand."""
        for _, cluster in eks_regions(settings):
            aws = self._aws(cluster)
            for name in aws.pages("eks", "list_clusters", "clusters"):
                say(f"lifting the deletion protection of EKS cluster {name}")
                aws.call("eks", "update_cluster_config", name=name, deletionProtection=False)

    def require_empty(self, settings: Settings) -> None:
        """Raise `StandInError` naming everything that a destroy left on AWS.

        Secrets and hosted zones that the sandbox gave the stack are not the stack's.
        """
        is_given = given.names(self._places(settings), settings)
        found = {
            f"{cluster.aws_region}: {line}"
            for _, cluster, aws in self._places(settings)
            for line in inventory.left(aws)
            if not is_given(line)
        }
        found |= {
            f"control plane {each.sandbox}" for each in registry.of(self.stand_in.home).entries()
        }
        if found:
            message = "\n  ".join(["the destroy left something on AWS:", *sorted(found)])
            raise StandInError(message)

    def purge(self, say: Say) -> None:
        """Stop and delete everything of the stand-in."""
        self.stand_in.purge(say)


def _resources(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    deployment = cast("Mapping[str, Any]", state.get("deployment") or {})
    return list(deployment.get("resources") or [])
