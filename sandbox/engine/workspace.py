"""A Pulumi project outside the tree that runs the tree's program.

`pulumi stack init` writes a salt into the stack's settings file and the file backend writes locks
and state; none of that belongs into a checkout. The workspace holds a copy of the project and
settings files, and a link to the program.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import yaml

from sandbox.core.errors import SandboxError
from sandbox.core.paths import PROJECT_ROOT
from sandbox.core.processes import GO_MEMORY
from sandbox.toolchain import Toolchain

_SALT: Final = "encryptionsalt"
_SAFE_VARIABLES: Final = ("KUBECONFIG", "PULUMI_STACK", "PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG")
"""Variables that would point the run at something other than this workspace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    """One stack's project, state and passphrase below `home`, mode 0700."""

    home: Path
    stack: str
    toolchain: Toolchain
    variables: Mapping[str, str]

    @property
    def project(self) -> Path:
        """Where pulumi runs."""
        return self.home / "project"

    def prepare(self, settings: Mapping[str, Any]) -> None:
        """Write project and settings files, keeping the stack's salt, and select the stack."""
        for folder in (self.home, self.project, self.home / "backend"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        link = self.project / "program"
        if not link.is_symlink() or link.readlink() != PROJECT_ROOT:
            link.unlink(missing_ok=True)
            link.symlink_to(PROJECT_ROOT, target_is_directory=True)
        _write_yaml(self.project / "Pulumi.yaml", _project_file())
        path = self.project / f"Pulumi.{self.stack}.yaml"
        written = dict(settings)
        old = _read_yaml(path) if path.exists() else {}
        if _SALT in old:
            written[_SALT] = old[_SALT]
            # Secrets are set here (`pulumi config set --secret`), encrypted with this salt.
            kept = {key: value for key, value in _config(old).items() if _is_secret(value)}
            written["config"] = {**_config(written), **kept}
        _write_yaml(path, written)
        self.run(["stack", "select", "--create", self.stack], quiet=True)

    def settings(self) -> dict[str, Any]:
        """Return the stack's settings file as it stands here, secrets encrypted."""
        return _read_yaml(self.project / f"Pulumi.{self.stack}.yaml")

    def env(self, command: str = "") -> dict[str, str]:
        """Return the environment of a pulumi command of this workspace."""
        # A command lives for seconds: until a gigabyte is used, collecting garbage gains nothing.
        env = {**GO_MEMORY, **self.toolchain.env()}
        for name in _SAFE_VARIABLES:
            env.pop(name, None)
        env["PULUMI_BACKEND_URL"] = f"file://{self.home / 'backend'}"
        env["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(self._passphrase())
        env.pop("PULUMI_CONFIG_PASSPHRASE", None)
        env["PULUMI_ERROR_OUTPUT_STRING"] = "true"
        if command == "preview":
            # A preview's checkpoints go nowhere, yet the engine serializes the whole state for
            # every step. An update must write each of them: a killed one resumes from the last.
            env["PULUMI_SKIP_CHECKPOINTS"] = "true"
        return {**env, **self.variables}

    def run(
        self,
        arguments: Sequence[str],
        *,
        quiet: bool = False,
        on_start: Callable[["subprocess.Popen[str]"], None] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run pulumi; with `quiet` its output is kept and shown only on failure.

        Raises `SandboxError` on a non-zero exit code.
        """
        done = self.attempt(arguments, quiet=quiet, on_start=on_start)
        if done.returncode != 0:
            detail = f"\n{done.stdout}{done.stderr}" if quiet else ""
            message = f"pulumi {' '.join(arguments[:2])} ended with {done.returncode}{detail}"
            raise SandboxError(message)
        return done

    def attempt(
        self,
        arguments: Sequence[str],
        *,
        quiet: bool = False,
        log: Path | None = None,
        on_start: Callable[["subprocess.Popen[str]"], None] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run pulumi and return what came of it, whatever the exit code.

        With `log` its output goes to that file, written anew.
        """
        command = [str(self.toolchain.path("pulumi")), "--non-interactive", *arguments]
        sys.stdout.flush()
        pipe = nullcontext(subprocess.PIPE if quiet else None)
        with pipe if log is None else log.open("w") as kept:
            process = subprocess.Popen(
                command,
                cwd=self.project,
                env=self.env(arguments[0]),
                stdout=kept,
                stderr=kept,
                text=True,
            )
            if on_start is not None:
                on_start(process)
            out, err = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out or "", err or "")

    def _passphrase(self) -> Path:
        path = self.home / "passphrase"
        if not path.exists():
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(24))
        return path


def _config(settings: Mapping[str, Any]) -> dict[str, Any]:
    return dict(settings.get("config") or {})


def _is_secret(value: object) -> bool:
    return isinstance(value, dict) and "secure" in value


def _project_file() -> dict[str, Any]:
    project = _read_yaml(PROJECT_ROOT / "Pulumi.yaml")
    return {
        **project,
        "main": "program/",
        "runtime": {"name": "python", "options": {"virtualenv": str(_environment())}},
    }


def _environment() -> Path:
    """Return the virtual environment that this process runs in."""
    return Path(sys.prefix)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        read: object = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        message = f"{path.name} cannot be read: {error}"
        raise SandboxError(message) from error
    if not isinstance(read, dict):
        message = f"{path.name} must be a YAML mapping"
        raise SandboxError(message)
    return cast("dict[str, Any]", read)


def read_settings(path: Path) -> dict[str, Any]:
    """Return a stack's settings file (Pulumi.<stack>.yaml) as it stands."""
    if not path.exists():
        message = f"there is no stack file {path.name}; stacks have one at the project's root"
        raise SandboxError(message)
    return _read_yaml(path)


def _write_yaml(path: Path, value: Mapping[str, Any]) -> None:
    # JSON is YAML, and what Pulumi rewrites of it (the salt) it rewrites as YAML.
    path.write_text(json.dumps(value, indent=2, default=str))
