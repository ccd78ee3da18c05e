"""Every TypedDict of a custom resource against the pinned definition of its kind.

What the type lets through, the API server must know: a key that the schema lacks is dropped there,
a key that the schema requires and the type does not have is refused, and so is a value of another
type. With these tests a renewed definition fails here first.
"""

import copy
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import (
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    TypedDict,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest
import yaml

import components.render
from tests.helpers.plans.dev import ROOT

pytestmark = pytest.mark.pure

DEFINITIONS: Final = ROOT.parent / "shared" / "data" / "crds"
GATEWAY: Final = "gateway.networking.k8s.io.yaml v1"
ENVOY: Final = "gateway.envoyproxy.io.yaml v1alpha1"
AI: Final = "aigateway.envoyproxy.io.yaml v1beta1"
SPECS: Final = {
    "GatewayClassSpec": f"gateway-api-1.5/gatewayclasses.{GATEWAY}",
    "GatewaySpec": f"gateway-api-1.5/gateways.{GATEWAY}",
    "BackendSpec": f"envoy-gateway-1.8/backends.{ENVOY}",
    "BackendTrafficPolicySpec": f"envoy-gateway-1.8/backendtrafficpolicies.{ENVOY}",
    "ClientTrafficPolicySpec": f"envoy-gateway-1.8/clienttrafficpolicies.{ENVOY}",
    "SecurityPolicySpec": f"envoy-gateway-1.8/securitypolicies.{ENVOY}",
    "ServiceBackendSpec": f"envoy-ai-gateway/aiservicebackends.{AI}",
    "RouteSpec": f"envoy-ai-gateway/aigatewayroutes.{AI}",
    "BackendSecuritySpec": f"envoy-ai-gateway/backendsecuritypolicies.{AI}",
    "ServiceMonitorSpec": "prometheus-operator/servicemonitors.monitoring.coreos.com.yaml v1",
    "ScaledObjectSpec": "keda/scaledobjects.keda.sh.yaml v1alpha1",
    "SecretStoreSpec": "external-secrets/secretstores.external-secrets.io.yaml v1",
    "ExternalSecretSpec": "external-secrets/externalsecrets.external-secrets.io.yaml v1",
    "CertificateSpec": "cert-manager/certificates.cert-manager.io.yaml v1",
    "IssuerSpec": "cert-manager/issuers.cert-manager.io.yaml v1",
    "BackupTargetSpec": "longhorn/backuptargets.longhorn.io.yaml v1beta2",
    "RecurringJobSpec": "longhorn/recurringjobs.longhorn.io.yaml v1beta2",
    "TenantSpec": "minio-operator/tenants.minio.min.io.yaml v2",
}
"""The definition of each kind that is rendered: file and version."""

BUILT_IN: Final = frozenset({"ClassSpec", "Toleration", "_Labels"})
"""Types of Kubernetes' own kinds: their fields are the provider's SDK's business."""

WORDS: Final[Mapping[Any, frozenset[str]]] = {
    str: frozenset({"string"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    bool: frozenset({"boolean"}),
}
"""What a schema may call a type."""


@cache
def typed() -> dict[str, Any]:
    """Return every TypedDict below components/render by its name."""
    found: dict[str, Any] = {}
    for each in pkgutil.walk_packages(components.render.__path__, "components.render."):
        module = importlib.import_module(each.name)
        for name, value in vars(module).items():
            if is_typeddict(value) and value.__module__ == each.name:
                assert name not in found, f"{name} is the name of two types"
                found[name] = value
    return found


@cache
def schema(definition: str) -> dict[str, Any]:
    """Return the schema of a kind's spec."""
    path, _, version = definition.partition(" ")
    body = yaml.safe_load((DEFINITIONS / path).read_text(encoding="utf-8"))
    versions = cast("list[dict[str, Any]]", body["spec"]["versions"])
    chosen = next(each for each in versions if each["name"] == version)
    assert chosen["served"]
    return cast("dict[str, Any]", chosen["schema"]["openAPIV3Schema"]["properties"]["spec"])


def is_ours(of: Any) -> bool:
    """Whether a type is a TypedDict of this tree; the SDK has its own for Kubernetes' kinds."""
    return is_typeddict(of) and of.__module__.startswith(("components.", __name__))


def misfits(of: Any, allowed: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield where a type does not fit a schema."""
    origin, arguments = get_origin(of), get_args(of)
    word = allowed.get("type")
    if origin in (NotRequired, Required):
        yield from misfits(arguments[0], allowed, path)
    elif allowed.get("x-kubernetes-int-or-string") and of in (int, str):
        return
    elif origin in (Union, UnionType):
        every = [list(misfits(each, allowed, path)) for each in arguments]
        yield from every[0] if all(every) else ()
    elif is_ours(of):
        yield from _object(of, allowed, path)
    elif origin is list:
        yield from _wanted("array", "a list", allowed, path)
        yield from misfits(arguments[0], allowed.get("items", {}), f"{path}[]")
    elif origin is dict:
        yield from _wanted("object", "a mapping", allowed, path)
    elif origin is Literal:
        yield from _words(arguments, allowed, path)
    elif of in WORDS and word not in WORDS[of]:
        yield f"{path}: {of.__name__} where {word} is wanted"


def _wanted(word: str, what: str, allowed: Mapping[str, Any], path: str) -> Iterator[str]:
    if allowed.get("type") != word:
        yield f"{path}: {what} where {allowed.get('type')} is wanted"


def _words(values: tuple[Any, ...], allowed: Mapping[str, Any], path: str) -> Iterator[str]:
    enum = allowed.get("enum")
    if enum is not None and not set(values) <= set(enum):
        yield f"{path}: {sorted(set(values) - set(enum))} are not among {enum}"


def _object(of: Any, allowed: Mapping[str, Any], path: str) -> Iterator[str]:
    if allowed.get("type") != "object":
        yield f"{path}: an object where {allowed.get('type')} is wanted"
        return
    known, free = allowed.get("properties", {}), allowed.get("additionalProperties")
    for key in sorted(set(allowed.get("required", ())) - of.__required_keys__):
        if "default" not in known.get(key, {}):
            yield f"{path}.{key}: required by the definition, and not by {of.__name__}"
    for key, hint in get_type_hints(of, include_extras=True).items():
        inside = known.get(key, free if isinstance(free, dict) else None)
        if inside is not None:
            yield from misfits(hint, inside, f"{path}.{key}")
        elif not allowed.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{path}.{key}: unknown to the definition"


def reached(of: Any) -> Iterator[str]:
    """Yield the names of the TypedDicts that a type is made of, its own included."""
    if is_ours(of):
        yield of.__name__
        for hint in get_type_hints(of, include_extras=True).values():
            yield from reached(hint)
    for part in get_args(of):
        yield from reached(part)


@pytest.mark.parametrize("name", SPECS)
def test_a_type_has_nothing_that_the_pinned_definition_does_not_know(name: str) -> None:
    assert list(misfits(typed()[name], schema(SPECS[name]), "spec")) == []


def test_no_type_is_left_out() -> None:
    """One that no kind's spec leads to is dead, or held by nothing."""
    seen = {each for name in SPECS for each in reached(typed()[name])}
    assert set(typed()) - seen == BUILT_IN


class _Inner(TypedDict):
    size: int
    mode: Literal["fast", "slow"]


class _Outer(TypedDict):
    inner: list[_Inner]
    label: NotRequired[str]


INNER: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer"},
        "mode": {"type": "string", "enum": ["fast", "slow", "off"]},
    },
}
OUTER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"inner": {"type": "array", "items": INNER}, "label": {"type": "string"}},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the sample schema with one thing changed."""
    made: dict[str, Any] = copy.deepcopy(OUTER)
    *above, last = path.split(".")
    at = made
    for key in above:
        at = at[key]
    at[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("properties.label.type", "integer", "spec.label: str where integer is wanted"),
        ("properties.inner.type", "object", "spec.inner: a list where object is wanted"),
        ("properties.inner.items.required", ["size", "age"], "spec.inner[].age: required by"),
        ("properties.inner.items.properties.mode.enum", ["slow"], "['fast'] are not among"),
        ("properties.inner.items.properties", {"size": {"type": "integer"}}, "mode: unknown to"),
        ("properties", {}, "spec.inner: unknown to the definition"),
        ("type", "array", "spec: an object where array is wanted"),
    ],
)
def test_what_does_not_fit_is_seen(path: str, value: Any, said: str) -> None:
    assert list(misfits(_Outer, OUTER, "spec")) == []
    assert any(said in each for each in misfits(_Outer, changed(path, value), "spec"))
