"""Previews with the pack, by the real engine and the real provider, of objects given as data.

The provider's kubeconfig is the id of a resource that does not exist yet: really unknown, as in
the first preview of a stack that makes its own cluster.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox.toolchain import Toolchain

ROOT: Final = Path(__file__).resolve().parents[3]
UNKNOWN: Final = "(unknown at preview)"
"""Stands in the data for a value that the program takes from a resource yet to be made."""

PROGRAM: Final = """
import json
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi import ResourceOptions

given = json.loads(Path("given.json").read_text())
first = k8s.Provider("first", render_yaml_to_directory="rendered")
provider = k8s.Provider("cluster", kubeconfig=first.id)
seed = k8s.core.v1.ConfigMap(
    "seed", metadata={"name": "seed"}, opts=ResourceOptions(provider=provider)
)
unknown = seed.metadata.apply(lambda metadata: metadata["uid"])


def filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: filled(member) for key, member in value.items()}
    if isinstance(value, list):
        return [filled(member) for member in value]
    return unknown if value == given["unknown"] else value


class Plan(pulumi.ComponentResource):
    def __init__(self, inputs: dict[str, Any]) -> None:
        super().__init__("triplane:plan:Plan", "plan", inputs)
        self.register_outputs({})


if given["plan"] is not None:
    Plan(given["plan"])
for name, body in given["objects"].items():
    version = body["apiVersion"]
    group = version if "/" in version else f"core/{version}"
    wait = pulumi.CustomTimeouts(create="1h", update="1h")
    pulumi.CustomResource(
        f"kubernetes:{group}:{body['kind']}",
        name,
        filled(body),
        ResourceOptions(
            provider=provider, protect=name not in given["unprotected"], custom_timeouts=wait
        ),
    )
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """What came of a preview. `violations` are (level, rule, object) triples."""

    exit_code: int
    text: str

    @property
    def violations(self) -> set[tuple[str, str, str]]:
        """Every policy line with the object that its message names."""
        lines = [line.strip() for line in self.text.splitlines()]
        found: set[tuple[str, str, str]] = set()
        for index, line in enumerate(lines):
            match = re.match(r"- \[(\w+)\]\s+(?:\[severity: \w+\])?\s*(\S+)\s+\(", line)
            if match is not None and index + 2 < len(lines):
                found.add((match[1], match[2], lines[index + 2].split(":")[0]))
        return found


def preview(
    home: Path,
    tools: Toolchain,
    objects: Mapping[str, Any],
    *,
    plan: Any = None,
    settings: Any = None,
    pack: Any = None,
    unprotected: Iterable[str] = (),
) -> Preview:
    """Preview a program that registers these objects, with the pack.

    `settings` are the stack's (`triplane:platform`), `pack` the pack's own configuration.
    """
    project = home / "project"
    project.mkdir(parents=True)
    (home / "state").mkdir()
    runtime = {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}}
    (project / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "lab", "runtime": runtime}))  # pyright: ignore[reportUnknownMemberType] - PyYAML's stub is partly untyped
    (project / "__main__.py").write_text(PROGRAM)
    given = {
        "objects": objects,
        "plan": plan,
        "unknown": UNKNOWN,
        "unprotected": list(unprotected),
    }
    (project / "given.json").write_text(json.dumps(given))
    config = {} if settings is None else {"triplane:platform": settings}
    (project / "Pulumi.lab.yaml").write_text(json.dumps({"config": config}))
    (project / "pack.json").write_text(json.dumps(pack or {}))
    env = tools.env()
    env.pop("KUBECONFIG", None)
    env["PULUMI_BACKEND_URL"] = f"file://{home / 'state'}"
    env["PULUMI_CONFIG_PASSPHRASE"] = "lab"
    run = [str(tools.path("pulumi")), "--non-interactive"]
    subprocess.run(
        [*run, "stack", "select", "--create", "lab"],
        cwd=project,
        env=env,
        check=True,
        capture_output=True,
    )
    done = subprocess.run(
        [
            *(*run, "preview", "--color=never", "--policy-pack", str(ROOT / "policies")),
            *("--policy-pack-config", "pack.json"),
        ],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Preview(exit_code=done.returncode, text=done.stdout + done.stderr)
