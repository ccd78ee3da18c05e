"""`Region`: one worker cluster, built in waves (`components/core/waves.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi import Input, Output, ResourceOptions

from components.cluster.existing import ExistingCluster, ExistingClusterArgs
from components.cluster.namespaces import Namespaces, NamespacesArgs
from components.cluster.node_isolation import NodeIsolation, NodeIsolationArgs
from components.core.waves import Wave, Waves
from components.engine.autoscaling import Autoscaling, AutoscalingArgs
from components.engine.vllm_service import VllmService, VllmServiceArgs
from components.gateway.ai_gateway import AiGateway, AiGatewayArgs
from components.gateway.fallback_provider import FallbackProvider, FallbackProviderArgs
from components.gateway.model_route import ModelRoute, ModelRouteArgs
from components.operators.external import ExternalOperators, ExternalOperatorsArgs
from components.operators.waves import WaveOperators, WaveOperatorsArgs
from components.secrets.certificates import Certificates, CertificatesArgs
from components.secrets.store import SecretStore, SecretStoreArgs
from components.storage.region import StorageArgs, register_collection, register_storage
from models.core.names import OBJECTS_NAMESPACE
from models.facts.mirroring import mirrored_image
from models.plan.definitions import required
from models.plan.operators import operators
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.certificates import ISSUED
from models.settings.eks import EksClusterSettings

if TYPE_CHECKING:
    from components.aws.region_cluster import RegionCluster


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionArgs:
    """What one region is built from. Secrets are Inputs; everything else is plain."""

    plan: PlatformPlan
    region: PlannedRegion
    seed_program: Mapping[str, str]
    kubeconfig: Input[str] | None
    credentials: Mapping[str, Input[str]] | None
    secret_values: Mapping[str, Output[Mapping[str, str]]] | None = None
    render_to: str | None = None


class Region(pulumi.ComponentResource):
    """A region's cluster, storage, engines and gateway."""

    gateway_url: Output[str]
    gateway_ca: Output[str] | None
    kubeconfig: Output[str] | None

    def __init__(self, name: str, args: RegionArgs, opts: ResourceOptions | None = None) -> None:
        """Register the waves; each one starts when the one before is ready."""
        super().__init__("triplane:region:Region", name, None, opts)
        self._name, self._args = name, args
        self._aws: RegionCluster | None = None
        cluster = self._cluster()
        self._waves = Waves(self, cluster.provider)
        self._waves.add(Wave.CLUSTER, cluster)
        self._namespaces()
        self._nodes()
        self._operators(Wave.SECRETS)
        self.gateway_ca = self._secrets()
        self._operators(Wave.STORAGE)
        self._storage()
        self._operators(Wave.ACCELERATORS)
        self._engines()
        self._operators(Wave.ENGINES)
        gateway = self._exposure()
        self.gateway_url = gateway.url
        self.kubeconfig = cluster.kubeconfig
        self.register_outputs({"gatewayUrl": self.gateway_url, "kubeconfig": self.kubeconfig})

    def _cluster(self) -> "ExistingCluster | RegionCluster":
        """Wave -4: the cluster and the provider that everything after it uses."""
        region = self._args.region
        if region.eks is not None and self._args.render_to is None:
            return self._eks(region.eks)
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

    def _eks(self, cluster: EksClusterSettings) -> "RegionCluster":
        # Here, since the AWS SDK takes longer to import than a stack without AWS to preview.
        from components.aws.region_cluster import RegionCluster, RegionClusterArgs

        args = RegionClusterArgs(plan=self._args.plan, region=self._args.region, cluster=cluster)
        self._aws = RegionCluster(f"{self._name}-cluster", args, ResourceOptions(parent=self))
        return self._aws

    def _namespaces(self) -> None:
        """Before wave -3: what secrets, volumes and engines live in."""
        spaces = Namespaces(
            f"{self._name}-namespaces",
            NamespacesArgs(
                engine_port=self._args.region.engine_port, operators=self._args.plan.operators
            ),
            self._waves.options(Wave.SECRETS),
        )
        self._waves.add(Wave.SECRETS, spaces)
        self._spaces = [spaces]

    def _nodes(self) -> None:
        """Before anything is scheduled: pods choose their nodes by the labels that this sets."""
        plan, region = self._args.plan, self._args.region
        asked = any(pool.settings.swap_off or pool.settings.nodes for pool in region.pools)
        if not asked or plan.shell_image is None:
            return
        nodes = NodeIsolation(
            f"{self._name}-nodes",
            NodeIsolationArgs(
                region=region, image=mirrored_image(plan.shell_image, plan.mirror.registry)
            ),
            self._waves.options(Wave.SECRETS),
        )
        self._waves.lead(Wave.SECRETS, nodes)

    def _operators(self, wave: Wave) -> None:
        """Install a wave's operators. The provider renders no releases: then they are left out."""
        args = self._args
        if args.render_to is not None:
            return
        if not args.plan.operators.installed:
            self._external(wave)
            return
        rows = [row for row in operators(args.plan, args.region) if row.wave == wave]
        for lead in (True, False):
            chosen = [row for row in rows if row.lead is lead]
            if not chosen:
                continue
            beside = "" if lead else "-beside"
            installed = WaveOperators(
                f"{self._name}-operators{wave:+d}{beside}",
                WaveOperatorsArgs(plan=args.plan, region=args.region, rows=chosen),
                self._waves.options(wave),
            )
            (self._waves.lead if lead else self._waves.add)(wave, installed)

    def _external(self, wave: Wave) -> None:
        """See that somebody else's operators are there, before anything of the region is made."""
        # Of a suspended region nothing is asked: its cluster may not answer.
        if wave is not Wave.SECRETS or self._args.region.settings.suspended:
            return
        found = ExternalOperators(
            f"{self._name}-operators",
            ExternalOperatorsArgs(
                region=self._args.region.name,
                definitions=required(self._args.plan, self._args.region),
            ),
            self._waves.looking(),
        )
        self._waves.lead(wave, found)

    def _secrets(self) -> Output[str] | None:
        """Wave -3: Secrets from the region's source, then the gateway's certificate.

        Return the authority that clients check the gateway with, None where they know it.
        """
        region, stores = self._args.region, list[pulumi.Resource]()
        for namespace in dict.fromkeys(use.namespace for use in region.secrets):
            # The tenant's namespace comes with the tenant, in wave -2, and so does its store.
            if namespace != OBJECTS_NAMESPACE:
                args = SecretStoreArgs(
                    region=region, namespace=namespace, values=self._args.secret_values
                )
                options = self._waves.options(Wave.SECRETS, after=self._spaces)
                stores.append(SecretStore(f"{self._name}-secrets-{namespace}", args, options))
        self._waves.add(Wave.SECRETS, *stores)
        if region.settings.certificates.issuer not in ISSUED:
            return None
        certificates = Certificates(
            f"{self._name}-certificates",
            CertificatesArgs(
                environment=self._args.plan.environment.value,
                region=region,
                rendering=self._args.render_to is not None,
            ),
            # A private authority's key comes from a store.
            self._waves.options(Wave.SECRETS, after=[*self._spaces, *stores]),
        )
        self._waves.add(Wave.SECRETS, certificates)
        return certificates.authority

    def _storage(self) -> None:
        """Wave -2: the models' volume, seeded."""
        register_storage(self._name, self._stored(), self._waves)

    def _stored(self) -> StorageArgs:
        return StorageArgs(
            plan=self._args.plan,
            region=self._args.region,
            program=self._args.seed_program,
            credentials=self._args.credentials,
        )

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
        register_collection(self._name, self._stored(), self._waves)

    def _exposure(self) -> AiGateway:
        """Wave 1: the gateway and its reserve, then a route and an autoscaler per model."""
        plan = self._args.plan
        options = self._waves.options(Wave.EXPOSURE)
        gateway = AiGateway(
            f"{self._name}-gateway",
            AiGatewayArgs(
                options=self._args.region.gateway, rendering=self._args.render_to is not None
            ),
            options,
        )
        providers = self._reserve(options)
        behind = self._waves.options(Wave.EXPOSURE, after=[gateway, *providers])
        self._waves.add(Wave.EXPOSURE, gateway)
        if self._aws is not None:
            records = self._aws.publish(self, plan.gateway.hostname, gateway.address)
            self._waves.add(Wave.EXPOSURE, *records)
        for model in self._args.region.models:
            route = ModelRoute(
                f"{self._name}-{model.name}-route",
                ModelRouteArgs(
                    model=model,
                    options=self._args.region.gateway,
                    providers=tuple(
                        provider
                        for provider in self._args.region.settings.fallback_providers
                        if provider.serves(model.name)
                    ),
                ),
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

    def _reserve(self, options: ResourceOptions) -> list[FallbackProvider]:
        """Register the region's providers in reserve: routes are refused until they exist."""
        providers = [
            FallbackProvider(
                f"{self._name}-{provider.name}-provider",
                FallbackProviderArgs(provider=provider),
                options,
            )
            for provider in self._args.region.settings.fallback_providers
        ]
        self._waves.add(Wave.EXPOSURE, *providers)
        return providers
