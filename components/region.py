"""`Region`: one worker cluster, built in waves (design section 5)."""

from collections.abc import Mapping
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
from components.waves import Wave, Waves
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
        self._name, self._args = name, args
        cluster = self._cluster()
        self._waves = Waves(self, cluster.provider)
        self._namespaces()
        self._storage()
        self._engines()
        gateway = self._exposure()
        self.gateway_url = gateway.url
        self.kubeconfig = cluster.kubeconfig
        self.register_outputs({"gatewayUrl": self.gateway_url, "kubeconfig": self.kubeconfig})

    def _cluster(self) -> ExistingCluster:
        """Wave -4: the cluster and the provider that everything after it uses."""
        region = self._args.region
        return ExistingCluster(
            f"{self._name}-cluster",
            ExistingClusterArgs(
                region=region.name,
                context=region.context or region.name,
                kubeconfig=self._args.kubeconfig,
                render_to=self._args.render_to,
            ),
            ResourceOptions(parent=self),
        )

    def _namespaces(self) -> None:
        """Before wave -3: what secrets, volumes and engines live in."""
        spaces = Namespaces(
            f"{self._name}-namespaces",
            NamespacesArgs(engine_port=self._args.region.engine_port),
            self._waves.options(Wave.SECRETS),
        )
        self._waves.add(Wave.SECRETS, spaces)

    def _storage(self) -> None:
        """Wave -2: the models' volume, seeded."""
        store = ModelStore(
            f"{self._name}-store",
            ModelStoreArgs(
                region=self._args.region,
                program=self._args.seed_program,
                credentials=self._args.credentials,
                replaceable=MODELS_CLAIM in self._args.plan.accept_data_loss,
            ),
            self._waves.options(Wave.STORAGE),
        )
        self._waves.add(Wave.STORAGE, store)

    def _engines(self) -> None:
        """Wave 0: one engine per model."""
        options = self._waves.options(Wave.ENGINES)
        for model in self._args.region.models:
            engine = VllmService(
                f"{self._name}-{model.name}",
                VllmServiceArgs(model=model, observability=self._args.plan.observability),
                options,
            )
            self._waves.add(Wave.ENGINES, engine)

    def _exposure(self) -> AiGateway:
        """Wave 1: the gateway, then a route and an autoscaler per model."""
        plan = self._args.plan
        options = self._waves.options(Wave.EXPOSURE)
        gateway = AiGateway(
            f"{self._name}-gateway",
            AiGatewayArgs(options=plan.gateway, rendering=self._args.render_to is not None),
            options,
        )
        behind = self._waves.options(Wave.EXPOSURE, after=[gateway])
        self._waves.add(Wave.EXPOSURE, gateway)
        for model in self._args.region.models:
            route = ModelRoute(
                f"{self._name}-{model.name}-route",
                ModelRouteArgs(model=model, options=plan.gateway),
                behind,
            )
            self._waves.add(Wave.EXPOSURE, route)
            if model.autoscaled:
                scaler = Autoscaling(
                    f"{self._name}-{model.name}-autoscaling",
                    AutoscalingArgs(model=model, options=plan.autoscaling),
                    options,
                )
                self._waves.add(Wave.EXPOSURE, scaler)
        return gateway
