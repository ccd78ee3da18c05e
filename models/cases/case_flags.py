"""The engine's own flags in a case: `args` as a command line, a list of words, or names and values.

Flags that memory depends on become fields of the case where the case does not state them; all
others are left alone. Pure; what is not a flag is skipped, since a command may stand in front.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from models.architecture.config.fields import is_mapping
from models.engine.command import Parser
from models.engine.command_line import option_of
from models.engine.serve import given_in
from models.facts.contract import EngineContract

NAMES: Final = ("args", "extra_args", "engine_args", "vllm_args", "command")
"""The fields of a line that are read as flags."""


def with_flags(
    line: Mapping[str, JsonValue], engines: Mapping[str, EngineContract]
) -> dict[str, JsonValue]:
    """Return a line with the fields that its flags state; what the line states itself stays."""
    result = dict(line)
    texts = [result.pop(name, None) for name in NAMES]
    drafts = result.pop("speculative_config", None)
    words = [*(word for text in texts for word in _words(text))]
    if drafts is not None:
        words += _option("speculative_config", drafts)
    if not words:
        return result
    version = str(result.get("vllm_version"))
    parser = Parser(engines[version] if version in engines else list(engines.values())[-1])
    read = parser.read(words)
    model = read.last("--model")
    if model is not None and result.get("model") is None:
        result["model"] = model.value
    for name, value in given_in(read).items():
        if result.get(name) is None:
            result[name] = value
    return result


def _words(given: JsonValue) -> list[str]:
    """Return a field as the words of a command line."""
    if is_mapping(given):
        return [word for name, value in given.items() for word in _option(name, value)]
    if isinstance(given, list):
        return [str(word) for word in given]
    if not isinstance(given, str):
        return []
    try:
        return shlex.split(given.replace("\\\n", " "))
    except ValueError:
        return given.split()


def _option(name: str, value: JsonValue) -> Iterator[str]:
    """Yield a name and its value as words: `tp` is a short option, `enforce_eager` a switch."""
    plain = name.lstrip("-")
    option = f"-{plain}" if len(plain) <= _SHORT else option_of(plain)
    if value is True:
        yield option
    elif value is False:
        yield f"--no-{plain}".replace("_", "-")
    elif value not in ("", None):
        yield f"{option}={json.dumps(value) if is_mapping(value) else value}"


_SHORT: Final = 3
"""Letters of a short option at most (`-dcp`)."""
