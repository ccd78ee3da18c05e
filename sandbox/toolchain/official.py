"""An official Pulumi on PATH, used instead of building one when it brings all three parts.

Three parts: a CLI at least as new as ours, its Python language host, and exactly the pinned
Kubernetes provider (another version would give other diffs than the ones the tests know).
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from sandbox.toolchain.table import PROVIDER_VERSION, PULUMI_VERSION

_TIMEOUT_SEC = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Official:
    """The files to link into our bin directory, by the name they must have there."""

    files: Mapping[str, Path]


def find(own_root: Path, search: str | None = None) -> tuple[Official | None, str]:
    """Return the official parts, or None and why not; links into `own_root` are our own."""
    path = os.environ.get("PATH", "") if search is None else search
    pulumi = which(path, "pulumi", own_root)
    if pulumi is None:
        return None, "no official pulumi on PATH"
    version = _cli_version(pulumi)
    if version is None or version < Version(PULUMI_VERSION):
        return None, f"{pulumi} is {version or 'not runnable'}, older than {PULUMI_VERSION}"
    beside = f"{pulumi.resolve().parent}{os.pathsep}{path}"
    host = which(beside, "pulumi-language-python", own_root)
    executor = which(beside, "pulumi-language-python-exec", own_root)
    if host is None or executor is None:
        return None, f"{pulumi} brings no pulumi-language-python"
    provider = _pinned_provider(path, own_root)
    if provider is None:
        return None, f"the Kubernetes provider {PROVIDER_VERSION} is not installed with {pulumi}"
    files = {
        "pulumi": pulumi,
        "pulumi-language-python": host,
        "pulumi-language-python-exec": executor,
        "pulumi-resource-kubernetes": provider,
    }
    return Official(files=files), f"using {pulumi} {version}"


def which(path: str, name: str, own_root: Path) -> Path | None:
    """Find `name` on `path`, skipping what resolves into `own_root` (a nested call of ours)."""
    for folder in path.split(os.pathsep):
        found = shutil.which(name, path=folder) if folder else None
        if found is not None and not _inside(Path(found), own_root):
            return Path(found)
    return None


def _inside(path: Path, root: Path) -> bool:
    root = root.resolve()
    return path.resolve().is_relative_to(root) or path.parent.resolve().is_relative_to(root)


def _cli_version(pulumi: Path) -> Version | None:
    environ = os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(
            [pulumi, "version"],
            capture_output=True,
            text=True,
            check=False,
            env=environ,
            timeout=_TIMEOUT_SEC,
        )
        return Version(re.sub(r"-.*$", "", done.stdout.strip().removeprefix("v")))
    except (OSError, InvalidVersion, subprocess.TimeoutExpired):
        return None


def _pinned_provider(path: str, own_root: Path) -> Path | None:
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    name = "pulumi-resource-kubernetes"
    installed = home / "plugins" / f"resource-kubernetes-v{PROVIDER_VERSION}" / name
    if os.access(installed, os.X_OK):
        return installed
    ambient = which(path, name, own_root)
    if ambient is None:
        return None
    # Not at the top: see that module.
    from sandbox.toolchain.plugin_info import plugin_version

    return ambient if plugin_version(ambient) == PROVIDER_VERSION else None
