"""What a stack on AWS finds there: hosted zones and secrets, which somebody else keeps.

The sandbox makes them up once, before the first command, and they are not the stack's: a destroy
leaves them.
"""

from collections.abc import Callable, Iterator

from models.settings.eks import EksClusterSettings
from models.settings.regions import RegionSettings
from models.settings.secrets import SecretsKind
from models.settings.settings import Settings
from sandbox.aws.core.api import Aws
from sandbox.aws.server.zones import REFERENCE
from sandbox.operators.controllers.sources import provide_in_aws, uses

Place = tuple[RegionSettings, EksClusterSettings, Aws]
_NO_ZONE = ("NoSuchHostedZone",)


def provide(places: Iterator[Place], settings: Settings) -> None:
    """Make what is missing."""
    for region, cluster, aws in places:
        if cluster.zone_id is not None and cluster.domain is not None:
            _provide_zone(aws, cluster.zone_id, cluster.domain)
        client = aws.elsewhere(region.secrets.aws_region).client("secretsmanager")
        provide_in_aws(client, region, settings.gateway, settings.environment.value)


def names(places: Iterator[Place], settings: Settings) -> Callable[[str], bool]:
    """Return whether a line of `inventory.left` is about something that was given."""
    known: set[str] = set()
    for region, cluster, _ in places:
        if region.secrets.kind is SecretsKind.AWS:
            wanted = uses(region, settings.gateway, settings.environment.value)
            known |= {f"secret {name}" for name in wanted}
        known.add(f"hosted zone {cluster.zone_id}")
    return known.__contains__


def _provide_zone(aws: Aws, identity: str, name: str) -> None:
    if aws.find("route53", "get_hosted_zone", _NO_ZONE, Id=identity) is None:
        wanted = f"{REFERENCE}{identity}"
        aws.call("route53", "create_hosted_zone", Name=name, CallerReference=wanted)
