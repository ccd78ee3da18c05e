"""Models that the catalog admits: in the plan, and where a pod names one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from models.core.findings import Finding, Severity
from models.facts.catalog import Catalog, CatalogModel, plain_name
from models.serving.admission import entry_problems, status_problems
from policies.core import knowledge
from policies.core.context import Context, is_house
from policies.core.rule import RuleWeight, rule
from policies.views.engine.release import VERSION_ANNOTATION
from policies.views.engine.replica import MODEL_ANNOTATION
from policies.views.kubernetes.workload import Pod
from policies.views.plan import PlanView

_PROD: Final = "prod"
_REVISION_ANNOTATION: Final = "triplane.dev/model-revision"


def entry_of(name: str, catalog: Catalog) -> CatalogModel | None:
    """Return the entry of a model by the catalog's name or the hub's."""
    wanted = plain_name(name)
    for model in catalog.models.values():
        if wanted in (plain_name(model.entry.name), plain_name(model.entry.repository)):
            return model
    return None


def problems_of(model: CatalogModel, environment: str, path: str, subject: str) -> list[Finding]:
    """Return everything that stands against an entry in an environment."""
    prod = environment == _PROD
    return [
        *status_problems(model.entry, prod=prod, path=path, subject=subject),
        *entry_problems(model, path=path, subject=subject),
    ]


@rule(
    "plan-status",
    "Every model is one that the catalog admits in this environment.",
    remedy="add or correct the catalog entry: status, revision, license, owner, config",
    weight=RuleWeight.CRITICAL,
    tags=("plan", "catalog"),
)
def status(plan: PlanView, context: Context) -> Iterator[Finding]:
    """The old registry check: an entry that is there, whole, and not staged in prod."""
    environment = plan.body["environment"].text() or ""
    for model in plan.models():
        target = f"{model['region'].text()}/{model['name'].text()}"
        name = model["id"].text() or ""
        entry = entry_of(name, knowledge.catalog())
        if entry is None:
            message = f"the catalog has no entry of {name!r}"
            yield Finding(model["id"].path, message, subject=target)
            continue
        for problem in problems_of(entry, environment, model.path, target):
            yield replace(problem, subject=target)


@rule(
    "k8s-pod-run-admitted-model",
    "Every engine of this project runs a model that the catalog admits.",
    remedy=f"correct the annotations {MODEL_ANNOTATION} and {_REVISION_ANNOTATION}, or the "
    "catalog entry",
    weight=RuleWeight.CRITICAL,
    tags=("catalog",),
    house=True,
)
def run_admitted_model(pod: Pod, context: Context) -> Iterator[Finding]:
    """What a hand-written engine says of itself, against the catalog's entry."""
    annotations = pod.annotations()
    name = annotations.get(MODEL_ANNOTATION)
    if name is None or not is_house(pod.namespace) or not pod.runs_engine:
        return
    path = f"{pod.found.metadata.path}.annotations"
    entry = entry_of(name, knowledge.catalog())
    if entry is None:
        yield Finding(path, f"the catalog has no entry of {name!r}")
        return
    for problem in problems_of(entry, context.environment, path, pod.label):
        yield replace(problem, path=path, subject="", message=f"{name}: {problem.message}")
    revision = annotations.get(_REVISION_ANNOTATION)
    if revision is not None and revision != entry.entry.revision:
        message = f"{name} is at {entry.entry.revision} in the catalog, here at {revision}"
        yield Finding(path, message)
    engine = annotations.get(VERSION_ANNOTATION)
    if engine is not None and engine != entry.entry.engine:
        message = f"{name} is proved for vLLM {entry.entry.engine}, this is {engine}"
        yield Finding(path, message, Severity.WARNING)
