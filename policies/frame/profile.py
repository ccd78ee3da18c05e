"""How findings count for whom: conventions of this project are no errors in other people's files.

An error is what will fail, or silently do nothing, wherever it is deployed; what a convention of
ours asks beyond that is a warning, unless the profile `triplane` is asked for.
"""

from dataclasses import replace
from enum import StrEnum

from models.core.findings import Finding, Severity


class Profile(StrEnum):
    """Whose files are checked."""

    ANYBODY = "anybody"
    TRIPLANE = "triplane"


def counted(finding: Finding, profile: Profile) -> Finding:
    """Return a finding with the severity that it has under a profile."""
    lenient = profile is Profile.ANYBODY and finding.house
    if lenient and finding.severity is Severity.ERROR:
        return replace(finding, severity=Severity.WARNING)
    return finding
