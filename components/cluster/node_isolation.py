"""`NodeIsolation`: nodes of an existing cluster made fit for engines, as the settings ask.

On EKS the machine images run without swap and node groups carry labels and taints, so nothing is
done there. The namespace `triplane-node` is the only one of ours at the `privileged` level.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.core.v1 import Namespace, NodePatch

from components.render.cluster import node_isolation as render
from components.render.cluster.namespaces import security_labels
from components.render.common import metadata
from models.core.names import NODE_NAMESPACE, SWAP_OFF
from models.facts.contract import Image
from models.plan.accelerator_nodes import node_labels
from models.plan.plan import PlannedRegion


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeIsolationArgs:
    """The region, and the image whose shell switches swap off."""

    region: PlannedRegion
    image: Image


class NodeIsolation(pulumi.ComponentResource):
    """Labels and taints on named nodes, then a DaemonSet where swap is to be off."""

    nodes: Mapping[str, NodePatch]

    def __init__(
        self, name: str, args: NodeIsolationArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register patches first: the DaemonSet finds its nodes by their labels."""
        super().__init__("triplane:nodes:NodeIsolation", name, None, opts)
        self.nodes = {
            node: NodePatch(
                f"{name}-{node}",
                # Named in the settings, so the stack decides: whoever set the same before loses it.
                metadata={
                    "name": node,
                    "labels": node_labels(args.region, pool),
                    "annotations": {"pulumi.com/patchForce": "true"},
                },
                spec=render.node_spec(pool),
                opts=ResourceOptions(parent=self),
            )
            for pool in args.region.pools
            for node in pool.settings.nodes
        }
        swapping = tuple(pool for pool in args.region.pools if pool.settings.swap_off)
        if swapping:
            space = Namespace(
                f"{name}-namespace",
                metadata=metadata(NODE_NAMESPACE, labels=security_labels("privileged")),
                opts=ResourceOptions(parent=self),
            )
            DaemonSet(
                f"{name}-swap-off",
                metadata=metadata(SWAP_OFF, NODE_NAMESPACE, render.labels()),
                spec=render.swap_off(swapping, args.image),
                opts=ResourceOptions(parent=self, depends_on=[space, *self.nodes.values()]),
            )
        self.register_outputs({"nodes": list(self.nodes)})
