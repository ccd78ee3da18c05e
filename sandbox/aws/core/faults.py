"""Faults that tests and drills inject: a file in the stand-in's home, read at each call.

Only the stand-in reads it; nothing of the product knows of it. docs/stand-in.md has the list.
"""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, TypeAdapter, ValidationError

from sandbox.aws.core.errors import StandInError


class _Fault(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Throttle(_Fault):
    """AWS refuses the next `times` calls of a service's operation (or of all) as too many."""

    kind: Literal["throttle"]
    service: str
    operation: str = "*"
    times: NonNegativeInt


class NoCapacity(_Fault):
    """There is no machine of a type in a zone (`*` for every zone)."""

    kind: Literal["insufficient-capacity"]
    instance_type: str
    zone: str = "*"


class GroupFails(_Fault):
    """A node group (a pattern such as `*gpu-l4*`) ends as CREATE_FAILED."""

    kind: Literal["node-group-fails"]
    node_group: str
    reason: str = "AccessDenied: the node role cannot be assumed"


class RegionUnreachable(_Fault):
    """Nothing of a region's API answers."""

    kind: Literal["region-unreachable"]
    region: str


class ZoneLost(_Fault):
    """A zone's machines are gone, and none can be had there."""

    kind: Literal["zone-lost"]
    zone: str


Fault = Annotated[
    Throttle | NoCapacity | GroupFails | RegionUnreachable | ZoneLost, Field(discriminator="kind")
]
_FILE: Final = TypeAdapter(tuple[Fault, ...])


def read(path: Path) -> tuple[Fault, ...]:
    """Return the faults of a file; none where it is absent.

    Raises `StandInError` where it cannot be read: a drill that is not what it says proves nothing.
    """
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        message = f"the faults file {path} cannot be used: {error}"
        raise StandInError(message) from error


def write(path: Path, *faults: Fault) -> None:
    """Replace the faults of a file; with none, remove it."""
    if not faults:
        path.unlink(missing_ok=True)
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(_FILE.dump_json(faults))
    partial.replace(path)


def unreachable(faults: tuple[Fault, ...], region: str) -> bool:
    """Tell whether a region's API is out of reach."""
    return any(isinstance(each, RegionUnreachable) and each.region == region for each in faults)


def failing_reason(faults: tuple[Fault, ...], node_group: str) -> str | None:
    """Return why a node group cannot be created; None where it can."""
    for each in faults:
        if isinstance(each, GroupFails) and fnmatchcase(node_group, each.node_group):
            return each.reason
    return None


def missing_zones(faults: tuple[Fault, ...], instance_type: str, zones: list[str]) -> Iterator[str]:
    """Yield the zones where no machine of a type can be had."""
    for zone in zones:
        for each in faults:
            lost = isinstance(each, ZoneLost) and each.zone == zone
            if lost or (
                isinstance(each, NoCapacity)
                and each.instance_type == instance_type
                and each.zone in ("*", zone)
            ):
                yield zone
                break
