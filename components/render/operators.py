"""What is set in the values of each operator's chart, by the chart's name in the catalog.

The same names as the rows of `models/plan/operators.py`; a test holds the two together.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from components.render.charts import aws, efa, gateway, gpu, monitoring, secrets
from components.render.storage import longhorn, minio
from models.plan.plan import PlannedRegion, PlatformPlan

Values = Callable[[PlatformPlan, PlannedRegion], dict[str, Any]]


VALUES: Final[Mapping[str, Values]] = {
    "kube-prometheus-stack": monitoring.kube_prometheus_stack,
    "cert-manager": secrets.cert_manager,
    "external-secrets": secrets.external_secrets,
    "cluster-autoscaler": aws.cluster_autoscaler,
    "aws-load-balancer-controller": aws.load_balancer_controller,
    "longhorn": longhorn.values,
    "minio-operator": minio.operator_values,
    "gpu-operator": gpu.gpu_operator,
    "efa-device-plugin": efa.efa_device_plugin,
    "leader-worker-set": gateway.leader_worker_set,
    "keda": monitoring.keda,
    "envoy-gateway": gateway.envoy_gateway,
    "ai-gateway-crds": gateway.ai_gateway_crds,
    "ai-gateway": gateway.ai_gateway,
}
