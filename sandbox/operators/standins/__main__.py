"""`python -m sandbox.operators.standins --kubeconfig FILE`: run the stand-ins until ended."""

import argparse
import base64
import tempfile
from pathlib import Path

import yaml

from sandbox.core.kube import Api, Object
from sandbox.operators.standins.runner import Runner


def main() -> None:
    """Read a kubeconfig with token and CA inline and run."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.operators.standins", description=__doc__
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    config: Object = yaml.safe_load(parser.parse_args().kubeconfig.read_text())
    cluster: Object = config["clusters"][0]["cluster"]
    token: str = config["users"][0]["user"]["token"]
    with tempfile.NamedTemporaryFile(suffix=".crt") as ca:
        ca.write(base64.b64decode(cluster["certificate-authority-data"]))
        ca.flush()
        Runner(lambda: Api(cluster["server"], token, Path(ca.name))).run()


if __name__ == "__main__":
    main()
