"""`SecretStore`: the Secrets of a namespace, filled from the region's source of secrets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi import CustomTimeouts, Output, ResourceOptions
from pulumi_kubernetes.core.v1 import Secret, ServiceAccount
from pulumi_kubernetes.rbac.v1 import Role, RoleBinding

from components.core.custom import CustomObject, waiting_for
from components.render.common import metadata
from components.render.secrets import secrets as render
from models.plan.plan import PlannedRegion
from models.settings.secrets import SecretsKind, SecretUse, filled

READY_TIMEOUT: Final = "90s"
"""A remote secret is there or it is not; a controller that was just started needs a minute."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretStoreArgs:
    """The region and one of its namespaces, which exists.

    `values` are for kind `config` each secret's properties by its name (secret); None where
    manifests are only rendered.
    """

    region: PlannedRegion
    namespace: str
    values: Mapping[str, Output[Mapping[str, str]]] | None = None


class SecretStore(pulumi.ComponentResource):
    """A store that reads no more than its namespace uses, and the Secrets that come from it."""

    def __init__(
        self, name: str, args: SecretStoreArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register store and ExternalSecrets, or the Secrets themselves for kind `config`."""
        super().__init__("triplane:secrets:SecretStore", name, None, opts)
        self._name, self._args = name, args
        uses = args.region.secrets_in(args.namespace)
        if args.region.settings.secrets.is_store:
            store = self._store(uses)
            for use in uses:
                self._external(use, store)
        elif args.values is not None:
            for use in uses:
                self._secret(use, args.values[use.name])
        self.register_outputs({"secrets": [use.secret for use in uses]})

    def _store(self, uses: Sequence[SecretUse]) -> CustomObject:
        source, region = self._args.region.settings.secrets, self._args.region
        needed: list[pulumi.Resource] = []
        if source.kind is SecretsKind.KUBERNETES:
            needed = self._reader([use.remote for use in uses])
        aws_region = source.aws_region or (None if region.eks is None else region.eks.aws_region)
        return CustomObject(
            f"{self._name}-store",
            api_version=render.STORE_API,
            kind="SecretStore",
            metadata=waiting_for(metadata(render.STORE, self._args.namespace), "Ready"),
            spec=render.secret_store(source, aws_region),
            # The controller tries at once, with the rights that are there then.
            opts=_waiting(self, needed),
        )

    def _reader(self, remotes: list[str]) -> list[pulumi.Resource]:
        """Register the namespace's account and its rights in the source namespace."""
        child = ResourceOptions(parent=self)
        namespace = self._args.namespace
        source = self._args.region.settings.secrets.source_namespace
        account = ServiceAccount(
            f"{self._name}-reader",
            metadata=metadata(render.READER, namespace),
            automount_service_account_token=False,
            opts=child,
        )
        role = Role(
            f"{self._name}-role",
            metadata=metadata(render.reader_name(namespace), source),
            rules=render.reader_rules(remotes),
            opts=child,
        )
        binding = RoleBinding(
            f"{self._name}-binding",
            metadata=metadata(render.reader_name(namespace), source),
            role_ref=render.reader_role(namespace),
            subjects=[render.reader_subject(namespace)],
            # A binding to a Role that does not exist is taken and grants nothing.
            opts=ResourceOptions(parent=self, depends_on=[role]),
        )
        return [account, binding]

    def _external(self, use: SecretUse, store: CustomObject) -> None:
        source = self._args.region.settings.secrets
        CustomObject(
            f"{self._name}-{use.name}",
            api_version=render.STORE_API,
            kind="ExternalSecret",
            metadata=waiting_for(metadata(use.secret, use.namespace), "Ready"),
            spec=render.external_secret(use, source),
            opts=_waiting(self, [store]),
        )

    def _secret(self, use: SecretUse, found: Output[Mapping[str, str]]) -> None:
        Secret(
            f"{self._name}-{use.name}",
            metadata=metadata(use.secret, use.namespace),
            type=use.type,
            string_data=found.apply(lambda properties: filled(use, properties)),
            opts=ResourceOptions(parent=self),
        )


def _waiting(parent: pulumi.Resource, needed: list[pulumi.Resource]) -> ResourceOptions:
    return ResourceOptions(
        parent=parent,
        depends_on=needed,
        custom_timeouts=CustomTimeouts(create=READY_TIMEOUT, update=READY_TIMEOUT),
    )
