"""Problems and notices gathered over a whole resolution, so that all are shown at once."""

from models.core.notices import Notice
from models.core.problems import Problem


class Findings:
    """What was found so far; the only mutable thing in a resolution."""

    def __init__(self) -> None:
        """Start with none."""
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []
