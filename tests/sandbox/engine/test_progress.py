"""What `make up` shows, from the events of a real update of the dev stack (recorded, shortened).

The recording (`tests/helpers/engine/dev_up.events.jsonl`) holds, of the events that the engine
wrote, those that are no debug messages, reads or empty ones, without inputs and outputs.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine.event_log import followed
from sandbox.engine.progress import Progress
from tests.helpers.sandbox.cluster import until

pytestmark = pytest.mark.pure

RECORDING = Path(__file__).parents[2] / "helpers" / "engine" / "dev_up.events.jsonl"
EVENTS: list[dict[str, Any]] = [json.loads(line) for line in RECORDING.read_text().splitlines()]
URN = "urn:pulumi:dev::triplane::triplane:platform:Platform$triplane:engine:VllmService"


def shown(events: list[dict[str, Any]]) -> tuple[list[str], Progress]:
    """Return the lines of an update with these events, whose preview was empty."""
    lines: list[str] = []
    progress = Progress(write=lines.append, regions=["local"])
    progress.take({"sequence": 10**6, "timestamp": events[0]["timestamp"], "preludeEvent": {}})
    for event in events:
        progress.tick(event["timestamp"])
        progress.take(event)
    return lines, progress


def engine_event(key: str, at: int, sequence: int, **fields: object) -> dict[str, Any]:
    """Return an event of an engine's StatefulSet."""
    urn = f"{URN}$kubernetes:apps/v1:StatefulSet::triplane-local-qwen3-8b-engine"
    metadata = {"op": "create", "urn": urn, "type": "kubernetes:apps/v1:StatefulSet"}
    about = {"urn": urn} if key == "diagnosticEvent" else {"metadata": metadata}
    return {"sequence": sequence, "timestamp": at, key: {**about, **fields}}


def test_waves_come_in_order_with_the_models_of_each() -> None:
    lines, progress = shown(EVENTS)
    progress.finish()
    text = "\n".join(lines)
    waves = re.findall(r"wave (-?\d) in local", text)
    assert waves == ["-3", "-2", "0", "1"]
    order = ["Job store-seed-qwen3-8b succeeded", "wave 0", "StatefulSet qwen3-8b-engine ready"]
    order += ["wave 1", "Gateway gateway-gateway programmed", "AIGatewayRoute qwen3-8b-route-route"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    # The engine's own summary of that run said: "+ 58 created".
    assert lines[-1].endswith("the update is done: 58 created")
    assert len(lines) < 30, "the engine's own log of that run has 300 lines"
    assert progress.failures == []


def test_a_notice_is_said_once_though_preview_and_update_both_have_it() -> None:
    preview = [event for event in EVENTS if "diagnosticEvent" in event or "policyEvent" in event]
    lines, _ = shown([*preview, *EVENTS])
    assert sum("kv_cache_dtype is the model's own" in line for line in lines) == 1
    assert sum("plan-bill" in line for line in lines) == 1


def test_nothing_of_a_preview_counts_as_done() -> None:
    lines: list[str] = []
    progress = Progress(write=lines.append, regions=["local"])
    for event in EVENTS:
        progress.take(event)
    assert not any("wave" in line or "ready" in line for line in lines)


def test_what_takes_long_is_named_with_what_it_waits_for() -> None:
    lines, progress = shown([engine_event("resourcePreEvent", 1000, 0)])
    status = "[1/2] Waiting for StatefulSet to create Pods (0/1 Pods ready)"
    message = {"message": f"{status}\n", "severity": "info", "ephemeral": True}
    progress.take(engine_event("diagnosticEvent", 1001, 1, **message))
    before = len(lines)
    progress.tick(1009)
    assert len(lines) == before, "a line every ten seconds is enough"
    progress.tick(1030)
    assert lines[-1].endswith(f"waiting for StatefulSet qwen3-8b-engine (30 s): {status}")
    progress.tick(1032)
    assert len(lines) == before + 1


def test_a_failure_keeps_its_message_in_full() -> None:
    message = "\n".join(["1 error occurred:", *(f"\t* reason {number}" for number in range(30))])
    _, progress = shown(
        [
            engine_event("resourcePreEvent", 1000, 0),
            engine_event("diagnosticEvent", 1900, 1, message=message, severity="error"),
            engine_event("resOpFailedEvent", 1900, 2, status=0, steps=1),
        ]
    )
    assert progress.failures == [
        f"StatefulSet qwen3-8b-engine: {message}",
        "StatefulSet qwen3-8b-engine: create failed",
    ]


def test_what_a_mandatory_policy_refuses_is_a_failure() -> None:
    refusal = {
        "resourceUrn": f"{URN}::triplane-local-qwen3-8b",
        "policyName": "engine-fit-memory",
        "message": "does not fit",
        "enforcementLevel": "mandatory",
    }
    _, progress = shown([{"sequence": 0, "timestamp": 1000, "policyEvent": refusal}])
    assert progress.failures == ["triplane-local-qwen3-8b: engine-fit-memory: does not fit"]


def test_a_log_is_followed_while_it_is_written_and_begun_anew(tmp_path: Path) -> None:
    """`pulumi up` empties the file between preview and update; lines come in pieces."""
    path = tmp_path / "events.jsonl"
    path.write_text("left by an earlier run\n")
    lines: list[str] = []
    text = RECORDING.read_text()
    # The recording is of the past: its own times count, not the clock's.
    with followed(path, Progress(write=lines.append, regions=["local"])) as log:
        log.write_text(text)
        until(lambda: any("plan-bill" in line for line in lines), "the preview is read", 5)
        time.sleep(0.5)
        log.write_text(text[:1000])
        time.sleep(0.5)
        with log.open("a") as file:
            file.write(text[1000:])
    assert sum("the update begins" in line for line in lines) == 1
    assert [wave for line in lines for wave in re.findall(r"wave (-?\d)", line)] == [
        "-3",
        "-2",
        "0",
        "1",
    ]
