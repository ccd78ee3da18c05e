"""Makes the virtual environment; run by `make setup` with any Python 3.11 or newer.

Standard library only, since nothing is installed yet. What is missing and cannot be installed from
here is named in one line.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
COMPILED = ("models", "catalog", "cli", "policies", "components", "sandbox")
INSTALL_SWITCH = "TRIPLANE_INSTALL"
"""Environment variable that, set to 1, lets this install a package of the system."""


def say(text: str) -> None:
    """Print one line of progress at once."""
    print(f"setup: {text}", flush=True)


def run(*command: str) -> bool:
    """Run a command; return whether it ended well."""
    return subprocess.run(command, check=False).returncode == 0


def can_make_environments() -> bool:
    """Tell whether this Python brings pip for new environments (Debian splits it off)."""
    probe = "import ensurepip, venv"
    return (
        subprocess.run(
            [sys.executable, "-c", probe], check=False, stderr=subprocess.DEVNULL
        ).returncode
        == 0
    )


def may_install_venv_package(name: str) -> bool:
    """Tell whether Debian's package may be installed; say what to do where it may not.

    Nothing is installed into somebody's system because they happened to be root.
    """
    if shutil.which("apt-get") is None:
        say("this Python cannot make virtual environments: install its venv module, then try again")
        return False
    if os.environ.get(INSTALL_SWITCH) != "1":
        say(
            f"this Python cannot make virtual environments. Install the Debian package {name} "
            f"(apt-get install {name}), or let this command do it as root: {INSTALL_SWITCH}=1 make "
            "setup"
        )
        return False
    if os.geteuid() != 0:
        say(f"only root can install the Debian package {name}: apt-get install {name}")
        return False
    return True


def install_venv_package() -> bool:
    """Install Debian's package for environments, where the user has asked for it."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if not may_install_venv_package(name):
        return False
    say(f"installing the Debian package {name}, as {INSTALL_SWITCH}=1 asks")
    quiet = ("-o", "Dpkg::Use-Pty=0", "-qq")
    return run("apt-get", *quiet, "update") and run("apt-get", *quiet, "install", "-y", name)


def write_launcher(target: Path) -> None:
    """Write `bin/triplane`, which runs the command from this checkout wherever it is called."""
    launcher = target / "bin" / "triplane"
    python = (target / "bin" / "python").absolute()
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{python}" -m cli "$@"\n')
    launcher.chmod(0o755)


def main() -> int:
    """Make the environment given as the first argument and install what the lock file lists."""
    target = Path(sys.argv[1])
    began = time.monotonic()
    if not can_make_environments() and not install_venv_package():
        return 1
    python = target / "bin" / "python"
    if not python.exists() and not run(sys.executable, "-m", "venv", str(target)):
        say(f"could not make {target}; remove it and try again")
        return 1
    count = sum(1 for line in LOCK.read_text().splitlines() if "==" in line)
    say(f"installing {count} packages at the pinned hashes (about a minute the first time)")
    pip = (str(python), "-m", "pip", "--disable-pip-version-check", "--quiet")
    if not run(*pip, "install", "--require-hashes", "-r", str(LOCK)):
        say("a package could not be installed; the lines above say which and why")
        return 1
    write_launcher(target)
    # Compiled once here, the command starts in half the time, also where nobody may write later.
    run(str(python), "-m", "compileall", "-q", *(str(ROOT / name) for name in COMPILED))
    say(f"done in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
