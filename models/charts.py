"""Helm charts that the platform installs, as the catalogue pins them.

Values are not here: what we set is rendered by `components/render` and what can be set is upstream's
values file.
"""

from typing import Annotated

from pydantic import Field

from models.base import DnsLabel, Model


class Chart(Model):
    """One pinned chart.

    `name` is ours, `chart` upstream's. `repository` is the Helm repository's URL, or the folder of an
    OCI chart (`oci://host/path`, to which the chart's name is added). `tested_with` maps another
    component to the version that upstream tested this one with; `notes` says what was not tested
    together and why it is accepted.
    """

    name: DnsLabel
    chart: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
    repository: Annotated[str, Field(pattern=r"^(https|oci)://[^\s]+$")]
    source: Annotated[str, Field(min_length=1)]
    tested_with: dict[str, str] = {}
    notes: str = ""
