"""Whether a catalog entry may serve: its status, revision, license, owner and configuration.

One implementation for the program (before anything is registered), the policy pack (the `Plan`'s
models, hand-written engines) and `triplane check --catalog`.
"""

from typing import Final

from models.architecture import architecture
from models.core.problems import Problem, ProblemsError
from models.facts.catalog import CatalogModel, ModelEntry, ModelStatus

STATUS_RULE: Final = "plan-status"
REVISION_RULE: Final = "plan-revision"
ENTRY_RULE: Final = "plan-entry"


def status_problems(entry: ModelEntry, *, prod: bool, path: str, subject: str) -> list[Problem]:
    """Return what an entry's status and revision forbid in this environment."""
    problems: list[Problem] = []

    def refuse(rule: str, message: str, value: str, mend: str) -> None:
        problem = Problem(
            path=path, rule=rule, object=subject, message=message, value=value, mend=mend
        )
        problems.append(problem)

    if entry.status is ModelStatus.RETIRED:
        refuse(STATUS_RULE, "is retired", "RETIRED", "take the model out of the settings")
    if entry.status is ModelStatus.STAGED and prod:
        refuse(
            STATUS_RULE,
            "is staged, and staged models do not serve in prod",
            "STAGED",
            "make the entry LIVE in the catalog once it may serve",
        )
    if not entry.resolved and prod:
        refuse(
            REVISION_RULE,
            "has no resolved revision",
            entry.revision,
            "write the hub's commit into the catalog entry",
        )
    return problems


def entry_problems(model: CatalogModel, *, path: str, subject: str) -> list[Problem]:
    """Return what an entry lacks that may serve: license, owner, a configuration that is read."""
    problems: list[Problem] = []
    entry = model.entry
    if entry.status is ModelStatus.RETIRED:
        return problems
    for name, value in (("license", entry.license), ("owner", entry.owner)):
        if not value.strip():
            problems.append(
                Problem(
                    path=f"{path}.{name}",
                    rule=ENTRY_RULE,
                    object=subject,
                    message=f"the entry names no {name}",
                    mend=f"write the {name} into the catalog entry",
                )
            )
    try:
        architecture(model.config)
    except ProblemsError as error:
        problems += [
            Problem(
                path=f"{path}: {problem.path}",
                rule=ENTRY_RULE,
                object=subject,
                message=problem.message,
                value=problem.value,
                allowed=problem.allowed,
                mend=problem.mend,
            )
            for problem in error.problems
        ]
    return problems
