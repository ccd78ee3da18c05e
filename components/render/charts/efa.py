"""Values of the EFA device plugin, which offers a node's fast network interfaces to pods."""

from typing import Any, Final

from components.render.charts.gpu import tolerations
from models.facts.mirroring import mirrored
from models.plan.operators import efa_pools
from models.plan.plan import PlannedRegion, PlatformPlan
from models.settings.regions import POOL_LABEL

_IMAGE: Final = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin"


def efa_device_plugin(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return values by which the plugin reaches the nodes of pools with EFA, and only those.

    The chart's own list of instance types stays as it is: it is upstream's, and newer than ours.
    A node selector takes one value, so with several such pools that list alone decides.
    """
    pools = efa_pools(region)
    values: dict[str, Any] = {"tolerations": tolerations(pools)}
    if len(pools) == 1:
        values["nodeSelector"] = {POOL_LABEL: pools[0].name}
    if plan.mirror.registry is not None:
        values["image"] = {"repository": mirrored(_IMAGE, plan.mirror.registry)}
    return values
