"""A small SVG drawing: numbers have one digit after the point, so that files are reproducible."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

COLORS: Final = {
    "dense": "#4c72b0",
    "MoE": "#937860",
    "MLA": "#8172b3",
    "SWA": "#55a868",
    "hybrid": "#c44e52",
}
GREY: Final = "#8c8c8c"


class LogScale:
    """A logarithmic axis from `low` to `high` over pixels; what is smaller lies at `low`."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        """Map `low` to pixel `start` and `high` to pixel `end`."""
        self.low, self.high, self.start, self.end = low, high, start, end

    def at(self, value: float) -> float:
        """Return a value's pixel."""
        inside = min(self.high, max(self.low, value))
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return 1, 2 and 5 times the powers of ten that lie on the axis."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


class Drawing:
    """Collects elements and returns them as one SVG text."""

    def __init__(self, width: int, height: int, title: str) -> None:
        """Start with a white ground; `title` is what screen readers say."""
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def line(
        self, start: tuple[float, float], end: tuple[float, float], color: str, more: str = ""
    ) -> None:
        """Draw a line."""
        (x1, y1), (x2, y2) = start, end
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{color}"{more}/>'
        )

    def dot(self, at: tuple[float, float], color: str, *, hollow: bool, says: str) -> None:
        """Draw a point; `says` shows when the pointer rests on it."""
        fill = "#ffffff" if hollow else color
        self._parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4" fill="{fill}" fill-opacity="0.8" '
            f'stroke="{color}" stroke-width="1.5"><title>{escape(says)}</title></circle>'
        )

    def text(
        self, at: tuple[float, float], words: str, anchor: str = "start", more: str = ""
    ) -> None:
        """Write words."""
        self._parts.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" '
            f'fill="#333333"{more}>{escape(words)}</text>'
        )

    def across(self, scale: LogScale, top: float, bottom: float) -> None:
        """Draw a horizontal axis's ticks, with lines from `top` to `bottom`."""
        for tick in scale.ticks():
            x = scale.at(tick)
            self.line((x, top), (x, bottom), "#e5e5e5")
            self.text((x, bottom + 16), f"{tick:g}", "middle")

    def up(self, scale: LogScale, left: float, right: float) -> None:
        """Draw a vertical axis's ticks, with lines from `left` to `right`."""
        for tick in scale.ticks():
            y = scale.at(tick)
            self.line((left, y), (right, y), "#e5e5e5")
            self.text((left - 6, y + 4), f"{tick:g}", "end")

    def legend(self, at: tuple[float, float], entries: Sequence[tuple[str, str, bool]]) -> None:
        """Draw entries of (words, color, hollow) below each other."""
        for row, (words, color, hollow) in enumerate(entries):
            y = at[1] + row * 20
            self.dot((at[0], y), color, hollow=hollow, says=words)
            self.text((at[0] + 12, y + 4), words)

    def svg(self) -> str:
        """Return the whole drawing."""
        return "\n".join([*self._parts, "</svg>", ""])
