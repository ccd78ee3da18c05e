"""How long a preview takes, as ratios in one run against a live sandbox.

Two questions: what does the program cost beyond a floor that registers the same resources from
literal dictionaries, and what does the policy pack cost beyond a pack of two rules that do nothing.
Runs alternate, so that a noisy machine disturbs both alike; the medians are compared.

`python -m benchmarks.speed.preview [--rounds N]`
"""

import argparse
import json
import re
import secrets
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import yaml

from sandbox.core.errors import SandboxError
from sandbox.core.paths import PROJECT_ROOT
from sandbox.engine.stack import SandboxStack
from sandbox.engine.workspace import Workspace

COMPONENTS: Final = 15
"""Components of the dev stack; the floor registers as many, without children."""

FLOOR: Final = '''"""The same resources from literal dictionaries."""
import json, os, pathlib
import pulumi, pulumi_kubernetes as k8s
HERE = pathlib.Path(__file__).parent
text = pathlib.Path(os.environ["KUBECONFIG"]).read_text()
provider = k8s.Provider(
    "p", kubeconfig=text, context="triplane-sandbox", cluster_identifier="local"
)
opts = pulumi.ResourceOptions(provider=provider)
for index in range(%(components)d):
    pulumi.ComponentResource("floor:index:Part", f"part-{index}")
%(resources)s
'''

IDLE_PACK: Final = '''"""Two rules that do nothing."""
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy
def nothing(args, report):
    pass
PolicyPack(name="idle", enforcement_level=EnforcementLevel.MANDATORY, policies=[
    ResourceValidationPolicy(name="one", description="nothing", validate=nothing),
    ResourceValidationPolicy(name="two", description="nothing", validate=nothing),
])
'''

_TYPED: Final = {
    "v1": "core.v1",
    "apps/v1": "apps.v1",
    "batch/v1": "batch.v1",
    "policy/v1": "policy.v1",
    "rbac.authorization.k8s.io/v1": "rbac.v1",
    "networking.k8s.io/v1": "networking.v1",
    "storage.k8s.io/v1": "storage.v1",
}


def literal(index: int, manifest: Mapping[str, Any]) -> str:
    """Return the line of the floor program that registers one manifest."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    rest = {
        re.sub(r"[A-Z]", lambda found: f"_{found.group(0).lower()}", key): value
        for key, value in manifest.items()
        if key not in ("apiVersion", "kind")
    }
    if version in _TYPED:
        return f'k8s.{_TYPED[version]}.{kind}("r{index}", opts=opts, **{rest!r})'
    words = f"api_version={version!r}, kind={kind!r}, metadata={rest['metadata']!r}"
    return (
        f'k8s.apiextensions.CustomResource("r{index}", opts=opts, {words}, spec={rest["spec"]!r})'
    )


def floor_program(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Return the floor program's text."""
    lines = "\n".join(literal(index, each) for index, each in enumerate(manifests))
    return FLOOR % {"components": COMPONENTS, "resources": lines}


def rendered(stack: SandboxStack, target: Path) -> list[dict[str, Any]]:
    """Return the stack's manifests as plain data."""
    files = sorted(stack.render(target).rglob("*.yaml"))
    return [cast("dict[str, Any]", yaml.safe_load(path.read_text())) for path in files]


def floor_workspace(stack: SandboxStack, real: Workspace, program: str) -> Workspace:
    """Return a workspace beside the real one whose program is the floor."""
    workspace = Workspace(
        home=stack.home / "floor",
        stack=stack.env,
        toolchain=stack.tools,
        variables=real.variables,
    )
    workspace.prepare({"config": {}})
    folder = workspace.home / "floor-program"
    folder.mkdir(exist_ok=True)
    (folder / "__main__.py").write_text(program)
    link = workspace.project / "program"
    link.unlink()
    link.symlink_to(folder, target_is_directory=True)
    return workspace


def idle_pack(folder: Path) -> Path:
    """Write the pack of two idle rules and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__main__.py").write_text(IDLE_PACK)
    runtime = {"name": "python", "options": {"virtualenv": sys.prefix}}
    (folder / "PulumiPolicy.yaml").write_text(json.dumps({"runtime": runtime, "version": "0.0.1"}))
    return folder


def seconds(workspace: Workspace, *more: str) -> float:
    """Return how long one preview takes; it must succeed."""
    began = time.perf_counter()
    workspace.run(["preview", "--suppress-permalink=true", *more], quiet=True)
    return time.perf_counter() - began


def compare(
    name: str, goal: float, rounds: int, ours: Callable[[], float], floor: Callable[[], float]
) -> None:
    """Print the ratio of the medians of alternating runs."""
    pairs = [(ours(), floor()) for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(
        f"{name}: ratio {ratio:.2f} (goal {goal}), medians {mine:.2f} s to {theirs:.2f} s, "
        f"{rounds} rounds",
        flush=True,
    )


def main() -> int:
    """Measure both ratios on a stack of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    stack = SandboxStack(env="dev", instance=f"bench-{secrets.token_hex(3)}")
    try:
        real = stack.start()
        manifests = rendered(stack, stack.home / "rendered")
        floor = floor_workspace(stack, real, floor_program(manifests))
        pack = ("--policy-pack", str(PROJECT_ROOT / "policies"))
        idle = ("--policy-pack", str(idle_pack(stack.home / "idle-pack")))
        for warm in (real, floor):
            seconds(warm)
        compare("program to floor", 1.3, rounds, lambda: seconds(real), lambda: seconds(floor))
        compare(
            "pack to idle pack",
            1.25,
            rounds,
            lambda: seconds(real, *pack),
            lambda: seconds(real, *idle),
        )
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        stack.purge()
    return 0


if __name__ == "__main__":
    sys.exit(main())
