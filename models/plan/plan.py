"""The plan: what one stack will create, with plain values only.

`models/plan/resolve/stack.py` makes it from settings and catalog; components only register what
it says.
"""

from pydantic import Field

from models.core.base import Model
from models.core.findings import Finding
from models.core.names import MODELS_VOLUME
from models.engine.arguments import ServeArguments
from models.engine.profiles import Environment
from models.facts.accelerators import Accelerator
from models.facts.catalog import ModelEntry
from models.facts.charts import Chart
from models.facts.contract import EngineContract, Image
from models.facts.sharing import gpu_resource
from models.memory import Budget
from models.plan.costs import Bill
from models.plan.sizing import MachineShape, PodResources
from models.settings.gateway import Gateway
from models.settings.options import (
    AutoscalingOptions,
    Budgets,
    Mirror,
    Observability,
    Operators,
)
from models.settings.regions import (
    EksClusterSettings,
    ExistingClusterSettings,
    PoolSettings,
    RegionSettings,
)
from models.settings.secrets import SecretUse
from models.settings.settings import Serving


class PlannedPool(Model):
    """A node pool with its machine's shape; `usd_per_hour` is one node's price, None unpriced.

    `efa_interfaces` is how many EFA interfaces the machine takes. Where cards are shared,
    `accelerator` is the slice, and the shape's GPUs are what the scheduler counts: slices or turns.
    """

    settings: PoolSettings
    shape: MachineShape
    accelerator: Accelerator | None
    usd_per_hour: float | None
    efa_interfaces: int = 0

    @property
    def name(self) -> str:
        """The pool's name in the settings, unique in its region."""
        return self.settings.name

    @property
    def gpu_resource(self) -> str:
        """The resource by which a pod asks for one card, or one share of a card."""
        return gpu_resource(self.settings.sharing)

    @property
    def gpus_min(self) -> int:
        """GPUs of the pool at its minimum size."""
        return self.settings.min * self.shape.gpus

    @property
    def gpus_max(self) -> int:
        """GPUs of the pool at its maximum size."""
        return self.settings.max * self.shape.gpus


class PlannedModel(Model):
    """One model in one region, resolved.

    `startup_sec` is what one replica may take to answer, `rollout_sec` how long an update waits
    for all of them; `weight_bytes` the checkpoint's size; `claim` the volume that it is read from.
    """

    entry: ModelEntry
    region: str
    pool: PlannedPool
    serving: Serving
    replicas_min: int = Field(ge=0)
    replicas_max: int = Field(ge=1)
    autoscaled: bool
    contract: EngineContract
    arguments: ServeArguments
    command: tuple[str, ...]
    resources: PodResources
    weight_bytes: int
    startup_sec: int
    rollout_sec: int
    budget: Budget
    claim: str = MODELS_VOLUME

    @property
    def name(self) -> str:
        """The id that clients use; also Service, route, backend and served model name."""
        return self.entry.name

    @property
    def gpus_per_replica(self) -> int:
        """GPUs that one replica takes."""
        return self.arguments.gpus


class PlannedRegion(Model):
    """One region, resolved.

    `tenant_image` is what a MinIO tenant's servers run, None where the region makes no tenant.
    `volume_gib` is the size of the models' volume; `engine_port` is the port that every engine of
    the region serves; `bill` is what it costs per hour. `gateway` are the gateway's options with
    what the region adds (its certificate), `secrets` the Secrets taken from its source.
    """

    settings: RegionSettings
    pools: tuple[PlannedPool, ...]
    models: tuple[PlannedModel, ...]
    seed_pool: PlannedPool
    seed_image: Image
    tenant_image: Image | None = None
    volume_gib: int
    engine_port: int
    bill: Bill
    gateway: Gateway = Gateway()
    secrets: tuple[SecretUse, ...] = ()

    @property
    def name(self) -> str:
        """The region's name."""
        return self.settings.name

    @property
    def eks(self) -> EksClusterSettings | None:
        """The EKS cluster that the stack makes for the region; None where one exists already."""
        cluster = self.settings.cluster
        return cluster if isinstance(cluster, EksClusterSettings) else None

    @property
    def config_keys(self) -> dict[str, str]:
        """The secret stack setting of each secret that is taken from one, by the secret's name."""
        if self.settings.secrets.is_store:
            return {}
        return {use.name: use.remote for use in self.secrets}

    def secrets_in(self, namespace: str) -> tuple[SecretUse, ...]:
        """Return the Secrets of one namespace that come from the region's source."""
        return tuple(use for use in self.secrets if use.namespace == namespace)

    @property
    def context(self) -> str | None:
        """The context that names an existing cluster in the kubeconfig; None on EKS."""
        cluster = self.settings.cluster
        return cluster.context if isinstance(cluster, ExistingClusterSettings) else None


class Totals(Model):
    """GPUs taken by engines, and the regions' bills (USD per hour), at minimum and maximum.

    `usd_per_hour_*` is None where a node in use has no price: an unknown bill is not a small one.
    """

    gpus_min: int
    gpus_max: int
    usd_per_hour_min: float | None
    usd_per_hour_max: float | None


class PlatformPlan(Model):
    """Everything that one stack will create.

    `charts` are the catalog's, by our name; `models/plan/operators.py` says which of them a
    region gets where `operators` is `managed`. `shell_image` has a shell and `swapoff`, for nodes
    whose swap is to be off.
    """

    environment: Environment
    catalog_revision: str
    regions: tuple[PlannedRegion, ...]
    gateway: Gateway
    autoscaling: AutoscalingOptions
    observability: Observability
    operators: Operators = Operators.EXTERNAL
    mirror: Mirror = Mirror()
    charts: dict[str, Chart] = Field(default_factory=dict[str, Chart])
    shell_image: Image | None = None
    totals: Totals
    notices: tuple[Finding, ...]
    accept_data_loss: tuple[str, ...] = ()
    budgets: Budgets = Budgets()
