"""A rule: what it is called, what it looks at, and a plain function that looks.

`@rule(...)` makes a `Rule` of a function `(subject, context) -> Iterable[Finding]`, which need not
say what the rule says for all. Calling the rule returns findings and never raises: an unknown
value becomes "cannot verify", a field of an impossible shape becomes an error.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

from models.core.findings import Finding, Severity, Source
from models.core.quantities import InvalidQuantityError
from policies.core.context import Context
from policies.core.nodes import UnknownFieldError, UnreadableFieldError


class RuleWeight(StrEnum):
    """How bad a breach is, in the SDK's words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Subject(Protocol):
    """Anything that a rule can look at."""

    @property
    def label(self) -> str:
        """What messages call it."""
        ...


S = TypeVar("S", bound=Subject)
_LOWERED: Final = ("Every", "No", "Nothing")
Check = Callable[[S, Context], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule(Generic[S]):
    """One rule.

    `fragments`: it also holds for a part of an object (a patch). `house`: a convention of this
    project; its breach works somewhere, and is refused here all the same. `configuration`: keys
    of the pack's configuration that it takes.
    """

    id: str
    description: str
    remedy: str
    weight: RuleWeight
    check: Check[S]
    tags: tuple[str, ...] = ()
    framework: tuple[str, str] | None = None
    fragments: bool = False
    house: bool = False
    configuration: tuple[str, ...] = ()

    def __call__(self, subject: S, context: Context) -> tuple[Finding, ...]:
        """Return everything that the rule finds at the subject."""
        found: list[Finding] = []
        try:
            # One by one: what was found before an unknown value stays found.
            for finding in self.check(subject, context):
                found.append(finding)
        except UnknownFieldError as error:
            found.append(self._cannot_verify(error))
        except UnreadableFieldError as error:
            found.append(Finding(error.path, f"must be {error.expected}", remedy="correct it"))
        except InvalidQuantityError as error:
            found.append(Finding("resources", str(error), remedy="write a quantity"))
        return tuple(self._finding(each, subject.label) for each in found)

    def over(self, subjects: Iterable[S], label: str, context: Context) -> tuple[Finding, ...]:
        """Return the findings at each of several subjects; `label` names what they are part of."""
        found: list[Finding] = []
        try:
            for subject in subjects:
                found.extend(self(subject, context))
        except UnknownFieldError as error:
            found.append(self._finding(self._cannot_verify(error), label))
        except UnreadableFieldError as error:
            found.append(self._finding(Finding(error.path, f"must be {error.expected}"), label))
        return tuple(found)

    def _cannot_verify(self, error: UnknownFieldError) -> Finding:
        unknown = error.unknown
        first, _, rest = self.description.rstrip(".").partition(" ")
        what = f"{first.lower()} {rest}" if first in _LOWERED else f"{first} {rest}"
        cause = f"{unknown.path or 'it'} is unknown {unknown.why}"
        return Finding(
            unknown.path,
            f"cannot verify that {what}, because {cause}",
            Severity.UNKNOWN,
            remedy="give it as a plain value, not as an output of another resource",
            cause=cause,
        )

    def _finding(self, finding: Finding, label: str) -> Finding:
        """Return what the rule's function found with what only the rule knows."""
        return replace(
            finding,
            rule=self.id,
            subject=finding.subject or label,
            remedy=finding.remedy or self.remedy,
            source=Source.RULE,
            house=self.house,
        )


def rule(
    id: str,
    description: str,
    *,
    remedy: str,
    weight: RuleWeight = RuleWeight.HIGH,
    tags: tuple[str, ...] = (),
    framework: tuple[str, str] | None = None,
    fragments: bool = False,
    house: bool = False,
    configuration: tuple[str, ...] = (),
) -> Callable[[Check[S]], Rule[S]]:
    """Return a decorator that makes a rule of a function."""

    def made(check: Check[S]) -> Rule[S]:
        return Rule(
            id=id,
            description=description,
            remedy=remedy,
            weight=weight,
            check=check,
            tags=tags,
            framework=framework,
            fragments=fragments,
            house=house,
            configuration=configuration,
        )

    return made
