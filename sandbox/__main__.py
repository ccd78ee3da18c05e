"""`python -m sandbox start|stop|status|kubeconfig --name NAME`: the sandbox by hand."""

import argparse
import sys
from pathlib import Path

from sandbox.cluster import cluster, nodes
from sandbox.core.errors import SandboxError
from sandbox.crds import sources as crds
from sandbox.toolchain import ToolchainError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "start": "start it, or make it match: only what differs is touched",
        "stop": "end its processes",
        "status": "show its processes and where its data is",
        "kubeconfig": "print the path of the administrator's kubeconfig",
    }
    made = {name: commands.add_parser(name, help=text) for name, text in texts.items()}
    for command in made.values():
        command.add_argument("--name", default="dev", help="which sandbox (default: dev)")
    made["start"].add_argument("--nodes", type=Path, help="JSON list of nodes to simulate")
    made["start"].add_argument(
        "--crds",
        default=",".join(crds.DEFAULT_SETS),
        help="comma-separated CRD sets of catalog/crds.lock (default: %(default)s)",
    )
    made["stop"].add_argument("--purge", action="store_true", help="delete its data too")
    return parser


def _show(status: cluster.Status) -> int:
    if not status.exists:
        sys.stdout.write(f"sandbox {status.name}: there is none\n")
        return 1
    for name, pid in status.processes.items():
        state = "stopped" if pid is None else f"running (pid {pid})"
        sys.stdout.write(f"{name:26}{state:24}{status.home / 'logs' / name}.log\n")
    return 0 if status.running else 1


def _run(args: argparse.Namespace) -> int:
    if args.command == "start":
        specs = nodes.read_file(args.nodes) if args.nodes else ()
        sets = [part for part in args.crds.split(",") if part]
        cluster.start(args.name, specs, crd_sets=sets)
    elif args.command == "stop":
        cluster.stop(args.name, purge=args.purge)
    elif args.command == "status":
        return _show(cluster.status(args.name))
    else:
        sys.stdout.write(f"{cluster.kubeconfig(args.name)}\n")
    return 0


def main() -> int:
    """Run one command; 0 good, 1 not running (status), 3 failed with one message."""
    try:
        return _run(_parser().parse_args())
    except (SandboxError, ToolchainError) as error:
        sys.stderr.write(f"sandbox: {error}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
