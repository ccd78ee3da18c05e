"""Plans for tests: the dev stack's, resolved from the real catalog."""

import datetime
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import yaml

from catalog.loader import load
from models.facts.catalog import Catalog
from models.plan.plan import PlatformPlan
from models.plan.resolve.stack import resolve
from models.settings.settings import parse

ROOT: Final = Path(__file__).resolve().parents[3]
TODAY: Final = datetime.date(2026, 11, 29)


@functools.cache
def catalog() -> Catalog:
    """Return the real catalog, read once."""
    return load()


def dev_settings() -> dict[str, Any]:
    """Return the dev stack's settings as plain data."""
    read = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    return cast("dict[str, Any]", read["config"]["triplane:platform"])


def bare(settings: dict[str, Any]) -> None:
    """Take from the dev stack's settings what secrets and certificates are made of."""
    settings.pop("gateway", None)
    region = settings["regions"][0]
    region.pop("secrets", None)
    region.pop("certificates", None)
    region["storage"]["objects"].pop("credentials", None)


def dev_plan(change: Callable[[dict[str, Any]], None] | None = None) -> PlatformPlan:
    """Return the dev stack's plan, its settings changed first."""
    settings = dev_settings()
    if change is not None:
        change(settings)
    return resolve(parse(json.dumps(settings)), catalog(), TODAY)
