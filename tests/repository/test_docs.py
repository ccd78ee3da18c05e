"""Documents that match: settings, links, and what is said to exist."""

import re
from pathlib import Path
from typing import Final

import pytest
from pydantic import BaseModel

from models.engine.profiles import EngineOverrides, Parallelism
from models.settings.exceptions import RecordedException
from models.settings.gateway import FallbackProviderSettings, Gateway, RateLimit, Traffic
from models.settings.options import (
    Alerting,
    AutoscalingOptions,
    Budgets,
    CacheOptions,
    Control,
    Observability,
    Rollout,
)
from models.settings.regions import (
    EksClusterSettings,
    ExistingClusterSettings,
    NodeShape,
    PoolSettings,
    RegionSettings,
    Taint,
)
from models.settings.settings import ModelSettings, Settings
from models.settings.storage import ObjectStoreSettings, Storage

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]

SETTINGS: Final[tuple[type[BaseModel], ...]] = (
    Settings,
    RegionSettings,
    EksClusterSettings,
    ExistingClusterSettings,
    PoolSettings,
    NodeShape,
    Taint,
    Storage,
    ObjectStoreSettings,
    FallbackProviderSettings,
    ModelSettings,
    Parallelism,
    EngineOverrides,
    Control,
    Gateway,
    RateLimit,
    Traffic,
    AutoscalingOptions,
    CacheOptions,
    Observability,
    Alerting,
    Budgets,
    Rollout,
    RecordedException,
)


@pytest.mark.parametrize("model", SETTINGS, ids=lambda model: model.__name__)
def test_every_setting_is_documented(model: type[BaseModel]) -> None:
    """A key that stands nowhere is found by reading code only."""
    words = set(re.findall(r"[a-z_0-9]+", (ROOT / "docs/settings.md").read_text()))
    missing = set(model.model_fields) - words
    assert not missing, f"docs/settings.md does not name {sorted(missing)} of {model.__name__}"


def test_files_that_documents_name_exist() -> None:
    """A reader follows them; what was decided or changed once names the files of its day.

    What a recipe has its reader write is written in its drill (tests/drills/).
    """
    pattern = re.compile(
        r"(?<![\w/.~-])((?:docs|catalog|models|components|sandbox|tests|policies|cli)"
        r"/[\w./-]+\.(?:md|py|yaml|lock))"
    )
    missing: list[str] = []
    history = {ROOT / "CHANGELOG.md", *(ROOT / "docs/adr").glob("0*.md")}
    recipes = (ROOT / "CONTRIBUTING.md").read_text()
    made = set(re.findall(r"^ *(?:```\w+ file=|cp \S+ )(\S+)$", recipes, re.M))
    for document in {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - history:
        for name in pattern.findall(document.read_text()):
            if name not in made and not (ROOT / name).exists():
                missing.append(f"{document.relative_to(ROOT)}: {name}")
    assert not missing, "\n".join(missing)


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs/adr/README.md").read_text()
    pages = [path.name for path in (ROOT / "docs/adr").glob("0*.md")]
    assert pages
    assert all(f"({name})" in index for name in pages)
