"""Which of our pods act on AWS, and what each may do: one row per service account.

Add-ons of EKS have theirs in `models/aws/addons.py`. What is not in a table has no role: pods do
not reach the node's own (docs/iam.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from models.aws import iam, names
from models.aws.buckets import makes_bucket
from models.aws.load_balancers import balance_loads
from models.aws.secret_policies import prove_names, read_secrets
from models.core.names import CERT_MANAGER, EXTERNAL_SECRETS, MODELS_NAMESPACE, SEED_ACCOUNT
from models.plan.operators import CLUSTER_AUTOSCALER, LOAD_BALANCER_CONTROLLER, operators
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.certificates import Issuer
from models.settings.eks import EksClusterSettings
from models.settings.secrets import SecretsKind
from models.settings.storage import Credentials, ObjectStoreKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleRequest:
    """What a row is asked for: one EKS region of a stack."""

    plan: PlatformPlan
    region: PlannedRegion
    cluster: EksClusterSettings
    cluster_name: str

    def has_operator(self, chart: str) -> bool:
        """Whether the stack installs a chart into the region."""
        rows = operators(self.plan, self.region)
        managed = self.plan.operators.installed
        return managed and any(row.chart == chart for row in rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodRole:
    """One service account's role. `purpose` ends the role's name; `why` is said in docs/iam.md."""

    purpose: str
    namespace: str
    service_account: str
    needed: Callable[[RoleRequest], bool]
    policy: Callable[[RoleRequest], iam.Document]


def _seeds_from_s3(request: RoleRequest) -> bool:
    objects = request.region.settings.storage.objects
    by_identity = objects.credentials is Credentials.POD_IDENTITY
    return objects.kind is ObjectStoreKind.S3 and by_identity


def _seeding(request: RoleRequest) -> iam.Document:
    objects = request.region.settings.storage.objects
    made = makes_bucket(request.region.settings)
    return iam.read_weights(
        request.cluster,
        objects,
        alias=names.bucket_key_alias(request.cluster_name) if made else None,
    )


def _autoscaler(request: RoleRequest) -> iam.Document:
    return iam.grow_groups(request.cluster, request.cluster_name)


def _reads_secrets(request: RoleRequest) -> bool:
    return request.region.settings.secrets.kind is SecretsKind.AWS and bool(request.region.secrets)


def _secrets(request: RoleRequest) -> iam.Document:
    region = request.region
    environment = request.plan.environment.value
    return read_secrets(request.cluster, region.settings.secrets, environment, region.name)


def _certificates(request: RoleRequest) -> iam.Document:
    hostname = request.region.gateway.hostname
    assert hostname is not None, "checked when the plan was made"
    return prove_names(request.cluster, request.region.settings.certificates, hostname)


def _balancers(request: RoleRequest) -> iam.Document:
    return balance_loads(request.cluster, request.cluster_name)


POD_ROLES: Final[tuple[PodRole, ...]] = (
    PodRole(
        purpose="seeding",
        namespace=MODELS_NAMESPACE,
        service_account=SEED_ACCOUNT,
        needed=_seeds_from_s3,
        policy=_seeding,
    ),
    PodRole(
        purpose="autoscaler",
        namespace=CLUSTER_AUTOSCALER.namespace,
        service_account=CLUSTER_AUTOSCALER.chart,
        needed=lambda asked: asked.has_operator(CLUSTER_AUTOSCALER.chart),
        policy=_autoscaler,
    ),
    PodRole(
        purpose="load-balancers",
        namespace=LOAD_BALANCER_CONTROLLER.namespace,
        service_account=LOAD_BALANCER_CONTROLLER.chart,
        needed=lambda asked: asked.has_operator(LOAD_BALANCER_CONTROLLER.chart),
        policy=_balancers,
    ),
    PodRole(
        purpose="secrets",
        namespace=EXTERNAL_SECRETS,
        service_account=EXTERNAL_SECRETS,
        needed=_reads_secrets,
        policy=_secrets,
    ),
    PodRole(
        purpose="certificates",
        namespace=CERT_MANAGER,
        service_account=CERT_MANAGER,
        needed=lambda asked: asked.region.settings.certificates.issuer is Issuer.ACME,
        policy=_certificates,
    ),
)
"""Every role of our pods; a component that needs AWS adds its row here."""


def pod_roles(request: RoleRequest) -> tuple[PodRole, ...]:
    """Return the roles that a region needs."""
    return tuple(row for row in POD_ROLES if row.needed(request))
