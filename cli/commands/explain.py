"""`explain`: what the id of a rule stands for, why it is one, and how to fix what it finds."""

import difflib
import json
from collections.abc import Sequence

from pydantic import JsonValue

from cli.errors import ExitCode, InputError
from cli.options.explain import ExplainOptions
from policies.frame.explain import Explanation, explanations


def run(options: ExplainOptions) -> int:
    """Print what each id stands for; raises `InputError` naming every one that is unknown."""
    known = explanations()
    unknown = [rule for rule in options.rules if rule not in known]
    if unknown:
        raise InputError("; ".join(_unknown(rule, tuple(known)) for rule in unknown))
    chosen = [known[rule] for rule in options.rules or sorted(known)]
    if options.as_json:
        rows = [_row(each) for each in chosen]
        answer: JsonValue = rows[0] if len(options.rules) == 1 else list[JsonValue](rows)
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    elif options.rules:
        print("\n\n".join(_text(each) for each in chosen))
    else:
        width = max(len(each.id) for each in chosen)
        print("\n".join(f"{each.id:{width}}  {each.holds}" for each in chosen))
    return ExitCode.GOOD


def _unknown(rule: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(rule, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "`triplane explain` lists them"
    return f"there is no rule {rule}: {hint}"


def _row(explanation: Explanation) -> dict[str, JsonValue]:
    return {
        "rule": explanation.id,
        "subject": explanation.subject,
        "holds": explanation.holds,
        "why": explanation.why,
        "remedy": explanation.remedy,
        "weight": explanation.weight.value,
        "cases": list(explanation.cases),
    }


def _text(explanation: Explanation) -> str:
    lines = [
        explanation.id,
        f"  {explanation.holds}",
        f"  looks at: {explanation.subject}",
        f"  why:      {explanation.why}",
        f"  remedy:   {explanation.remedy}",
    ]
    if explanation.cases:
        lines.append(f"  cases:    {', '.join(explanation.cases)} (docs/traps.md)")
    return "\n".join(lines)
