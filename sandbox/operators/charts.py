"""A chart repository of stub charts: upstream's name, version and default values, one Deployment.

The sandbox runs no container, so what a chart installs cannot work there; what can be proven is
that Helm finds the chart, that our values go into its defaults, that the release is waited for and
removed again. Default values are read from the shared data directory when the repository is made
and never copied into the tree; where they are missing, a stub takes any values, with a warning.
"""

import gzip
import io
import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from catalog.loader import load_charts
from catalog.readers.chart_values import VALUES_DIR, default_values
from models.facts.charts import Chart
from sandbox.core.paths import cache_root

STUB_ANNOTATION: Final = "triplane.dev/stub"

_TEMPLATE: Final = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-values
data:
  values.yaml: |
    {{- toYaml .Values | nindent 4 }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 1
  selector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app.kubernetes.io/instance: {{ .Release.Name }}}
    spec:
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: stub
          image: registry.k8s.io/pause:3.10
          resources:
            requests: {cpu: 10m, memory: 16Mi}
            limits: {cpu: 10m, memory: 16Mi}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
"""
"""The values as Helm merged them stand in the ConfigMap, for tests to read."""


def _warn(message: str) -> None:
    print(message, file=sys.stderr)


def repository(
    target: Path | None = None,
    *,
    charts: Mapping[str, Chart] | None = None,
    values_dir: Path = VALUES_DIR,
    say: Callable[[str], None] = _warn,
) -> str:
    """Write a stub of every chart of the catalog; return the setting `mirror.charts` for it.

    The files are `<chart>-<version>.tgz` in `target` (the cache by default), and the same bytes
    each time, so that a second update finds nothing to change.
    """
    folder = (target or cache_root() / "charts").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = load_charts() if charts is None else charts
    values = default_values(values_dir)
    for chart in wanted.values():
        _write(
            folder / f"{chart.chart}-{chart.version}.tgz", _packed(chart, values.get(chart.chart))
        )
    if weak := sorted(chart.name for chart in wanted.values() if chart.chart not in values):
        say(
            f"warning: {len(weak)} stub charts take any values, since {values_dir} has no default "
            f"values for them: {', '.join(weak)}"
        )
    return f"file://{folder}"


def _packed(chart: Chart, values: str | None) -> bytes:
    about = {
        "apiVersion": "v2",
        "name": chart.chart,
        "version": chart.version,
        "description": f"Stub of {chart.chart} for the sandbox",
        "annotations": {STUB_ANNOTATION: "true"},
    }
    files = {
        "Chart.yaml": json.dumps(about),
        "values.yaml": "{}\n" if values is None else values,
        "templates/stub.yaml": _TEMPLATE,
    }
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"{chart.chart}/{name}")
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), mtime=0)


def _write(path: Path, data: bytes) -> None:
    """Replace a file as a whole: several stacks may make the repository at once."""
    if path.is_file() and path.read_bytes() == data:
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(temporary).replace(path)
