"""An EKS cluster that the stack creates, as the settings give it."""

import ipaddress
from typing import Annotated, Final, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from models.core.base import Model

Cidr = Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,3}){3}/\d{1,2}$")]
"""An IPv4 network such as 203.0.113.0/24."""

RoleArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/\S+$")]
"""An IAM role's ARN, its path included."""

_PRIVATE_NETWORKS: Final = tuple(
    ipaddress.IPv4Network(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
"""What may be a VPC here: RFC 1918, and RFC 6598 which EKS takes as well."""

_RETENTION_DAYS: Final = frozenset(
    {1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922}
    | {3288, 3653}
)
"""What CloudWatch Logs keeps (API reference, PutRetentionPolicy, retentionInDays)."""

ZONE_LETTERS: Final = "abcdefgh"
"""Letters of the zones of a region; a zone's place in the VPC follows from its letter."""

_PARTITIONS: Final = {"us-gov-": "aws-us-gov"}
_OTHER_PARTITIONS: Final = ("cn-", "us-iso", "eu-iso", "eusc-")
"""Regions whose service names and endpoints differ; nothing here was written for them."""


def _network(key: str, text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        message = f"{key}: {text!r} is not an IPv4 network ({error}); try 10.20.0.0/16"
        raise ValueError(message) from None


class EksClusterSettings(Model):
    """An EKS cluster that the stack makes."""

    kind: Literal["eks"]
    """Says which kind of cluster it is."""
    account_id: Annotated[str, Field(pattern=r"^\d{12}$")]
    """The AWS account that everything is made in: credentials of any other are refused, so that a
    stack never lands in whatever account happens to be current."""
    aws_region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """The AWS region."""
    version: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    """The Kubernetes version of the control plane."""
    cidr: str
    """The VPC's network: a private one of /16 to /20."""
    zones: Annotated[tuple[str, ...], Field(min_length=2)]
    """Names of the availability zones."""
    private_endpoint: bool = True
    """Whether the API is reachable inside the VPC, beside the nodes."""
    private_cidrs: tuple[Cidr, ...] = ()
    """Networks of the VPC, or connected to it, from which the API is reachable; these or
    `public_cidrs` hold the machine that runs pulumi."""
    public_cidrs: tuple[Cidr, ...] = ()
    """Networks from which the API is reachable over the internet."""
    admins: Annotated[tuple[RoleArn, ...], Field(min_length=1)]
    """ARNs of the IAM roles that administer the cluster; the role that runs pulumi is one of them.
    """
    log_retention_days: PositiveInt = 90
    """How long control plane and flow logs are kept (days, one of those that CloudWatch Logs
    takes)."""
    single_nat: bool = False
    """One NAT gateway for all zones: cheaper, and a zone's loss cuts the others off."""
    domain: Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$")] | None = None
    """The Route 53 hosted zone in which `gateway.hostname` is registered; given together with
    `zone_id`, or neither."""
    zone_id: Annotated[str, Field(pattern=r"^Z[A-Z0-9]{4,31}$")] | None = None
    """The hosted zone's id."""

    @property
    def partition(self) -> str:
        """The partition in ARNs of this region."""
        for prefix, partition in _PARTITIONS.items():
            if self.aws_region.startswith(prefix):
                return partition
        return "aws"

    @model_validator(mode="after")
    def partition_is_known(self) -> Self:
        """Service names, endpoints and managed policies differ between partitions."""
        if self.aws_region.startswith(_OTHER_PARTITIONS):
            message = (
                f"region {self.aws_region} is in a partition that this release does not know; "
                "take a commercial or GovCloud region"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def api_is_reachable(self) -> Self:
        """A cluster whose API nobody can reach cannot even be given nodes, or objects."""
        if not self.private_endpoint and not self.public_cidrs:
            message = (
                "private_endpoint is false and public_cidrs is empty, so nothing reaches the API; "
                "set private_endpoint to true, or name the networks that may reach it"
            )
            raise ValueError(message)
        if not self.private_cidrs and not self.public_cidrs:
            message = (
                "private_cidrs and public_cidrs are empty, so only the nodes reach the API; name "
                "the network that pulumi runs in: private_cidrs within the VPC or connected to it, "
                "else public_cidrs"
            )
            raise ValueError(message)
        if self.private_cidrs and not self.private_endpoint:
            message = "private_cidrs reach the private endpoint, and private_endpoint is false"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def private_cidrs_are_networks(self) -> Self:
        """Whatever comes through the private endpoint has a private address."""
        for text in self.private_cidrs:
            network = _network("private_cidrs", text)
            if not any(network.subnet_of(each) for each in _PRIVATE_NETWORKS):
                message = f"private_cidrs: {text!r} is not a private network; see public_cidrs"
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def public_cidrs_are_networks(self) -> Self:
        """A network that is the whole internet, or none, was not meant."""
        for text in self.public_cidrs:
            if _network("public_cidrs", text).prefixlen == 0:
                message = "public_cidrs: 0.0.0.0/0 is everybody; name the networks that you use"
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def cidr_is_a_private_network(self) -> Self:
        """The VPC needs room for subnets by zone and role: a private /16 to /20."""
        network = _network("cidr", self.cidr)
        private = any(network.subnet_of(each) for each in _PRIVATE_NETWORKS)
        if not private or not 16 <= network.prefixlen <= 20:
            message = f"cidr {self.cidr!r} must be a private network of size /16 to /20"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def zones_lie_in_the_region(self) -> Self:
        """Zones are named after their region (us-east-1a); local zones take no control plane."""
        allowed = {f"{self.aws_region}{letter}" for letter in ZONE_LETTERS}
        foreign = [zone for zone in self.zones if zone not in allowed]
        if foreign:
            message = (
                f"zones {foreign} are not availability zones of {self.aws_region}; their names are "
                f"the region's and a letter, such as {self.aws_region}a"
            )
            raise ValueError(message)
        if len(set(self.zones)) < len(self.zones):
            message = f"zones {list(self.zones)} names a zone twice; name each once"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def admins_are_named_once(self) -> Self:
        """Each is one access entry, named after the role."""
        roles = [arn.rsplit("/", 1)[-1] for arn in self.admins]
        twice = sorted({role for role in roles if roles.count(role) > 1})
        if twice:
            message = f"admins names the roles {twice} twice; name each once"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def retention_is_one_of_cloudwatch(self) -> Self:
        """CloudWatch Logs takes some numbers of days only."""
        if self.log_retention_days not in _RETENTION_DAYS:
            message = (
                f"log_retention_days {self.log_retention_days} is none that CloudWatch Logs takes: "
                f"{', '.join(map(str, sorted(_RETENTION_DAYS)))}"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def domain_has_its_zone(self) -> Self:
        """A zone is found by its id: names are not unique, and looking one up asks AWS."""
        if (self.domain is None) != (self.zone_id is None):
            message = (
                "domain and zone_id go together; the id stands beside the hosted zone in Route 53"
            )
            raise ValueError(message)
        return self
