"""Drills on a running stack.

`python -m sandbox.aws lose-zone|lose-api|delete-node-group|faults --stack NAME`
"""

import argparse
import sys

from sandbox.aws.clusters import drills
from sandbox.aws.core import faults
from sandbox.aws.core.errors import StandInError
from sandbox.aws.core.home import StandInHome, require_switch
from sandbox.core.errors import SandboxError
from sandbox.core.paths import sandboxes_home


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox.aws", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    zone = commands.add_parser("lose-zone", help="remove a zone's nodes and let none be had there")
    zone.add_argument("--zone", required=True)
    api = commands.add_parser("lose-api", help="stop a region's API servers, data kept")
    api.add_argument("--region", required=True)
    gone = commands.add_parser("delete-node-group", help="delete it beside the stack")
    gone.add_argument("--cluster", required=True)
    gone.add_argument("--node-group", required=True)
    shown = commands.add_parser("faults", help="print the injected faults, or remove them")
    shown.add_argument("--clear", action="store_true")
    for each in (zone, api, gone, shown):
        each.add_argument("--stack", required=True, help="the stack's name (prod)")
    return parser


def _run(arguments: argparse.Namespace) -> list[str]:
    home = StandInHome(root=sandboxes_home() / f"{arguments.stack}.aws")
    if not home.config.exists():
        message = f"stack {arguments.stack} has no AWS stand-in: SANDBOX=1 make up starts one"
        raise StandInError(message)
    if arguments.command == "lose-zone":
        return [f"lost node {name}" for name in drills.lose_zone(home, arguments.zone)]
    if arguments.command == "lose-api":
        return [f"lost the API of {name}" for name in drills.lose_api(home, arguments.region)]
    if arguments.command == "delete-node-group":
        drills.delete_node_group(home, arguments.cluster, arguments.node_group)
        return [f"deleted node group {arguments.node_group}"]
    if arguments.clear:
        faults.write(home.faults)
    return [each.model_dump_json() for each in faults.read(home.faults)]


def main() -> int:
    """Run one drill; errors are lines, not tracebacks."""
    arguments = _parser().parse_args()
    try:
        require_switch()
        for line in _run(arguments):
            sys.stdout.write(f"{line}\n")
    except SandboxError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
