"""docs/stand-in.md and docs/readiness.md: what they say in numbers, names and tables is so."""

import re
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import yaml

from sandbox.aws.core import api, faults
from sandbox.aws.kinds.eks.values import ADD_ON_VERSION
from sandbox.aws.server.eks_addons import DEFAULT_VERSION

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
STAND_IN: Final = (ROOT / "docs" / "stand-in.md").read_text()
READINESS: Final = (ROOT / "docs" / "readiness.md").read_text()


def test_the_table_of_faults_has_every_fault_with_its_fields() -> None:
    row = re.compile(r"^\| `([a-z-]+)` \| (.+?) \| .+ \|$", re.MULTILINE)
    section = STAND_IN.split("## Fault injection", 1)[1].split("\n## ", 1)[0]
    told = {kind: re.findall(r"`([a-z_]+)`", fields) for kind, fields in row.findall(section)}
    union: Any = get_args(faults.Fault)[0]
    wanted = {
        get_args(each.model_fields["kind"].annotation)[0]: [
            name for name in each.model_fields if name != "kind"
        ]
        for each in get_args(union)
    }
    assert told == wanted


def test_a_throttled_call_is_retried_as_often_as_the_document_says() -> None:
    assert "boto3 retries five times with backoff" in STAND_IN
    client = api.Aws(region="us-east-1", endpoint="http://127.0.0.1:9").client("kms")
    assert client.meta.config.retries == {"mode": "standard", "total_max_attempts": 1 + 5}


def test_the_commands_that_the_document_shows_exist() -> None:
    shown = set(re.findall(r"python -m sandbox\.aws ([a-z-]+) --", STAND_IN))
    assert shown == {"delete-node-group", "lose-zone"}
    text = (ROOT / "sandbox" / "aws" / "__main__.py").read_text()
    assert all(f'add_parser("{each}"' in text for each in shown)


def test_add_on_versions_are_as_the_document_says() -> None:
    (example,) = re.findall(r"only the\s+form is looked at \(`([^`]+)`\)", STAND_IN)
    assert ADD_ON_VERSION.fullmatch(example)
    assert f"`{DEFAULT_VERSION}`" in STAND_IN


def test_readiness_gates_are_opened_by_no_stage() -> None:
    """docs/readiness.md says that nobody opens them: a stage that did would be a made-up yes."""
    assert "A readiness gate is opened by nobody here" in READINESS
    stages = list(
        yaml.safe_load_all((ROOT / "sandbox" / "cluster" / "stages" / "pod.yaml").read_text())
    )
    texts = [
        step["patch"]["template"]
        for stage in stages
        for step in stage["spec"].get("steps", [])
        if "patch" in step
    ]
    assert len(texts) >= 4
    assert not any("conditionType" in text for text in texts)
    (first,) = [text for text in texts if "readinessGates" in text]
    gated = first.split("{{ if .spec.readinessGates }}", 1)[1].split("{{ else }}", 1)[0]
    assert 'status: "False"' in gated
    assert "ReadinessGatesNotReady" in gated
