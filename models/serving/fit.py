"""What a memory budget means for a plan: problems with terms and remedies, and remarks."""

from dataclasses import dataclass

from models.core.findings import Finding, Severity, Source
from models.core.rule_ids import ProofRule
from models.memory import Budget, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetSubject:
    """Which replica a budget is of: `path` in the settings, `subject` "region/model".

    `node_gpus` are the GPUs of one node of its pool: remedies that take more do not help.
    """

    path: str
    subject: str
    model: str
    node_gpus: int


def memory_problems(where: BudgetSubject, fit: Budget) -> list[Finding]:
    """Return a problem where the replica would not start, not serve, or cannot be judged."""
    if fit.verdict is Verdict.FITS:
        return [] if fit.is_within_bound else [_margin_problem(where, fit)]
    said = {
        Verdict.CANNOT_START: "the engine would not start",
        Verdict.CANNOT_SERVE: "the engine would refuse its own context length",
        Verdict.UNKNOWN: "whether the engine would start cannot be verified",
    }
    return [
        Finding(
            path=where.path,
            rule=ProofRule.MEMORY,
            source=Source.PLAN,
            subject=where.subject,
            message=f"{said[fit.verdict]}: {'; '.join(fit.reasons)}",
            value=fit.terms or None,
            remedy="; or ".join(fit.remedies_on(where.node_gpus)[:3])
            or "place it on a pool with larger cards or more of them, or choose a smaller model",
        )
    ]


def _margin_problem(where: BudgetSubject, fit: Budget) -> Finding:
    """Return the problem of a replica that fits by the estimate, but not by its bound."""
    low = fit.kv_cache_gib_low or 0.0
    return Finding(
        path=where.path,
        rule=ProofRule.MARGIN,
        source=Source.PLAN,
        subject=where.subject,
        message=f"the engine {fit.beyond_bound}",
        value=f"estimate {fit.kv_cache_gib or 0.0:.2f} GiB, bound {low:.2f} GiB",
        remedy="lower max_model_len, max_num_batched_tokens or max_num_seqs, raise "
        "gpu_memory_utilization, or record an exception once a run is measured (calibrate)",
    )


def memory_remarks(where: BudgetSubject, fit: Budget) -> list[Finding]:
    """Return what a fitting budget should make its owner know."""
    remarks: list[Finding] = []
    if fit.kv_heads_replicated:
        text = (
            f"{where.model}: tensor parallel ranks hold copies of the same KV heads, "
            "so that more ranks do not buy more KV cache"
        )
        remarks.append(Finding(path=where.path, message=text, severity=Severity.WARNING))
    return remarks
