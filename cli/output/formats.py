"""Answers as JSON for programs and as tables for people."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from cli.output.answers import Answer
from models.memory import TermSource, Verdict

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Final = {
    Verdict.FITS: "green",
    Verdict.CANNOT_START: "red",
    Verdict.CANNOT_SERVE: "red",
    Verdict.UNKNOWN: "yellow",
}
_TERMS: Final = (
    ("weights_gib", "weights"),
    ("activation_gib", "activation peak"),
    ("non_torch_gib", "outside PyTorch"),
    ("cuda_graph_gib", "CUDA graphs"),
    ("kv_cache_gib", "KV cache"),
    ("kv_cache_gib_low", "KV cache, at least"),
    ("needed_kv_gib", "one request needs"),
    ("margin_gib", "margin"),
)


_SOURCES: Final[dict[TermSource | None, str]] = {
    TermSource.GOLDEN: "engine golden",
    TermSource.PROFILE: "measured",
    TermSource.GIVEN: "given",
}
"""How a term's source is told; what our model counts or estimates is not marked."""


def row(answer: Answer) -> dict[str, JsonValue]:
    """Return an answer as its JSON object (part 3; `old_calculator` only under its flags).

    `sources` tells where each term comes from: golden, model, profile, given.
    """
    found = answer.budget
    result: dict[str, JsonValue] = {
        "id": answer.id,
        "verdict": found.verdict.value,
        "weights_gib": _rounded(found.weights_gib),
        "activation_gib": _rounded(found.activation_gib),
        "non_torch_gib": _rounded(found.non_torch_gib),
        "cuda_graph_gib": _rounded(found.cuda_graph_gib),
        "kv_cache_gib": _rounded(found.kv_cache_gib),
        "kv_cache_gib_low": _rounded(found.kv_cache_gib_low),
        "kv_bytes_per_token": _rounded(found.kv_bytes_per_token),
        "gpu_blocks": found.gpu_blocks,
        "kv_cache_tokens": found.kv_cache_tokens,
        "max_concurrency": _rounded(found.max_concurrency),
        "needed_kv_gib": _rounded(found.needed_kv_gib),
        "margin_gib": _rounded(found.margin_gib),
        "reasons": list(answer.reasons),
        "remedies": [{"text": each.text, "settings": {**each.settings}} for each in found.remedies],
        "sources": {name: source.value for name, source in found.sources.items()},
    }
    if answer.old is not None:
        old = answer.old.result
        result["old_calculator"] = {
            "kv_cache_gb": None if old is None else _rounded(old.kv_cache_gb),
            "left_gb": None if old is None else _rounded(old.left_gb),
            "fits": None if old is None else old.fits,
            "why": answer.old.why,
        }
    return result


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def as_json(answers: Sequence[Answer], *, many: bool) -> str:
    """Return the JSON text: a list for many, an object for one."""
    rows = [row(answer) for answer in answers]
    return json.dumps(rows if many else rows[0], indent=2, ensure_ascii=False, allow_nan=False)


def show(answers: Sequence[Answer], *, many: bool) -> None:
    """Print answers for people on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    if many:
        _show_many(console, answers)
    else:
        _show_one(console, answers[0])


def _show_one(console: "Console", answer: Answer) -> None:
    from rich.markup import escape
    from rich.table import Table

    found, request = answer.budget, answer.request
    console.print(f"[bold]{escape(answer.id)}[/]: {_verdict(found.verdict)}")
    if request is not None:
        card = f"{request.card.product or 'GPU'}, {request.card.memory_gib:.2f} GiB"
        major, minor = request.behavior.release
        asked = found.requested_gib or 0.0
        console.print(f"{escape(card)}; vLLM {major}.{minor}; {asked:.2f} GiB asked for")
        table = Table(show_header=False, box=None, pad_edge=False)
        for name, words in _TERMS:
            value: float | None = getattr(found, name)
            shown = "-" if value is None else f"{value:8.2f} GiB"
            table.add_row(words, shown, _SOURCES.get(found.sources.get(name), ""))
        layout = _SOURCES.get(found.sources.get("kv_layout"), "")
        table.add_row("KV bytes per token", _plain(found.kv_bytes_per_token, ",.0f"), layout)
        table.add_row("blocks", _plain(found.gpu_blocks, ","))
        table.add_row("KV cache tokens", _plain(found.kv_cache_tokens, ","))
        words = f"concurrency at {found.max_model_len or 0:,} tokens"
        table.add_row(words, _plain(found.max_concurrency, ".2f") + "x")
        console.print(table)
    _show_words(console, answer)
    if answer.old is not None:
        old = answer.old.result
        number = (
            "no number"
            if old is None
            else f"KV cache {old.kv_cache_gb:.3f} GB, {old.left_gb:.2f} GB left, "
            f"{'fits' if old.fits else 'does not fit'}"
        )
        console.print(f"the old calculator: {number}; {escape(answer.old.why)}")


def _show_words(console: "Console", answer: Answer) -> None:
    from rich.markup import escape

    for reason in answer.reasons:
        console.print(f"- {escape(reason)}")
    for remedy in answer.budget.remedies:
        console.print(f"[cyan]remedy[/]: {escape(remedy.text)}")


def _show_many(console: "Console", answers: Sequence[Answer]) -> None:
    from rich.markup import escape
    from rich.table import Table

    heads = ("id", "verdict", "weights", "activ.", "other", "graphs", "KV", "KV low", "tokens")
    table = Table(*heads, "conc.")
    for answer in answers:
        found = answer.budget
        terms = (
            found.weights_gib,
            found.activation_gib,
            found.non_torch_gib,
            found.cuda_graph_gib,
            found.kv_cache_gib,
            found.kv_cache_gib_low,
        )
        table.add_row(
            escape(answer.id),
            _verdict(found.verdict),
            *(_plain(value, ".2f") for value in terms),
            _plain(found.kv_cache_tokens, ","),
            _plain(found.max_concurrency, ".2f"),
        )
    console.print(table)
    for answer in answers:
        if answer.budget.verdict is not Verdict.FITS:
            first = answer.reasons[0] if answer.reasons else ""
            console.print(f"[bold]{escape(answer.id)}[/]: {escape(first)}", soft_wrap=True)
    counted = dict.fromkeys(Verdict, 0)
    for answer in answers:
        counted[answer.budget.verdict] += 1
    console.print("; ".join(f"{count} {verdict.value}" for verdict, count in counted.items()))


def _verdict(verdict: Verdict) -> str:
    return f"[{_STYLES[verdict]}]{verdict.value}[/]"


def _plain(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
