"""`python -m sandbox.dataplane.pods`: engines for all engine pods of one API server."""

import argparse
import asyncio
import signal
from pathlib import Path

from aiohttp import web

from catalog.loader import load
from sandbox.core.kube import clients
from sandbox.dataplane.engines.addresses import AddressFile
from sandbox.dataplane.pods.supervisor import EngineSupervisor
from sandbox.dataplane.pods.watching import PodWatch


async def watch(kubeconfig: Path, addresses: AddressFile, control_port: int) -> None:
    """Run until SIGTERM or SIGINT. The control side answers `/healthz` too."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    with clients(kubeconfig) as new_api:
        # What an earlier process wrote is of ports that nobody listens on.
        addresses.write({})
        supervisor = EngineSupervisor(new_api, load().engines, addresses)
        control = web.AppRunner(supervisor.fleet.application(), access_log=None)
        await control.setup()
        await web.TCPSite(control, "127.0.0.1", control_port).start()
        PodWatch(new_api, supervisor.changed).start()
        await ended.wait()
        await control.cleanup()


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.dataplane.pods")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--addresses", type=Path, required=True, help="file with the pods' ports")
    parser.add_argument("--control-port", type=int, required=True)
    options = parser.parse_args()
    addresses = AddressFile(path=options.addresses)
    asyncio.run(watch(options.kubeconfig, addresses, options.control_port))


if __name__ == "__main__":
    main()
