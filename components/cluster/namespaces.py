"""`Namespaces`: our namespaces, their Pod Security level, accounts and network policies."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace, ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy

from components.core.guard import guarded
from components.render.cluster import namespaces as render
from components.render.common import metadata
from models.core.names import ENGINE_ACCOUNT, MODELS_NAMESPACE, OPERATORS_ANNOTATION, SEED_ACCOUNT
from models.settings.options import Operators


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespacesArgs:
    """`engine_port` is where the gateway and Prometheus may reach engines.

    `operators` says who installs the region's operators.
    """

    engine_port: int
    operators: Operators = Operators.EXTERNAL


class Namespaces(pulumi.ComponentResource):
    """Restricted namespaces in which nothing may connect to anything unless a policy says so."""

    namespaces: Mapping[str, Namespace]

    def __init__(
        self, name: str, args: NamespacesArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register namespaces, service accounts and network policies."""
        super().__init__("triplane:namespaces:Namespaces", name, None, opts)
        noted = {OPERATORS_ANNOTATION: args.operators.value}
        self.namespaces = {
            space: Namespace(
                f"{name}-{space}",
                metadata=metadata(space, labels=render.labels(), annotations=noted),
                # The only place where an update sees who installed the operators before it.
                opts=ResourceOptions(
                    parent=self, hooks=guarded(f"{name}-{space}", f"Namespace/{space}", ())
                ),
            )
            for space in render.RESTRICTED
        }
        models = ResourceOptions(parent=self, depends_on=[self.namespaces[MODELS_NAMESPACE]])
        for account in (ENGINE_ACCOUNT, SEED_ACCOUNT):
            ServiceAccount(
                f"{name}-{account}",
                metadata=metadata(account, MODELS_NAMESPACE),
                automount_service_account_token=False,
                opts=models,
            )
        NetworkPolicy(
            f"{name}-deny-ingress",
            metadata=metadata("deny-ingress", MODELS_NAMESPACE),
            spec=render.deny_ingress(),
            opts=models,
        )
        NetworkPolicy(
            f"{name}-allow-engines",
            metadata=metadata("allow-engines", MODELS_NAMESPACE),
            spec=render.allow_engines(args.engine_port),
            opts=models,
        )
        self.register_outputs({"namespaces": list(self.namespaces)})
