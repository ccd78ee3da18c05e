"""What a rule's id stands for: for `triplane explain`, and for the tables of docs/policies.md.

The words are the rule's own (its description, the first paragraph of its function's docstring, its
mend), so a page that is made of them cannot say something else.

    python -m policies.frame.explain        renew the rows of docs/policies.md (`make docs`)
"""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from policies.changes.preview import RULE as CHANGES_RULE
from policies.core.rule import Rule, Weight
from policies.frame.registry import (
    AWS_RULES,
    AWS_STACK_RULES,
    OBJECT_RULES,
    PLAN_RULES,
    STACK_RULES,
)

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
    weight: Weight

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
    id=CHANGES_RULE,
    subject="the steps of a preview (`triplane changes`)",
    holds="No change replaces, deletes or shrinks something that holds data without an approval.",
    why="PULK-02, MINIO-01: rules see what a resource will be, never what it was.",
    remedy="take the change back, or name the object in accept_data_loss for this one change",
    weight=Weight.CRITICAL,
)


def explanations() -> Mapping[str, Explanation]:
    """Return every rule of the pack, and that of changes, by id."""
    return {each.id: each for each in (*_of_rules(), _CHANGES)}


def _of_rules() -> Iterator[Explanation]:
    groups: tuple[tuple[str, tuple[Rule[Any], ...]], ...] = (
        ("one object", tuple(each.rule for each in OBJECT_RULES)),
        ("how objects fit together", STACK_RULES),
        ("the whole plan", PLAN_RULES),
        ("one AWS resource", AWS_RULES),
        ("how AWS resources fit together", AWS_STACK_RULES),
    )
    for subject, rules in groups:
        for rule in rules:
            text = inspect.cleandoc(rule.check.__doc__ or "").partition("\n\n")[0]
            yield Explanation(
                id=rule.id,
                subject=subject,
                holds=rule.description,
                why=" ".join(text.split()),
                remedy=rule.remedy,
                weight=rule.weight,
            )


def renewed(page: str) -> str:
    """Return the page with each rule's row as the rule has it; rows keep their places.

    Raises `KeyError` for a row of a rule that no longer exists.
    """
    known = explanations()
    lines = page.splitlines(keepends=True)
    for number, line in enumerate(lines):
        match = _ROW.match(line.rstrip("\n"))
        if match is not None:
            lines[number] = f"{known[match[1]].row}\n"
    return "".join(lines)


def main() -> int:
    """Renew the page."""
    text = PAGE.read_text()
    PAGE.write_text(renewed(text))
    missing = sorted(known for known in explanations() if f"| `{known}` |" not in text)
    for rule in missing:
        print(f"{rule} has no row: add `| `{rule}` |` where it belongs, and call this again")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
