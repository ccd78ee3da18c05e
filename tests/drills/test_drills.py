"""The recipes of CONTRIBUTING, followed to the letter on a copy of the tree.

What a recipe says and what a drill does is one text: the recipe's blocks. A step that is left out
fails a test by its name, so that whoever forgets one is told so.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pytest

from tests.helpers.repository.recipes import ROOT, Clone, actions

pytestmark = pytest.mark.process

CLASS_DEFAULTS = "tests/models/architecture/class_defaults.json"


def golden_of_the_same_shape() -> Mapping[str, str]:
    """Return what the engine answers of a fine-tune: what it answers of the model it was made from.

    Only the configuration goes into its answers, and both have the same.
    """
    text = (ROOT / "catalog/goldens/0.33.0/qwen3-06b.json").read_text()
    renamed = text.replace('"model":"qwen3-06b"', '"model":"qwen3-06b-support"', 1)
    assert json.loads(renamed)["model"] == "qwen3-06b-support"
    return {"catalog/goldens/0.33.0/qwen3-06b-support.json": renamed}


def lists_of_a_release() -> Mapping[str, str]:
    """Return what the generator writes of a release that has the options of the one before."""
    engines = ROOT / "catalog" / "engines"
    return {
        f"catalog/engines/0.34.0.{what}.json": (engines / f"0.33.0.{what}.json").read_text()
        for what in ("flags", "metrics")
    }


def classes_with_helium() -> Mapping[str, str]:
    """Return what transformers 5.24.0 says of the families' classes and of Helium's.

    Its row as `catalog.generate.class_defaults` wrote it in an environment with transformers.
    """
    record = json.loads((ROOT / CLASS_DEFAULTS).read_text())
    assert record["transformers"] == "5.24.0"
    record["defaults"]["helium"] = {
        "head_dim": 128,
        "hidden_size": 2560,
        "num_attention_heads": 20,
        "num_hidden_layers": 24,
        "tie_word_embeddings": False,
        "vocab_size": 48000,
    }
    return {CLASS_DEFAULTS: json.dumps(record, indent=1, sort_keys=True) + "\n"}


@dataclass(frozen=True, kw_only=True)
class Drill:
    """A recipe: after each step the tests that say what is still to do, and those to pass at last.

    `answers` are the files that a command marked `ask` writes.
    """

    title: str
    missing: Mapping[int, Mapping[str, str]]
    passes: tuple[str, ...]
    answers: Mapping[str, str] = field(default_factory=dict[str, str])


DEFAULTS = "tests/models/architecture/test_class_defaults.py"
RULES = "tests/policies/rules/test_policy_rules.py"
PACK = "tests/policies/frame/test_policy_pack.py"
GOLDENS = "tests/goldens/test_goldens_hold.py"
GRAPH = "tests/components/test_graph.py"
SNAPSHOTS = "tests/components/test_snapshots.py"
ARROWS = "tests/repository/test_arrows.py"
ARGUMENTS = "tests/repository/test_engine_arguments.py"
DEV = "test_a_stack_makes_what_its_snapshot_says[dev]"
READ = "test_an_argument_is_read_by_a_module_of_the_models"
BORDERS = "tests/catalog/test_release_borders.py"
RELEASES = "tests/models/memory/test_memory_releases.py"
NAMED = "test_a_border_names_a_test_that_holds_it"
NOT_RENEWED = {DEV: SNAPSHOTS}
DRILLS = (
    Drill(
        title="Add a policy",
        missing={
            1: {
                "test_every_rule_has_a_broken_fixture": RULES,
                "test_the_documentation_has_each_rule_once_in_the_rules_own_words": PACK,
            },
            2: {"test_the_documentation_has_each_rule_once_in_the_rules_own_words": PACK},
        },
        passes=(RULES, PACK, "tests/policies/frame/test_policy_compliant.py"),
    ),
    Drill(
        title="Add a model",
        missing={1: {"test_there_are_goldens_of_every_model_of_the_release": GOLDENS}},
        passes=(GOLDENS, "tests/catalog/test_catalog_loads.py"),
        answers=golden_of_the_same_shape(),
    ),
    Drill(
        title="Add a model family",
        missing={
            1: {
                "test_every_known_type_is_a_type_of_transformers_or_brings_its_code": DEFAULTS,
                "test_a_default_is_the_classes[helium]": DEFAULTS,
            }
        },
        passes=(
            "tests/models/architecture/test_helium.py",
            DEFAULTS,
            "tests/repository/test_families.py",
        ),
        answers=classes_with_helium(),
    ),
    Drill(
        title="Add a component",
        missing={
            3: {"test_the_golden_list_of_resources": GRAPH, **NOT_RENEWED},
            4: NOT_RENEWED,
        },
        passes=(GRAPH, f"{SNAPSHOTS}::{DEV}", ARROWS),
    ),
    Drill(
        title="Add an engine option that the memory depends on",
        missing={2: {f"{READ}[max_cudagraph_capture_size]": ARGUMENTS}},
        passes=("tests/models/memory/test_capture_size.py", ARGUMENTS),
    ),
    Drill(
        title="Add an engine release",
        missing={
            2: {"test_months_are_in_order_and_name_the_newest_release_last": BORDERS},
            3: {f"{NAMED}[gpu_memory_utilization-0.34.0]": BORDERS},
        },
        passes=("tests/catalog", f"{RELEASES}::test_each_change_is_at_its_release"),
        answers=lists_of_a_release(),
    ),
)


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.title)
def test_a_recipe_followed_to_the_letter_passes(drill: Drill, tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    for step, of_step in groupby(actions(drill.title), lambda action: action.step):
        for action in of_step:
            clone.do(action, drill.answers)
        missing = drill.missing.get(step, {})
        tests = [f"{module}::{name}" for name, module in missing.items()]
        assert not tests or clone.failing(*tests) == set(missing), f"after step {step}"
    assert clone.failing(*drill.passes) == set()
    assert clone.lint() == ""


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.title)
def test_a_recipe_has_blocks_to_follow(drill: Drill) -> None:
    """A heading that was renamed would leave a drill that does nothing."""
    steps = {action.step for action in actions(drill.title)}
    assert steps > set(drill.missing)
