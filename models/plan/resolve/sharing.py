"""Proving how a pool's cards are shared, and what its machines bring."""

import math

from models.core.findings import Finding, Findings, Source
from models.core.problems import shown
from models.core.rule_ids import ProofRule
from models.engine.arguments import ServeArguments
from models.facts.accelerators import Accelerator
from models.facts.sharing import UTILIZATION_SUM_MAX, Mig, TimeSlicing, slice_of
from models.plan.plan import PlannedPool
from models.plan.sizing import MachineShape
from models.settings.regions import (
    AmiFamily,
    EksClusterSettings,
    GpuSoftware,
    PoolSettings,
    RegionSettings,
)


def shared(
    pool: PoolSettings, path: str, card: Accelerator | None, shape: MachineShape, findings: Findings
) -> tuple[Accelerator | None, MachineShape]:
    """Return the card and the shape as the scheduler and an engine see them."""
    match pool.sharing:
        case None:
            return card, shape
        case TimeSlicing(replicas=replicas) if card is not None:
            return card, shape.model_copy(update={"gpus": shape.gpus * replicas})
        case Mig(profile=name) if card is not None:
            profile = next((each for each in card.mig_profiles if each.name == name), None)
            if profile is None:
                findings.problems.append(_no_profile(f"{path}.sharing.profile", card, name))
                return card, shape
            units = shape.gpus * profile.instances
            return slice_of(card, profile), shape.model_copy(update={"gpus": units})
        case _:
            message = f"pool {pool.name!r} has no accelerator to share"
            findings.problems.append(
                Finding(path=f"{path}.sharing", message=message, remedy="leave sharing out")
            )
            return card, shape


def _no_profile(path: str, card: Accelerator, name: str) -> Finding:
    if not card.mig:
        message, remedy = f"{card.name} cannot be cut into MIG slices", "leave sharing out"
    elif not card.mig_profiles:
        message = f"the catalog has no source for what MIG slices of {card.name} hold"
        remedy = "add mig_profiles with their source to catalog/accelerators.yaml"
    else:
        message, remedy = f"{card.name} has no such MIG profile with a source", "take one of these"
    return Finding(
        path=path,
        message=message,
        value=shown(name),
        allowed=", ".join(each.name for each in card.mig_profiles) or None,
        remedy=remedy,
    )


def node_problems(region: RegionSettings, pool: PoolSettings, path: str) -> list[Finding]:
    """Return what a pool says of its machines that cannot hold where they are."""
    problems: list[Finding] = []
    if isinstance(region.cluster, EksClusterSettings):
        said = (
            ("gpu_software", pool.gpu_software is not GpuSoftware.HOST),
            ("nodes", bool(pool.nodes)),
            ("swap_off", pool.swap_off),
        )
        problems += [
            Finding(
                path=f"{path}.{key}",
                message="is for nodes of an existing cluster: on EKS the machine image brings "
                "driver, toolkit and no swap, and node groups set labels and taints",
                remedy="leave it out",
            )
            for key, is_said in said
            if is_said
        ]
        if pool.sharing is not None and pool.ami is AmiFamily.BOTTLEROCKET:
            problems.append(
                Finding(
                    path=f"{path}.sharing",
                    rule=ProofRule.SHARING,
                    source=Source.PLAN,
                    subject=f"{region.name}/{pool.name}",
                    message="Bottlerocket runs the device plugin itself, so the GPU operator "
                    "cannot share its cards",
                    remedy="take ami al2023, or leave sharing out",
                )
            )
    if len(pool.nodes) > pool.max:
        problems.append(
            Finding(
                path=f"{path}.nodes",
                message=f"names more nodes than pool {pool.name!r} has at most",
                value=str(len(pool.nodes)),
                allowed=f"at most {pool.max}",
                remedy="raise max, or name fewer",
            )
        )
    return problems


def sharing_problems(
    pool: PlannedPool, arguments: ServeArguments, path: str, subject: str
) -> list[Finding]:
    """Return why an engine may not run on shares of a card (GPUO-04).

    A process sees one MIG slice only, so slices are no ranks of a tensor parallel group; turns of
    one card are no second card.
    """
    sharing = pool.settings.sharing
    if sharing is None:
        return []
    problems: list[Finding] = []
    gpus = arguments.gpus
    if gpus > 1:
        what = "MIG slices" if isinstance(sharing, Mig) else "turns of one card"
        problems.append(
            Finding(
                path=f"{path}.parallelism",
                rule=ProofRule.SHARING,
                source=Source.PLAN,
                subject=subject,
                message=f"pool {pool.name!r} offers {what}, which cannot be parallel ranks",
                value=f"{gpus} GPUs a replica",
                allowed="1",
                remedy="place the model on a pool that does not share its cards",
            )
        )
    if isinstance(sharing, TimeSlicing):
        problems += _claims(sharing.replicas, arguments.gpu_memory_utilization, path, subject)
    return problems


def _claims(replicas: int, utilization: float, path: str, subject: str) -> list[Finding]:
    """Return a problem where engines that take turns claim more memory than their card has."""
    if replicas * utilization <= UTILIZATION_SUM_MAX:
        return []
    return [
        Finding(
            path=f"{path}.engine.gpu_memory_utilization",
            rule=ProofRule.SHARING,
            source=Source.PLAN,
            subject=subject,
            message=f"{replicas} engines take turns on one card and claim "
            f"{replicas * utilization:.2f} of its memory together",
            value=str(utilization),
            allowed=f"at most {math.floor(UTILIZATION_SUM_MAX / replicas * 100) / 100:.2f}",
            remedy="set engine.gpu_memory_utilization, or lower sharing.replicas",
        )
    ]
