"""What a memory budget means for a plan: refusals with terms and mends, and remarks."""

from dataclasses import dataclass

from models.core.notices import Notice
from models.core.problems import Problem
from models.memory import Budget, TermSource, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Which replica a budget is of: `path` in the settings, `subject` "region/model".

    `node_gpus` are the GPUs of one node of its pool: remedies that take more do not help.
    """

    path: str
    subject: str
    model: str
    node_gpus: int


def memory_problems(where: Where, fit: Budget) -> list[Problem]:
    """Return a problem where the replica would not start, not serve, or cannot be judged."""
    if fit.verdict is Verdict.FITS:
        return [] if fit.is_within_bound else [_margin_problem(where, fit)]
    said = {
        Verdict.CANNOT_START: "the engine would not start",
        Verdict.CANNOT_SERVE: "the engine would refuse its own context length",
        Verdict.UNKNOWN: "whether the engine would start cannot be verified",
    }
    figures = (
        ("weights", fit.weights_gib),
        ("activation", fit.activation_gib),
        ("CUDA graphs", fit.cuda_graph_gib),
        ("KV cache", fit.kv_cache_gib),
        ("KV cache needed", fit.needed_kv_gib),
    )
    terms = ", ".join(f"{name} {gib:.2f} GiB" for name, gib in figures if gib is not None)
    if terms and fit.sources.get("weights_gib") is TermSource.GOLDEN:
        terms += f"; weights by the engine's own code ({fit.golden})"
    return [
        Problem(
            path=where.path,
            rule="plan-memory",
            object=where.subject,
            message=f"{said[fit.verdict]}: {'; '.join(fit.reasons)}",
            value=terms or None,
            mend="; or ".join(_mends(where, fit))
            or "place it on a pool with larger cards or more of them, or choose a smaller model",
        )
    ]


def _margin_problem(where: Where, fit: Budget) -> Problem:
    """Return the problem of a replica that fits by the estimate, but not by its bound."""
    low, need = fit.kv_cache_gib_low or 0.0, fit.needed_kv_gib or 0.0
    return Problem(
        path=where.path,
        rule="plan-margin",
        object=where.subject,
        message=f"the engine would probably start, but its KV cache may have as little as "
        f"{low:.2f} GiB, and one request of full length needs {need:.2f} GiB",
        value=f"estimate {fit.kv_cache_gib or 0.0:.2f} GiB, bound {low:.2f} GiB",
        mend="lower max_model_len, max_num_batched_tokens or max_num_seqs, raise "
        "gpu_memory_utilization, or record an exception once a run is measured (calibrate)",
    )


def memory_remarks(where: Where, fit: Budget) -> list[Notice]:
    """Return what a fitting budget should make its owner know."""
    remarks: list[Notice] = []
    if fit.kv_heads_replicated:
        text = (
            f"{where.model}: tensor parallel ranks hold copies of the same KV heads, "
            "so that more ranks do not buy more KV cache"
        )
        remarks.append(Notice(path=where.path, message=text, level="warning"))
    return remarks


def _mends(where: Where, fit: Budget) -> list[str]:
    """Return the cheapest remedies that this pool's nodes can hold."""
    return [
        remedy.text
        for remedy in fit.remedies
        if int(remedy.settings.get("tensor_parallel_size", 1)) <= where.node_gpus
    ][:3]
