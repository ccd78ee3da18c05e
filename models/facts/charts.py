"""Helm charts that the platform installs, as the catalog pins them.

Values are not here: what we set is rendered by `components/render`; what can be set is in
upstream's values file.
"""

from typing import Annotated

from pydantic import Field

from models.core.base import UNRESOLVED, DnsLabel, Model


class Tested(Model):
    """Another component, and the version that upstream tested with."""

    component: str
    version: str


class Chart(Model):
    """One pinned chart.

    `name` is ours, `chart` upstream's. `repository` is the Helm repository's URL, or the folder of
    an OCI chart (`oci://host/path`), to which the chart's name is added; `unresolved` where no
    source gives it. `tested_with` is what upstream tested this release with; `notes` says what was
    not tested together and why we accept it. `source` says where the rest was read. `open_values`
    are maps of the chart's values that upstream leaves empty or shows in comments only, with what
    their keys are.
    """

    name: DnsLabel
    chart: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
    repository: Annotated[str, Field(pattern=r"^(unresolved|(https|oci)://\S+)$")]
    source: Annotated[str, Field(min_length=1)]
    tested_with: tuple[Tested, ...] = ()
    notes: str = ""
    open_values: dict[str, str] = Field(default_factory=dict[str, str])


class ChartSource(Model):
    """What Helm is given: `chart` is a name in `repository`, an OCI reference or a file's path."""

    chart: str
    repository: str | None


def chart_source(chart: Chart, mirror: str | None) -> ChartSource:
    """Return where to read a chart: its own repository, or a mirror that holds all of them.

    A mirror (docs/operators.md) is a Helm repository's URL, an OCI folder, or a directory of
    packed charts, `file:///path` with `<chart>-<version>.tgz` in it; in each, charts keep
    upstream's names. Raises `ValueError` where the catalog has no repository and there is no
    mirror.
    """
    place = chart.repository if mirror is None else mirror
    if place == UNRESOLVED:
        message = (
            f"chart {chart.name!r}: catalog/charts.yaml has no source for its repository; "
            "set mirror.charts to a place that holds it"
        )
        raise ValueError(message)
    if place.startswith("oci://"):
        return ChartSource(chart=f"{place.rstrip('/')}/{chart.chart}", repository=None)
    if place.startswith("file://"):
        folder = place.removeprefix("file://").rstrip("/")
        return ChartSource(chart=f"{folder}/{chart.chart}-{chart.version}.tgz", repository=None)
    return ChartSource(chart=chart.chart, repository=place)
