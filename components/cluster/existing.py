"""`ExistingCluster`: the provider for a cluster that exists (on-premises, edge, the sandbox)."""

from dataclasses import dataclass

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_kubernetes import Provider


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingClusterArgs:
    """How to reach the cluster.

    `kubeconfig` is the file's text (secret); `context` the context in it; `render_to` writes
    manifests to that directory instead of talking to a cluster, and then no kubeconfig is given.
    """

    region: str
    context: str
    kubeconfig: Input[str] | None
    render_to: str | None = None


class ExistingCluster(pulumi.ComponentResource):
    """A Kubernetes provider that is replaced only when the region's name changes."""

    provider: Provider
    kubeconfig: Output[str] | None

    def __init__(
        self, name: str, args: ExistingClusterArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the provider."""
        super().__init__("triplane:cluster:ExistingCluster", name, None, opts)
        child = ResourceOptions(parent=self)
        if args.render_to is not None or args.kubeconfig is None:
            self.kubeconfig = None
            self.provider = Provider(
                f"{name}-provider", render_yaml_to_directory=args.render_to, opts=child
            )
        else:
            self.kubeconfig = Output.secret(args.kubeconfig)
            self.provider = Provider(
                f"{name}-provider",
                kubeconfig=self.kubeconfig,
                context=args.context,
                # A kubeconfig changes whenever a token is renewed; the cluster is the same.
                cluster_identifier=args.region,
                enable_server_side_apply=True,
                opts=child,
            )
        self.register_outputs({"kubeconfig": self.kubeconfig})
