"""Every rule of the pack, with what it looks at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from policies.context import Context
from policies.finding import Finding
from policies.manifest import Manifest
from policies.memo import Memo
from policies.nodes import UnknownFieldError, UnreadableFieldError
from policies.rule import Rule
from policies.rules import (
    autoscaling,
    caches,
    catalogue,
    engine_flags,
    engine_metrics,
    family,
    gateway,
    host,
    images,
    isolation,
    kserve,
    memory,
    monitoring,
    network,
    parallelism,
    plan,
    probes,
    qos,
    releases,
    rollout,
    routes,
    scaling_pairs,
    secrets,
    served_names,
    services,
    storage,
    vram,
)
from policies.rules.plan import PlanView
from policies.stack import Placed
from policies.workload import Container, Pod, pods_of

Look = Callable[[Manifest, Context], tuple[Finding, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectRule:
    """A rule that one object is enough for; `look` runs it over the object's parts."""

    rule: Rule[Any]
    look: Look


def _at_manifest(rule: Rule[Manifest]) -> ObjectRule:
    return ObjectRule(rule=rule, look=rule)


_PODS: Final = Memo[Manifest, tuple[Pod, ...]]()
_CONTAINERS: Final = Memo[Pod, tuple[Container, ...]]()


def _pods(manifest: Manifest) -> tuple[Pod, ...]:
    return _PODS.get(manifest, None, lambda: tuple(pods_of(manifest)))


def _containers(manifest: Manifest) -> Iterator[Container]:
    for pod in _pods(manifest):
        yield from _containers_of(pod)


def _containers_of(pod: Pod) -> Iterator[Container]:
    """Yield a pod's containers; those before one that is not known are seen all the same."""
    try:
        yield from _CONTAINERS.get(pod, None, lambda: tuple(pod.containers()))
    except (UnknownFieldError, UnreadableFieldError):
        yield from pod.containers()


def _at_pods(rule: Rule[Pod]) -> ObjectRule:
    def look(manifest: Manifest, context: Context) -> tuple[Finding, ...]:
        return rule.over(_pods(manifest), manifest.label, context)

    return ObjectRule(rule=rule, look=look)


def _at_containers(rule: Rule[Container]) -> ObjectRule:
    def look(manifest: Manifest, context: Context) -> tuple[Finding, ...]:
        return rule.over(_containers(manifest), manifest.label, context)

    return ObjectRule(rule=rule, look=look)


OBJECT_RULES: Final[tuple[ObjectRule, ...]] = (
    _at_manifest(releases.be_readable),
    _at_manifest(releases.ship_no_engine),
    _at_containers(qos.be_guaranteed),
    _at_pods(qos.keep_class),
    _at_containers(qos.count_whole_gpus),
    _at_pods(qos.bound_storage),
    _at_pods(qos.refuse_injection),
    _at_manifest(qos.namespace_refuses_injection),
    _at_pods(isolation.select_gpu_nodes),
    _at_pods(isolation.tolerate_gpu_taint),
    _at_pods(isolation.keep_off_gpu_nodes),
    _at_pods(isolation.take_no_hidden_gpu),
    _at_containers(probes.allow_startup),
    _at_containers(probes.delay_no_liveness),
    _at_containers(probes.bear_slow_answers),
    _at_containers(memory.share_memory),
    _at_containers(memory.write_caches),
    _at_containers(engine_flags.take_known_options),
    _at_containers(family.suit_family),
    _at_containers(parallelism.match_gpus),
    _at_containers(parallelism.split_evenly),
    _at_containers(vram.fit_memory),
    _at_containers(caches.hold_local_cache),
    _at_containers(caches.seed_shared_cache),
    _at_containers(caches.give_router_memory),
    _at_pods(catalogue.run_admitted_model),
    _at_containers(images.pin_image),
    _at_manifest(images.name_no_deleted_image),
    _at_containers(secrets.hide_secrets),
    _at_manifest(secrets.object_hides_secrets),
    _at_pods(host.stay_off_host),
    _at_pods(host.meet_restricted),
    _at_manifest(host.enforce_restricted),
    _at_manifest(autoscaling.hold_on_missing_data),
    _at_manifest(autoscaling.return_one_series),
    _at_manifest(autoscaling.match_metric_type),
    _at_manifest(autoscaling.pace_scale_down),
    _at_manifest(autoscaling.wake_from_zero),
    _at_pods(services.switch_off_service_links),
    _at_containers(services.leave_engine_ports),
    _at_manifest(services.have_fixed_name),
    _at_manifest(services.await_no_endpoints),
    _at_manifest(rollout.await_startup),
    _at_manifest(rollout.start_together),
    _at_manifest(storage.keep_templates),
    _at_pods(storage.mount_existing_volumes),
    _at_manifest(storage.be_protected),
    _at_manifest(kserve.place_resources),
)

STACK_RULES: Final[tuple[Rule[Placed], ...]] = (
    releases.show_objects,
    scaling_pairs.leave_replicas,
    scaling_pairs.have_one_autoscaler,
    scaling_pairs.find_its_target,
    services.name_its_service,
    services.spare_engine_variables,
    monitoring.carry_selected_labels,
    monitoring.find_its_port,
    engine_metrics.name_known_series,
    served_names.name_served_model,
    routes.outlive_answers,
    routes.cut_no_answer,
    gateway.let_prompts_through,
    gateway.have_known_fields,
    gateway.charge_known_costs,
    network.deny_ingress,
    network.inject_no_engine,
    storage.share_volume,
)

PLAN_RULES: Final[tuple[Rule[PlanView], ...]] = (
    plan.capacity,
    plan.names,
    plan.pools,
    plan.memory,
    plan.totals,
    catalogue.status,
)
