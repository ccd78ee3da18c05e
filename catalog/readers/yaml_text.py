"""YAML text as plain data. Imported only where YAML must be parsed (`cache.py`)."""

import json
from collections.abc import Iterator
from typing import Final, cast

import yaml
from pydantic import JsonValue
from yaml.constructor import SafeConstructor

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where PyYAML was built with it: about ten times faster."""


def parse_yaml(text: str) -> tuple[JsonValue, list[str]]:
    """Return the data, None for an empty text, and the paths of keys that are given twice.

    Raises:
        ValueError: the text is not YAML.

    """
    try:
        node = yaml.compose(text, Loader=_LOADER)
        if node is None:
            return None, []
        twice = list(_twice("", node))
        data: object = SafeConstructor().construct_document(node)  # pyright: ignore[reportUnknownMemberType] - PyYAML's stub is partly untyped
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    return cast("JsonValue", json.loads(json.dumps(data, default=str))), twice


def _twice(path: str, node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _twice(f"{path}[{index}]", item)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            key_path = f"{path}.{name}" if path else name
            if name in seen:
                yield key_path
            seen.add(name)
            yield from _twice(key_path, value)
