"""`triplane changes`: previews in both of the engine's forms, judged before anybody approves."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.command import triplane

pytestmark = pytest.mark.pure

CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
LABEL = "PersistentVolumeClaim/ml/models"
Json = dict[str, Any]


def claim(size: str = "200Gi", storage_class: str = "longhorn") -> Json:
    """Return the state of a claim that holds weights."""
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }
    inputs = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models", "namespace": "ml"},
        "spec": spec,
    }
    return {"urn": f"urn:pulumi:prod::p::{CLAIM}::models", "type": CLAIM, "inputs": inputs}


def step(op: str, old: Json | None, new: Json | None) -> Json:
    """Return one step as `pulumi preview --json` has it."""
    sides = {"oldState": old, "newState": new}
    return {"op": op, "urn": "u", **{key: side for key, side in sides.items() if side is not None}}


def document(*steps: Json, **beside: Any) -> Json:
    """Return a preview as JSON."""
    return {"steps": list(steps), **beside}


def events(*steps: Json, config: Json | None = None, summary: bool = True) -> list[Json]:
    """Return the same preview as the engine's events."""
    found: list[Json] = [{"sequence": 0, "preludeEvent": {"config": config or {}}}]
    for each in steps:
        metadata = {"op": each["op"], "urn": each["urn"]}
        metadata |= {"old": each.get("oldState"), "new": each.get("newState")}
        found.append({"resourcePreEvent": {"metadata": metadata, "planning": True}})
    return [*found, {"summaryEvent": {"maybeCorrupt": False}}] if summary else found


def written(tmp_path: Path, preview: Json | list[Json]) -> str:
    """Write a preview in its form and return the file's name."""
    file = tmp_path / "preview.json"
    if isinstance(preview, dict):
        file.write_text(json.dumps(preview))
    else:
        file.write_text("".join(f"{json.dumps(event)}\n" for event in preview))
    return str(file)


REPLACED = step("replace", claim(), claim(storage_class="other"))


@pytest.mark.parametrize("preview", [document(REPLACED), events(REPLACED)], ids=["json", "events"])
def test_lost_data_is_an_error_in_either_form(preview: Any, tmp_path: Path) -> None:
    ran = triplane("changes", written(tmp_path, preview), "--json")
    (finding,) = ran.json["findings"]
    assert ran.code == 1
    assert finding["object"] == LABEL
    assert finding["rule"] == "k8s-data-survive-changes"
    assert finding["severity"] == "error"
    assert "spec.storageClassName" in finding["message"]
    assert ran.json["operations"] == {"replace": 1}


@pytest.mark.parametrize("preview", [document(REPLACED), events(REPLACED)], ids=["json", "events"])
def test_an_approval_on_the_command_line_is_for_that_object_only(
    preview: Any, tmp_path: Path
) -> None:
    file = written(tmp_path, preview)
    assert triplane("changes", file, "--approve", LABEL).code == 0
    assert triplane("changes", file, "--approve", "PersistentVolumeClaim/ml/other").code == 1


SETTINGS = {"environment": "prod", "accept_data_loss": [LABEL]}


@pytest.mark.parametrize(
    "preview",
    [
        document(REPLACED, config={"triplane:platform": json.dumps(SETTINGS)}),
        events(REPLACED, config={"triplane:platform": json.dumps(SETTINGS)}),
        document(REPLACED, config={"triplane:platform": {"value": json.dumps(SETTINGS)}}),
    ],
    ids=["json", "events", "wrapped"],
)
def test_an_approval_in_the_stack_s_settings_counts(preview: Any, tmp_path: Path) -> None:
    """The same sentence in the settings that the pack reads; nobody approves twice."""
    assert triplane("changes", written(tmp_path, preview)).code == 0


def test_settings_that_cannot_be_read_approve_nothing(tmp_path: Path) -> None:
    preview = document(REPLACED, config={"triplane:platform": "{"})
    assert triplane("changes", written(tmp_path, preview)).code == 1


def test_growing_a_volume_is_good_and_shrinking_it_is_not(tmp_path: Path) -> None:
    """A claim grows in place; the API server refuses the other way, after the preview."""
    grown = document(step("update", claim("200Gi"), claim("300Gi")))
    assert triplane("changes", written(tmp_path, grown)).code == 0
    shrunk = document(step("update", claim("200Gi"), claim("100Gi")))
    ran = triplane("changes", written(tmp_path, shrunk))
    assert ran.code == 1
    assert LABEL in ran.out


def test_an_unknown_size_is_not_good(tmp_path: Path) -> None:
    """What the preview does not know may lose data: the exit code says no."""
    unknown = claim("04da6b54-80e4-46f7-96ec-b56ff0331ba9")
    ran = triplane(
        "changes", written(tmp_path, document(step("update", claim(), unknown))), "--json"
    )
    assert [each["severity"] for each in ran.json["findings"]] == ["unknown"]
    assert ran.code == 1


def test_a_failed_preview_is_an_error_though_its_steps_are_harmless(tmp_path: Path) -> None:
    harmless = step("same", claim(), claim())
    failed = document(harmless, diagnostics=[{"severity": "error", "message": "no such class\nx"}])
    ran = triplane("changes", written(tmp_path, failed), "--json")
    assert ran.code == 1
    assert "no such class" in ran.json["findings"][0]["message"]
    warned = document(harmless, diagnostics=[{"severity": "warning", "message": "old"}])
    assert triplane("changes", written(tmp_path, warned)).code == 0


def test_a_failed_log_is_an_error(tmp_path: Path) -> None:
    said = {"diagnosticEvent": {"severity": "error", "message": "no such class"}}
    assert triplane("changes", written(tmp_path, [*events(), said])).code == 1


def test_a_log_without_its_end_is_an_error(tmp_path: Path) -> None:
    """An interrupted preview shows some changes; the dangerous one may be among the others."""
    ran = triplane("changes", written(tmp_path, events(summary=False)), "--json")
    assert ran.code == 1
    assert "did not come to its end" in ran.json["findings"][0]["message"]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"steps": 3}', "steps: []", '{"a": 1}\n{"b": 2}', "3\n4"],
)
def test_what_is_no_preview_is_refused(text: str, tmp_path: Path) -> None:
    """An empty answer of a pipeline whose first half failed must not read as "nothing changes"."""
    file = tmp_path / "preview.json"
    file.write_text(text)
    ran = triplane("changes", str(file))
    assert ran.code == 2
    assert "pulumi preview --json" in ran.err


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert triplane("changes", str(tmp_path / "none.json")).code == 2


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(document(REPLACED))))
    assert triplane("changes", "-").code == 1
