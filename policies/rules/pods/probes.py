"""Probes against how long an engine needs: to load its weights, and to answer when it is busy."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core import knowledge
from policies.core.context import Context, strictness
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import invocation_of
from policies.views.engine.replica import replica_of
from policies.views.kubernetes.workload import Container, Pod

STARTUP_ANNOTATION: Final = "triplane.dev/startup-seconds"
"""Seconds that a replica may take until it answers, as the plan computed them."""

_STARTUP_MIN_SEC: Final = 120
"""Compilation and graph capture alone take one to two minutes, whatever the weights."""

_STARTUP_SURE_SEC: Final = 60
_FAST_GIB_PER_SEC: Final = 1.0
"""What one client reads of a network volume over 10 Gbit/s; most have less."""

_BARE_START_SEC: Final = 60
_PATIENT_SEC: Final = 300
"""A liveness probe that waits so long bears small models; bigger ones want a start-up probe."""

_ANSWER_SEC: Final = 5
_SILENCE_SEC: Final = 60
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")


def needed_seconds(pod: Pod) -> float | None:
    """Return the start-up time that the pod's annotations or its owner's tell."""
    annotations = {**pod.manifest.annotations(), **pod.annotations()}
    text = annotations.get(STARTUP_ANNOTATION)
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def budget_seconds(probe: Node) -> float:
    """Return how long a probe bears failures: the delay, then period times threshold."""
    period = probe["periodSeconds"].number() or 10
    threshold = probe["failureThreshold"].number() or 3
    return (probe["initialDelaySeconds"].number() or 0) + period * threshold


def _outlasts(container: Container, liveness: Node, context: Context) -> bool:
    """Whether a liveness probe waits as long as loading may take, for all that is known."""
    needed = needed_seconds(container.pod) or _loading_seconds(container, context)
    return budget_seconds(liveness) >= (needed or _PATIENT_SEC)


def _loading_seconds(container: Container, context: Context) -> float | None:
    """Return the least time that a known model takes: its weights from fast storage, start-up."""
    invocation = invocation_of(container, context)
    replica = None if invocation is None else replica_of(invocation, context)
    if replica is None or replica.model is None or not replica.sure:
        return None
    weights = knowledge.weights_gib(replica.model)
    return None if weights is None else _BARE_START_SEC + weights / _FAST_GIB_PER_SEC


def _engine(container: Container) -> bool:
    return not container.inherits and not container.pod.follows and container.is_engine


@rule(
    "k8s-container-allow-startup",
    "Every engine has a start-up probe that bears its load time.",
    remedy="add a startupProbe on /health whose periodSeconds x failureThreshold is at least the "
    f"load time (annotation {STARTUP_ANNOTATION})",
    weight=RuleWeight.CRITICAL,
    tags=("probes",),
)
def allow_startup(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-11: a liveness probe that starts too early ends a pod that is still loading."""
    if not _engine(container):
        return
    probe = container.node["startupProbe"]
    if not probe.present:
        # Without a liveness probe nothing ends a pod that is loading.
        liveness = container.node["livenessProbe"]
        ended = liveness.present and not _outlasts(container, liveness, context)
        severity = Severity.ERROR if ended else strictness(container.pod.namespace, context)
        yield Finding(probe.path, f"container {container.called} has no startupProbe", severity)
        return
    stated, loading = needed_seconds(container.pod), _loading_seconds(container, context)
    needed = stated or max(loading or 0, _STARTUP_MIN_SEC)
    budget = budget_seconds(probe)
    if budget < needed:
        known = stated or (loading or 0) > _STARTUP_MIN_SEC
        reason = "its weights need" if known else "any engine's compilation may need"
        sure = budget < (stated or max(loading or 0, _STARTUP_SURE_SEC))
        yield Finding(
            probe.path,
            f"the startupProbe of container {container.called} bears {budget:g} s, "
            f"{reason} {needed:.0f} s",
            Severity.ERROR if sure else strictness(container.pod.namespace, context),
        )


@rule(
    "k8s-container-delay-no-liveness",
    "No engine delays its liveness probe by a fixed time.",
    remedy="remove initialDelaySeconds; the startupProbe holds liveness back for as long as needed",
    tags=("probes",),
    house=True,
)
def delay_no_liveness(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-11: a fixed delay is too short for big weights and too long for small ones."""
    if not _engine(container):
        return
    delay = container.node.at("livenessProbe", "initialDelaySeconds")
    if delay.number():
        held_back = container.node["startupProbe"].present
        yield Finding(
            delay.path,
            f"the livenessProbe of container {container.called} waits {delay.text()} s",
            strictness(container.pod.namespace, context) if held_back else Severity.ERROR,
        )


@rule(
    "k8s-container-bear-slow-answers",
    "Every engine's probes bear slow answers.",
    remedy=f"set timeoutSeconds to at least {_ANSWER_SEC}, and for liveness periodSeconds x "
    f"failureThreshold to at least {_SILENCE_SEC}",
    tags=("probes",),
    house=True,
)
def bear_slow_answers(container: Container, context: Context) -> Iterator[Finding]:
    """FB-04: a saturated or compiling engine misses checks without being dead."""
    if not _engine(container):
        return
    severity = strictness(container.pod.namespace, context)
    for name in _PROBES:
        probe = container.node[name]
        if not probe.present:
            continue
        seconds = probe["timeoutSeconds"].number() or 1
        if seconds < _ANSWER_SEC:
            yield Finding(
                probe.path,
                f"the {name} of container {container.called} gives up after {seconds:g} s",
                severity,
            )
    liveness = container.node["livenessProbe"]
    if liveness.present and budget_seconds(liveness) < _SILENCE_SEC:
        yield Finding(
            liveness.path,
            f"the livenessProbe of container {container.called} ends it after "
            f"{budget_seconds(liveness):g} s of silence",
            severity,
        )
