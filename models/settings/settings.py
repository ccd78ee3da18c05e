"""The stack's settings: one typed object per stack, `triplane:platform`.

`parse` reads it from JSON text. Whatever the platform will have is typed here already; a setting
whose component does not exist yet is refused by `not_yet`, with that message, never ignored.
"""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, PositiveInt, ValidationError, model_validator

from models.core.base import Model
from models.core.findings import Finding
from models.core.problems import ProblemsError, from_validation, shown
from models.core.secret_shapes import secrets_in_clear
from models.engine.profiles import EngineOverrides, Environment, Parallelism
from models.settings.exceptions import RecordedException
from models.settings.gateway import Gateway, RateLimit
from models.settings.options import (
    Alerting,
    AutoscalingOptions,
    Budgets,
    CacheOptions,
    Control,
    Delivery,
    Mirror,
    Observability,
    Operators,
    Range,
    Rollout,
)
from models.settings.regions import RegionSettings


class Serving(StrEnum):
    """What runs a model's replicas."""

    STATEFULSET = "statefulset"
    LEADER_WORKER = "leader-worker"
    KSERVE = "kserve"
    SHARED_POOL = "shared-pool"


class ModelSettings(Model):
    """A catalog model placed in this environment. Exactly one of `replicas` and `autoscaling` is
    given.
    """

    model: str
    """Name in the catalog, and the id that clients use."""
    pool: str
    """The pool whose nodes run it."""
    regions: tuple[str, ...] | None = None
    """Region names; without it every region."""
    replicas: PositiveInt | None = None
    """A fixed count."""
    autoscaling: Range | None = None
    """Bounds of an autoscaled count."""
    parallelism: Parallelism = Parallelism()
    """GPUs of a replica, all on one node."""
    engine: EngineOverrides = EngineOverrides()
    """What departs from the environment's engine profile."""
    cache: CacheOptions | None = None
    """KV cache tiers of this model."""
    serving: Serving = Serving.STATEFULSET
    """What runs the replicas; all but `statefulset` come later."""

    @model_validator(mode="after")
    def replicas_have_one_source(self) -> Self:
        """A fixed count and an autoscaler would fight over the same field."""
        if (self.replicas is None) == (self.autoscaling is None):
            message = (
                f"model {self.model!r} needs exactly one of replicas (fixed) and autoscaling "
                "(min, max)"
            )
            raise ValueError(message)
        return self


class Settings(Model):
    """Everything that one stack is told."""

    environment: Environment
    """Selects the engine profile below, and how strict the proofs are."""
    regions: Annotated[tuple[RegionSettings, ...], Field(min_length=1)]
    """Worker clusters."""
    models: tuple[ModelSettings, ...]
    """What is served, and where."""
    operators: Operators = Operators.EXTERNAL
    """Who installs operators: `external`, somebody else, and then their definitions are looked at;
    `managed`, the stack, from pinned charts; `handover`, the step between `managed` and
    `external` (docs/operators.md)."""
    mirror: Mirror = Mirror()
    """For regions without a way out."""
    control: Control = Control()
    """The control cluster and how manifests are delivered."""
    gateway: Gateway = Gateway()
    """The OpenAI-compatible API."""
    autoscaling: AutoscalingOptions = AutoscalingOptions()
    """How engines scale."""
    cache: CacheOptions = CacheOptions()
    """KV cache tiers."""
    observability: Observability = Observability()
    """Prometheus and Grafana."""
    alerting: Alerting = Alerting()
    """Where alerts go."""
    budgets: Budgets = Budgets()
    """Bounds of cost and GPUs."""
    rollout: Rollout = Rollout()
    """How long an update waits."""
    exceptions: tuple[RecordedException, ...] = ()
    """Recorded exceptions, below."""
    accept_data_loss: tuple[str, ...] = ()
    """What holds data and may be replaced or deleted in this change: objects
    (`Kind/namespace/name`), an EKS region's cluster with its key and control plane subnets
    (`Cluster/<region>`), the bucket of its weights (`Bucket/<region>`). To destroy, name them,
    run one update, then destroy (docs/aws.md)."""

    @model_validator(mode="after")
    def region_names_are_unique(self) -> Self:
        """Outputs and resource names are keyed by region."""
        names = [region.name for region in self.regions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"regions are named twice: {twice}; give each region its own name"
            raise ValueError(message)
        return self


_NOT_YET: Final[tuple[tuple[str, str, Callable[[Settings], bool]], ...]] = (
    ("control.delivery", "GitOps delivery", lambda s: s.control.delivery is Delivery.GITOPS),
    ("control.cluster", "the control cluster", lambda s: s.control.cluster is not None),
    ("control.repository", "GitOps delivery", lambda s: s.control.repository is not None),
    (
        "gateway.rate_limit.tokens_per_minute",
        "limits of tokens",
        lambda s: (s.gateway.rate_limit or RateLimit()).tokens_per_minute is not None,
    ),
    ("gateway.prefix_affinity", "prefix-affine routing", lambda s: s.gateway.prefix_affinity),
    ("autoscaling.provider", "the HPA provider", lambda s: s.autoscaling.provider != "keda"),
    ("cache", "KV cache tiers (LMCache)", lambda s: s.cache != CacheOptions()),
    ("observability.dashboards", "dashboards", lambda s: s.observability.dashboards),
    ("alerting", "alert routing", lambda s: s.alerting != Alerting()),
)
"""Settings whose component does not exist yet: path, what it would be, whether it is set."""

OF_SOME_VALUES: Final = frozenset({"control.delivery", "autoscaling.provider", "models.serving"})
"""Settings of which only some values have no component yet; their docstrings say which."""

LATER: Final = frozenset(
    {*(path for path, _, _ in _NOT_YET), "models.cache", "models.parallelism.data"} - OF_SOME_VALUES
)
"""Paths of settings that are refused whatever they say."""


def not_yet(settings: Settings) -> list[Finding]:
    """Return a problem for every setting that is set and that no component acts on yet."""
    found = [_missing(path, what) for path, what, is_set in _NOT_YET if is_set(settings)]
    for index, model in enumerate(settings.models):
        if model.serving is not Serving.STATEFULSET:
            found.append(_missing(f"models[{index}].serving", f"serving kind {model.serving!r}"))
        if model.cache is not None:
            found.append(_missing(f"models[{index}].cache", "KV cache tiers (LMCache)"))
        if model.parallelism.data > 1:
            found.append(_missing(f"models[{index}].parallelism.data", "data parallel replicas"))
    return found


def _missing(path: str, what: str) -> Finding:
    return Finding(
        path=path,
        message=f"the component for {what} does not exist yet in this release",
        remedy="leave the setting out; CHANGELOG.md says when it arrives",
    )


def parse(text: str) -> Settings:
    """Return the settings from JSON text.

    Raises `ProblemsError` with every problem found: shape, values, and settings whose component
    does not exist yet. Texts that look like secrets are refused first and alone, since messages
    about them would print them.
    """
    if in_clear := _in_clear(text):
        raise ProblemsError("settings triplane:platform", in_clear)
    try:
        settings = Settings.model_validate_json(text)
    except ValidationError as error:
        raise ProblemsError("settings triplane:platform", from_validation(error)) from None
    problems = [*not_yet(settings), *_names(settings)]
    if problems:
        raise ProblemsError("settings triplane:platform", problems)
    return settings


def _in_clear(text: str) -> list[Finding]:
    try:
        return list(secrets_in_clear(json.loads(text)))
    except ValueError:
        return []


def _names(settings: Settings) -> list[Finding]:
    """Return references to regions and pools that do not exist, and models placed twice."""
    problems: list[Finding] = []
    regions = {region.name: region for region in settings.regions}
    placed: set[tuple[str, str]] = set()
    for index, model in enumerate(settings.models):
        path = f"models[{index}]"
        for name in model.regions if model.regions is not None else tuple(regions):
            if name not in regions:
                problems.append(_unknown(f"{path}.regions", "region", name, list(regions)))
                continue
            pools = [pool.name for pool in regions[name].pools]
            if model.pool not in pools:
                problems.append(
                    _unknown(f"{path}.pool", f"pool in region {name!r}", model.pool, pools)
                )
            if (name, model.model) in placed:
                problems.append(
                    Finding(
                        path=f"{path}.model",
                        message=f"model is placed twice in region {name!r}",
                        value=shown(model.model),
                        remedy="give one of the entries other regions, or merge them",
                    )
                )
            placed.add((name, model.model))
    problems += _stood_in_for(settings, placed)
    bounds = settings.budgets
    for key, named in (
        ("gpus_per_region", bounds.gpus_per_region),
        ("usd_per_hour_per_region", bounds.usd_per_hour_per_region),
    ):
        for name in (each for each in named if each not in regions):
            problems.append(_unknown(f"budgets.{key}", "region", name, list(regions)))
    return problems


def _stood_in_for(settings: Settings, placed: set[tuple[str, str]]) -> list[Finding]:
    """Return providers that stand in for models which their region does not serve."""
    return [
        _unknown(
            f"regions[{index}].fallback_providers[{number}].models",
            f"model in region {region.name!r}",
            name,
            sorted(model for place, model in placed if place == region.name),
        )
        for index, region in enumerate(settings.regions)
        for number, provider in enumerate(region.fallback_providers)
        for name in provider.models or ()
        if (region.name, name) not in placed
    ]


def _unknown(path: str, what: str, value: str, allowed: list[str]) -> Finding:
    return Finding(
        path=path, message=f"no such {what}", value=shown(value), allowed=", ".join(allowed)
    )
