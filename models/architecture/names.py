"""Which configuration a model's name means, as people, logs and hubs write it.

Resolution, first that applies: a name of the table or of the configurations given, exactly (case
and punctuation do not matter); a hub id written in the text; the longest known short name (the
part after the slash) that the text contains. Pure: the table is `catalog/model_aliases.yaml`, read
by whoever calls.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from pydantic import Field, JsonValue

from models.architecture.facts import config_of_facts, is_facts
from models.architecture.fields import is_mapping
from models.base import Model

Configurations = Mapping[str, Mapping[str, JsonValue]]


class Alias(Model):
    """One entry of the table (see the head of `catalog/model_aliases.yaml`)."""

    id: str
    names: tuple[str, ...] = ()
    like: str | None = None
    configuration: dict[str, JsonValue] | None = None
    changes: dict[str, JsonValue] = Field(default_factory=dict)
    source: str


class ModelNames:
    """The table and the configurations given, ready to be asked."""

    def __init__(self, table: Callable[[], tuple[Alias, ...]], given: Configurations) -> None:
        """Keep where names come from; `table` is read when a name is asked for that needs it.

        The table wins over a summary, a full `config.json` over the table.
        """
        self._table = table
        self._given_as_named = given

    @cached_property
    def _aliases(self) -> dict[str, Alias]:
        aliases = self._table()
        found = {_plain(alias.id): alias for alias in aliases}
        for alias in aliases:
            for name in alias.names:
                found.setdefault(_plain(name), alias)
        return found

    @cached_property
    def _given(self) -> dict[str, Mapping[str, JsonValue]]:
        return {_plain(name): config for name, config in self._given_as_named.items()}

    @cached_property
    def _short(self) -> list[tuple[str, str]]:
        names = self._names(self._table(), self._given_as_named)
        return sorted(
            {(_plain(name.split("/")[-1]), _plain(name)) for name in names},
            key=lambda pair: (-len(pair[0]), len(pair[1])),
        )

    @staticmethod
    def _names(aliases: tuple[Alias, ...], given: Configurations) -> Iterator[str]:
        for alias in aliases:
            yield alias.id
            yield from alias.names
        for name, config in given.items():
            if not is_facts(config) or _tells_layers(config):
                yield name

    def configuration(self, text: str) -> Mapping[str, JsonValue] | None:
        """Return the configuration that a name means, or None where it means none known."""
        for candidate in self._candidates(text):
            found = self._exact(candidate, depth=0)
            if found is not None:
                return found
        return None

    def exactly(self, text: str) -> Mapping[str, JsonValue] | None:
        """Return the configuration of a name itself, or None: nothing is guessed from parts."""
        return self._exact(_plain(text), depth=0)

    def _candidates(self, text: str) -> Iterator[str]:
        yield _plain(text)
        for written in re.findall(r"[\w.-]+/[\w.-]+", text):
            yield _plain(written)
        plain = _plain(text)
        for short, whole in self._short:
            if len(short) >= 6 and short in plain:
                yield whole

    def _exact(self, name: str, depth: int) -> Mapping[str, JsonValue] | None:
        given = self._given.get(name)
        if given is not None and not is_facts(given):
            return given
        alias = self._aliases.get(name)
        if alias is not None and depth < 4:
            return self._of_alias(alias, depth)
        if given is not None and _tells_layers(given):
            return config_of_facts(given)
        return None

    def _of_alias(self, alias: Alias, depth: int) -> Mapping[str, JsonValue] | None:
        if alias.configuration is not None:
            base: Mapping[str, JsonValue] | None = alias.configuration
        else:
            base = None if alias.like is None else self._exact(_plain(alias.like), depth + 1)
        if base is None:
            return None
        return _changed(base, alias.changes)


def _tells_layers(summary: Mapping[str, JsonValue]) -> bool:
    """Tell whether a summary says how many layers there are, by number or by naming each."""
    pattern = summary.get("layer_pattern")
    named = is_mapping(pattern) and bool(pattern.get("pattern"))
    return named or summary.get("num_hidden_layers") is not None


def _changed(
    base: Mapping[str, JsonValue], changes: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Apply changes where the field stands: in the text part if it is there, else outside."""
    result = dict(base)
    inner = result.get("text_config")
    text = dict(inner) if is_mapping(inner) else None
    for name, value in changes.items():
        if text is not None and name in text:
            text[name] = value
        else:
            result[name] = value
    if text is not None:
        result["text_config"] = text
    return result


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9/]", "", text.lower())
