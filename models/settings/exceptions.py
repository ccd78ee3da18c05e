"""Recorded exceptions: a rule that does not hold for one object, for a reason, until a date.

An exception is a fact of the stack's settings, shown in every preview; an expired one is refused.
"""

import datetime
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from models.core.base import Model
from models.core.findings import Finding


class RecordedException(Model):
    """One exception. `owner` is a role, never a person; `expires` is the last day it holds.

    `object` is what the rule's message names: "Kind/namespace/name", or for the plan's own proofs
    "region/model" or "region/pool".
    """

    rule: Annotated[str, Field(min_length=1)]
    """The rule that the message names in brackets."""
    object: Annotated[str, Field(min_length=1)]
    """The object that the message names."""
    reason: Annotated[str, Field(min_length=10)]
    """Why, in a sentence."""
    owner: Annotated[str, Field(min_length=1)]
    """A role, never a person."""
    expires: datetime.date
    """The last day on which it holds."""


def expired(
    exceptions: Iterable[RecordedException], today: datetime.date, path: str
) -> list[Finding]:
    """Return a problem for every exception whose last day has passed."""
    return [
        Finding(
            path=f"{path}[{index}]",
            message=f"the exception of rule {exception.rule} for {exception.object} has expired",
            value=exception.expires.isoformat(),
            remedy="correct what it excuses and remove it, or record a new reason and date",
        )
        for index, exception in enumerate(exceptions)
        if exception.expires < today
    ]


def excused(
    problems: Iterable[Finding], exceptions: Iterable[RecordedException], today: datetime.date
) -> tuple[list[Finding], list[Finding]]:
    """Split problems into those that stand and those that a valid exception excuses."""
    valid = {(each.rule, each.object) for each in exceptions if each.expires >= today}
    standing: list[Finding] = []
    excused_ones: list[Finding] = []
    for problem in problems:
        known = (problem.rule, problem.subject) in valid
        (excused_ones if known else standing).append(problem)
    return standing, excused_ones
