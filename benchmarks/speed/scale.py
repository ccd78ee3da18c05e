"""How a preview of prod grows with its regions, as ratios to a floor of the same size.

For prod as it is, and for 2, 4 and 6 copies of its first AWS region: the time and the peak memory
of a first preview, beside a floor program that registers the same resources from literal data. The
ratio must not rise with the size. Runs alternate, so that a noisy machine disturbs both alike.

`python -m benchmarks.speed.scale [--rounds N] [--regions 2 4 6]`
"""

import argparse
import copy
import json
import os
import secrets
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import psutil

from benchmarks.speed.preview import floor_workspace
from sandbox.core.errors import SandboxError
from sandbox.engine.stack import Change, SandboxStack
from sandbox.engine.workspace import Workspace

ENVIRONMENT: Final = "prod"
SAMPLE_SEC: Final = 0.2

FLOOR: Final = '''"""The same resources from literal data."""
import json
import os
import pathlib

import pulumi
import pulumi_aws  # what the real program imports, so that both pay for it
import pulumi_kubernetes

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
MASKED = "[secret]"
HERE = pathlib.Path(__file__).parent


def value(read):
    if read == UNKNOWN:
        return pulumi.Output.from_input(pulumi.UNKNOWN)
    if isinstance(read, dict):
        return {key: value(each) for key, each in read.items() if each != MASKED}
    return [value(each) for each in read] if isinstance(read, list) else read


providers = {}
for each in json.loads((HERE / "resources.json").read_text()):
    kind, name, inputs = each["type"], each["name"], each["inputs"]
    if kind.startswith("pulumi:providers:"):
        package = kind.rsplit(":", 1)[1]
        if inputs.get("kubeconfig") == MASKED:
            text = pathlib.Path(os.environ["KUBECONFIG"]).read_text()
            inputs["kubeconfig"] = pulumi.Output.secret(text)
        providers[each["urn"]] = pulumi.ProviderResource(package, name, value(inputs))
    elif each["custom"]:
        opts = pulumi.ResourceOptions(provider=providers[each["provider"]])
        pulumi.CustomResource(kind, name, value(inputs), opts)
    else:
        pulumi.ComponentResource(kind, name, value(inputs))
'''


@dataclass(frozen=True, slots=True)
class Run:
    """One preview: seconds, and the peak of what its processes hold in memory (MiB)."""

    seconds: float
    peak_mib: float


def of_regions(count: int) -> Change:
    """Return a change that leaves `count` copies of the first AWS region and what runs in it."""

    def change(settings: dict[str, Any]) -> None:
        first = next(each for each in settings["regions"] if each["cluster"]["kind"] == "eks")
        pools = {pool["name"] for pool in first["pools"]}
        settings["regions"] = [_copy(first, index) for index in range(count)]
        settings["models"] = [
            {key: value for key, value in model.items() if key != "regions"}
            for model in settings["models"]
            if model["pool"] in pools and first["name"] in model.get("regions", [first["name"]])
        ]
        settings["budgets"] = {"usd_per_hour": 1_000_000}

    return change


def _copy(region: Mapping[str, Any], index: int) -> dict[str, Any]:
    made = copy.deepcopy(dict(region))
    made["name"] = f"copy-{index}"
    made["cluster"]["cidr"] = f"10.{20 + index}.0.0/16"
    objects = made["storage"]["objects"]
    objects["bucket"] = f"{objects['bucket']}-{index}"
    return made


def resources(workspace: Workspace) -> list[dict[str, Any]]:
    """Return what a first preview would register, providers first."""
    done = workspace.run(["preview", "--json"], quiet=True)
    steps = [step["newState"] for step in json.loads(done.stdout)["steps"]]
    found = [
        {
            "urn": state["urn"],
            "name": str(state["urn"]).rsplit("::", 1)[1],
            "type": state["type"],
            "custom": state.get("custom", False),
            # The provider's Check adds tagsAll from the default tags; no program gives it.
            "inputs": {k: v for k, v in state.get("inputs", {}).items() if k != "tagsAll"},
            "provider": str(state.get("provider", "")).rsplit("::", 1)[0],
        }
        for state in steps
        if state["type"] != "pulumi:pulumi:Stack"
    ]
    return sorted(found, key=lambda each: not each["type"].startswith("pulumi:providers:"))


def floor(
    stack: SandboxStack, real: Workspace, registered: Sequence[Mapping[str, Any]]
) -> Workspace:
    """Return the floor's workspace."""
    workspace = floor_workspace(stack, real, FLOOR)
    path = workspace.home / "floor-program" / "resources.json"
    path.write_text(json.dumps(registered))
    return workspace


def measured(workspace: Workspace) -> Run:
    """Run one preview and sample the memory of pulumi and everything that it starts."""
    peak, over = 0.0, threading.Event()
    pulumi: list[subprocess.Popen[str]] = []

    def sample() -> None:
        nonlocal peak
        while not over.wait(SAMPLE_SEC):
            peak = max(peak, sum(_tree_mib(each.pid) for each in pulumi))

    thread = threading.Thread(target=sample)
    began = time.perf_counter()
    thread.start()
    try:
        words = ["preview", "--suppress-permalink=true"]
        workspace.run(words, quiet=True, on_start=pulumi.append)
    finally:
        seconds = time.perf_counter() - began
        over.set()
        thread.join()
    return Run(seconds, peak)


def _tree_mib(pid: int) -> float:
    total = 0
    try:
        top = psutil.Process(pid)
        tree = [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    for each in tree:
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 2**20


def compare(what: str, change: Change | None, rounds: int) -> None:
    """Print the ratio of prod with one change."""
    stack = SandboxStack(env=ENVIRONMENT, instance=f"scale-{secrets.token_hex(3)}", change=change)
    try:
        real = stack.start()
        registered = resources(real)
        beside = floor(stack, real, registered)
        for warm in (real, beside):
            measured(warm)
        pairs = [(measured(real), measured(beside)) for _ in range(rounds)]
    finally:
        stack.purge()
    ratio = statistics.median(ours.seconds / theirs.seconds for ours, theirs in pairs)
    mine = statistics.median(ours.seconds for ours, _ in pairs)
    memory = max(ours.peak_mib for ours, _ in pairs)
    below = max(theirs.peak_mib for _, theirs in pairs)
    print(
        f"{what}, {len(registered)} resources: ratio {ratio:.2f}, median {mine:.1f} s, "
        f"peak memory {memory:.0f} MiB (floor {below:.0f} MiB), {rounds} rounds",
        flush=True,
    )


def main() -> int:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--regions", type=int, nargs="*", default=[2, 4, 6])
    arguments = parser.parse_args()
    os.environ["SANDBOX"] = "1"
    try:
        compare("prod as it is", None, arguments.rounds)
        for count in cast("list[int]", arguments.regions):
            compare(f"{count} regions", of_regions(count), arguments.rounds)
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
