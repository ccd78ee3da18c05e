"""How the catalog's files are laid out, where that differs from the types they become.

Only `catalog/loader.py` uses these; the rest of the project sees the types of `models`.
"""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from models.core.base import DnsLabel, Model
from models.facts.accelerators import Accelerator, InstanceType
from models.facts.charts import Chart
from models.facts.contract import Image, RemovedFlag, RemovedMetric

Source = Annotated[str, Field(min_length=1)]
"""Where a figure was read. The catalog has no figure without one."""


class AcceleratorsFile(Model):
    """`accelerators.yaml`."""

    accelerators: tuple[Accelerator, ...]


class InstancesFile(Model):
    """`instances.yaml`: machines without GPUs."""

    instance_types: tuple[InstanceType, ...]


class ImageRow(Model):
    """An image with the source of its digest (or of what is known about it)."""

    name: DnsLabel
    image: Image
    source: Source
    notes: str = ""


class ImagesFile(Model):
    """`images.yaml`: images that are not an engine's."""

    images: tuple[ImageRow, ...]


class PriceRow(Model):
    """What a thing costs on demand in one region, or why there is no figure."""

    item: str
    region: str
    usd: PositiveFloat | Literal["unresolved", "not_offered"]
    unit: Literal["hour", "gb-month", "gb"]
    date: str
    source: Source


class PricesFile(Model):
    """`prices.yaml`. `sources` holds the long form of what a row's `source` names."""

    sources: dict[str, str]
    prices: tuple[PriceRow, ...]


class ChartsFile(Model):
    """`charts.yaml`."""

    charts: tuple[Chart, ...]


class RemovalsFile(Model):
    """`removals.yaml`: what some release no longer has. See the file for how a contract uses it."""

    flags: tuple[RemovedFlag, ...]
    metrics: tuple[RemovedMetric, ...]
