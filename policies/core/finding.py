"""What a rule found, in the form that previews and `triplane check` show."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How a finding counts: errors and unknowns refuse a preview, warnings are shown."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing found.

    `object` is "Kind/namespace/name" ("Kind/name" without a namespace, "region/model" in plans);
    recorded exceptions name it. `path` leads to the field inside the object. `house` marks a
    convention of this project rather than something that would break anywhere.
    """

    rule: str
    severity: Severity
    object: str
    path: str
    message: str
    remedy: str
    house: bool = False

    def __str__(self) -> str:
        """One line: object, path, what, mend."""
        where = f"{self.object}: {self.path}" if self.path else self.object
        return f"{where}: {self.message}; mend: {self.remedy}"


@dataclass(frozen=True, slots=True)
class Breach:
    """What a rule's function yields; the rule adds its id, its remedy and the object.

    `remedy` and `target` (an object's label) replace the rule's and the subject's where given.
    """

    path: str
    message: str
    severity: Severity = Severity.ERROR
    remedy: str | None = None
    target: str | None = None
