"""Names of models in triggers: those that the engine which is scaled serves under."""

from collections.abc import Iterator

from models.core.findings import Finding
from models.engine.command import UNKNOWN_TEXT
from policies.core.context import Context
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import Invocation, invocation_of
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.kubernetes.workload import pods_of
from policies.views.promql.series import queries, series_of

_LABEL = "model_name"


@rule(
    "k8s-scaledobject-name-served-model",
    "Every trigger selects the name that its engine serves under.",
    remedy="write the engine's --served-model-name (of several the first) as model_name",
    weight=RuleWeight.CRITICAL,
    tags=("autoscaling", "metrics", "names"),
)
def name_served_model(placed: Placed, context: Context) -> Iterator[Finding]:
    """KEDA-10: the release's or the hub's name selects nothing, and the trigger reads zero."""
    manifest = placed.manifest
    if not manifest.is_kind("ScaledObject"):
        return
    served = _served(placed, context)
    if not served:
        return
    for query in queries(manifest):
        for series in series_of(query.text):
            for label, operator, value in series.matchers:
                known = UNKNOWN_TEXT not in value and "$" not in value
                if label == _LABEL and operator == "=" and known and value not in served:
                    yield Finding(
                        query.path,
                        f"model_name is {value!r}, the engine serves {', '.join(sorted(served))}",
                    )


def _served(placed: Placed, context: Context) -> set[str]:
    """Return the names that the scaled workload's engine has; none where they are not known."""
    reference = placed.manifest.spec["scaleTargetRef"]
    kind = (reference["kind"].text() or "Deployment").lower()
    name = reference["name"].text()
    for each in placed.stack.named(kind, placed.manifest.namespace, name or ""):
        return set(_names(each, context))
    return set()


def _names(workload: Manifest, context: Context) -> Iterator[str]:
    for pod in pods_of(workload):
        for container in pod.containers():
            invocation = invocation_of(container, context)
            if invocation is not None and invocation.words and not invocation.open:
                yield from _of_command(invocation)


def _of_command(invocation: Invocation) -> Iterator[str]:
    line = invocation.line()
    served, model = line.last("--served-model-name"), line.last("--model")
    if served is not None:
        names: tuple[str, ...] = served.values
    elif model is not None:
        names = model.values
    else:
        names = tuple(word for _, word in line.positionals[:1])
    if not any(UNKNOWN_TEXT in name for name in names) and line.last("--config") is None:
        yield from names
