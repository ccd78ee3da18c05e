"""Other spellings of the same manifests: what Kubernetes and the engine take for one and the same.

Every function takes plain data, changes it in place and leaves its meaning as it is.
"""

import json
import random
import shlex
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, cast

from tests.helpers.policies.compliant_stack import Json

UNORDERED: Final = frozenset(
    {"env", "volumes", "volumeMounts", "tolerations", "ports", "containers", "imagePullSecrets"}
    | {"matchExpressions", "triggers", "items", "endpoints"}
)
"""Lists whose order means nothing to Kubernetes; init containers run in theirs."""

BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
QUANTITIES: Final = frozenset({"cpu", "memory", "ephemeral-storage", "storage", "sizeLimit"})
LONG: Final = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
}
"""Short forms of the engine's parser (vllm/engine/arg_utils.py)."""

MODULE: Final = ["python3", "-m", "vllm.entrypoints.openai.api_server"]


def mappings(node: Any) -> Iterator[Json]:
    """Yield every mapping, the outermost first."""
    if isinstance(node, dict):
        mapping = cast("Json", node)
        yield mapping
        for value in list(mapping.values()):
            yield from mappings(value)
    elif isinstance(node, list):
        for value in cast("list[Any]", node):
            yield from mappings(value)


def reorder_keys(body: Json, chance: random.Random) -> None:
    """Put the keys of every mapping in another order."""
    for mapping in list(mappings(body)):
        pairs = list(mapping.items())
        chance.shuffle(pairs)
        mapping.clear()
        mapping.update(pairs)


def reorder_lists(body: Json, chance: random.Random) -> None:
    """Put lists in another order where order means nothing."""
    for mapping in mappings(body):
        for key, value in mapping.items():
            # `$(NAME)` refers to variables before it only.
            if key in UNORDERED and isinstance(value, list) and "$(" not in json.dumps(value):
                chance.shuffle(cast("list[Any]", value))


def respell_quantities(body: Json, chance: random.Random) -> None:
    """Write amounts in other units, as text, as whole numbers or with a point."""
    for mapping in mappings(body):
        for key, value in mapping.items():
            if key in QUANTITIES and isinstance(value, str | int | float):
                mapping[key] = chance.choice(list(amounts(key, value)))
            elif key.endswith(".com/gpu") and str(value).isdigit():
                mapping[key] = chance.choice([int(value), str(int(value)), float(value)])


def amounts(resource: str, value: str | float) -> Iterator[Any]:
    """Yield spellings of an amount, its own first."""
    yield value
    text = str(value)
    unit = next((unit for unit in BINARY if text.endswith(unit)), "")
    number = text.removesuffix(unit)
    if not number.replace(".", "", 1).isdigit():
        return
    exact = Decimal(number) * BINARY.get(unit, 1)
    if exact != exact.to_integral_value() or resource == "cpu":
        yield f"{int(exact * 1000)}m"
    if exact == exact.to_integral_value():
        yield from (int(exact), str(int(exact)), float(exact))
        if unit in ("Gi", "Ti") and number.isdigit():
            smaller = {"Gi": "Mi", "Ti": "Gi"}[unit]
            yield f"{int(number) * 1024}{smaller}"


def engines(body: Json) -> Iterator[Json]:
    """Yield the containers whose arguments surely are the engine's own words."""
    for mapping in mappings(body):
        command, args = mapping.get("command"), mapping.get("args")
        lists = [each for each in (command, args) if each is not None]
        if "image" not in mapping or not lists or not all(isinstance(x, list) for x in lists):
            continue
        words = [word for each in lists for word in cast("list[Any]", each)]
        plain = all(
            isinstance(word, str) and word and not set(word) & set(" \n{$`") for word in words
        )
        if plain and (command in (None, ["vllm", "serve"], ["vllm"], MODULE)):
            yield mapping


def respell_flags(body: Json, chance: random.Random) -> None:
    """Write options with underscores, and their values as words of their own."""
    for container in engines(body):
        if container.get("args"):
            container["args"] = list(flags(container["args"], chance))


def flags(words: list[str], chance: random.Random) -> Iterator[str]:
    """Yield words in other spellings."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if chance.random() < 0.5:
            name = LONG.get(name, name)
        if not name.startswith("--") or "." in name:
            yield name + equals + value
            continue
        if chance.random() < 0.5:
            name = "--" + name[2:].replace("-", "_")
        last = index + 1 == len(words) or words[index + 1].startswith("-")
        if equals and value and not value.startswith("-") and last and chance.random() < 0.5:
            yield from (name, value)
        else:
            yield name + equals + value


def regroup_words(body: Json, chance: random.Random) -> None:
    """Move words between command and arguments, or into a shell's script."""
    for container in engines(body):
        words = [*container.get("command", []), *container.get("args", [])]
        if "command" not in container:
            continue
        form = chance.randrange(4)
        at = chance.randrange(1, len(words) + 1)
        if form == 0:
            container["command"], container["args"] = words, []
        elif form == 1:
            container["command"], container["args"] = words[:at], words[at:]
        elif form == 2:
            container["command"] = ["/bin/sh", "-c"]
            container["args"] = [f"exec {shlex.join(words)}\n"]
        else:
            container["command"] = ["bash", "-c", " \\\n  ".join(shlex.quote(w) for w in words)]
            container.pop("args", None)


ALL: Final = {
    "keys": reorder_keys,
    "lists": reorder_lists,
    "quantities": respell_quantities,
    "flags": respell_flags,
    "words": regroup_words,
}
"""Ways to write the same in another way."""


def bystanders(namespace: str | None) -> list[Json]:
    """Return objects of other software that have nothing to do with any engine."""
    meta = {} if namespace is None else {"namespace": namespace}
    labels = {"app.kubernetes.io/name": "bystander"}
    amounts_ = {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "1Gi"}
    security = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "web",
        "image": "registry.example/web:1.2.3",
        "ports": [{"name": "web", "containerPort": 8080}],
        "resources": {"requests": dict(amounts_), "limits": dict(amounts_)},
        "securityContext": security,
    }
    pod = {"enableServiceLinks": False, "containers": [container]}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "bystanders",
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "bystander", **meta},
            "data": {"greeting": "hello", "settings.yaml": "level: 1\n"},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "bystander", **meta},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "bystander", **meta},
            "spec": {"selector": labels, "ports": [{"name": "web", "port": 80}]},
        },
    ]
