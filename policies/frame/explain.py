"""What a rule's id stands for: for `triplane explain`, and for the tables of docs/policies.md.

The words are the rule's own (its description, the first paragraph of its function's docstring, its
remedy), so a page that is made of them cannot say something else.

    python -m policies.frame.explain        renew the tables of docs/policies.md (`make docs`)
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from models.core.rule_ids import GateRule
from policies.core.rule import RuleWeight
from policies.frame.registry import RULES, Registered, Scope

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "policies.md"
_ROW: Final = re.compile(r"^\| `([a-z0-9-]+)` \|.*\|$")
_CASE: Final = re.compile(r"\b[A-Z]+-\d\d\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A rule in words. `subject` is what it looks at, `cases` codes of docs/traps.md."""

    id: str
    subject: str
    holds: str
    why: str
    remedy: str
    weight: RuleWeight

    @property
    def cases(self) -> tuple[str, ...]:
        """The field cases that the reason names."""
        return tuple(dict.fromkeys(_CASE.findall(self.why)))

    @property
    def row(self) -> str:
        """The rule's row in docs/policies.md."""
        cells = (f"`{self.id}`", self.holds, self.why, self.remedy)
        # A bar in a cell would begin another one.
        escaped = [cell.replace("|", "\\|") for cell in cells]
        return f"| {' | '.join(escaped)} |"


_CHANGES: Final = Explanation(
    id=GateRule.DATA_SURVIVES,
    subject="the steps of a preview (`triplane changes`)",
    holds="No change replaces, deletes or shrinks something that holds data without an approval.",
    why="PULK-02, MINIO-01: rules see what a resource will be, never what it was.",
    remedy="take the change back, or name the object in accept_data_loss for this one change",
    weight=RuleWeight.CRITICAL,
)


def explanations() -> Mapping[str, Explanation]:
    """Return every rule of the pack, and that of changes, by id."""
    return {each.id: each for each in (*map(_explained, RULES), _CHANGES)}


def _explained(registered: Registered) -> Explanation:
    rule = registered.rule
    text = inspect.cleandoc(rule.check.__doc__ or "").partition("\n\n")[0]
    return Explanation(
        id=rule.id,
        subject=registered.scope.value,
        holds=rule.description,
        why=" ".join(text.split()),
        remedy=rule.remedy,
        weight=rule.weight,
    )


_HEADINGS: Final = {
    "Rules about one object": Scope.OBJECT,
    "Rules about how objects fit together": Scope.STACK,
    "Proofs about the whole stack": Scope.PLAN,
    "Rules about one AWS resource": Scope.AWS,
    "Rules about how AWS resources fit together": Scope.AWS_STACK,
}
"""Headings of the page whose table holds every rule of a scope."""


def renewed(page: str) -> str:
    """Return the page with every rule's row in the table of its scope, as the registry has them.

    Raises `KeyError` for a row of a rule that no longer exists.
    """
    known = explanations()
    lines: list[str] = []
    scope: Scope | None = None
    for line in page.splitlines(keepends=True):
        if line.startswith("#"):
            scope = _HEADINGS.get(line.strip("# \n"))
        match = _ROW.match(line.rstrip("\n"))
        if match is None:
            lines.append(line)
            if scope is not None and line.startswith("|---"):
                rows = (each.row for each in known.values() if each.subject == scope)
                lines += [f"{row}\n" for row in rows]
        elif known[match[1]].subject not in _HEADINGS.values():
            lines.append(f"{known[match[1]].row}\n")
    return "".join(lines)


def main() -> None:
    """Renew the page."""
    PAGE.write_text(renewed(PAGE.read_text()))


if __name__ == "__main__":
    main()
