"""Reading the text of custom resource definitions as Kubernetes and Helm charts write it."""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Final

import yaml

from sandbox.core.kube import Object

_NOT_JSON: Final = frozenset({"value", "timestamp"})
_HELM_LINE: Final = re.compile(rb"^.*\{\{.*\n?", re.MULTILINE)


def spec_digest(crd: Object) -> str:
    """Return the hash that `spec_sha256` holds: of the spec alone, as canonical JSON."""
    text = json.dumps(crd["spec"], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _DefinitionLoader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: `=` and dates are strings."""


_DefinitionLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rsplit(":", 1)[1] not in _NOT_JSON]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def parse(data: bytes, *, chart: bool) -> list[Object]:
    """Return the definitions in an upstream file; of a `chart` the template lines are dropped."""
    text = _HELM_LINE.sub(b"", data) if chart else data
    documents: Iterable[Object | None] = yaml.load_all(text, Loader=_DefinitionLoader)
    kind = "CustomResourceDefinition"
    return [document for document in documents if document and document.get("kind") == kind]
