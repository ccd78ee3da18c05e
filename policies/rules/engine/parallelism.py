"""How an engine is spread over GPUs: what its pod gets, and what its model's shapes allow."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from models.core.findings import Finding, Severity
from models.core.rule_ids import SHAPE_RULES, MemoryRule
from models.engine.arguments import EngineArguments
from models.engine.serve import arguments_in
from policies.core import knowledge
from policies.core.context import Context, is_house
from policies.core.rule import RuleWeight, rule
from policies.views.engine.container import Invocation, invocation_of, variables
from policies.views.engine.replica import Replica, replica_of
from policies.views.kubernetes.workload import Container, pods_of

if TYPE_CHECKING:
    from models.architecture import Architecture

_SPLITTING: Final = SHAPE_RULES | {MemoryRule.POSITIONS}
OF_NO_CARD: Final = _SPLITTING | {MemoryRule.PREFIX_CACHING, MemoryRule.BLOCK_SIZE}
"""Refusals of the memory model that no card decides."""

_MIG: Final = re.compile(r"^nvidia\.com/mig-")
_SEVERAL_NODES: Final = (
    *("--nnodes", "--node-rank", "--headless", "--data-parallel-hybrid-lb"),
    *("--data-parallel-address", "--data-parallel-start-rank", "--data-parallel-rank"),
    *("--data-parallel-external-lb", "--data-parallel-backend", "--master-addr"),
)
_LONGER_VARIABLE: Final = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


@rule(
    "k8s-container-match-gpus",
    "Every engine's ranks are as many as the GPUs of its pod.",
    remedy="set --tensor-parallel-size x --pipeline-parallel-size x --data-parallel-size to the "
    "GPUs in limits",
    weight=RuleWeight.CRITICAL,
    tags=("parallelism",),
)
def match_gpus(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-19, GPUO-04: with too few the engine waits for Ray forever; too many stay idle."""
    invocation = _engine(container, context)
    gpus = container.gpus()
    if invocation is None or not invocation.words or not gpus or container.pod.follows:
        return
    replica = replica_of(invocation, context)
    yield from _slices(replica, container)
    ranks, in_pod = _ranks(replica)
    group = _group(container)
    if ranks is None or in_pod is None or group is None:
        return
    yield from _node(replica, gpus)
    several = any(replica.line.last(option) is not None for option in _SEVERAL_NODES)
    path = container.node["args"].path
    said = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
    resources = said if group == 1 else f"{said} in each of {group} pods"
    there = _in_group(container, gpus, group)
    if ranks > there and not several and not _may_be_elsewhere(replica, group):
        yield Finding(
            path,
            f"container {container.called} has {_product(replica)} = {_counted(ranks)}, its pod "
            f"{resources}",
        )
    elif in_pod < gpus and ranks < there and not _is_open(invocation, several=several):
        own = context.pulumi or is_house(container.pod.namespace)
        nvidia = all(name.startswith("nvidia.com/") for name in container.accelerators())
        yield Finding(
            path,
            f"container {container.called} has {_product(replica)} = {_counted(ranks)}, its pod "
            f"{resources}: the others stay idle",
            Severity.ERROR if own or nvidia else Severity.WARNING,
        )


def _counted(ranks: int) -> str:
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def _engine(container: Container, context: Context) -> Invocation | None:
    return None if container.inherits else invocation_of(container, context)


def _ranks(replica: Replica) -> tuple[int | None, int | None]:
    """Return the ranks of the replica, and those that run in this pod."""
    tensor, pipeline = (replica.count(f"{each}_parallel_size") for each in ("tensor", "pipeline"))
    context = replica.count("prefill_context_parallel_size")
    data = replica.count("data_parallel_size")
    local = replica.count("data_parallel_size_local", default=0)
    if None in (tensor, pipeline, data, local, context):
        return None, None
    one = (tensor or 1) * (pipeline or 1) * (context or 1)
    here = one * (local or data or 1)
    return (here if local else one * (data or 1)), here


def _product(replica: Replica) -> str:
    parts = [f"tensor {replica.count('tensor_parallel_size')}"]
    for name in ("pipeline", "data"):
        given = replica.given(f"{name}_parallel_size")
        if given is not None:
            parts.append(f"{name} {given}")
    return " x ".join(parts)


def _group(container: Container) -> int | None:
    """Return the pods of a replica: more than one in groups; None where that is not known."""
    manifest = container.pod.manifest
    template = manifest.spec["leaderWorkerTemplate"]
    if template.present:
        return template["size"].integer(1)
    if manifest.is_kind("InferenceService", "ServingRuntime", "ClusterServingRuntime"):
        worker = manifest.spec["workerSpec"].present
        worker = worker or manifest.spec.at("predictor", "workerSpec").present
        return None if worker else 1
    known = ("Deployment", "StatefulSet", "DaemonSet", "Pod", "ReplicaSet", "Job", "CronJob")
    return 1 if manifest.is_kind(*known) else None


def _in_group(container: Container, gpus: int, group: int) -> int:
    """Return the GPUs of all pods of a replica; workers of a group may have others than it."""
    if group == 1:
        return gpus
    workers = [each for each in pods_of(container.pod.manifest) if each.follows]
    own = sum(each.gpus() for pod in workers[:1] for each in pod.containers())
    return gpus + (group - 1) * (own if workers else gpus)


def _may_be_elsewhere(replica: Replica, group: int) -> bool:
    """Whether Ray may have GPUs that nothing here shows; a group's cluster is the group itself."""
    if not _uses_ray(replica):
        return False
    return group == 1 or "RAY_ADDRESS" in variables(replica.invocation.container)


def _is_open(invocation: Invocation, *, several: bool) -> bool:
    """Whether more ranks may come from elsewhere: unknown words, a file, another program."""
    line = invocation.line()
    return invocation.open or several or line.last("--config") is not None


def _uses_ray(replica: Replica) -> bool:
    backend = replica.given("distributed_executor_backend")
    script = " ".join(replica.invocation.container.words()) if replica.invocation.shell else ""
    return backend == "ray" or "ray start" in script or "multi-node" in script


def _slices(replica: Replica, container: Container) -> Iterator[Finding]:
    names = [name for name in container.accelerators() if _MIG.match(name)]
    tensor = replica.count("tensor_parallel_size") or 1
    if names and tensor > 1:
        yield Finding(
            container.node["args"].path,
            f"tensor parallel size {tensor} over slices of a GPU ({names[0]}): a process sees one "
            "slice only",
            remedy="set the tensor parallel size to 1, or take whole GPUs",
        )


def _node(replica: Replica, gpus: int) -> Iterator[Finding]:
    most = replica.place.node_gpus
    if most is not None and gpus > most:
        yield Finding(
            replica.invocation.container.node["resources"].path,
            f"the pod takes {gpus} GPUs, {replica.place.said} has {most}: it is never scheduled",
            remedy="choose a machine type with more GPUs, or fewer ranks",
        )


@rule(
    "k8s-container-split-evenly",
    "Every model can be split over as many ranks as its engine has.",
    remedy="choose a tensor parallel size that divides the model's heads",
    weight=RuleWeight.CRITICAL,
    tags=("parallelism",),
    fragments=True,
)
def split_evenly(container: Container, context: Context) -> Iterator[Finding]:
    """VLLM-01, 02, 03: heads, KV heads and quantization groups; positions of the model."""
    invocation = _engine(container, context)
    if invocation is None or container.pod.follows:
        return
    replica = replica_of(invocation, context)
    model = None if replica.model is None else knowledge.shape(replica.model)
    if model is None:
        return
    try:
        given = arguments_in(replica.line)
    except (ValidationError, ValueError):
        return
    path = container.node["args"].path
    for refusal in _refused(model, given):
        longer = refusal.rule == MemoryRule.POSITIONS and _may_be_longer(replica)
        if refusal.rule not in _SPLITTING or longer:
            continue
        severity = Severity.ERROR if replica.sure else Severity.WARNING
        message = f"{replica.model}: {refusal.message}"
        yield Finding(path, message, severity, refusal.remedy)
    yield from _replicated(model, given, replica, path)


def _may_be_longer(replica: Replica) -> bool:
    """Whether the model's positions are stretched by an option or a variable."""
    environment = replica.invocation.container.node["env"].items()
    told = any(node["name"].value == _LONGER_VARIABLE for node in environment)
    return told or any(replica.line.last(each) for each in ("--hf-overrides", "--rope-scaling"))


def _refused(model: "Architecture", arguments: EngineArguments) -> tuple[Finding, ...]:
    from models.memory import BudgetRequest, Card, behavior_of_contract
    from models.memory.inputs.request import resolve
    from models.memory.verdict.refusals import refusals

    request = BudgetRequest(
        architecture=model,
        card=Card(memory_gib=10**6, capability=(99, 0)),
        behavior=behavior_of_contract(knowledge.newest()),
        arguments=arguments,
    )
    return refusals(request, resolve(request))


def _replicated(
    model: "Architecture", arguments: EngineArguments, replica: Replica, path: str
) -> Iterator[Finding]:
    from models.architecture import CacheKind

    latent = (CacheKind.MLA, CacheKind.MLA_SLIDING)
    heads = [c.kv_heads for c in model.caches if not c.kind.is_state and c.kind not in latent]
    if heads and arguments.tensor_parallel_size > min(heads):
        yield Finding(
            path,
            f"{replica.model} has {min(heads)} KV heads: {arguments.tensor_parallel_size} ranks "
            "hold copies of them, so that more ranks do not buy more KV cache",
            Severity.WARNING,
            remedy=f"set --tensor-parallel-size={min(heads)} or less, with data parallel replicas",
        )
