"""The catalog as it is: complete, consistent, nothing without a source."""

import re
from typing import Final

import pytest

from catalog.loader import load, load_charts, program
from models.architecture import architecture
from models.core.problems import ProblemsError
from models.facts.catalog import Catalog, ModelStatus, WeightFormat
from tests.helpers.catalog.copies import CATALOG, SHARED, read_yaml

pytestmark = pytest.mark.pure

UPSTREAM: Final = re.compile(
    r"[\w.-]+/[\w.-]+(, tag [\w.-]+| at [0-9a-f]{7,40})( \([\d-]+\))?,\s\w"
)
DIGEST: Final = re.compile(r"^(unresolved|sha256:[0-9a-f]{64})$")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """Return the real catalog."""
    return load()


def test_the_revision_is_short_and_the_same_twice(catalog: Catalog) -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", catalog.revision)
    assert load().revision == catalog.revision


def test_every_format_and_family_has_a_model(catalog: Catalog) -> None:
    formats = {model.entry.format for model in catalog.models.values()}
    assert formats >= set(WeightFormat) - {WeightFormat.FP16}
    kinds = {str(model.config["model_type"]) for model in catalog.models.values()}
    families = {
        "dense": "qwen3",
        "MoE": "qwen3_moe",
        "MLA": "deepseek_v3",
        "sliding window": "gemma3",
        "SSM": "falcon_mamba",
        "hybrid": "qwen3_next",
    }
    assert kinds >= set(families.values())
    assert len(catalog.models) >= 12


def test_a_live_model_has_a_revision_a_license_and_an_owner_that_is_a_role(
    catalog: Catalog,
) -> None:
    """LIVE may serve in prod: what it is must be known to the commit."""
    for name, model in catalog.models.items():
        entry = model.entry
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", entry.owner), f"{name}: a role, not a person"
        assert entry.notes, f"{name}: where its figures come from"
        if entry.status is ModelStatus.LIVE:
            assert entry.resolved, name
            assert entry.license != "unresolved", name
            assert "research" not in entry.license.lower(), name


def test_ten_models_may_serve_in_prod(catalog: Catalog) -> None:
    live = [model for model in catalog.models.values() if model.entry.status is ModelStatus.LIVE]
    assert len(live) >= 10


def test_revisions_are_those_of_the_shared_table(catalog: Catalog) -> None:
    """A revision is never made up, and a quantized sibling does not inherit one.

    A model that the table lacks may have one of its own, where its notes say who read it where.
    """
    table = SHARED / "data" / "tables" / "revisions.tsv"
    if not table.exists():
        pytest.skip("the shared tables are not here")
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    known = {row[0]: (row[1], row[4]) for row in rows}
    for name, model in catalog.models.items():
        if model.entry.repository not in known and model.entry.resolved:
            assert re.search(r"[Rr]evision[^.]*: \S+", model.entry.notes), f"{name}: its source"
            continue
        revision, size = known.get(model.entry.repository, ("unresolved", "unresolved"))
        assert model.entry.revision == revision, name
        assert (model.entry.weight_bytes is None) == (size == "unresolved"), name
        assert size in ("unresolved", str(model.entry.weight_bytes)), name


def test_the_two_dev_models_fit_their_cards(catalog: Catalog) -> None:
    """Weights as the engine goldens measured them, in 85 % of what CUDA reports."""
    for name, card, weights_gib in (
        ("qwen25-7b-instruct-awq", "a2000-12gb", 5.28),
        ("qwen3-8b", "l4", 15.27),
    ):
        entry = catalog.models[name].entry
        assert entry.status is ModelStatus.LIVE
        budget_gib = 0.85 * catalog.accelerators[card].memory_gib
        assert budget_gib - weights_gib > 3.0, f"{name}: room for activations and KV on {card}"


def test_a_config_has_the_parameters_that_the_checkpoint_has_bytes_for(
    catalog: Catalog,
) -> None:
    """Config and bytes come from different sources: where they agree, both are this model's."""
    for name, model in catalog.models.items():
        parameters = sum(architecture(model.config).parameters().values())
        assert parameters > 100_000_000, name
        size = model.entry.weight_bytes
        if size is not None and model.entry.format is WeightFormat.BF16:
            # Qwen3-Next's checkpoint holds a draft head of 2 % that is not part of the model.
            assert 0.97 < 2 * parameters / size < 1.0005, name


def test_names_that_people_nvml_and_clouds_write_resolve(catalog: Catalog) -> None:
    for text, name in {
        "NVIDIA H100 80GB HBM3": "h100-80gb",
        "H100 SXM": "h100-80gb",
        "h100": "h100-80gb",
        "Tesla T4": "t4",
        "RTX A2000": "a2000-12gb",
        "NVIDIA GeForce RTX 4090": "rtx-4090",
        "A100-80GB": "a100-80gb",
        "NVIDIA-A100-SXM4-40GB": "a100-40gb",
        "nvidia l4": "l4",
        "B200": "b200-180gb",
        "V100": "v100-16gb",
    }.items():
        found = catalog.accelerator_of(text)
        assert found is not None, text
        assert found.name == name, text
    assert catalog.accelerator_of("NVIDIA RTX A2000") is None, "that is the card with 6 GB"


def test_memory_is_what_cuda_reports(catalog: Catalog) -> None:
    """A data sheet's 80 GB would let models pass that do not start."""
    for text, printed_gib in {"h100-80gb": 80, "l4": 24, "a10g": 24, "t4": 16, "l40s": 48}.items():
        assert catalog.accelerators[text].memory_gib < printed_gib
    for card in catalog.accelerators.values():
        assert card.memory_source.strip(), card.name


def test_every_digest_is_one_or_is_marked_unresolved(catalog: Catalog) -> None:
    images = [*catalog.images.values(), *(row.image for row in catalog.engines.values())]
    for image in images:
        assert DIGEST.match(image.digest), image.repository
        assert image.tag != "latest", image.repository


def test_digests_are_those_of_the_shared_table(catalog: Catalog) -> None:
    table = SHARED / "data" / "tables" / "digests.tsv"
    if not table.exists():
        pytest.skip("the shared tables are not here")
    seen = {line.split("\t")[2] for line in table.read_text().splitlines()[1:]}
    images = [*catalog.images.values(), *(row.image for row in catalog.engines.values())]
    for image in images:
        assert image.digest in seen, f"{image.repository}:{image.tag}"


def test_every_price_has_a_source_and_a_date(catalog: Catalog) -> None:
    file = read_yaml(CATALOG / "prices.yaml")
    for row in file["prices"]:
        assert file["sources"][row["source"]].strip(), row
        assert row["date"].strip(), row
    assert catalog.prices[("p5.48xlarge", "us-east-1")] == 55.04
    assert ("g6e.48xlarge", "eu-west-1") not in catalog.prices, "not offered is no price"
    assert ("p5e.48xlarge", "us-east-1") not in catalog.prices, "unresolved is no price"
    assert ("ebs_gp3_storage", "us-east-1") not in catalog.prices, "not per hour"


def test_instance_types_with_a_price_are_known(catalog: Catalog) -> None:
    machines = {item for item, _ in catalog.prices if "." in item}
    assert machines <= set(catalog.instance_types)


def test_charts_say_what_was_not_tested_together() -> None:
    charts = load_charts()
    assert {"envoy-gateway", "ai-gateway", "keda", "gpu-operator", "kserve"} <= set(charts)
    assert "not tested together" in charts["ai-gateway"].notes
    for chart in charts.values():
        # Upstream's repository at a tag or commit, and where in it: nobody else has notes of ours.
        assert UPSTREAM.match(chart.source), chart.name


def test_a_pod_program_is_read_as_text() -> None:
    files = program("seed")
    assert "def main" in files["__main__.py"]
    assert "__init__.py" in files, "in the pod it is a package too"


@pytest.mark.parametrize("name", ["none", "../loader", "__init__"])
def test_an_unknown_pod_program_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ProblemsError, match=r"allowed:.*seed"):
        program(name)
