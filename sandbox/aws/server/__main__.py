"""`python -m sandbox.aws.server --port N --home DIR`: moto on the loopback address."""

import argparse
import importlib
import os
import secrets
from pathlib import Path
from typing import Any

# moto reads this once, at import: roles refer to AWS's managed policies, which must exist.
os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"

from moto.core.models import DEFAULT_ACCOUNT_ID
from werkzeug.serving import make_server

from sandbox.aws.core.home import StandInHome, require_switch
from sandbox.aws.server.app import Application


def main() -> None:
    """Serve until the process is ended; all state ends with it."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.aws.server", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--home", type=Path, required=True)
    arguments = parser.parse_args()
    require_switch()
    # By name: this part of moto has no types.
    moto: Any = importlib.import_module("moto.moto_server.werkzeug_app")
    application = Application(
        moto.DomainDispatcherApplication(moto.create_backend_app),
        faults_file=StandInHome(root=arguments.home).faults,
        generation=secrets.token_hex(8),
        account=DEFAULT_ACCOUNT_ID,
    )
    server = make_server(
        "127.0.0.1",
        arguments.port,
        application,
        threaded=True,
        request_handler=moto.MotoRequestHandler,
    )
    server.serve_forever()


if __name__ == "__main__":
    main()
