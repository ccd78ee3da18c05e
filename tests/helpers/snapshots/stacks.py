"""Snapshots of whole stacks: what reviewers read of a change (docs/snapshots.md).

The real program's components run under mocks with each environment's settings. What depends on the
day, the machine or a secret is left out; what a longer text stands in for elsewhere in the tree
(the seeding program, the catalog) is shown by its digest or not at all.
"""

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, cast

import pulumi
import yaml

from catalog.loader import program
from components.platform import Platform, PlatformArgs, RegionSecrets
from models.plan.plan import PlannedRegion, PlatformPlan
from models.plan.resolve.stack import resolve
from models.settings.settings import parse
from models.settings.storage import Credentials
from tests.helpers.plans.dev import ROOT, TODAY, catalog
from tests.helpers.snapshots.recording import Recording, Registration, record
from tests.helpers.snapshots.text import document, lineage, objects, tree

SNAPSHOTS: Final = ROOT / "tests" / "snapshots"
EVERYTHING: Final = SNAPSHOTS / "everything.yaml"
"""Settings of no real stack: every optional part is on somewhere in them."""

SETTINGS: Final[Mapping[str, Path]] = {
    **{name: ROOT / f"Pulumi.{name}.yaml" for name in ("dev", "staging", "prod")},
    "everything": EVERYTHING,
}
PLANTED: Final = "planted-secret-5d1f0a"
"""Part of every secret that the programs are given: no snapshot may have it."""

_OUTPUTS: Final = "triplane:outputs:Outputs"
_LONG_TEXT: Final = 4000
"""Characters from which a file inside a ConfigMap is shown by its digest."""


def plan_of(name: str) -> PlatformPlan:
    """Return the plan of an environment's settings, on a fixed day."""
    read = yaml.safe_load(SETTINGS[name].read_text())
    settings = parse(json.dumps(read["config"]["triplane:platform"]))
    return resolve(settings, catalog(), TODAY)


def recorded(plan: PlatformPlan, *, render_to: str | None = None) -> Recording:
    """Register a plan's platform, and its outputs, under mocks."""

    def run() -> None:
        secrets = {region.name: _secrets(region) for region in plan.regions}
        if render_to is not None:
            secrets = {name: RegionSecrets() for name in secrets}
        args = PlatformArgs(
            plan=plan, secrets=secrets, seed_program=program("seed"), render_to=render_to
        )
        platform = Platform("triplane", args)
        # As inputs, the outputs keep which part of them is secret.
        pulumi.ComponentResource(_OUTPUTS, "outputs", dict(platform.outputs))

    return record(run, _answers, plan.environment.value)


def _secrets(region: PlannedRegion) -> RegionSecrets:
    """Return secrets as the program reads them from stack settings and kubeconfigs."""
    keys = None
    if region.settings.storage.objects.credentials is Credentials.CONFIG:
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        keys = {name: pulumi.Output.secret(f"{PLANTED}-{name}") for name in names}
    properties = {use.name: use.properties for use in region.secrets}
    values = {
        name: pulumi.Output.secret({key: f"{PLANTED}-{key}" for key in properties[name]})
        for name in region.config_keys
    }
    kubeconfig = None if region.context is None else json.dumps({"token": PLANTED})
    return RegionSecrets(
        kubeconfig=kubeconfig,
        object_store=keys,
        values=cast("Mapping[str, pulumi.Output[Mapping[str, str]]]", values),
    )


def _answers(args: pulumi.runtime.MockResourceArgs) -> dict[str, Any]:
    """Return a resource's outputs: its inputs, and what others read of it, named for it."""
    inputs = cast("dict[str, Any]", cast("Any", args).inputs)
    if args.typ.startswith("kubernetes:"):
        return {**inputs, **_kubernetes(args)}
    own = {key: f"[{key} of {args.name}]" for key in ("arn", "keyId", "allocationId")}
    return {**own, **inputs, **_AWS.get(args.typ, {}), **_nested(args, inputs)}


_AWS: Final[Mapping[str, dict[str, Any]]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1},
    "aws:eks/nodeGroup:NodeGroup": {"resources": [{"autoscalingGroups": [{"name": "[group]"}]}]},
}
"""Outputs that are read, by type."""


def _nested(args: pulumi.runtime.MockResourceArgs, inputs: dict[str, Any]) -> dict[str, Any]:
    if args.typ != "aws:eks/cluster:Cluster":
        return {}
    group = {"clusterSecurityGroupId": f"[security group of {args.name}]"}
    return {
        "endpoint": "https://api.example",
        "certificateAuthority": {"data": "Q0E="},
        "vpcConfig": {**inputs["vpcConfig"], **group},
    }


def _kubernetes(args: pulumi.runtime.MockResourceArgs) -> dict[str, Any]:
    if args.typ.endswith(":CustomResourceDefinition"):
        served = [f"v{n}{stage}" for n in "12" for stage in ("", "alpha1", "alpha2", "beta1")]
        return {"spec": {"versions": [{"name": each, "served": True} for each in served]}}
    if args.typ == "kubernetes:core/v1:Secret" and args.resource_id:
        authority = base64.b64encode(b"[certificate of the authority]").decode()
        return {"data": {"ca.crt": authority}}
    return {"status": {"addresses": [{"value": "gateway.example"}]}}


def files(plan: PlatformPlan, recording: Recording) -> dict[str, str]:
    """Return a plan's snapshot: texts by path below the environment's directory."""
    outputs = _taken(recording, _OUTPUTS)
    outputs["catalogRevision"] = "[digest of the catalogue]"
    [inputs] = [each.inputs for each in recording.registered.values() if _is_plan(each)]
    return {
        "plan.yaml": document(inputs),
        "outputs.yaml": document(outputs),
        "notices.yaml": document([f"{n.severity} {n.path}: {n.message}" for n in plan.notices]),
        "graph.txt": tree(recording),
        **_regions(recording, plan),
    }


def _is_plan(registration: Registration) -> bool:
    return registration.type == "triplane:plan:Plan"


def _taken(recording: Recording, kind: str) -> dict[str, Any]:
    """Return the inputs of the only resource of a type, which is taken out."""
    [found] = [each for each in recording.registered.values() if each.type == kind]
    del recording.registered[found.urn]
    return found.inputs


def _regions(recording: Recording, plan: PlatformPlan) -> dict[str, str]:
    """Return the files of all regions: one for each kind of component directly below a region."""
    above = lineage(recording)
    regions = {f"triplane-{region.name}": region.name for region in plan.regions}
    grouped: dict[str, list[Registration]] = defaultdict(list)
    for each in recording.registered.values():
        if each.is_component:
            continue
        *_, owner, region, _ = [each, *above[each.urn]]
        topic = owner.type.split(":")[1] if owner.is_component else "region"
        grouped[f"{regions[region.name]}/{topic}.yaml"].append(_shortened(each))
    return {path: objects(group) for path, group in grouped.items()}


def _shortened(registration: Registration) -> Registration:
    """Show a program that a ConfigMap carries by its files' digests: the files are in the tree."""
    data = cast("dict[str, str]", registration.inputs.get("data") or {})
    if registration.inputs.get("kind") != "ConfigMap" or sum(map(len, data.values())) < _LONG_TEXT:
        return registration
    for key, text in data.items():
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        data[key] = f"[file of {len(text.splitlines())} lines, sha256 {digest}]"
    return registration


def written(name: str) -> dict[str, str]:
    """Return an environment's committed snapshot: texts by path below its directory."""
    root = SNAPSHOTS / name
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def difference(name: str, found: Mapping[str, str], made: Mapping[str, str]) -> str:
    """Return what differs between a committed snapshot and what the program makes, to be read."""
    lines: list[str] = []
    for path in sorted(found.keys() | made.keys()):
        before, now = found.get(path), made.get(path)
        if before == now:
            continue
        if now is None:
            lines.append(f"{name}/{path}: nothing makes this file any more")
            continue
        old = [] if before is None else before.splitlines()
        lines += unified_diff(old, now.splitlines(), f"{name}/{path}", "made now", lineterm="")
    if not lines:
        return ""
    more = len(lines) - _SHOWN
    rest = [f"... and {more} more lines"] if more > 0 else []
    return "\n".join([*_RENEW, *lines[:_SHOWN], *rest])


_SHOWN: Final = 120
_RENEW: Final = (
    "what the program makes is not what tests/snapshots has.",
    "If the change is meant: `make snapshots`, read its diff, and commit it with the change.",
)
