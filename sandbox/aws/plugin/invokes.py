"""The four data sources that programs ask before they create anything."""

from collections.abc import Callable, Mapping
from typing import Final

from sandbox.aws.core.api import Aws
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.values import Props


def _caller_identity(aws: Aws, _: Props) -> Props:
    told = aws.call("sts", "get_caller_identity")
    account = str(told["Account"])
    return {"accountId": account, "arn": told["Arn"], "id": account, "userId": told["UserId"]}


def _partition(_aws: Aws, _: Props) -> Props:
    return {
        "id": "aws",
        "partition": "aws",
        "dnsSuffix": "amazonaws.com",
        "reverseDnsPrefix": "com.amazonaws",
    }


def _region(aws: Aws, arguments: Props) -> Props:
    name = str(arguments.get("region") or arguments.get("name") or aws.region)
    return {
        "id": name,
        "name": name,
        "region": name,
        "endpoint": f"ec2.{name}.amazonaws.com",
        "description": name,
    }


def _zones(aws: Aws, arguments: Props) -> Props:
    told = aws.call("ec2", "describe_availability_zones")["AvailabilityZones"]
    state = arguments.get("state")
    zones = sorted(
        (each for each in told if state in (None, each["State"])), key=lambda each: each["ZoneName"]
    )
    return {
        "id": aws.region,
        "region": aws.region,
        "names": [each["ZoneName"] for each in zones],
        "zoneIds": [each["ZoneId"] for each in zones],
        "groupNames": [aws.region],
        "state": state,
    }


INVOKES: Final[Mapping[str, Callable[[Aws, Props], Props]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": _caller_identity,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
}


def invoke(aws: Aws, token: str, arguments: Props) -> Props:
    """Answer a data source; raises `StandInError` for one that is not covered."""
    call = INVOKES.get(token)
    if call is None:
        message = (
            f"the AWS stand-in does not answer the data source {token}; it answers "
            f"{', '.join(sorted(INVOKES))}"
        )
        raise StandInError(message)
    return call(aws.elsewhere(arguments.get("region")), arguments)
