"""`GatewayRecord`: the gateway's hostname in Route 53."""

import ipaddress
from dataclasses import dataclass
from typing import Final

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws import route53

TTL_SEC: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayRecordArgs:
    """`hostname` in the hosted zone `zone_id`; `address` is the gateway's, a name or an IP.

    `region` tells apart the records of several regions; `aws_region` is what latency is measured
    to.
    """

    zone_id: str
    hostname: str
    region: str
    aws_region: str
    address: Input[str]


class GatewayRecord(pulumi.ComponentResource):
    """One region's record of the hostname.

    It is one of a set that answers with the region nearest to the client, also where there is one
    region, so that a second one replaces nothing.
    """

    fqdn: Output[str]

    def __init__(
        self, name: str, args: GatewayRecordArgs, opts: ResourceOptions | None = None
    ) -> None:
        """Register the record."""
        super().__init__("triplane:aws:GatewayRecord", name, None, opts)
        address = Output.from_input(args.address)
        record = route53.Record(
            f"{name}-record",
            zone_id=args.zone_id,
            name=args.hostname,
            type=address.apply(record_type),
            ttl=TTL_SEC,
            records=[address],
            set_identifier=args.region,
            latency_routing_policies=[{"region": args.aws_region}],
            opts=ResourceOptions(parent=self),
        )
        self.fqdn = record.fqdn
        self.register_outputs({"fqdn": self.fqdn})


def record_type(address: str) -> str:
    """Return the type of a record with this content: load balancers on AWS have names."""
    try:
        ipaddress.IPv4Address(address)
    except ValueError:
        return "CNAME"
    return "A"
