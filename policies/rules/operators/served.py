"""What the installed release of an operator serves, knows and does: by its version.

Releases come from `--versions component=x.y.z`, in this project's own stacks from the catalog.
Where nothing says them, what the catalog's release would refuse cannot be verified.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from models.core.findings import Finding, Severity
from policies.core.context import Context
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.releases_of import (
    Numbers,
    definitions,
    is_before,
    numbers,
    release_of,
)

if TYPE_CHECKING:
    from models.facts.crds import Definition

_SECRETS: Final = "external-secrets.io"
_SECRET_KINDS: Final = (
    "ExternalSecret",
    "SecretStore",
    "ClusterSecretStore",
    "ClusterExternalSecret",
)
_SINCE: Final[Mapping[tuple[str, str], Numbers]] = {(_SECRETS, "v1"): (0, 16)}
_UNTIL: Final[Mapping[tuple[str, str], Numbers]] = {(_SECRETS, "v1beta1"): (0, 17)}
"""The first release that serves a version, and the first that does not any more (ESO-01)."""

_FIELDS: Final[tuple[tuple[str, tuple[str, ...], str, Numbers, str], ...]] = (
    (
        "BackendTrafficPolicy",
        ("spec", "timeout", "http", "requestTimeout"),
        "envoy-gateway",
        (1, 2),
        "the route's default of 15 s ends every stream",
    ),
)
"""Fields that younger definitions have: kind, path, component, since, what is lost without.

requestTimeout: envoyproxy/gateway pull request 4329, in 1.2.0 (FB-06).
"""


@rule(
    "k8s-object-use-served-version",
    "Every custom resource is of a version, with fields, that its operator serves.",
    remedy="write the version that is served, or install the release that the file was made for",
    weight=RuleWeight.CRITICAL,
    tags=("versions",),
    fragments=True,
)
def use_served_version(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """ESO-01, FB-06: a version not served is refused, a field not known dropped without a word."""
    yield from _dropped_fields(manifest, context)
    known = definitions().by_group.get(manifest.group, {})
    found = known.get(manifest.kind)
    if found is None:
        return
    version = (manifest.body["apiVersion"].text() or "").rpartition("/")[2]
    release = release_of(found.component, context)
    if release is None:
        yield from _without_release(version, found)
        return
    served = _is_served(version, found, release)
    remedy = _remedy(found)
    if served is None:
        message = f"cannot verify that {found.component} {release} serves {found.group}/{version}"
        yield Finding("apiVersion", message, Severity.UNKNOWN, remedy)
    elif not served:
        message = f"{found.component} {release} does not serve {found.group}/{version} of"
        yield Finding("apiVersion", f"{message} {found.kind}", remedy=remedy)
    elif _is_rewritten(version, found, release):
        message = f"{found.component} {release} rewrites {version} to v1: the two differ forever"
        yield Finding("apiVersion", message, Severity.WARNING, remedy)


def _dropped_fields(manifest: Manifest, context: Context) -> Iterator[Finding]:
    for kind, path, component, since, lost in _FIELDS:
        release = release_of(component, context)
        if release is None or not manifest.is_kind(kind):
            continue
        node = manifest.body.at(*path)
        if not node.present or not is_before(release, since):
            continue
        first = ".".join(map(str, since))
        yield Finding(
            node.path,
            f"the definition of {component} {release} has no {path[-1]} (it came with {first}): "
            f"the field is dropped, and {lost}",
            remedy="upgrade the operator with its definitions, or do without the field",
        )


def _without_release(version: str, definition: "Definition") -> Iterator[Finding]:
    if version in definition.served:
        return
    yield Finding(
        "apiVersion",
        f"cannot verify that {definition.group}/{version} of {definition.kind} is served: "
        f"{definition.component} {definition.release} does not serve it",
        Severity.UNKNOWN,
        f"{_remedy(definition)}, or say what is installed: --versions {definition.component}=x.y.z",
    )


def _is_rewritten(version: str, definition: "Definition", release: str) -> bool:
    """Whether a release serves a version beside its successor, and stores the successor."""
    if (definition.group, version) not in _UNTIL or definition.kind not in _SECRET_KINDS:
        return False
    return not is_before(release, _SINCE[(definition.group, "v1")])


def _remedy(definition: "Definition") -> str:
    return (
        f"write apiVersion: {definition.group}/{definition.served[0]}"
        if definition.served
        else "remove it"
    )


def _is_served(version: str, definition: "Definition", release: str) -> bool | None:
    """Whether a release serves a version; None where no source says."""
    key = (definition.group, version)
    if definition.kind in _SECRET_KINDS and (key in _SINCE or key in _UNTIL):
        if key in _SINCE and is_before(release, _SINCE[key]):
            return False
        return key not in _UNTIL or is_before(release, _UNTIL[key])
    if numbers(release) == numbers(definition.release)[: len(numbers(release))]:
        return version in definition.served
    return True if version in definition.served else None


@rule(
    "k8s-scaledobject-fall-back-as-meant",
    "No autoscaler relies on a fallback that KEDA would ignore.",
    remedy="use AverageValue on every trigger, or KEDA 2.18 or newer",
    tags=("autoscaling", "versions"),
)
def fall_back_as_meant(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """KEDA-04: before 2.18 a Value trigger has no fallback, and mixed ones flip its condition."""
    if not manifest.is_kind("ScaledObject") or not manifest.spec["fallback"].present:
        return
    path = manifest.spec["fallback"].path
    triggers = [each for each in manifest.spec["triggers"].items() if not _is_of_pods(each)]
    if not triggers:
        yield Finding(
            path,
            "KEDA has no fallback for cpu and memory triggers, and there is no other",
            remedy="remove the fallback, or add a trigger on a metric",
        )
        return
    types = {each["metricType"].text() or "AverageValue" for each in triggers}
    release = release_of("keda", context)
    if types == {"AverageValue"} or (release and not is_before(release, (2, 18))):
        return
    if release is None:
        message = (
            "cannot verify that KEDA heeds the fallback of a Value trigger (from 2.18 it does)"
        )
        yield Finding(
            path, message, Severity.UNKNOWN, "say which is installed: --versions keda=x.y.z"
        )
    elif len(types) > 1:
        yield Finding(path, f"Value and AverageValue together flip the fallback of KEDA {release}")
    else:
        yield Finding(path, f"KEDA {release} ignores the fallback of a Value trigger")


def _is_of_pods(trigger: Node) -> bool:
    return (trigger["type"].text() or "").lower() in ("cpu", "memory")
