"""`triplane onboard` against a hub of its own, without a hub, and with the old tool's flags."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from models.facts.catalog import ModelEntry
from tests.helpers.cli.command import ROOT, triplane

pytestmark = [pytest.mark.pure, pytest.mark.usefixtures("catalog_read_once")]

SHA: Final = "b25037543e9394b818fdfca67ab2a00ecc7dd641"
CONFIG: Final = (ROOT / "catalog" / "models" / "qwen25-7b-instruct-awq.config.json").read_bytes()
FACTS: Final[dict[str, Any]] = {
    "sha": SHA,
    "cardData": {"license": "apache-2.0"},
    "siblings": [
        {"rfilename": "config.json", "size": 1},
        {"rfilename": "model-00001.safetensors", "size": 5_000_000_000},
        {"rfilename": "original/copy.safetensors", "size": 5_000_000_000},
    ],
}
BARE: Final[dict[str, Any]] = {"sha": "main", "siblings": []}
ANSWERS: Final[dict[str, tuple[int, bytes]]] = {
    "/api/models/org/good/revision/main?blobs=true": (200, json.dumps(FACTS).encode()),
    f"/org/good/resolve/{SHA}/config.json": (200, CONFIG),
    "/api/models/org/bare/revision/main?blobs=true": (200, json.dumps(BARE).encode()),
    "/org/bare/resolve/main/config.json": (200, CONFIG),
    "/api/models/org/gated/revision/main?blobs=true": (401, b"{}"),
    "/api/models/org/page/revision/main?blobs=true": (200, b"<html>"),
    "/api/models/org/strange/revision/main?blobs=true": (200, json.dumps(BARE).encode()),
    "/org/strange/resolve/main/config.json": (200, b'{"model_type": "quantum"}'),
}


class Hub(BaseHTTPRequestHandler):
    """A hub with a few models."""

    tokens: Final[list[str | None]] = []

    def do_GET(self) -> None:
        Hub.tokens.append(self.headers.get("Authorization"))
        code, body = ANSWERS.get(self.path, (404, b"{}"))
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    """Serve the hub; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach the local hub without a proxy and without anybody's token."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)


def test_a_hub_id_becomes_an_entry_that_the_catalog_reads(hub: str, tmp_path: Path) -> None:
    options = ("--hub-url", hub, "--gpu-pool", "l4", "--output", str(tmp_path))
    ran = triplane("onboard", "org/good", *options)
    assert ran.code == 0, ran.err
    text = (tmp_path / "good.yaml").read_text()
    entry = ModelEntry.model_validate_json(json.dumps(yaml.safe_load(text)))
    assert (entry.revision, entry.license, entry.format) == (SHA, "apache-2.0", "awq")
    assert (entry.status, entry.weight_bytes) == ("STAGED", 5_000_000_000)
    written = json.loads((tmp_path / "good.config.json").read_text())
    assert written == json.loads(CONFIG), "the hub's file stands unchanged"
    assert "l4: fits, 1 GPUs" in ran.out


def test_existing_files_are_kept_unless_forced(hub: str, tmp_path: Path) -> None:
    """Somebody's corrections would be lost."""
    (tmp_path / "good.yaml").write_text("mine\n")
    options = ("org/good", "--hub-url", hub, "--gpu-pool", "l4", "--output", str(tmp_path))
    ran = triplane("onboard", *options)
    assert (ran.code, "already there" in ran.err) == (2, True)
    assert (tmp_path / "good.yaml").read_text() == "mine\n"
    assert not (tmp_path / "good.config.json").exists()
    assert triplane("onboard", *options, "--force").code == 0
    assert "name: good" in (tmp_path / "good.yaml").read_text()


def test_a_dry_run_writes_nothing(hub: str, tmp_path: Path) -> None:
    ran = triplane(
        *("onboard", "org/good", "--hub-url", hub, "--gpu-pool", "l4", "--dry-run", "--json"),
        *("--output", str(tmp_path)),
    )
    assert ran.row["files"] == ["good.yaml", "good.config.json"]
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_another_hub(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token goes to the hub and nowhere else."""
    monkeypatch.setenv("HF_ENDPOINT", hub)
    monkeypatch.setenv("HF_TOKEN", "not-a-secret")
    ran = triplane("onboard", "org/bare", "--gpu-pool", "l4", "--dry-run")
    assert "revision: unresolved" in ran.out
    assert "open: license: unresolved" in ran.out
    assert Hub.tokens[-1] == "Bearer not-a-secret"
    assert "not-a-secret" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("org/gated", "gated; accept its license"),
        ("org/none", "has no such model, revision or file (404"),
        ("org/page", "is not a JSON object"),
        ("not-an-id", "a hub id is written OWNER/NAME"),
    ],
)
def test_what_the_hub_does_not_give_is_said(hub: str, source: str, said: str) -> None:
    ran = triplane("onboard", source, "--hub-url", hub, "--dry-run")
    assert ran.code == 2
    assert said in ran.err


def test_a_hub_that_cannot_be_reached_is_said_to_be_so(tmp_path: Path) -> None:
    """Nothing is guessed in its place."""
    ran = triplane(
        "onboard", "org/good", "--hub-url", "http://127.0.0.1:9", "--output", str(tmp_path)
    )
    assert ran.code == 2
    assert "the hub cannot be reached at http://127.0.0.1:9" in ran.err
    assert "give a local directory" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_that_is_not_understood_is_not_written(hub: str, tmp_path: Path) -> None:
    options = ("org/strange", "--hub-url", hub, "--output", str(tmp_path))
    ran = triplane("onboard", *options, "--dry-run")
    assert (ran.code, "not understood: config.json: model_type" in ran.out) == (1, True)
    assert triplane("onboard", *options).code == 2
    assert list(tmp_path.iterdir()) == []
    assert triplane("onboard", *options, "--force").code == 1
    assert (tmp_path / "strange.config.json").exists()


def test_a_directory_of_a_hubs_cache_tells_its_commit(tmp_path: Path) -> None:
    folder = tmp_path / "models--Qwen--Qwen2.5-7B-Instruct-AWQ" / "snapshots" / SHA
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(CONFIG)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Model\n")
    (folder / "model.safetensors").write_bytes(b"1234")
    entry = triplane("onboard", str(folder), "--gpu-pool", "l4", "--dry-run", "--json").row["entry"]
    assert entry["name"] == "qwen25-7b-instruct-awq"
    assert (entry["revision"], entry["license"], entry["weight_bytes"]) == (SHA, "apache-2.0", 4)


def test_the_old_tools_command_line_gives_a_frame() -> None:
    old = ("--name", "my-model", "--format", "safetensors", "--vram-budget", "8")
    ran = triplane("onboard", *old, "--gpu-pool", "RTX A2000", "--dry-run")
    assert ran.code == 0, ran.err
    assert "name: my-model" in ran.out
    assert "open: config.json" in ran.out


def test_a_frame_is_not_written(tmp_path: Path) -> None:
    """An entry without its configuration would break every command that loads the catalog."""
    ran = triplane("onboard", "--name", "my-model", "--output", str(tmp_path))
    assert ran.code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("My.Model", "mymodel would do"), ("vllm", "VLLM_PORT"), ("x" * 60, "at most")],
)
def test_names_that_kubernetes_or_the_engine_cannot_bear_are_refused(name: str, said: str) -> None:
    ran = triplane("onboard", "--name", name, "--dry-run")
    assert ran.code == 2
    assert said in ran.err
