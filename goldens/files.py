"""Answers to committed files: compact, sorted, without timings and machine paths."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, cast

from pydantic import JsonValue

from goldens.cases import GoldenCase
from models.facts.golden import ModelGoldens, config_sha256

Answer = Mapping[str, JsonValue]

FOLDER: Final = Path(__file__).resolve().parent.parent / "catalog" / "goldens"
_PATH: Final = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+[\w.+-]+")
_NOT_ANSWERED: Final = ("took more than", "the process died")


def failed(answers: Mapping[str, Answer], asked: Iterable[GoldenCase]) -> list[str]:
    """Return the cases that have no answer, with the reason: those are not goldens."""
    missing: list[str] = []
    for case in asked:
        answer = answers.get(f"{case.model}/{case.name}")
        text = "no answer" if answer is None else str(answer.get("error", ""))
        if answer is None or text.startswith(_NOT_ANSWERED):
            missing.append(f"{case.model}/{case.name}: {text}")
    return missing


def golden(case: GoldenCase, answer: Answer) -> dict[str, JsonValue]:
    """Return one answer as a golden's plain values; what is empty is left out."""
    major, minor = case.capability
    error = answer.get("error")
    held: dict[str, JsonValue] = {
        "case": case.name,
        "accelerator": case.card,
        "compute_capability": f"{major}.{minor}",
        "tensor": case.tensor,
        "arguments": dict(case.arguments),
    }
    if isinstance(error, str):
        return {**held, "refused": _plain(_words(error))}
    held |= {
        "resolved": answer["engine"],
        "weights": answer["weights"],
        "kernel_backends": answer["kernel_backends"],
        "process_failures": _plain(answer["process_failures"]),
        "attention": answer["attention"],
        "layout": answer["layout"],
        "groups": _grouped(cast("list[dict[str, JsonValue]]", answer["groups"])),
        "pool_bytes_per_block": answer["pool_bytes_per_block"],
        "need_bytes": answer["need_bytes"],
        "plans": _plain(answer["plans"]),
    }
    return {name: value for name, value in held.items() if value not in ([], {})}


def _words(error: str) -> str:
    """Return the engine's words of an error without pydantic's frame around them."""
    inner = re.search(r"Value error, (.*?) \[type=value_error", error)
    return inner[1] if inner else error


def _grouped(groups: list[dict[str, JsonValue]]) -> list[JsonValue]:
    """Return groups that are alike once, with their number, in the engine's order."""
    times: dict[str, int] = {}
    for group in groups:
        key = json.dumps(group, sort_keys=True)
        times[key] = times.get(key, 0) + 1
    return [{**json.loads(key), "times": count} for key, count in times.items()]


def _plain(value: JsonValue) -> JsonValue:
    """Return values without paths of the machine that asked."""
    if isinstance(value, str):
        return _PATH.sub("<path>", value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def text_of(
    version: str, name: str, config: Mapping[str, JsonValue], cases: list[dict[str, JsonValue]]
) -> str:
    """Return a model's file: valid JSON, one line for each case."""
    head = {"engine": version, "model": name, "config_sha256": config_sha256(config)}
    lines = ",\n".join(
        json.dumps(case, sort_keys=True, separators=(",", ":"))
        for case in sorted(cases, key=lambda case: str(case["case"]))
    )
    start = json.dumps(head, separators=(",", ":"))[:-1]
    text = f'{start},"cases":[\n{lines}\n]}}\n'
    ModelGoldens.model_validate_json(text)
    return text


def write(
    version: str, texts: Mapping[str, str], root: Path | None = None, *, alone: bool = False
) -> None:
    """Write files of a release; unless they stand `alone`, remove those of models that are gone."""
    folder = (root or FOLDER) / version
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.json"):
        if path.stem not in texts and not alone:
            path.unlink()
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
