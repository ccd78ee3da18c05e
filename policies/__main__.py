"""Builds the policy pack; `pulumi preview --policy-pack policies` runs this file.

Constructing a `PolicyPack` serves it until the engine ends it, so nothing else may import this.
"""

import datetime
import sys
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
# The engine runs this folder as a program: its files would be importable by their bare names.
sys.path[:] = [str(_HERE.parent), *(path for path in sys.path if Path(path).resolve() != _HERE)]

from pulumi_policy import EnforcementLevel, PolicyPack  # noqa: E402 - after the path is set

from policies.frame.pack import policies  # noqa: E402 - after the path is set
from policies.frame.sdk import watch_configuration  # noqa: E402 - after the path is set
from policies.frame.session import Session  # noqa: E402 - after the path is set


def main() -> None:
    """Serve the pack; what the stack agreed is read when the engine tells its configuration."""
    session = Session(datetime.date.today())
    watch_configuration(session.configure)
    PolicyPack(
        name="triplane",
        description="Engines that run, or a preview that says why not.",
        display_name="Triplane",
        provider="kubernetes",
        tags=["vllm", "kubernetes", "gpu"],
        enforcement_level=EnforcementLevel.MANDATORY,
        policies=policies(session),
    )


if __name__ == "__main__":
    main()
