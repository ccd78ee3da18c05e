"""Resolving one model in one region: may it serve here, with what arguments, does it fit."""

from dataclasses import dataclass

from models.architecture import Architecture, architecture
from models.core.findings import Finding, Findings, Severity, Source
from models.core.names import WORKLOAD_NAME_MAX
from models.core.problems import ProblemsError, shown
from models.core.rule_ids import ProofRule
from models.engine.profiles import Environment
from models.engine.serve import command_line, problems_of
from models.facts.accelerators import Accelerator
from models.facts.catalog import Catalog, CatalogModel, ModelEntry
from models.facts.contract import EngineContract
from models.facts.mirroring import mirrored_image
from models.memory import BudgetRequest, budget
from models.plan.plan import PlannedModel, PlannedPool
from models.plan.resolve.sharing import sharing_problems
from models.plan.sizing import pod_resources, startup_seconds
from models.serving.admission import status_problems
from models.serving.chosen_arguments import ArgumentInputs, choose
from models.serving.fit import BudgetSubject, memory_problems, memory_remarks
from models.settings.settings import ModelSettings

_AWAIT_MARGIN_SEC = 300
"""Scheduling, image pull and the volume's mount before the engine even starts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """A model's settings where they apply: `path` is where they stand in the settings.

    `registry` is the mirror that images are pulled from, None for upstream's own places.
    """

    settings: ModelSettings
    path: str
    region: str
    environment: Environment
    pool: PlannedPool
    rollout_max_sec: int | None
    registry: str | None = None

    @property
    def subject(self) -> str:
        """What recorded exceptions and messages call this: "region/model"."""
        return f"{self.region}/{self.settings.model}"

    @property
    def replicas_min(self) -> int:
        """Replicas at the least."""
        scaling = self.settings.autoscaling
        return scaling.min if scaling is not None else self.settings.replicas or 0

    @property
    def replicas_max(self) -> int:
        """Replicas at the most."""
        scaling = self.settings.autoscaling
        return scaling.max if scaling is not None else self.settings.replicas or 0


def resolve_model(
    deployment: Deployment, catalog: Catalog, findings: Findings
) -> PlannedModel | None:
    """Return the model's plan, or None where it cannot be made (the problems say why)."""
    model = catalog.models.get(deployment.settings.model)
    if model is None:
        findings.problems.append(
            Finding(
                path=f"{deployment.path}.model",
                message="no such model in the catalog",
                value=shown(deployment.settings.model),
                allowed=", ".join(sorted(catalog.models)),
                remedy="correct the name, or add catalog/models/<name>.yaml (CONTRIBUTING.md)",
            )
        )
        return None
    findings.problems += _admission(deployment, model.entry, findings)
    accelerator = deployment.pool.accelerator
    if accelerator is None:
        findings.problems.append(
            Finding(
                path=f"{deployment.path}.pool",
                message=f"pool {deployment.pool.name!r} has no GPUs",
                remedy="place the model on a pool with an accelerator",
            )
        )
        return None
    shapes = _architecture(deployment, model, findings)
    if shapes is None or not _gpus_fit(deployment, findings):
        return None
    return _planned(deployment, model, shapes, accelerator, catalog, findings)


def _admission(deployment: Deployment, entry: ModelEntry, findings: Findings) -> list[Finding]:
    """Return what forbids this model in this environment."""
    path = f"{deployment.path}.model"
    prod = deployment.environment is Environment.PROD
    problems = status_problems(entry, prod=prod, path=path, subject=deployment.subject)
    if not entry.resolved and not prod:
        text = f"{entry.name} has no resolved revision: what is seeded is not pinned"
        findings.notices.append(Finding(path=path, message=text, severity=Severity.WARNING))
    if len(entry.name) > WORKLOAD_NAME_MAX:
        problems.append(
            Finding(
                path=path,
                rule=ProofRule.NAMES,
                source=Source.PLAN,
                subject=deployment.subject,
                message=f"the name is longer than {WORKLOAD_NAME_MAX} characters, which a "
                "StatefulSet's pods need for their labels",
                value=shown(entry.name),
                remedy="shorten the catalog name",
            )
        )
    scaling = deployment.settings.autoscaling
    if scaling is not None and scaling.min == 0:
        problems.append(
            Finding(
                path=f"{deployment.path}.autoscaling.min",
                message="an engine cannot scale from zero on metrics that only it exports",
                value="0",
                allowed="1 or more",
                remedy="set autoscaling.min to 1",
            )
        )
    return problems


def _architecture(
    deployment: Deployment, model: CatalogModel, findings: Findings
) -> Architecture | None:
    try:
        return architecture(model.config)
    except ProblemsError as error:
        findings.problems += [
            Finding(
                path=f"catalog/models/{model.entry.name}: {problem.path}",
                rule=ProofRule.MEMORY,
                source=Source.PLAN,
                subject=deployment.subject,
                message=problem.message,
                value=problem.value,
                allowed=problem.allowed,
                remedy=problem.remedy,
            )
            for problem in error.problems
        ]
        return None


def _gpus_fit(deployment: Deployment, findings: Findings) -> bool:
    gpus, node = deployment.settings.parallelism.gpus, deployment.pool.shape.gpus
    if gpus <= node:
        return True
    findings.problems.append(
        Finding(
            path=f"{deployment.path}.parallelism",
            message="one replica takes more GPUs than a node of its pool has",
            value=str(gpus),
            allowed=f"at most {node} in pool {deployment.pool.name!r}",
            remedy="lower tensor x pipeline, or place the model on a pool with more GPUs a node",
        )
    )
    return False


def _planned(
    deployment: Deployment,
    model: CatalogModel,
    shapes: Architecture,
    accelerator: Accelerator,
    catalog: Catalog,
    findings: Findings,
) -> PlannedModel:
    entry, contract = model.entry, _engine(deployment, model.entry, catalog)
    choice, problems = choose(
        ArgumentInputs(
            environment=deployment.environment,
            entry=entry,
            architecture=shapes,
            accelerator=accelerator,
            contract=contract,
            parallelism=deployment.settings.parallelism,
            overrides=deployment.settings.engine,
            path=deployment.path,
        )
    )
    findings.notices += choice.notices
    arguments = choice.arguments
    command = command_line(arguments, contract)
    problems += problems_of(command, contract, f"{deployment.path}.engine")
    goldens = catalog.goldens_of(model, contract.version)
    fit = budget(BudgetRequest.of(shapes, accelerator, contract, arguments, goldens=goldens))
    where = BudgetSubject(
        path=deployment.path,
        subject=deployment.subject,
        model=entry.name,
        node_gpus=deployment.pool.shape.gpus,
    )
    problems += memory_problems(where, fit)
    problems += sharing_problems(deployment.pool, arguments, deployment.path, deployment.subject)
    findings.problems += problems
    findings.notices += memory_remarks(where, fit)
    weights = entry.weight_bytes or round((fit.weights_gib or 0) * 2**30 * arguments.gpus)
    startup = startup_seconds(weights, contract)
    wait = startup * deployment.replicas_max + _AWAIT_MARGIN_SEC
    return PlannedModel(
        entry=entry,
        region=deployment.region,
        pool=deployment.pool,
        serving=deployment.settings.serving,
        replicas_min=deployment.replicas_min,
        replicas_max=deployment.replicas_max,
        autoscaled=deployment.settings.autoscaling is not None,
        contract=contract,
        arguments=arguments,
        command=command,
        resources=pod_resources(deployment.pool.shape, arguments.gpus),
        weight_bytes=weights,
        startup_sec=startup,
        rollout_sec=min(wait, deployment.rollout_max_sec or wait),
        budget=fit,
    )


def _engine(deployment: Deployment, entry: ModelEntry, catalog: Catalog) -> EngineContract:
    """Return the engine's contract, its image as it is pulled here."""
    contract = catalog.engines[entry.engine]
    image = mirrored_image(contract.image, deployment.registry)
    return contract.model_copy(update={"image": image})
