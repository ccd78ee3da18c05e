"""Which configuration a model's name means, as people, logs and hubs write it.

Nothing is guessed from a part of a name. First that applies: a name of the table or of the
configurations given, exactly (case and punctuation do not matter); the same name of another
organization, or of none, if all known models of that name have one configuration; such a name with
words after it that only tell how it is stored, or remarks of a closed list (`name_words.py`); a
name with alternatives (`3.5/3.6`) that all mean one configuration. Else it is unknown, and
`nearest` names what may be meant. Pure: the tables are `catalog/model_aliases.yaml` and
`catalog/model_name_words.yaml`, read by whoever calls.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from pydantic import Field, JsonValue

from models.architecture.config.fields import is_mapping
from models.architecture.names.facts import config_of_facts, is_facts
from models.architecture.names.name_words import NameWords, Suffixed, suffixed, words_of
from models.core.base import Model

Configurations = Mapping[str, Mapping[str, JsonValue]]


class Alias(Model):
    """One entry of the table (see the head of `catalog/model_aliases.yaml`)."""

    id: str
    names: tuple[str, ...] = ()
    like: str | None = None
    configuration: dict[str, JsonValue] | None = None
    changes: dict[str, JsonValue] = Field(default_factory=dict)
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a name is read as: a known name with its configuration.

    `note` says what was assumed, None where the name itself is known.
    """

    name: str
    config: Mapping[str, JsonValue]
    note: str | None = None


class ModelNames:
    """The table and the configurations given, ready to be asked."""

    def __init__(
        self,
        table: Callable[[], tuple[Alias, ...]],
        given: Configurations,
        words: Callable[[], NameWords] = NameWords,
    ) -> None:
        """Keep where names come from; tables are read when a name is asked for that needs them.

        The table wins over a summary, a full `config.json` over the table.
        """
        self._table = table
        self._given_as_named = given
        self._words_of_table = words

    @cached_property
    def _aliases(self) -> dict[str, Alias]:
        aliases = self._table()
        found = {model_key(alias.id): alias for alias in aliases}
        for alias in aliases:
            for name in alias.names:
                found.setdefault(model_key(name), alias)
        return found

    @cached_property
    def _given(self) -> dict[str, Mapping[str, JsonValue]]:
        return {model_key(name): config for name, config in self._given_as_named.items()}

    @cached_property
    def _words(self) -> NameWords:
        return self._words_of_table()

    @cached_property
    def _by_short_name(self) -> dict[str, list[str]]:
        """Known names by what stands after the organization, without the descriptions."""
        found: dict[str, list[str]] = {}
        for name in self._ids:
            found.setdefault(model_key(_short(name)), []).append(name)
        return found

    @cached_property
    def _ids(self) -> list[str]:
        return [name for name in self.known() if " " not in name]

    def known(self) -> Iterator[str]:
        """Yield every name that has a configuration."""
        for alias in self._table():
            yield alias.id
            yield from alias.names
        for name, config in self._given_as_named.items():
            if not is_facts(config) or _tells_layers(config):
                yield name

    def configuration(self, text: str) -> Mapping[str, JsonValue] | None:
        """Return the configuration that a name means, or None where it means none known."""
        reading = self.read(text)
        return None if reading is None else reading.config

    def exactly(self, text: str) -> Mapping[str, JsonValue] | None:
        """Return the configuration of a name itself, or None."""
        return self._exact(model_key(text), depth=0)

    def read(self, text: str) -> Reading | None:
        """Return what a name is read as, or None where it is not known."""
        text = text.strip()
        return self._named(text) or self._remarked(text) or self._with_alternatives(text)

    def nearest(self, text: str) -> str | None:
        """Return the known name that a text begins with or looks like most, to be suggested."""
        shorts = {" ".join(words_of(_short(name))): name for name in reversed(self._ids)}
        words = words_of(_short(text))
        for length in range(len(words), 0, -1):
            begin = " ".join(words[:length])
            if begin in shorts:
                return shorts[begin]
        close = get_close_matches(" ".join(words), list(shorts), n=1, cutoff=0.75)
        return shorts[close[0]] if close else None

    def _named(self, text: str) -> Reading | None:
        """Return a known name, or the same one of another organization."""
        config = self.exactly(text)
        if config is not None:
            return Reading(name=text, config=config)
        names = self._by_short_name.get(model_key(_short(text)), [])
        configs = [config for name in names if (config := self.exactly(name)) is not None]
        if not configs or any(config != configs[0] for config in configs):
            return None
        note = f"{text!r} is read as {names[0]!r}, which has the same name"
        return Reading(name=names[0], config=configs[0], note=note if "/" in text else None)

    def _remarked(self, text: str) -> Reading | None:
        """Return a known name with a format or remarks after it."""
        bare = self._words.without_remarks(text)
        whole = self._named(bare) if bare != text else None
        if whole is not None:
            return Reading(
                name=whole.name, config=whole.config, note=f"{text!r} is read as {whole.name!r}"
            )
        for way in suffixed(bare, self._words):
            base = self._named(way.base)
            if base is not None:
                note = f"{text!r} is read as {base.name!r}, stored as {way.format}"
                return Reading(name=base.name, config=_stored(base.config, way), note=note)
        return None

    def _with_alternatives(self, text: str) -> Reading | None:
        """Return a name of several versions (`Qwen3.5/3.6-27B`) that have one configuration."""
        versions = re.search(r"\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?)+(?![\w.]*/)", text)
        if versions is None:
            return None
        before, after = text[: versions.start()], text[versions.end() :]
        names = [before + version + after for version in versions[0].split("/")]
        readings = [self._named(name) or self._remarked(name) for name in names]
        known = [reading for reading in readings if reading is not None]
        if len(known) < len(names) or any(each.config != known[0].config for each in known):
            return None
        last = known[-1].name
        return Reading(name=last, config=known[-1].config, note=f"{text!r} is read as {last!r}")

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
            base = None if alias.like is None else self._exact(model_key(alias.like), depth + 1)
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


def _stored(config: Mapping[str, JsonValue], way: Suffixed) -> Mapping[str, JsonValue]:
    """Return a configuration without quantization where the name says that 16 bits are stored."""
    if not way.is_sixteen_bit:
        return config
    return {name: value for name, value in config.items() if name != "quantization_config"}


def _short(name: str) -> str:
    return name.rsplit("/", maxsplit=1)[-1]


def model_key(text: str) -> str:
    """Return a model's name without case and punctuation, fit for comparison.

    What stands between two numbers stays: Qwen2-57B is not Qwen2.5-7B.
    """
    apart = re.sub(r"(?<=[0-9])[^a-z0-9/]+(?=[0-9])", "~", text.lower())
    return re.sub(r"[^a-z0-9/~]", "", apart)
