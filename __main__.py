"""The Pulumi program: load settings, build the platform, export outputs."""

import asyncio
import datetime
import json
import os
from pathlib import Path

import pulumi
import yaml

from catalog.loader import load, program
from components.core.stack_secrets import stored
from components.platform import Platform, PlatformArgs, RegionSecrets
from models.core.findings import Severity
from models.core.kubeconfigs import only
from models.core.problems import ProblemsError
from models.plan.plan import PlannedRegion
from models.plan.resolve.stack import resolve
from models.settings.settings import parse
from models.settings.storage import Credentials


def kubeconfig(context: str) -> str:
    """Return the context from the first kubeconfig that has it; refuse where none has it."""
    paths = [Path(path) for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    looked = paths or [Path.home() / ".kube" / "config"]
    for path in (path for path in looked if path.is_file()):
        found = only(yaml.safe_load(path.read_text()) or {}, context)
        if found is not None:
            return json.dumps(found)
    message = (
        f"no kubeconfig has the context {context!r} (looked in {', '.join(map(str, looked))}). "
        "Set KUBECONFIG, or run `make up` for the sandbox"
    )
    raise pulumi.RunError(message)


def secrets(config: pulumi.Config, region: PlannedRegion, *, rendering: bool) -> RegionSecrets:
    """Return what a region needs that is secret. Manifests are rendered without any secret."""
    if rendering:
        return RegionSecrets()
    keys = None
    if region.settings.storage.objects.credentials is Credentials.CONFIG:
        found = stored(config, f"{region.name}-object-store")
        keys = {
            "AWS_ACCESS_KEY_ID": found.apply(lambda keys: str(keys["access_key_id"])),
            "AWS_SECRET_ACCESS_KEY": found.apply(lambda keys: str(keys["secret_access_key"])),
        }
    values = {name: stored(config, key) for name, key in region.config_keys.items()}
    file = None if region.context is None else kubeconfig(region.context)
    return RegionSecrets(kubeconfig=file, object_store=keys, values=values)


async def main() -> None:
    """Resolve and prove the plan, then register it."""
    config = pulumi.Config()
    try:
        settings = parse(config.require("platform"))
        plan = resolve(settings, load(), datetime.date.today())
    except ProblemsError as error:
        raise pulumi.RunError(str(error)) from None
    for notice in plan.notices:
        log = pulumi.log.warn if notice.severity is Severity.WARNING else pulumi.log.info
        log(f"{notice.path}: {notice.message}")
    render_to = config.get("renderTo")
    rendering = render_to is not None
    regions = {r.name: secrets(config, r, rendering=rendering) for r in plan.regions}
    text = program("seed")
    args = PlatformArgs(plan=plan, secrets=regions, seed_program=text, render_to=render_to)
    for name, value in Platform("triplane", args).outputs.items():
        pulumi.export(name, value)
    # Let every registration begin. The SDK awaits those that have begun one by one; for what has
    # not it waits in a loop whose time grows with the square of the number of outputs.
    await asyncio.sleep(0)


pulumi.run(main)
