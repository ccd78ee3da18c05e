"""Proving that a region's operators can be installed: a chart to read, a node to run on."""

from models.core.findings import Finding, Findings, Severity, Source
from models.core.rule_ids import ProofRule
from models.plan.operators import chart_problems, operators
from models.plan.plan import PlannedRegion, PlatformPlan


def resolve_operators(plan: PlatformPlan, findings: Findings) -> None:
    """Add what stands against the operators of each region, and what should be known of them."""
    for index, region in enumerate(plan.regions):
        path = f"regions[{index}]"
        if plan.shell_image is None and any(pool.settings.swap_off for pool in region.pools):
            message = "has no image named 'busybox', which switches swap off"
            findings.problems.append(Finding(path="catalog/images.yaml", message=message))
        if plan.operators.installed:
            rows = operators(plan, region)
            findings.problems += chart_problems(rows, plan.charts, plan.mirror.charts)
            findings.problems += _controllers_find_a_node(region, path)
        elif region.eks is not None:
            findings.notices.append(
                Finding(
                    path="operators",
                    message=f"external: nobody can have installed operators in {region.name!r} "
                    "before its cluster exists; the first update makes the cluster and then ends "
                    "at the first definition that is missing. Install them and update again, or "
                    "set operators to managed",
                    severity=Severity.WARNING,
                )
            )


def _controllers_find_a_node(region: PlannedRegion, path: str) -> list[Finding]:
    """Controllers get no tolerations: they are not to run where GPUs are paid for."""
    if any(pool.accelerator is None and not pool.settings.all_taints for pool in region.pools):
        return []
    return [
        Finding(
            path=f"{path}.pools",
            rule=ProofRule.OPERATORS,
            source=Source.PLAN,
            subject=region.name,
            message="operators find no node: every pool has GPUs or taints",
            remedy="add a pool without accelerator and taints, or leave operators to somebody else "
            "(operators: external)",
        )
    ]
