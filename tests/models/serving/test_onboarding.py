"""Drafts of catalog entries: what is known, what stays open, where the model fits."""

from typing import Any

import pytest

from models.core.names import WORKLOAD_NAME_MAX
from models.facts.catalog import ModelStatus, WeightFormat
from models.memory import Verdict
from models.serving.onboarding import (
    SourceFacts,
    bounded,
    card_fits,
    catalog_name,
    draft,
    license_of,
    newest_engine,
    snapshot_of,
)
from tests.helpers.plans.dev import catalog

pytestmark = pytest.mark.pure

SHA = "b25037543e9394b818fdfca67ab2a00ecc7dd641"


def config(name: str) -> dict[str, Any]:
    """Return a catalog model's configuration."""
    return dict(catalog().models[name].config)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen25-7b-instruct-awq"),
        ("/models/My_Model v2/", "my-model-v2"),
        ("org/4bit-thing", "model-4bit-thing"),
        ("org/...", "model"),
        ("org/" + "x" * 80, "x" * WORKLOAD_NAME_MAX),
    ],
)
def test_a_name_becomes_a_label_that_a_pod_can_carry(text: str, name: str) -> None:
    """An entry whose name the loader or a StatefulSet refuses would be no draft."""
    assert catalog_name(text) == name
    assert catalog_name(name) == name, "a good name stays"


def test_the_catalogs_own_names_follow_from_their_repositories() -> None:
    """Nine of ten do: the others were shortened by hand."""
    models = catalog().models.values()
    same = [m for m in models if catalog_name(m.entry.repository) == m.entry.name]
    assert len(same) >= len(models) // 2


def test_a_hubs_cache_tells_repository_and_commit() -> None:
    path = ("cache", "models--Qwen--Qwen3-8B", "snapshots", SHA)
    assert snapshot_of(path) == ("Qwen/Qwen3-8B", SHA)
    assert snapshot_of(("a", "b", "c")) == ("unresolved", "unresolved")


def test_a_license_is_taken_from_the_card_or_the_tags_never_made_up() -> None:
    assert license_of({"license": "apache-2.0"}) == "apache-2.0"
    assert license_of({"license": "other", "license_name": "llama3.1"}) == "llama3.1"
    assert license_of({}, ["text-generation", "license:mit"]) == "mit"
    assert license_of({"license": ["a"]}, ["license:other"]) == "unresolved"


def test_a_draft_is_staged_and_counts_the_weights_at_the_top_only() -> None:
    """Copies in folders (original/, metal/) are not served."""
    known = SourceFacts(
        repository="openai/gpt-oss-20b",
        revision=SHA,
        license="apache-2.0",
        files={"a.safetensors": 5, "b.safetensors": 7, "original/c.safetensors": 99, "x.json": 1},
        source="the hub",
    )
    found = draft("gpt-oss-20b", config("gpt-oss-20b"), known, engine="0.33.0")
    assert (found.entry.status, found.entry.weight_bytes) == (ModelStatus.STAGED, 12)
    assert (found.entry.format, found.entry.revision) == (WeightFormat.MXFP4, SHA)
    assert (found.problems, found.open) == ((), ())


def test_what_is_not_known_is_unresolved_and_said() -> None:
    found = draft(
        "m", config("qwen3-8b"), SourceFacts(revision="main", source="x"), engine="0.33.0"
    )
    assert found.entry.revision == "unresolved", "a branch is no revision"
    assert [each.split(":")[0] for each in found.open] == [
        "repository",
        "revision",
        "license",
        "weight_bytes",
    ]


def test_a_configuration_that_is_not_understood_says_what() -> None:
    strange = {**config("qwen3-8b"), "model_type": "quantum_llm"}
    found = draft("m", strange, SourceFacts(source="x"), engine="0.33.0")
    assert found.subject is None
    assert "'quantum_llm'" in found.problems[0]


def test_a_format_that_the_catalog_lacks_is_a_problem() -> None:
    found = draft(
        "m", config("qwen3-8b"), SourceFacts(source="x"), engine="0.33.0", asked_format="int8"
    )
    assert "the catalog has no such format" in found.problems[0]


def test_a_bound_on_memory_lowers_the_utilization() -> None:
    """8 GiB of an A2000 are 0.68 of it; more than the profile's share is never taken."""
    a2000 = catalog().accelerators["a2000-12gb"]
    assert bounded(a2000, 8).gpu_memory_utilization == 0.68
    assert bounded(a2000, 80).gpu_memory_utilization == 0.9


def test_cards_say_whether_the_model_fits_and_over_how_many() -> None:
    found = draft("m", config("qwen3-8b"), SourceFacts(source="x"), engine="0.33.0")
    assert found.subject is not None
    cards = [catalog().accelerators[name] for name in ("a2000-12gb", "l4", "v100-16gb")]
    fits = card_fits(found.subject, cards, catalog().engines["0.33.0"])
    assert [fit.verdict for fit in fits[:2]] == [Verdict.FITS, Verdict.FITS]
    assert fits[0].gpus > 1, "15.3 GiB of weights do not go onto one card of 11.6 GiB"
    assert fits[1].gpus == 1
    assert fits[2].verdict is Verdict.CANNOT_START
    assert "compute capability" in fits[2].reason


def test_releases_compare_as_numbers() -> None:
    """0.9.2 is older than 0.33.0, whatever their letters say."""
    assert newest_engine(catalog().engines) == "0.33.0"
