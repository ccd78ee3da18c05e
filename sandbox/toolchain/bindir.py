"""The flat directory that goes first on PATH, and the plugins that Pulumi must find.

A directory is made once per content (tools, interpreter, language host) and never changed, so a
command that runs while another build finishes keeps the tools it started with.

Pulumi warns about every plugin that it finds on PATH, in every command, unless it is bundled:
beside the executable itself. So `pulumi` is a hard link and not a symbolic one, with the language
host beside it; and the provider, which cannot be bundled, is put where Pulumi installs plugins.
"""

import hashlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HOST_FILES: Final = ("language_host.py", "program_runner.py")
PROVIDER: Final = "pulumi-resource-kubernetes"
_HOST_NAME: Final = "pulumi-language-python"
_HOST_DIR: Final = Path(__file__).resolve().parent.parent / "engine"


def ensure(root: Path, files: Mapping[str, Path]) -> Path:
    """Return a directory under `root` with a link per entry of `files`.

    The small language host is added where `files` brings none. It is copied, not linked: two
    clones of the project may share the cache, and one of them may go away.
    """
    content = {name: str(path) for name, path in sorted(files.items())} | {"layout": "2"}
    own_host = _HOST_NAME not in files
    if own_host:
        content["interpreter"] = sys.executable
        for name in _HOST_FILES:
            content[name] = hashlib.sha256((_HOST_DIR / name).read_bytes()).hexdigest()
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    final = root / digest
    if not final.exists():
        partial = root / f".{digest}.{os.getpid()}"
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "bin").mkdir(parents=True)
        (partial / "plugins").mkdir()
        for name, path in files.items():
            _link(path, partial / ("plugins" if name == PROVIDER else "bin") / name)
        if own_host:
            _add_host(partial, final)
        _publish(partial, final)
    return final / "bin"


def _link(source: Path, target: Path) -> None:
    if target.name == "pulumi":
        try:
            target.hardlink_to(source.resolve())
        except OSError:
            # Another file system: then with a warning about the language host, but it works.
            target.symlink_to(source)
    else:
        target.symlink_to(source)


def install_plugin(bin_dir: Path, home: Path, version: str) -> None:
    """Link the provider to where a Pulumi with PULUMI_HOME=`home` looks for plugins."""
    source = plugins_dir(bin_dir) / PROVIDER
    target = home / "plugins" / f"resource-kubernetes-v{version}" / PROVIDER
    if target.is_symlink() and target.readlink() == source:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{PROVIDER}.{os.getpid()}")
    partial.symlink_to(source)
    partial.replace(target)


def plugins_dir(bin_dir: Path) -> Path:
    """Return the directory of the plugins that are not bundled, for a PATH."""
    return bin_dir.parent / "plugins"


def _add_host(partial: Path, final: Path) -> None:
    (partial / "lib").mkdir()
    for name in _HOST_FILES:
        shutil.copyfile(_HOST_DIR / name, partial / "lib" / name)
    script = partial / "bin" / _HOST_NAME
    # -P keeps the script's own folder off sys.path; exec keeps the process that Pulumi signals.
    command = shlex.join([sys.executable, "-P", str(final / "lib" / "language_host.py")])
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o755)


def _publish(partial: Path, final: Path) -> None:
    try:
        partial.rename(final)
    except OSError:
        # Somebody else finished the same directory first; equal names mean equal content.
        shutil.rmtree(partial, ignore_errors=True)
        if not final.exists():
            raise
