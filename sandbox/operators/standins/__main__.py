"""`python -m sandbox.operators.standins --kubeconfig FILE`: run the stand-ins until ended."""

import argparse
from pathlib import Path

from sandbox.core.kube import clients
from sandbox.operators.standins.runner import Runner


def main() -> None:
    """Read a kubeconfig with token and CA inline and run."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.operators.standins", description=__doc__
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    with clients(parser.parse_args().kubeconfig) as new_api:
        Runner(new_api).run()


if __name__ == "__main__":
    main()
