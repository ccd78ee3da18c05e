"""Broken stack files: every one ends in problems with path, value, what is allowed and the remedy.

A table of what people write, and random damage: whatever stands in a stack file, the answer is a
plan or a list of problems, never a traceback.
"""

import copy
import json
from typing import Any, Final, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.core.findings import Finding
from models.core.problems import ProblemsError
from models.plan.plan import PlatformPlan
from models.plan.resolve.stack import resolve
from models.settings.settings import parse
from tests.helpers.plans.dev import TODAY, catalog, dev_settings

pytestmark = pytest.mark.pure

Path = tuple[str | int, ...]
REMOVED: Final = "<removed>"
REGION: Final[Path] = ("regions", 0)
EDGE: Final[Path] = ("regions", 0, "pools", 0)
L4: Final[Path] = ("regions", 0, "pools", 1)
OBJECTS: Final[Path] = ("regions", 0, "storage", "objects")
FIXED: Final[Path] = ("models", 0)
SCALED: Final[Path] = ("models", 1)


def changed(path: Path, value: object) -> dict[str, Any]:
    """Return the dev settings with one value set or removed."""
    whole = dev_settings()
    target: Any = whole
    if path[0] not in whole:
        whole[str(path[0])] = {}
    for part in path[:-1]:
        target = target[part]
    if value is REMOVED:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return whole


def outcome(whole: object) -> PlatformPlan | tuple[Finding, ...]:
    """Return the plan or the problems of a stack file's settings."""
    try:
        return resolve(parse(json.dumps(whole)), catalog(), TODAY)
    except ProblemsError as error:
        return error.problems


BROKEN: Final[tuple[tuple[Path, object, str], ...]] = (
    (("environment",), "production", "environment"),
    (("environment",), REMOVED, "field required"),
    (("environment",), 3, "environment"),
    (("regions",), [], "at least 1 item"),
    (("regions",), "local", "regions"),
    (("region",), [], "extra inputs are not permitted"),
    (("models",), REMOVED, "field required"),
    (("models",), {"model": "qwen3-8b"}, "models"),
    ((*REGION, "name"), "Local", "regions[0].name"),
    ((*REGION, "name"), "a-name-that-is-far-too-long-for-it", "regions[0].name"),
    ((*REGION, "name"), "", "regions[0].name"),
    ((*REGION, "cluster"), {"kind": "gke"}, "regions[0].cluster"),
    ((*REGION, "cluster"), {"kind": "existing"}, "context"),
    ((*REGION, "cluster"), {"context": "x"}, "kind"),
    ((*REGION, "cluster"), {"kind": "existing", "context": "x", "kubeconfig": "~/x"}, "kubeconfig"),
    ((*REGION, "pools"), [], "at least 1 item"),
    ((*EDGE, "name"), "gpu-l4-pool", "names pools twice"),
    ((*EDGE, "name"), "GPU_Pool", "regions[0].pools[0].name"),
    ((*EDGE, "accelerator"), "a9000", "no such accelerator"),
    ((*EDGE, "accelerator"), REMOVED, "give accelerator and GPUs together"),
    ((*EDGE, "node"), REMOVED, "exactly one of instance_type"),
    ((*EDGE, "instance_type"), "g6.xlarge", "exactly one of instance_type"),
    ((*EDGE, "node", "vcpus"), 0, "greater than 0"),
    ((*EDGE, "node", "gpus"), -1, "greater than or equal to 0"),
    ((*EDGE, "node", "memory_gib"), "64Gi", "memory_gib"),
    ((*EDGE, "node", "usd_per_hour"), -1.0, "usd_per_hour"),
    ((*EDGE, "min"), -1, "min"),
    ((*EDGE, "min"), 1.5, "min"),
    ((*EDGE, "max"), 0, "max"),
    ((*EDGE, "max"), 1, "plan-capacity"),
    ((*EDGE, "min"), 3, "lower min or raise max"),
    ((*EDGE, "taints"), [{"key": "x", "effect": "NoRun"}], "effect"),
    ((*EDGE, "capacity_type"), "preemptible", "capacity_type"),
    ((*L4, "instance_type"), "g6.9xlarge", "no such instance type"),
    ((*L4, "accelerator"), REMOVED, "give accelerator and GPUs together"),
    ((*REGION, "storage"), REMOVED, "storage"),
    ((*REGION, "storage", "volumes"), "nfs", "volumes"),
    ((*REGION, "storage", "volumes"), "existing-class", "needs storage_class"),
    ((*REGION, "storage", "capacity_gib"), 0, "capacity_gib"),
    ((*OBJECTS, "bucket"), "Models", "bucket"),
    ((*OBJECTS, "bucket"), REMOVED, "bucket"),
    ((*OBJECTS, "prefix"), "../other/", "prefix"),
    ((*OBJECTS, "prefix"), "models", "prefix"),
    ((*OBJECTS, "endpoint"), REMOVED, "needs endpoint"),
    ((*OBJECTS, "endpoint"), "object-store:8333", "endpoint"),
    ((*OBJECTS, "kind"), "s3", "takes no endpoint"),
    ((*OBJECTS, "kind"), "gcs", "kind"),
    ((*OBJECTS, "credentials"), "env", "credentials"),
    ((*FIXED, "model"), "qwen3-8", "no such model in the catalog"),
    ((*FIXED, "model"), REMOVED, "field required"),
    ((*FIXED, "pool"), "gpu-h100-pool", "no such pool"),
    ((*FIXED, "regions"), ["eu"], "no such region"),
    ((*FIXED, "replicas"), 0, "greater than 0"),
    ((*FIXED, "replicas"), "2", "replicas"),
    ((*FIXED, "replicas"), REMOVED, "exactly one of replicas"),
    ((*FIXED, "replicas"), 3, "plan-capacity"),
    ((*FIXED, "model"), "qwen3-8b", "placed twice"),
    ((*FIXED, "parallelism"), {"tensor": 2}, "more GPUs than a node"),
    ((*FIXED, "parallelism"), {"tensor": 0}, "tensor"),
    ((*FIXED, "engine"), {"max_model_length": 4096}, "max_model_length"),
    ((*FIXED, "engine"), {"gpu_memory_utilization": 0.99}, "gpu_memory_utilization"),
    ((*FIXED, "engine"), {"gpu_memory_utilization": 0.4}, "plan-memory"),
    ((*FIXED, "engine"), {"max_model_len": 1000000}, "fewer positions"),
    ((*FIXED, "engine"), {"kv_cache_dtype": "fp8"}, "does not run this KV cache dtype"),
    ((*FIXED, "engine"), {"kv_cache_dtype": "fp3"}, "does not take this value"),
    ((*FIXED, "engine"), {"extra_args": ["--swap-space=4"]}, "no longer has the option"),
    ((*FIXED, "engine"), {"extra_args": ["--enable-metrics"]}, "option --enable-metrics"),
    ((*FIXED, "engine"), {"extra_args": ["--port=1"]}, "given twice"),
    ((*FIXED, "serving"), "ray", "serving"),
    ((*FIXED, "serving"), "kserve", "does not exist yet"),
    ((*SCALED, "autoscaling"), {"min": 0, "max": 2}, "cannot scale from zero"),
    ((*SCALED, "autoscaling"), {"min": 3, "max": 2}, "lower min or raise max"),
    ((*SCALED, "autoscaling"), {"min": 1, "max": 4}, "plan-capacity"),
    ((*SCALED, "autoscaling"), {"min": 1}, "max"),
    (("gateway",), {"max_body_mib": 0}, "max_body_mib"),
    (("gateway",), {"timeout": "10s"}, "timeout"),
    (("autoscaling",), {"kv_cache_usage": 85}, "kv_cache_usage"),
    (("budgets",), {"gpus_per_region": {"eu": 4}}, "no such region"),
    (("budgets",), {"gpus_per_region": {"local": 1}}, "plan-gpus"),
    (("budgets",), {"usd_per_hour": 0}, "usd_per_hour"),
    (("exceptions",), [{"rule": "plan-capacity"}], "exceptions[0].object"),
    (
        ("exceptions",),
        [{"rule": "r", "object": "o", "reason": "short", "owner": "x", "expires": "2027-01-01"}],
        "reason",
    ),
)


@pytest.mark.parametrize(("path", "value", "said"), BROKEN, ids=lambda each: str(each)[:40])
def test_a_broken_stack_is_refused_with_a_clear_problem(
    path: Path, value: object, said: str
) -> None:
    found = outcome(changed(path, value))
    assert isinstance(found, tuple), f"{path} = {value!r} was accepted"
    text = "\n".join(problem.ruled for problem in found)
    assert said in text
    assert all(problem.path and problem.message for problem in found)


def test_the_table_is_as_long_as_promised() -> None:
    assert len(BROKEN) >= 60


LEAVES: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.builds(list[object]),
    st.builds(dict[str, object]),
)


def paths_of(value: object, path: Path = ()) -> list[Path]:
    """Return the path of every value inside a document."""
    found: list[Path] = [path] if path else []
    if isinstance(value, dict):
        for key, each in cast("dict[str, object]", value).items():
            found += paths_of(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(cast("list[object]", value)):
            found += paths_of(each, (*path, index))
    return found


@given(
    damage=st.lists(
        st.tuples(st.sampled_from(paths_of(dev_settings())), LEAVES), min_size=1, max_size=4
    )
)
@settings(max_examples=300, deadline=None)
def test_random_damage_gives_a_plan_or_problems(damage: list[tuple[Path, object]]) -> None:
    """A traceback is our fault, whatever the file says."""
    whole = copy.deepcopy(dev_settings())
    for path, value in damage:
        target: Any = whole
        try:
            for part in path[:-1]:
                target = target[part]
            target[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    found = outcome(whole)
    assert isinstance(found, PlatformPlan) or found
