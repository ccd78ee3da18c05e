"""Which kinds are watched, and which of them have a stand-in. docs/readiness.md must agree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.core.kube import Object
from sandbox.operators.standins import ai_gateway, envoy, gateway, keda, minio
from sandbox.operators.standins.objects import Objects, name_of, namespace_of

Evaluator = Callable[[Object, Objects], Object | None]
"""From an object and all others to its status; None leaves the status alone."""

Refusal = Callable[[Object, str], Object]
"""From an object and a sentence to the status that says no."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StandIn:
    """What plays a controller on one kind: `refuse` says no where `evaluate` raises."""

    evaluate: Evaluator
    refuse: Refusal

    def status(self, obj: Object, objects: Objects) -> Object | None:
        """Return the status to be written; None leaves the status alone."""
        try:
            return self.evaluate(obj, objects)
        except Exception as error:
            return self.refuse(obj, f"the stand-in cannot judge this object: {error!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class StandInKind:
    """Where objects of a kind are served."""

    group_version: str
    kind: str
    plural: str
    stand_in: StandIn | None = None

    @property
    def collection(self) -> str:
        """The path that lists the kind over all namespaces."""
        root = "/apis/" if "/" in self.group_version else "/api/"
        return f"{root}{self.group_version}/{self.plural}"

    def status_path(self, obj: Object) -> str:
        """The path of the status subresource of one object."""
        root = self.collection.removesuffix(f"/{self.plural}")
        space = namespace_of(obj)
        middle = f"namespaces/{space}/" if space else ""
        return f"{root}/{middle}{self.plural}/{name_of(obj)}/status"


def _kinds(
    group_version: str, served: Mapping[str, tuple[str, Evaluator, Refusal] | str]
) -> list[StandInKind]:
    """Return kinds of one group: to each its plural, and what plays its controller."""
    made: list[StandInKind] = []
    for kind, entry in served.items():
        if isinstance(entry, str):
            made.append(StandInKind(group_version=group_version, kind=kind, plural=entry))
            continue
        plural, evaluate, refuse = entry
        stand_in = StandIn(evaluate=evaluate, refuse=refuse)
        made.append(
            StandInKind(group_version=group_version, kind=kind, plural=plural, stand_in=stand_in)
        )
    return made


KINDS: Final[tuple[StandInKind, ...]] = (
    *_kinds(
        "v1",
        {
            "Namespace": "namespaces",
            "Service": "services",
            "Secret": "secrets",
        },
    ),
    *_kinds(
        "apps/v1",
        {"Deployment": "deployments", "StatefulSet": "statefulsets"},
    ),
    *_kinds("storage.k8s.io/v1", {"StorageClass": "storageclasses"}),
    *_kinds("minio.min.io/v2", {"Tenant": ("tenants", minio.tenant, minio.refuse)}),
    *_kinds("autoscaling/v2", {"HorizontalPodAutoscaler": "horizontalpodautoscalers"}),
    *_kinds("leaderworkerset.x-k8s.io/v1", {"LeaderWorkerSet": "leaderworkersets"}),
    *_kinds("inference.networking.k8s.io/v1", {"InferencePool": "inferencepools"}),
    *_kinds(
        "gateway.networking.k8s.io/v1",
        {
            "GatewayClass": ("gatewayclasses", gateway.gateway_class, gateway.refuse_class),
            "Gateway": ("gateways", gateway.gateway, gateway.refuse_broken_gateway),
            "HTTPRoute": ("httproutes", gateway.http_route, gateway.refuse_route),
            "ReferenceGrant": "referencegrants",
        },
    ),
    *_kinds(
        "gateway.envoyproxy.io/v1alpha1",
        {
            "EnvoyProxy": "envoyproxies",
            "Backend": ("backends", envoy.backend, envoy.refuse_backend),
            "BackendTrafficPolicy": ("backendtrafficpolicies", envoy.policy, envoy.refuse_policy),
            "ClientTrafficPolicy": ("clienttrafficpolicies", envoy.policy, envoy.refuse_policy),
            "SecurityPolicy": ("securitypolicies", envoy.policy, envoy.refuse_policy),
            "EnvoyExtensionPolicy": ("envoyextensionpolicies", envoy.policy, envoy.refuse_policy),
        },
    ),
    *_kinds(
        "aigateway.envoyproxy.io/v1beta1",
        {
            "AIGatewayRoute": ("aigatewayroutes", ai_gateway.route, ai_gateway.refuse),
            "AIServiceBackend": (
                "aiservicebackends",
                ai_gateway.service_backend,
                ai_gateway.refuse,
            ),
            "BackendSecurityPolicy": (
                "backendsecuritypolicies",
                ai_gateway.security_policy,
                ai_gateway.refuse,
            ),
        },
    ),
    *_kinds(
        "keda.sh/v1alpha1",
        {
            "ScaledObject": ("scaledobjects", keda.scaled_object, keda.refuse),
            "TriggerAuthentication": "triggerauthentications",
            "ClusterTriggerAuthentication": "clustertriggerauthentications",
        },
    ),
)

STANDIN_KINDS: Final = tuple(sorted(kind.kind for kind in KINDS if kind.stand_in is not None))
