"""Asking a Pulumi plugin for its version over gRPC: plugins have no flag for that.

A module of its own, imported only where such a plugin was found: gRPC takes most of a second to
load.
"""

import subprocess
import time
from pathlib import Path
from typing import Final

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto.plugin_pb2 import PluginInfo

_TIMEOUT_SEC: Final = 20.0


def plugin_version(plugin: Path) -> str | None:
    """Return the version that a provider binary reports; None when it does not answer."""
    with subprocess.Popen(
        [plugin, "127.0.0.1:0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            return _ask(process)
        except (grpc.RpcError, ValueError):
            return None
        finally:
            process.kill()


def _ask(process: subprocess.Popen[str]) -> str | None:
    deadline = time.monotonic() + _TIMEOUT_SEC
    port = int(process.stdout.readline() if process.stdout else "")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=deadline - time.monotonic())
        # Not through the package's stub: its types name modules that do not exist.
        call: grpc.UnaryUnaryMultiCallable[Empty, PluginInfo] = channel.unary_unary(
            "/pulumirpc.ResourceProvider/GetPluginInfo",
            request_serializer=Empty.SerializeToString,
            response_deserializer=PluginInfo.FromString,
        )
        info = call(Empty(), timeout=_TIMEOUT_SEC)
    return info.version.removeprefix("v")
