"""`Certificates`: who signs for a region's gateway, and the certificate itself."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi import CustomTimeouts, Output, ResourceOptions

from components.core.custom import CustomObject, waiting_for
from components.render.common import metadata
from components.render.secrets import certificates as render
from models.core.names import (
    AUTHORITY,
    GATEWAY_CA_SECRET,
    GATEWAY_NAMESPACE,
    GATEWAY_TLS_SECRET,
    ISSUER,
)
from models.plan.plan import PlannedRegion
from models.settings.certificates import ISSUED, OURS, Issuer

READY_TIMEOUT: Final = "600s"
"""A DNS record takes minutes to be seen by a public authority."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CertificatesArgs:
    """The region; `rendering` is true where no cluster will sign anything."""

    environment: str
    region: PlannedRegion
    rendering: bool = False


class Certificates(pulumi.ComponentResource):
    """Issuer and certificate of the gateway.

    `authority` is the certificate (PEM) that clients check the gateway with; None where they know
    the authority anyway or where nobody of ours signs.
    """

    authority: Output[str] | None

    def __init__(
        self, name: str, args: CertificatesArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the chain from the authority to the gateway; each waits to be ready."""
        super().__init__("triplane:certificates:Certificates", name, None, opts)
        self._name, self._args = name, args
        self.authority = None
        options = args.region.settings.certificates
        if options.issuer in ISSUED:
            issuer = self._issuer()
            self._gateway(issuer)
            if options.issuer in OURS and not args.rendering:
                self.authority = self._authority(issuer)
        self.register_outputs({"authority": self.authority})

    def _issuer(self) -> CustomObject:
        region = self._args.region
        options = region.settings.certificates
        if options.issuer is Issuer.ACME:
            assert region.eks is not None, "checked when the plan was made"
            zone = options.hosted_zone_id or region.eks.zone_id
            assert zone is not None, "checked when the plan was made"
            spec = render.acme_issuer(options, region.eks.aws_region, zone)
            return self._object("issuer", "ClusterIssuer", ISSUER, None, spec, [])
        needed = [self._own_authority()] if options.issuer is Issuer.CA else []
        return self._object("issuer", "ClusterIssuer", ISSUER, None, render.ca_issuer(), needed)

    def _own_authority(self) -> CustomObject:
        """Register the authority that the cluster makes for itself, where cert-manager looks."""
        space = self._args.region.settings.certificates.namespace
        root = self._object(
            "self-signed", "Issuer", render.SELF_SIGNED, space, render.self_signed_issuer(), []
        )
        spec = render.authority(self._args.environment, self._args.region.name)
        return self._object("ca", "Certificate", AUTHORITY, space, spec, [root])

    def _gateway(self, issuer: CustomObject) -> None:
        region = self._args.region
        assert region.gateway.hostname is not None, "checked when the plan was made"
        options = region.settings.certificates
        secret = region.gateway.tls_secret or GATEWAY_TLS_SECRET
        # A public authority decides itself how long its certificates last.
        days = options.duration_days if options.issuer in OURS else None
        spec = render.gateway_certificate(region.gateway.hostname, secret, days)
        self._object("gateway", "Certificate", secret, GATEWAY_NAMESPACE, spec, [issuer])

    def _authority(self, issuer: CustomObject) -> Output[str]:
        """Register the certificate that carries the authority's, and read it once it is there."""
        spec = render.authority_bundle(self._args.region.settings.certificates.duration_days)
        bundle = self._object(
            "bundle", "Certificate", GATEWAY_CA_SECRET, GATEWAY_NAMESPACE, spec, [issuer]
        )
        found = _SecretRead(
            f"{self._name}-bundle-secret",
            GATEWAY_NAMESPACE,
            GATEWAY_CA_SECRET,
            # Unknown until the certificate exists: the first preview has nothing to read.
            bundle.id.apply(lambda _: f"{GATEWAY_NAMESPACE}/{GATEWAY_CA_SECRET}"),
            ResourceOptions(parent=self),
        )
        # The Secret's data is secret as a whole; a certificate is for everybody.
        return Output.unsecret(found.data.apply(_authority_of))

    def _object(
        self,
        role: str,
        kind: str,
        name: str,
        namespace: str | None,
        spec: Mapping[str, object],
        needed: Sequence[pulumi.Resource],
    ) -> CustomObject:
        return CustomObject(
            f"{self._name}-{role}",
            api_version=render.CERTIFICATE_API,
            kind=kind,
            metadata=waiting_for(metadata(name, namespace), "Ready"),
            spec=spec,
            opts=ResourceOptions(
                parent=self,
                depends_on=needed,
                custom_timeouts=CustomTimeouts(create=READY_TIMEOUT, update=READY_TIMEOUT),
            ),
        )


class _SecretRead(pulumi.CustomResource):
    """A Secret that exists, read.

    `Secret.get` gives the provider no inputs, and every refresh would then find the object's name
    as a change.
    """

    data: Output[Mapping[str, str]]

    def __init__(
        self, name: str, namespace: str, secret: str, id: Output[str], opts: ResourceOptions
    ) -> None:
        props = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret, "namespace": namespace},
            "data": None,
        }
        reading = ResourceOptions(id=id, additional_secret_outputs=["data"])
        super().__init__(
            "kubernetes:core/v1:Secret", name, props, ResourceOptions.merge(opts, reading)
        )


def _authority_of(data: Mapping[str, str]) -> str:
    return base64.b64decode(data["ca.crt"]).decode()
