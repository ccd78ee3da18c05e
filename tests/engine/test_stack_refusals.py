"""What a user sees when a stack cannot work: a message, no traceback, nothing created."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.engine.stack import UP, SandboxStack
from tests.helpers.engine.stacks import pulumi, state
from tests.helpers.plans.dev import bare

pytestmark = pytest.mark.engine


def _too_few_cards(settings: dict[str, Any]) -> None:
    """Two replicas want an edge card each, and there is one; the capacity proof is excused."""
    bare(settings)
    settings["regions"][0]["pools"][0]["max"] = 1
    settings["rollout"] = {"wait_max_sec": 40}
    excused = {
        "local/gpu-edge-pool": "plan-capacity",
        "StatefulSet/triplane-models/qwen25-7b-instruct-awq": "k8s-workload-await-startup",
        "StatefulSet/triplane-models/qwen3-8b": "k8s-workload-await-startup",
    }
    settings["exceptions"] = [
        {
            "rule": rule,
            "object": label,
            "reason": "a test of what an update says about a pod without a node",
            "owner": "platform-ml",
            "expires": "2999-12-31",
        }
        for label, rule in excused.items()
    ]


def test_a_pod_without_a_node_is_named_with_the_schedulers_reason(
    make_stack: Callable[..., SandboxStack], capfd: pytest.CaptureFixture[str]
) -> None:
    """The update must end by itself, and say which pod found no node and why."""
    stack = make_stack(_too_few_cards)
    began = time.monotonic()
    with pytest.raises(SandboxError) as caught:
        stack.up()
    assert time.monotonic() - began < 300
    text = str(caught.value)
    assert re.search(
        r"pod triplane-models/qwen25-7b-instruct-awq-[01]: Unschedulable: 0/6 nodes are available",
        text,
    )
    assert "Insufficient nvidia.com/gpu" in text
    shown = capfd.readouterr().out
    assert "excused: regions[0]: [plan-capacity] local/gpu-edge-pool" in shown


def _wrong_everywhere(settings: dict[str, Any]) -> None:
    settings["models"][0]["replicas"] = 9
    settings["models"][1]["engine"] = {
        "max_model_len": 2_000_000,
        "extra_args": ["--swap-space=4", "--no-such-option", "--max-model-len=1"],
    }
    settings["models"].append({"model": "no-such-model", "pool": "cpu-pool", "replicas": 1})


def test_a_plan_that_cannot_work_is_refused_before_anything_is_registered(
    make_stack: Callable[..., SandboxStack],
) -> None:
    """Every problem at once, each with its remedy; no traceback; nothing is registered."""
    with make_stack(_wrong_everywhere).rendering() as (workspace, files):
        text = pulumi(workspace, *UP, code=1)
        types = {each["type"] for each in state(workspace).get("resources", [])}
        assert types <= {"pulumi:pulumi:Stack"}
        assert not files.exists()
    assert "[plan-capacity] local/gpu-edge-pool" in text
    assert "fewer positions" in text
    assert "no longer has the option --swap-space" in text
    assert "has no option --no-such-option" in text
    assert "--max-model-len is given twice" in text
    assert "no such model in the catalog" in text
    assert "Traceback" not in text
    assert "unhandled" not in text
