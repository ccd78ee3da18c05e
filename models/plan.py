"""The plan: what one stack will create, with plain values only.

`models/resolve.py` makes it from settings and catalogue; components only register what it says.
"""

from pydantic import Field

from models.accelerators import Accelerator
from models.base import Model
from models.catalogue import ModelEntry
from models.contract import EngineContract, Image
from models.engine import EngineArguments, Environment
from models.memory import Budget
from models.notices import Notice
from models.options import AutoscalingOptions, Gateway, Observability
from models.regions import EksCluster, ExistingCluster, NodePool, Region
from models.settings import Serving
from models.sizing import PodResources, Shape


class PlannedPool(Model):
    """A node pool with its machine's shape; `usd_per_hour` is one node's price, None unpriced."""

    pool: NodePool
    shape: Shape
    accelerator: Accelerator | None
    usd_per_hour: float | None

    @property
    def gpus_min(self) -> int:
        """GPUs of the pool at its minimum size."""
        return self.pool.min * self.shape.gpus

    @property
    def gpus_max(self) -> int:
        """GPUs of the pool at its maximum size."""
        return self.pool.max * self.shape.gpus


class PlannedModel(Model):
    """One model in one region, resolved.

    `startup_sec` is what one replica may take to answer, `rollout_sec` how long an update waits
    for all of them; `weight_bytes` the checkpoint's size.
    """

    entry: ModelEntry
    region: str
    pool: PlannedPool
    serving: Serving
    replicas_min: int = Field(ge=0)
    replicas_max: int = Field(ge=1)
    autoscaled: bool
    contract: EngineContract
    arguments: EngineArguments
    command: tuple[str, ...]
    resources: PodResources
    weight_bytes: int
    startup_sec: int
    rollout_sec: int
    budget: Budget

    @property
    def name(self) -> str:
        """The id that clients use; also Service, route, backend and served model name."""
        return self.entry.name

    @property
    def gpus_per_replica(self) -> int:
        """GPUs that one replica takes."""
        return self.arguments.parallelism.gpus


class PlannedRegion(Model):
    """One region, resolved.

    `volume_gib` is the size of the models' volume; `engine_port` is the port that every engine of
    the region serves.
    """

    settings: Region
    pools: tuple[PlannedPool, ...]
    models: tuple[PlannedModel, ...]
    seed_pool: PlannedPool
    seed_image: Image
    volume_gib: int
    engine_port: int

    @property
    def name(self) -> str:
        """The region's name."""
        return self.settings.name

    @property
    def eks(self) -> EksCluster | None:
        """The EKS cluster that the stack makes for the region; None where one exists already."""
        cluster = self.settings.cluster
        return cluster if isinstance(cluster, EksCluster) else None

    @property
    def context(self) -> str | None:
        """The context that names an existing cluster in the kubeconfig; None on EKS."""
        cluster = self.settings.cluster
        return cluster.context if isinstance(cluster, ExistingCluster) else None


class Totals(Model):
    """GPUs taken by engines, and USD per hour of the nodes, at minimum and maximum.

    `usd_per_hour_*` is None where a node in use has no price: an unknown bill is not a small one.
    """

    gpus_min: int
    gpus_max: int
    usd_per_hour_min: float | None
    usd_per_hour_max: float | None


class PlatformPlan(Model):
    """Everything that one stack will create."""

    environment: Environment
    catalogue_revision: str
    regions: tuple[PlannedRegion, ...]
    gateway: Gateway
    autoscaling: AutoscalingOptions
    observability: Observability
    totals: Totals
    notices: tuple[Notice, ...]
    accept_data_loss: tuple[str, ...] = ()
