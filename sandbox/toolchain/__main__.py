"""`python -m sandbox.toolchain [--print-bin]`: build what is missing and say where it is."""

import argparse
import os
import shlex
import sys

from sandbox import toolchain


def main() -> int:
    """Run the command; 0 when every tool is ready, 3 with one message when not."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.toolchain", description=__doc__)
    parser.add_argument(
        "--print-bin", action="store_true", help="print the directory to put first on PATH"
    )
    parser.add_argument(
        "--print-env", action="store_true", help="print what a shell needs to run pulumi, for eval"
    )
    args = parser.parse_args()
    try:
        tools = toolchain.ensure()
    except toolchain.ToolchainError as error:
        sys.stderr.write(f"toolchain: {error}\n")
        return 3
    if args.print_bin:
        sys.stdout.write(f"{tools.bin_dir}\n")
    if args.print_env:
        changed = tools.env().items() - os.environ.items()
        for name, value in sorted(changed):
            sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
