"""Keeps derived schemas beside the toolchain: deriving imports the SDK, which takes seconds.

A file is named by what it was made from (SDK version, this package's code, the types), so it is
never out of date. A provider process that finds it imports no pulumi_aws at all.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from sandbox.aws.schema.types import TypeSchema, from_json, to_json
from sandbox.core.paths import cache_root

_CODE = ("derive.py", "types.py")


def load(classes: Mapping[str, str]) -> dict[str, TypeSchema]:
    """Return the schema of each token of `classes` (token to SDK class, "ec2.Vpc")."""
    path = cache_root() / "aws-schema" / f"{_digest(classes)}.json"
    if path.exists():
        raw = json.loads(path.read_text())
        return {token: from_json(each) for token, each in raw.items()}
    from sandbox.aws.schema.derive import derive

    found = {token: derive(name) for token, name in sorted(classes.items())}
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps({token: to_json(each) for token, each in found.items()}))
    partial.replace(path)
    return found


def _digest(classes: Mapping[str, str]) -> str:
    digest = hashlib.sha256(version("pulumi-aws").encode())
    digest.update(json.dumps(dict(classes), sort_keys=True).encode())
    for name in _CODE:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()[:16]
