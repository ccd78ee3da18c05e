"""`triplane roi` and `triplane place` as people call them, and the examples of docs/tools.md."""

import ast
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from models.serving.roi import RoiInput
from tests.helpers.cli.command import ROOT, triplane

pytestmark = [pytest.mark.pure, pytest.mark.usefixtures("catalog_read_once")]

PAGE: Final = (ROOT / "docs" / "tools.md").read_text()
ROI: Final = (
    *("roi", "--requests-per-sec", "10", "--prompt-tokens", "2000", "--hit-rate", "0.6"),
    *("--prefill-tokens-per-sec", "4000", "--nvme-gib", "500"),
)


def blocks(kind: str) -> list[str]:
    """Return the page's code blocks of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, list[str]]]:
    """Yield every command of the page with the lines that it shows."""
    for block in blocks("console"):
        command, *lines = block.splitlines()
        yield command.removeprefix("$ "), [line for line in lines if line != "..."]


@pytest.mark.parametrize(("command", "lines"), list(examples()), ids=lambda value: str(value)[:60])
def test_the_pages_examples_say_what_the_page_shows(
    command: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example that is not run goes out of date."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    Path("my-model").mkdir()
    config = ROOT / "catalog" / "models" / "qwen25-7b-instruct-awq.config.json"
    shutil.copy(config, "my-model/config.json")
    for block in blocks("yaml"):
        name = re.match(r"# file: (\S+)", block)
        if name is not None:
            Path(name[1]).write_text(block)
    words, _, note = command.partition("  # exit ")
    ran = triplane(*shlex.split(words)[1:])
    assert ran.code == int(note or 0), ran.err
    printed = [line.rstrip() for line in ran.out.splitlines()]
    for line in lines:
        assert line in printed, ran.out


def calculations() -> list[tuple[str, str, str]]:
    """Return the hand calculation: expression, value, the tool's name."""
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \| (\w+) \|$", PAGE, re.MULTILINE)
    return [(text, value, name) for text, value, name in rows if "`" not in text]


def worked_out(node: ast.expr) -> float:
    """Return the value of an expression of numbers, + - * / and brackets."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    assert isinstance(node, ast.BinOp), ast.dump(node)
    left, right = worked_out(node.left), worked_out(node.right)
    if isinstance(node.op, ast.Div):
        return left / right
    if isinstance(node.op, ast.Mult):
        return left * right
    return left + right if isinstance(node.op, ast.Add) else left - right


def test_the_hand_calculation_is_right_and_agrees_with_the_tool() -> None:
    command = next(text for text, _ in examples() if text.startswith("triplane roi"))
    found = triplane(*shlex.split(command)[1:], "--json").row
    rows = calculations()
    assert len(rows) == 12
    for text, value, name in rows:
        by_hand = worked_out(ast.parse(text, mode="eval").body)
        assert by_hand == pytest.approx(float(value), rel=1e-12), text
        assert found[name] == pytest.approx(float(value), rel=1e-12), name


def test_every_assumption_is_an_option_and_on_the_page() -> None:
    printed = triplane("roi", "--help").out
    for name in RoiInput.model_fields:
        option = "--" + name.replace("_", "-")
        assert f"`{option}`" in PAGE or name in ("requests_per_sec", "prompt_tokens", "hit_rate")
        assert option[:20] in printed.replace("…", "")


def test_a_cards_price_comes_from_the_catalog() -> None:
    found = triplane(*ROI, "--gpu", "l4", "--json").row
    price = next(a for a in found["assumptions"] if a["option"] == "--gpu-usd-per-hour")
    assert price["value"] == 0.8048
    ran = triplane(*ROI, "--gpu", "l4", "--region", "eu-west-1")
    assert (ran.code, "no price of it in eu-west-1" in ran.err) == (2, True)


def test_a_cache_that_does_not_pay_exits_with_one() -> None:
    ran = triplane(*ROI, "--gpu-usd-per-hour", "0.8", "--other-usd-per-hour", "50")
    assert (ran.code, "does not pay" in ran.out, "no break-even" in ran.out) == (1, True, True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "the price of a prompt token is not known"),
        (("--gpu-usd-per-hour", "0.8", "--baseline-hit-rate", "0.9"), "is below baseline_hit_rate"),
        (("--gpu-usd-per-hour", "0.8", "--hit-cost-share", "2"), "less than or equal to 1"),
    ],
)
def test_a_load_that_makes_no_sense_exits_with_two(more: tuple[str, ...], said: str) -> None:
    ran = triplane(*ROI, *more)
    assert ran.code == 2
    assert said in ran.err


def write(path: Path, **data: Any) -> str:
    """Write a file of `place`; return its name."""
    path.write_text(json.dumps(data))
    return str(path)


def test_placing_gives_a_state_that_a_preset_can_start_from(tmp_path: Path) -> None:
    models = [{"name": f"m{number}", "gib": 6.0} for number in range(4)]
    pool = write(tmp_path / "pool.json", models=models)
    first = triplane("place", pool, "--gpus", "2xl4", "--strategy", "balanced", "--json")
    assert first.code == 0, first.err
    state = tmp_path / "state.json"
    state.write_text(first.out)
    more = write(tmp_path / "preset.json", models=[*models, {"name": "large", "gib": 15.0}])
    options = ("--preset", more, "--state", str(state), "--gpus", "2xl4", "--json")
    second = triplane("place", *options)
    assert (second.code, second.err) == (0, "")
    steps = [(step["action"], step["model"]) for step in second.row["actions"]]
    assert [kind for kind, _ in steps] == ["move", "load"], "two of 6 GiB make room for 15"
    state.write_text(second.out)
    assert triplane("place", *options).row["actions"] == []


def test_needs_come_from_the_memory_model(tmp_path: Path) -> None:
    pool = write(tmp_path / "pool.json", models=[{"name": "chat", "model": "qwen3-8b"}])
    ran = triplane("place", pool, "--gpus", "1xt4,1xl4", "--json")
    (placed,) = ran.row["placed"]
    assert placed["gpus"] == ["node-2/0"]
    assert 15.3 < placed["gib"] < 19


def test_an_unknown_card_needs_its_memory(tmp_path: Path) -> None:
    row = {"node": "a", "kind": "abacus"}
    models = [{"name": "m", "gib": 6.0}, {"name": "qwen3-06b"}]
    pool = write(tmp_path / "pool.json", gpus=[row], models=models)
    assert "give memory_gib" in triplane("place", pool).err
    pool = write(tmp_path / "pool.json", gpus=[{**row, "memory_gib": 8}], models=models)
    ran = triplane("place", pool)
    assert ran.code == 1
    assert "qwen3-06b: abacus: not in the catalog, so give the model's gib" in ran.out


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ({"models": [{"name": "m", "gib": 1.0}]}, (), "names no GPUs"),
        ({"models": [{"name": "m", "gib": 1.0}]}, ("--gpus", "4x"), "COUNTxKIND"),
        ({"models": [{"name": "m", "gbi": 1.0}]}, ("--gpus", "l4"), "models[0].gbi"),
        ({"models": [{"name": "m", "gib": -1.0}]}, ("--gpus", "l4"), "greater than 0"),
        ({"models": [{"name": "m", "gib": 1.0}] * 2}, ("--gpus", "l4"), "named twice"),
        ({"models": [{"name": "nobody"}]}, ("--gpus", "l4"), "no known name"),
    ],
)
def test_files_that_cannot_be_used_exit_with_two(
    tmp_path: Path, data: dict[str, Any], options: tuple[str, ...], said: str
) -> None:
    ran = triplane("place", write(tmp_path / "pool.json", **data), *options)
    assert ran.code == 2
    assert said in ran.err


def test_what_to_place_must_be_said_once(tmp_path: Path) -> None:
    assert triplane("place").code == 2
    assert "belong together" in triplane("place", "--preset", "a.yaml").err
    assert triplane("place", str(tmp_path / "none.yaml"), "--gpus", "l4").code == 2
