"""What is printed: a line for each change, figures by package, what was not noticed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.mutants.judging import MutantVerdict, Outcome


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def line(verdict: MutantVerdict, root: Path) -> str:
    """Return one change's line: what became of it, where, and which test noticed."""
    candidate = verdict.mutant.candidate
    place = f"{candidate.path.relative_to(root)}:{candidate.line}"
    tests = f"{verdict.tried} of {verdict.reaching} tests"
    return (
        f"{verdict.outcome:15} {place} {candidate.operator} {verdict.mutant.key} "
        f"{verdict.seconds:.1f} s, {tests} {verdict.test}".rstrip()
    )


def summary(verdicts: Mapping[str, Sequence[MutantVerdict]], root: Path, seed: str) -> str:
    """Return the table of all packages and every change that was not noticed."""
    rows = [
        f"| package (seed {seed}) | changes | noticed | not noticed | equivalent | score |",
        "|---|---|---|---|---|---|",
    ]
    for package, each in verdicts.items():
        counts = Counter(verdict.outcome for verdict in each)
        noticed = sum(count for outcome, count in counts.items() if outcome.noticed)
        survived = counts[Outcome.SURVIVED]
        changes = noticed + survived + counts[Outcome.EQUIVALENT]
        rows.append(
            f"| {package} | {changes} | {noticed} | {survived} "
            f"| {counts[Outcome.EQUIVALENT]} | {score(each)} |"
        )
    left = [
        survivor(verdict, root)
        for each in verdicts.values()
        for verdict in each
        if verdict.outcome is Outcome.SURVIVED
    ]
    return "\n".join(["", *rows, "", *left])


def score(verdicts: Sequence[MutantVerdict]) -> str:
    """Return noticed changes as a share of those that mean something else; changes that do not
    import are nobody's merit and left out.
    """
    noticed = sum(1 for verdict in verdicts if verdict.outcome.noticed)
    survived = sum(1 for verdict in verdicts if verdict.outcome is Outcome.SURVIVED)
    return f"{noticed / (noticed + survived):.0%}" if noticed + survived else "none"


def survivor(verdict: MutantVerdict, root: Path) -> str:
    """Return a change that was not noticed: the key to record it by, its place and its lines."""
    mutant = verdict.mutant
    candidate = mutant.candidate
    was = "\n".join(f"  - {text}" for text in mutant.was.splitlines())
    became = "\n".join(f"  + {text}" for text in mutant.became.splitlines())
    return (
        f"{mutant.key} {candidate.path.relative_to(root)}:{candidate.line} {mutant.function} "
        f"({candidate.operator}; {verdict.tried} of {verdict.reaching} tests)\n{was}\n{became}\n"
    )
