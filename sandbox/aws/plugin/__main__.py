"""`pulumi-resource-aws` as the stand-in plays it: a gRPC server that the engine starts and stops.

The engine reads a port from the first line and ends the plugin with SIGINT; the handler ends at
once and silently, since that is how every command ends (see sandbox/engine/language_host.py).
"""

import os
import signal


def _quit(*_: object) -> None:
    os._exit(0)


if __name__ == "__main__":
    # Before the imports below, which take a second: see sandbox/engine/language_host.py.
    signal.signal(signal.SIGINT, _quit)
    signal.signal(signal.SIGTERM, _quit)

import argparse  # noqa: E402 - after the signal handlers
import sys  # noqa: E402 - after the signal handlers
import time  # noqa: E402 - after the signal handlers
from pathlib import Path  # noqa: E402 - after the signal handlers

from sandbox.aws.core.home import StandInHome, require_switch  # noqa: E402 - after the signal handlers
from sandbox.aws.plugin.service import serve  # noqa: E402 - after the signal handlers
from sandbox.core.errors import SandboxError  # noqa: E402 - after the signal handlers

_NOT_OURS = ("AWS_", "PULUMI_")


def _forget_the_user() -> None:
    """Take away what boto3 would read of somebody's own AWS set-up, and what names this run.

    Control planes outlive the run that starts them: with its variables in their environment they
    would be taken for what a killed run left behind (sandbox/engine/recovery.py).
    """
    for name in [name for name in os.environ if name.startswith(_NOT_OURS)]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.devnull
    os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"


def main() -> int:
    """Print the port, then serve until a signal, or until the engine's process is gone."""
    engine_process = os.getppid()
    parser = argparse.ArgumentParser(prog="pulumi-resource-aws", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="the stand-in's folder")
    arguments, _ = parser.parse_known_args()
    try:
        require_switch()
    except SandboxError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _forget_the_user()
    server, port = serve(StandInHome(root=arguments.home))
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    while os.getppid() == engine_process:
        time.sleep(0.5)
    server.stop(None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
