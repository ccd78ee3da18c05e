"""`triplane select` as people call it, with the old tool's command lines."""

import json
from pathlib import Path

import pytest

from tests.helpers.cli.command import ROOT, triplane

pytestmark = [pytest.mark.pure, pytest.mark.usefixtures("catalog_read_once")]

MODELS = ROOT / "catalog" / "models"


def directory(path: Path, name: str, config: str, **files: str) -> Path:
    """Make a model's directory of a catalog model's configuration and other files."""
    folder = path / name
    folder.mkdir()
    text = (MODELS / f"{config}.config.json").read_text()
    (folder / "config.json").write_text(text)
    for file, content in files.items():
        (folder / file.replace("__", ".")).write_text(content)
    return folder


@pytest.mark.parametrize("old", [("--json",), ("--format", "awq", "--json")])
def test_the_old_tools_command_lines_work(tmp_path: Path, old: tuple[str, ...]) -> None:
    folder = directory(tmp_path, "my-model", "qwen25-7b-instruct-awq")
    ran = triplane("select", "--model", str(folder), *old)
    assert ran.code == 0, ran.err
    row = ran.row
    assert (row["family"], row["format"]) == ("transformer", "awq")
    assert [each["environment"] for each in row["selections"]] == ["dev", "staging", "prod"]
    assert row["selections"][0]["command"][0] == str(folder)
    for each in row["selections"]:
        assert all(argument["why"] for argument in each["arguments"])


def test_many_models_are_a_list() -> None:
    ran = triplane(
        "select", "qwen3-06b", "falcon-mamba-7b", "--env", "dev", "--gpu", "l4", "--json"
    )
    assert [row["model"] for row in ran.json] == ["qwen3-06b", "falcon-mamba-7b"]
    assert [row["selections"][0]["gpus"] for row in ran.json] == [1, 1]
    assert ran.code == 0, ran.err


def test_every_environment_on_every_card_named() -> None:
    ran = triplane("select", "qwen3-8b", "--gpu", "l4", "--gpu", "RTX A2000", "--json")
    pairs = [(each["environment"], each["gpu"]) for each in ran.row["selections"]]
    assert len(pairs) == len(set(pairs)) == 6


def test_a_file_beside_the_configuration_gives_the_format(tmp_path: Path) -> None:
    side = json.dumps({"bits": 4, "group_size": 128})
    folder = directory(tmp_path, "m", "qwen3-8b", quantize_config__json=side)
    ran = triplane("select", str(folder), "--env", "dev", "--gpu", "l4", "--json")
    assert ran.row["format"] == "gptq"


def test_a_size_that_does_not_fit_exits_with_one_and_says_the_mend() -> None:
    ran = triplane("select", "qwen3-8b", "--env", "prod", "--gpu", "t4", "--tp", "1")
    assert ran.code == 1
    assert "remedy" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say which model"),
        (("./no-such-dir",), "no such directory or file"),
        (("nobody/knows-this",), "no known name"),
        (("qwen3-8b", "--gpu", "abacus"), "no such card in the catalog"),
        (("qwen3-8b", "--tp", "2"), "say on which card"),
        (("qwen3-8b", "--vllm-version", "9.9.9"), "no contract of this release"),
        (("qwen25-7b-instruct-awq", "--format", "fp8"), "the checkpoint says otherwise"),
        (("qwen3-8b", "--format", "zip"), "no such format"),
        (("qwen3-8b", "--env", "moon"), "moon"),
    ],
)
def test_input_that_cannot_be_used_exits_with_two(arguments: tuple[str, ...], said: str) -> None:
    ran = triplane("select", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""


def test_directories_without_a_usable_configuration_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert "GGUF" in triplane("select", str(tmp_path)).err
    (tmp_path / "model.gguf").unlink()
    assert "no config.json" in triplane("select", str(tmp_path)).err
    (tmp_path / "config.json").write_text('{"model_type": "quantum"}')
    ran = triplane("select", str(tmp_path))
    assert (ran.code, "'quantum'" in ran.err) == (2, True)
    (tmp_path / "config.json").write_text("[")
    assert triplane("select", str(tmp_path)).code == 2
