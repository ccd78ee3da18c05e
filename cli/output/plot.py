"""The stacked budget as an SVG drawing. Pure: answers to text."""

from collections.abc import Sequence
from html import escape
from typing import Final

from cli.output.answers import Answer

_COLORS: Final = (
    ("weights", "#4c72b0"),
    ("outside PyTorch", "#937860"),
    ("activation peak", "#dd8452"),
    ("CUDA graphs", "#8172b3"),
    ("KV cache", "#55a868"),
)
_WIDTH: Final = 900
_LEFT: Final = 260
_BAR: Final = 26
_STEP: Final = 44
_TOP: Final = 64


def svg(answers: Sequence[Answer]) -> str:
    """Return the drawing: one bar per answer, GiB on one scale for all."""
    drawn = [answer for answer in answers if answer.request is not None]
    scale = (_WIDTH - _LEFT - 110) / max([_most(answer) for answer in drawn], default=1.0)
    height = _TOP + _STEP * max(1, len(answers)) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        *_legend(),
    ]
    for index, answer in enumerate(answers):
        parts += _bar(answer, _TOP + index * _STEP, scale)
    return "\n".join([*parts, "</svg>", ""])


def segments(answer: Answer) -> list[tuple[str, float]]:
    """Return the parts of the bar in GiB, in order; graphs only where they are deducted."""
    found, request = answer.budget, answer.request
    if request is None or found.weights_gib is None:
        return []
    graphs = found.cuda_graph_gib if request.behavior.graphs_deducted else 0.0
    values = (
        found.weights_gib,
        found.non_torch_gib,
        found.activation_gib,
        graphs,
        found.kv_cache_gib,
    )
    names = [name for name, _ in _COLORS]
    return [(name, max(0.0, value or 0.0)) for name, value in zip(names, values, strict=True)]


def _most(answer: Answer) -> float:
    card = answer.request.card.memory_gib if answer.request is not None else 0.0
    return max(card, sum(value for _, value in segments(answer)), 1e-9)


def _legend() -> list[str]:
    parts = ['<text x="10" y="24" font-size="15">GPU memory per GPU, GiB</text>']
    for index, (name, color) in enumerate(_COLORS):
        x = 10 + index * 140
        parts.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{x + 17}" y="47">{name}</text>')
    parts.append('<text x="720" y="47">dashed: asked for; frame: card</text>')
    return parts


def _bar(answer: Answer, y: int, scale: float) -> list[str]:
    found, request = answer.budget, answer.request
    label = answer.id if len(answer.id) <= 38 else answer.id[:37] + "…"
    parts = [f'<text x="10" y="{y + 17}">{escape(label)}</text>']
    if request is None or found.weights_gib is None:
        reason = escape((answer.reasons or ("",))[0][:100])
        return [*parts, f'<text x="{_LEFT}" y="{y + 17}" fill="#777">unknown: {reason}</text>']
    x = float(_LEFT)
    for (name, value), (_, color) in zip(segments(answer), _COLORS, strict=True):
        width = value * scale
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{color}">'
            f"<title>{name}: {value:.2f} GiB</title></rect>"
        )
        if width > 34:
            parts.append(
                f'<text x="{x + width / 2:.1f}" y="{y + 17}" fill="white" '
                f'text-anchor="middle">{value:.1f}</text>'
            )
        x += width
    card = request.card.memory_gib * scale
    asked = _LEFT + (found.requested_gib or 0.0) * scale
    parts.append(
        f'<rect x="{_LEFT}" y="{y}" width="{card:.1f}" height="{_BAR}" fill="none" stroke="#333"/>'
    )
    parts.append(
        f'<line x1="{asked:.1f}" x2="{asked:.1f}" y1="{y - 4}" y2="{y + _BAR + 4}" '
        f'stroke="#333" stroke-dasharray="4 3"/>'
    )
    end = max(x, _LEFT + card) + 8
    parts.append(f'<text x="{end:.1f}" y="{y + 17}">{found.verdict.value}</text>')
    return parts
