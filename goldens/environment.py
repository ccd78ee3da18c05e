"""The oracle's own virtual environment, outside the tree: one for each engine release.

    <cache>/goldens/<version>/venv           the engine from the package registry, several GB
    <cache>/goldens/<version>/libcuda.so.1   a driver without a device, where the machine has none
    <cache>/goldens/<version>/answers.jsonl  what the oracle has said, so that a run can go on

`<cache>` is `$TRIPLANE_CACHE`, else `$XDG_CACHE_HOME/triplane`, else `~/.cache/triplane`.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
ROOT: Final = _HERE.parent
_NEEDED_GB: Final = 15


class OracleError(Exception):
    """The oracle cannot be set up or run here; the text says what to do."""


def home(version: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of one engine release's oracle."""
    env = os.environ if environ is None else environ
    if own := env.get("TRIPLANE_CACHE"):
        cache = Path(own).expanduser().absolute()
    elif shared := env.get("XDG_CACHE_HOME"):
        cache = Path(shared).expanduser().absolute() / "triplane"
    else:
        cache = Path.home() / ".cache" / "triplane"
    return cache / "goldens" / version


def python_of(version: str) -> Path:
    """Return the interpreter of a release's environment; make the environment where it is missing.

    Raises:
        OracleError: where there is no room, no lock file, or the installation fails.

    """
    folder = home(version)
    python = folder / "venv" / "bin" / "python"
    stamp = folder / "venv" / ".installed"
    lock = _HERE / "requirements" / f"{version}.txt"
    wanted = _text(lock)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free / 1e9
    if free < _NEEDED_GB:
        raise OracleError(f"{_NEEDED_GB} GB are needed in {folder}, {free:.0f} are free")
    tool = _installer(folder)
    _run(tool, "venv", "--quiet", "--allow-existing", str(folder / "venv"))
    _run(tool, "pip", "install", "--python", str(python), "--compile-bytecode", "-r", str(lock))
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _installer(folder: Path) -> str:
    """Return the path of uv: the machine's own, or one in an environment below `folder`.

    It is needed here only, so set-up does not bring it.

    Raises:
        OracleError: where it cannot be installed.

    """
    own = shutil.which("uv")
    if own is not None:
        return own
    place = folder / "uv"
    if not (place / "bin" / "uv").exists():
        _run(sys.executable, "-m", "venv", str(place))
        _run(str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv")
    return str(place / "bin" / "uv")


def driver_of(version: str) -> Path | None:
    """Return the stub of libcuda.so.1, compiled where it is missing; None where a driver exists.

    Raises:
        OracleError: where neither a driver nor a C compiler is there.

    """
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        return None
    target, source = home(version) / "libcuda.so.1", _HERE / "oracle" / "libcuda.c"
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return target
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise OracleError("libcuda.so.1 is missing and there is no C compiler for a stub of it")
    name = "-Wl,-soname,libcuda.so.1"
    target.parent.mkdir(parents=True, exist_ok=True)
    _run(compiler, "-shared", "-fPIC", "-O1", name, "-o", str(target), str(source))
    return target


def _text(lock: Path) -> str:
    if not lock.exists():
        known = ", ".join(sorted(path.stem for path in lock.parent.glob("*.txt")))
        raise OracleError(f"{lock.name} is missing in {lock.parent.name}/; there are: {known}")
    return lock.read_text(encoding="utf-8")


def _run(*command: str) -> None:
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        tail = "\n".join(ended.stderr.strip().splitlines()[-15:])
        raise OracleError(f"{Path(command[0]).name} failed:\n{tail}")
