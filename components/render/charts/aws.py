"""Values of what works on AWS for a cluster: the autoscaler of nodes, the load balancers.

Both find region, cluster and network in their values: pods do not reach the metadata service
(`components/aws/node_pool.py`). Both get their rights by pod identity, by the name of the service
account (`models/plan/aws/pod_roles.py`).
"""

from typing import Any, Final

from models.aws.names import cluster_name
from models.core.names import GATEWAY_NAMESPACE
from models.facts.mirroring import mirrored
from models.plan.operators import CLUSTER_AUTOSCALER, LOAD_BALANCER_CONTROLLER
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.eks import EksClusterSettings

_NOBODY: Final = 65534
_POD: Final = {
    "runAsNonRoot": True,
    "runAsUser": _NOBODY,
    "fsGroup": _NOBODY,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_CONTAINER: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
}
"""What the restricted Pod Security level of their namespaces wants."""

_PROXIES: Final = ("envoy-gateway-system", GATEWAY_NAMESPACE)
"""Where Envoy Gateway makes Services of type LoadBalancer."""


def cluster_autoscaler(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values for the cluster autoscaler; why these flags: docs/adr/0013."""
    cluster = _cluster(region)
    resources = {"cpu": "100m", "memory": "600Mi"}
    values: dict[str, Any] = {
        "cloudProvider": "aws",
        "awsRegion": cluster.aws_region,
        "autoDiscovery": {"clusterName": cluster_name(plan.environment.value, region.name)},
        "fullnameOverride": CLUSTER_AUTOSCALER.chart,
        "rbac": {"serviceAccount": {"create": True, "name": CLUSTER_AUTOSCALER.chart}},
        "extraArgs": {
            "balance-similar-node-groups": True,
            "expander": "least-waste",
            # Every engine has scratch space on its node, and its weights elsewhere.
            "skip-nodes-with-local-storage": False,
        },
        # As upstream's own manifests (aws/examples) have it.
        "resources": {"requests": resources, "limits": resources},
        "securityContext": _POD,
        "containerSecurityContext": _CONTAINER,
        "serviceMonitor": {
            "enabled": True,
            "namespace": CLUSTER_AUTOSCALER.namespace,
            "selector": dict(plan.observability.monitor_labels),
        },
    }
    if plan.mirror.registry is not None:
        image = "registry.k8s.io/autoscaling/cluster-autoscaler"
        values["image"] = {"repository": mirrored(image, plan.mirror.registry)}
    return values


def load_balancer_controller(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values for the AWS load balancer controller: private network load balancers only.

    Its webhook makes it responsible for the gateway's Services; while it does not answer, those
    cannot be made, since without it the cloud provider would make public load balancers. No other
    namespace's Services wait for it.
    """
    cluster = _cluster(region)
    name = cluster_name(plan.environment.value, region.name)
    values: dict[str, Any] = {
        "clusterName": name,
        "region": cluster.aws_region,
        "vpcTags": {"Name": name},
        "fullnameOverride": LOAD_BALANCER_CONTROLLER.chart,
        "serviceAccount": {"create": True, "name": LOAD_BALANCER_CONTROLLER.chart},
        "defaultLoadBalancerScheme": "internal",
        "defaultTargetType": "ip",
        "enableShield": False,
        "enableWaf": False,
        "enableWafv2": False,
        "createIngressClassResource": False,
        "ingressClassParams": {"create": False},
        "serviceMutatorWebhookConfig": {
            "failurePolicy": "Fail",
            "namespaceSelectors": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "In",
                    "values": list(_PROXIES),
                }
            ],
        },
        # Otherwise every upgrade makes a new certificate, which running pods do not read.
        "keepTLSSecret": True,
        "podSecurityContext": _POD,
        "securityContext": _CONTAINER,
        "serviceMonitor": {
            "enabled": True,
            "additionalLabels": dict(plan.observability.monitor_labels),
        },
    }
    if plan.mirror.registry is not None:
        image = "public.ecr.aws/eks/aws-load-balancer-controller"
        values["image"] = {"repository": mirrored(image, plan.mirror.registry)}
    return values


def _cluster(region: PlannedRegion) -> EksClusterSettings:
    if region.eks is None:
        message = f"region {region.name!r} is not on EKS"
        raise ValueError(message)
    return region.eks
