"""Every rule of the pack, with what it looks at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from policies.core.context import Context
from policies.core.finding import Finding
from policies.core.memo import Memo
from policies.core.nodes import UnknownFieldError, UnreadableFieldError
from policies.core.rule import Rule
from policies.rules.aws import data as aws_data
from policies.rules.aws import iam as aws_iam
from policies.rules.aws import machines as aws_machines
from policies.rules.aws import network as aws_network
from policies.rules.aws import pools as aws_pools
from policies.rules.aws import trust as aws_trust
from policies.rules.engine import caches, catalog, family, memory, parallelism, vram
from policies.rules.engine import flags as engine_flags
from policies.rules.engine import metrics as engine_metrics
from policies.rules.gateway import gateway, routes
from policies.rules.operators import (
    accelerators,
    certificates,
    charts,
    external_secrets,
    kserve,
    releases,
    served,
)
from policies.rules.plan import cost as plan_cost
from policies.rules.plan import proofs as plan
from policies.rules.pods import (
    host,
    images,
    isolation,
    network,
    probes,
    qos,
    rollout,
    secrets,
    services,
)
from policies.rules.scaling import autoscaling, monitoring, served_names
from policies.rules.scaling import pairs as scaling_pairs
from policies.rules.storage import longhorn, minio
from policies.rules.storage import volumes as storage
from policies.views.aws.resource import AwsPlaced, AwsResource
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed
from policies.views.kubernetes.workload import Container, Pod, pods_of
from policies.views.plan import PlanView

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
    _at_manifest(charts.have_fixed_name),
    _at_manifest(charts.pin_version),
    _at_manifest(charts.be_waited_for),
    _at_manifest(charts.set_known_values),
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
    _at_containers(accelerators.take_one_share),
    _at_containers(vram.fit_memory),
    _at_containers(caches.hold_local_cache),
    _at_containers(caches.seed_shared_cache),
    _at_containers(caches.give_router_memory),
    _at_pods(catalog.run_admitted_model),
    _at_containers(images.pin_image),
    _at_manifest(images.name_no_deleted_image),
    _at_containers(secrets.hide_secrets),
    _at_manifest(secrets.object_hides_secrets),
    _at_manifest(external_secrets.say_defaults),
    _at_manifest(external_secrets.stay_fresh),
    _at_manifest(external_secrets.limit_readers),
    _at_manifest(certificates.keep_authority_key),
    _at_manifest(certificates.be_accepted),
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
    _at_manifest(longhorn.reach_every_node),
    _at_manifest(longhorn.share_safely),
    _at_manifest(longhorn.suit_longhorn),
    _at_manifest(minio.form_erasure_sets),
    _at_manifest(minio.replace_lost_images),
    _at_manifest(kserve.place_resources),
    _at_manifest(served.use_served_version),
    _at_manifest(served.fall_back_as_meant),
)

STACK_RULES: Final[tuple[Rule[Placed], ...]] = (
    releases.show_objects,
    accelerators.leave_driver,
    accelerators.reach_gpu_nodes,
    accelerators.name_slices,
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
    external_secrets.find_its_store,
    external_secrets.read_named_secrets,
    certificates.find_its_issuer,
    certificates.serve_its_name,
    storage.share_volume,
    longhorn.keep_share_off_gpus,
)

PLAN_RULES: Final[tuple[Rule[PlanView], ...]] = (
    plan.capacity,
    plan.names,
    plan.pools,
    plan.memory,
    plan.totals,
    plan_cost.bill,
    plan_cost.cost,
    plan_cost.gpus,
    catalog.status,
    longhorn.storage,
)

AWS_RULES: Final[tuple[Rule[AwsResource], ...]] = (
    aws_iam.be_plain,
    aws_iam.name_known_actions,
    aws_iam.list_actions,
    aws_iam.limit_resources,
    aws_iam.escalate_nothing,
    aws_iam.manage_no_permissions,
    aws_iam.expose_no_data,
    aws_trust.name_principals,
    aws_network.stay_closed,
    aws_network.be_empty,
    aws_network.close_endpoint,
    aws_network.give_no_address,
    aws_network.have_no_address,
    aws_machines.require_token,
    aws_machines.have_template,
    aws_machines.be_encrypted,
    aws_machines.encrypt_secrets,
    aws_machines.log_control_plane,
    aws_machines.rotate,
    aws_data.be_protected,
    aws_pools.suit_its_machines,
    aws_pools.leave_size_to_autoscaler,
)
"""Rules that one AWS resource is enough for."""

AWS_STACK_RULES: Final[tuple[Rule[AwsPlaced], ...]] = (
    accelerators.leave_what_image_brings,
    aws_trust.take_narrow_policies,
    aws_data.block_public_access,
    aws_data.say_encryption,
    aws_data.require_tls,
    aws_pools.have_one_image,
    aws_pools.be_found_when_empty,
    longhorn.carry_longhorn,
)
"""Rules about how the AWS resources of a stack fit together."""
