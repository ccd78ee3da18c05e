"""Reading a `config.json`: typed access that collects what is missing instead of stopping there.

A field is read by one or several names (releases rename them). A class default of the model's own
configuration class applies where the record of its family states it; nothing else is assumed.
Fields that would change sizes and that the recipe did not read are named too.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeGuard, cast

from pydantic import JsonValue

from models.architecture.config.defaults import NEUTRAL, WEIGHTS_ONLY
from models.core.findings import Finding
from models.core.problems import shown

_STRUCTURAL: Final = re.compile(
    r"(lora_rank|num_heads|_heads|head_dim|_experts|state_size|intermediate_size|hidden_size|"
    r"latent_size)$"
)
_LARGEST: Final = 10**9


def is_mapping(value: object) -> TypeGuard[Mapping[str, JsonValue]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, Mapping)


class Fields:
    """One configuration object being read; `problems` grows as fields turn out to be missing."""

    def __init__(
        self,
        config: Mapping[str, JsonValue],
        model_type: str,
        path: str = "",
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Read `config`; `path` is put before the names in problems."""
        self.config = config
        self.model_type = model_type
        self.path = path
        self.problems: list[Finding] = []
        self.read: set[str] = set()
        self.notes: list[str] = []
        self.incomplete: list[str] = []
        self._defaults = defaults or {}

    def within(self, name: str, section: Mapping[str, JsonValue]) -> "Fields":
        """Return the fields of an object that stands here under `name`, with the same defaults."""
        return Fields(section, self.model_type, f"{self.path}{name}.", self._defaults)

    def raw(self, *names: str) -> JsonValue:
        """Return the first of the fields that is there and not null, else its class default."""
        self.read.update(names)
        for name in names:
            value = self.config.get(name)
            if value is not None:
                return value
        for name in names:
            if name in self._defaults:
                default = self._defaults[name]
                if default is not None:
                    self.notes.append(f"{name} = {default} by the class default")
                return default
        return None

    def size(self, *names: str, default: int | None = None) -> int:
        """Return a positive whole number; missing or wrong is a problem (1 is returned then)."""
        value = self.raw(*names)
        if value is None and default is not None:
            return default
        if value is None and not WEIGHTS_ONLY.isdisjoint(names):
            self.incomplete.append(" or ".join(names))
            return 1
        number = _whole(value)
        if number is None or not 0 < number <= _LARGEST:
            self._wrong(names, value, "a positive whole number")
            return 1
        return number

    def count(self, *names: str, default: int = 0) -> int:
        """Return a whole number that may be 0; absent is `default`."""
        value = self.raw(*names)
        if value is None:
            return default
        number = _whole(value)
        if number is None or not 0 <= number <= _LARGEST:
            self._wrong(names, value, "a whole number, 0 or more")
            return default
        return number

    def optional(self, *names: str) -> int | None:
        """Return a positive whole number, or None where the field is absent, null or 0."""
        return self.count(*names) or None

    def flag(self, *names: str, default: bool = False) -> bool:
        """Return a boolean; absent is `default`."""
        value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._wrong(names, value, "true or false")
            return default
        return value

    def number(self, name: str, default: float) -> float:
        """Return a finite positive number; absent is `default`."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            self._wrong((name,), value, "a positive number")
            return default
        return float(value)

    def text(self, *names: str, default: str | None = None) -> str | None:
        """Return a text; absent is `default`."""
        value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, str):
            self._wrong(names, value, "a text")
            return default
        return value

    def texts(self, *names: str) -> tuple[str, ...] | None:
        """Return a list of texts, or None where the field is absent."""
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._wrong(names, value, "a list of texts")
            return None
        return tuple(cast("list[str]", value))

    def numbers(self, *names: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers, or None where the field is absent."""
        value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list) or not all(_whole(item) is not None for item in value):
            self._wrong(names, value, "a list of whole numbers")
            return None
        return tuple(cast("list[int]", value))

    def section(self, name: str) -> Mapping[str, JsonValue]:
        """Return an object inside this one; absent is empty."""
        value = self.raw(name)
        if value is None:
            return {}
        if not is_mapping(value):
            self._wrong((name,), value, "an object")
            return {}
        return value

    def wrong(self, name: str, value: object, allowed: str) -> None:
        """Report a field whose value this project does not understand."""
        self._wrong((name,), value, allowed)

    def missing(self, name: str) -> None:
        """Report a field that is needed and absent."""
        self._wrong((name,), None, "a value")

    def not_understood(self) -> Iterable[Finding]:
        """Name the fields that would change sizes and that nothing read."""
        for name, value in self.config.items():
            if not value or name in self.read or name in NEUTRAL or not _STRUCTURAL.search(name):
                continue
            if isinstance(value, int | float | list):
                yield Finding(
                    path=self.path + name,
                    message=f"the field is not understood for model_type {self.model_type}",
                    value=shown(value),
                    remedy="check the configuration, or teach models/architecture this field",
                )

    def _wrong(self, names: tuple[str, ...], value: object, allowed: str) -> None:
        name = " or ".join(names)
        message = "the field is missing" if value is None else "the value cannot be used"
        problem = Finding(
            path=self.path + name,
            message=f"{message} for model_type {self.model_type}",
            value=None if value is None else shown(value),
            allowed=allowed,
        )
        if problem not in self.problems:
            self.problems.append(problem)


def layer_count(fields: Fields) -> int:
    """Return the number of layers, refusing one that no model has."""
    count = fields.size("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if count > 1024:
        fields.wrong("num_hidden_layers", count, "at most 1024")
        return 1
    return count


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
