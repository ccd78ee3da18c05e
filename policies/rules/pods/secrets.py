"""Secrets stay in Secrets. Messages name where one stands, never what it is."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding
from models.core.secret_shapes import shape_of
from policies.core.context import Context
from policies.core.nodes import leaves
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.workload import Container

_SECRET_NAME: Final = re.compile(
    r"(^|[_.-])(password|passwd|passphrase|pwd|secret|token|api_?key|access_?key(_id)?|auth_?key"
    r"|private_?key|secret_?key|account_?key|credentials?|connection_?string|webhook_?url)$"
)
_WORD_OF_TEXT: Final = re.compile(
    r"(^|_)(first|last|next|per|each|inter|stop|eos|bos|pad|unk|mask|image|special)_token$"
)
"""Tokens that a model reads and writes."""

_NO_SECRETS: Final = frozenset(
    {"true", "false", "none", "null", "empty", "dummy", "changeme", "placeholder", "not-needed"}
)
_OPTION: Final = re.compile(r"^--?([A-Za-z][\w.-]*?)(?:=(.*))?$", re.DOTALL)
_REFERENCE: Final = re.compile(r"^\s*(\$\(.+\)|\$\{?\w+\}?|\{\{.*\}\}|<[^>]*>)\s*$", re.DOTALL)


def is_secret_name(name: str) -> bool:
    """Whether a name means a secret: HF_TOKEN does, MAX_TOKENS and TOKENIZER do not."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = snake.replace("-", "_").lower()
    return _SECRET_NAME.search(plain) is not None and _WORD_OF_TEXT.search(plain) is None


def holds_secret(name: str, value: str) -> bool:
    """Whether a literal value is what its name says: not empty, no reference, no switch."""
    said = value.strip()
    if not said or _REFERENCE.match(said) or said.lower() in _NO_SECRETS:
        return False
    if said.startswith(("/", "file:")) or re.fullmatch(r"[\d.]+", said):
        return False
    return is_secret_name(name)


@rule(
    "k8s-container-hide-secrets",
    "No container has a secret in its environment or arguments.",
    remedy="put it into a Secret (External Secrets keeps it out of state too) and refer to it by "
    "env[].valueFrom.secretKeyRef; an argument may say $(NAME)",
    weight=RuleWeight.CRITICAL,
    tags=("secrets",),
    framework=("CIS Kubernetes Benchmark", "5.4.1"),
    fragments=True,
)
def hide_secrets(container: Container, context: Context) -> Iterator[Finding]:
    """Whoever may read the pod reads it; so does whoever sees the process list."""
    for node in container.node["env"].items():
        name = node["name"].text() or ""
        if is_secret_name(name) and holds_secret(name, node["value"].text() or ""):
            where = f"variable {name} of container {container.called}"
            yield Finding(node["value"].path, f"{where} is a secret in clear text")
    words = container.words()
    for index, word in enumerate(words):
        match = _OPTION.match(word)
        if match is None:
            continue
        following = words[index + 1] if index + 1 < len(words) else ""
        value = match[2] if match[2] is not None else following
        if not value.startswith("-") and holds_secret(match[1], value):
            where = f"option {match[1]} of container {container.called}"
            yield Finding(f"{container.node.path}.args", f"{where} is a secret in clear text")


@rule(
    "k8s-object-hide-secrets",
    "No object other than a Secret holds what looks like a secret.",
    remedy="put it into a Secret and refer to it",
    weight=RuleWeight.CRITICAL,
    tags=("secrets",),
    framework=("CIS Kubernetes Benchmark", "5.4.1"),
    fragments=True,
)
def object_hides_secrets(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """By shape, in every field: ConfigMaps, annotations, chart values, custom resources."""
    if manifest.is_kind("Secret"):
        return
    for node in leaves(manifest.body):
        what = shape_of(node.value) if isinstance(node.value, str) else None
        if what is not None:
            yield Finding(node.path, f"the value looks like {what}")
    if not manifest.is_kind("ConfigMap") or manifest.body["data"].unknown:
        return
    for key, node in manifest.body["data"].pairs():
        if isinstance(node.value, str) and "\n" not in node.value and holds_secret(key, node.value):
            yield Finding(node.path, f"key {key!r} is a secret in clear text")
