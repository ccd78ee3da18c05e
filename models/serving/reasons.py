"""What engine arguments are chosen from, and why each has its value."""

from typing import Final

from models.architecture import Architecture
from models.core.base import Model
from models.core.findings import Finding, Severity
from models.core.problems import shown
from models.engine.command_line import option_of
from models.engine.profiles import (
    PROFILES,
    EngineOverrides,
    EngineProfile,
    Environment,
    Parallelism,
)
from models.facts.accelerators import Accelerator
from models.facts.catalog import ModelEntry
from models.facts.contract import EngineContract

POSITIONAL: Final = "model"
"""Stands for the engine's only positional argument where options are named."""


class Reason(Model):
    """Why an option has its value or, with `left_out`, why the command line does not have it."""

    option: str
    why: str
    left_out: bool = False


class ArgumentInputs(Model):
    """What arguments are resolved from; `path` is where the settings of the model stand.

    `quantization` is set only where the checkpoint's own configuration does not say its method.
    `spread` says why the replica takes the GPUs it takes.
    """

    environment: Environment
    entry: ModelEntry
    architecture: Architecture
    accelerator: Accelerator
    contract: EngineContract
    parallelism: Parallelism
    overrides: EngineOverrides
    path: str
    quantization: str | None = None
    spread: str = "as the deployment's parallelism says"

    @property
    def profile(self) -> EngineProfile:
        """The environment's defaults."""
        return PROFILES[self.environment]

    @property
    def card(self) -> str:
        """The card as messages name it."""
        card = self.accelerator
        return f"{card.name} (compute capability {card.compute_capability})"


class Reasons:
    """What is said while choosing: notices, problems, and the reason of each argument."""

    def __init__(self, inputs: ArgumentInputs) -> None:
        """Choose from `inputs`."""
        self._inputs = inputs
        self.notices: list[Finding] = []
        self.problems: list[Finding] = []
        self.reasons: list[Reason] = []

    def because(self, name: str, why: str) -> None:
        """Give the reason of one argument."""
        option = name if name == POSITIONAL else option_of(name)
        self.reasons.append(Reason(option=option, why=why))

    def leaves_out(self, name: str, why: str) -> None:
        """Give the reason why one argument is left to the engine."""
        self.reasons.append(Reason(option=option_of(name), why=why, left_out=True))

    def departs(self, name: str, text: str, severity: Severity = Severity.INFO) -> None:
        """Note a departure from the profile, which is the argument's reason too."""
        self.because(name, text)
        self.notices.append(Finding(path=self._inputs.path, message=text, severity=severity))

    def taken(self, name: str, *, asked: bool, what: str) -> None:
        """Note that a value was asked for, or is the profile's."""
        source = f"asked for ({self._inputs.path}.engine.{name})"
        profile = f"the {self._inputs.environment.value} profile"
        self.because(name, f"{source if asked else profile}: {what}")

    def refuse(
        self, key: str, message: str, value: object, remedy: str, allowed: str | None = None
    ) -> None:
        """Note that what was asked for cannot be had."""
        path = f"{self._inputs.path}.engine.{key}"
        self.problems.append(
            Finding(path=path, message=message, value=shown(value), allowed=allowed, remedy=remedy)
        )

    def not_for_family(self, key: str, value: object) -> None:
        """Note that a setting has no meaning for the family."""
        family, name = self._inputs.architecture.family.value, self._inputs.entry.name
        message = f"{key} does not apply to a model of the {family} family ({name})"
        self.refuse(key, message, value, f"leave {key} out")
