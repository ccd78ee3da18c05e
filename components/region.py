"""`Region`: one worker cluster, built in waves (design section 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Input, Output, ResourceOptions

from components.ai_gateway import AiGateway, AiGatewayArgs
from components.autoscaling import Autoscaling, AutoscalingArgs
from components.cluster import ExistingCluster, ExistingClusterArgs
from components.model_route import ModelRoute, ModelRouteArgs
from components.model_store import ModelStore, ModelStoreArgs
from components.namespaces import Namespaces, NamespacesArgs
from components.vllm_service import VllmService, VllmServiceArgs
from models.names import MODELS_CLAIM
from models.plan import PlannedRegion, PlatformPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionArgs:
    """What one region is built from. Secrets are Inputs; everything else is plain."""

    plan: PlatformPlan
    region: PlannedRegion
    seed_program: str
    kubeconfig: Input[str] | None
    credentials: Mapping[str, Input[str]] | None
    render_to: str | None = None


class Region(pulumi.ComponentResource):
    """A region's cluster, storage, engines and gateway."""

    gateway_url: Output[str]
    kubeconfig: Output[str] | None

    def __init__(self, name: str, args: RegionArgs, opts: ResourceOptions | None = None) -> None:
        """Register the waves; each one starts when the one before is ready."""
        super().__init__("triplane:region:Region", name, None, opts)
        cluster = ExistingCluster(
            f"{name}-cluster",
            ExistingClusterArgs(
                region=args.region.name,
                context=args.region.context,
                kubeconfig=args.kubeconfig,
                render_to=args.render_to,
            ),
            ResourceOptions(parent=self),
        )
        self._in_cluster = ResourceOptions(parent=self, provider=cluster.provider)
        spaces = Namespaces(
            f"{name}-namespaces",
            NamespacesArgs(engine_port=args.region.engine_port),
            self._after([]),
        )
        store = ModelStore(
            f"{name}-store",
            ModelStoreArgs(
                region=args.region,
                program=args.seed_program,
                credentials=args.credentials,
                replaceable=MODELS_CLAIM in args.plan.accept_data_loss,
            ),
            self._after([spaces]),
        )
        engines = self._engines(name, args, store)
        gateway = AiGateway(
            f"{name}-gateway",
            AiGatewayArgs(options=args.plan.gateway, rendering=args.render_to is not None),
            self._after(engines or [store]),
        )
        self._exposure(name, args, gateway, engines)
        self.gateway_url = gateway.url
        self.kubeconfig = cluster.kubeconfig
        self.register_outputs({"gatewayUrl": self.gateway_url, "kubeconfig": self.kubeconfig})

    def _after(self, wave: Sequence[pulumi.Resource]) -> ResourceOptions:
        """Return options in this region's cluster that wait for an earlier wave."""
        return ResourceOptions.merge(self._in_cluster, ResourceOptions(depends_on=list(wave)))

    def _engines(self, name: str, args: RegionArgs, store: ModelStore) -> list[pulumi.Resource]:
        return [
            VllmService(
                f"{name}-{model.name}",
                VllmServiceArgs(model=model, observability=args.plan.observability),
                self._after([store]),
            )
            for model in args.region.models
        ]

    def _exposure(
        self,
        name: str,
        args: RegionArgs,
        gateway: AiGateway,
        engines: Sequence[pulumi.Resource],
    ) -> None:
        for model in args.region.models:
            ModelRoute(
                f"{name}-{model.name}-route",
                ModelRouteArgs(model=model, options=args.plan.gateway),
                self._after([gateway]),
            )
            if model.autoscaled:
                Autoscaling(
                    f"{name}-{model.name}-autoscaling",
                    AutoscalingArgs(model=model, options=args.plan.autoscaling),
                    self._after(engines),
                )
