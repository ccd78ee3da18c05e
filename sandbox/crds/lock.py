"""Making `catalog/crds.lock` from the shared data directory and its index.

python -m sandbox.crds.lock
"""

import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Final

from sandbox.core.kube import Object
from sandbox.crds.sources import LOCK_PATH, SHARED_DIR, CrdLock, CrdVersion
from sandbox.crds.text import parse, spec_digest

LOCKED_SETS: Final = (
    "argo-cd",
    "cert-manager",
    "envoy-ai-gateway",
    "envoy-gateway-1.8",
    "external-secrets",
    "gateway-api-1.5",
    "inference-extension",
    "keda",
    "kserve",
    "leaderworkerset",
    "llm-d-router",
    "longhorn",
    "minio-operator",
    "node-feature-discovery",
    "nvidia-gpu-operator",
    "prometheus-operator",
)
_RAW: Final = "https://raw.githubusercontent.com"


def make(shared: Path = SHARED_DIR) -> str:
    """Return the text of a lock for everything of `LOCKED_SETS` under `shared`, one CRD a line."""
    with (shared / "INDEX.tsv").open(newline="") as index:
        rows = [
            row
            for row in csv.DictReader(index, delimiter="\t")
            if row["file"].split("/", 1)[0] in LOCKED_SETS
        ]
    entries = sorted((_entry(shared, row) for row in rows), key=lambda entry: entry.file)
    lines = ",\n".join(json.dumps(entry.model_dump(mode="json")) for entry in entries)
    return f'{{"crds": [\n{lines}\n]}}\n'


def _entry(shared: Path, row: dict[str, str]) -> CrdLock:
    data = (shared / row["file"]).read_bytes()
    crd = parse(data, chart=False)[0]
    spec: Object = crd["spec"]
    repository = row["upstream_repo"].removeprefix("github.com/")
    return CrdLock(
        file=row["file"],
        group=spec["group"],
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        scope=spec["scope"],
        versions=tuple(
            CrdVersion(
                name=version["name"],
                served=version["served"],
                storage=version["storage"],
                status="status" in version.get("subresources", {}),
            )
            for version in spec["versions"]
        ),
        url=f"{_RAW}/{repository}/{row['commit']}/{row['path']}",
        ref=row["ref"],
        sha256=hashlib.sha256(data).hexdigest(),
        spec_sha256=spec_digest(crd),
    )


def main() -> int:
    """Write the lock again from the shared data directory."""
    LOCK_PATH.write_text(make())
    sys.stderr.write(f"wrote {LOCK_PATH}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
