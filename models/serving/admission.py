"""Whether a catalog entry may serve: its status, revision, license, owner and configuration.

One implementation for the program (before anything is registered), the policy pack (the `Plan`'s
models, hand-written engines) and `triplane check --catalog`.
"""

from models.architecture import architecture
from models.core.findings import Finding
from models.core.problems import ProblemsError
from models.core.rule_ids import ProofRule
from models.facts.catalog import CatalogModel, ModelEntry, ModelStatus


def status_problems(entry: ModelEntry, *, prod: bool, path: str, subject: str) -> list[Finding]:
    """Return what an entry's status and revision forbid in this environment."""
    problems: list[Finding] = []

    def refuse(rule: ProofRule, message: str, value: str, remedy: str) -> None:
        problem = Finding(
            path=path, rule=rule, subject=subject, message=message, value=value, remedy=remedy
        )
        problems.append(problem)

    if entry.status is ModelStatus.RETIRED:
        refuse(ProofRule.STATUS, "is retired", "RETIRED", "take the model out of the settings")
    if entry.status is ModelStatus.STAGED and prod:
        refuse(
            ProofRule.STATUS,
            "is staged, and staged models do not serve in prod",
            "STAGED",
            "make the entry LIVE in the catalog once it may serve",
        )
    if not entry.resolved and prod:
        refuse(
            ProofRule.REVISION,
            "has no resolved revision",
            entry.revision,
            "write the hub's commit into the catalog entry",
        )
    return problems


def entry_problems(model: CatalogModel, *, path: str, subject: str) -> list[Finding]:
    """Return what an entry lacks that may serve: license, owner, a configuration that is read."""
    problems: list[Finding] = []
    entry = model.entry
    if entry.status is ModelStatus.RETIRED:
        return problems
    for name, value in (("license", entry.license), ("owner", entry.owner)):
        if not value.strip():
            problems.append(
                Finding(
                    path=f"{path}.{name}",
                    rule=ProofRule.ENTRY,
                    subject=subject,
                    message=f"the entry names no {name}",
                    remedy=f"write the {name} into the catalog entry",
                )
            )
    try:
        architecture(model.config)
    except ProblemsError as error:
        problems += [
            Finding(
                path=f"{path}: {problem.path}",
                rule=ProofRule.ENTRY,
                subject=subject,
                message=problem.message,
                value=problem.value,
                allowed=problem.allowed,
                remedy=problem.remedy,
            )
            for problem in error.problems
        ]
    return problems
