"""Helm charts that the platform installs, as the catalogue pins them.

Values are not here: what we set is rendered by `components/render`; what can be set is in
upstream's values file.
"""

from typing import Annotated

from pydantic import Field

from models.base import DnsLabel, Model


class Tested(Model):
    """Another component, and the version that upstream tested with."""

    component: str
    version: str


class Chart(Model):
    """One pinned chart.

    `name` is ours, `chart` upstream's. `repository` is the Helm repository's URL, or the folder of
    an OCI chart (`oci://host/path`), to which the chart's name is added; `unresolved` where no
    source gives it. `tested_with` is what upstream tested this release with; `notes` says what was
    not tested together and why we accept it. `source` says where the rest was read.
    """

    name: DnsLabel
    chart: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
    repository: Annotated[str, Field(pattern=r"^(unresolved|(https|oci)://\S+)$")]
    source: Annotated[str, Field(min_length=1)]
    tested_with: tuple[Tested, ...] = ()
    notes: str = ""
