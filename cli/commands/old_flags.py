"""The old calculator's flags: its number as it was, and ours from what the flags say.

The flags do not tell KV heads and head size. Ours is then computed for the most that they can be
(as many KV heads as query heads, 128 wide) and for the least (one, 64 wide): where both agree there
is a verdict, else it is unknown and names them.
"""

from typing import Final

from pydantic import JsonValue

from cli.options.old_flags import OldFlags
from cli.output.answers import Answer, OldNumber, unknown
from models.cases.asking import Sources, ask
from models.cases.calibration import budget_with
from models.cases.cases import Case
from models.cases.profiles import MemoryProfile
from models.core.base import GIB
from models.core.findings import Finding, Severity
from models.engine.arguments import EngineArguments
from models.engine.startup_log import Measured
from models.memory import Budget, BudgetRequest, Verdict
from models.memory.calculator import CalculatorInput, CalculatorResult, old_calculator

_GB: Final = 1e9
_MOST_GB: Final = 1e6
_MOST_WIDE: Final = 128
_LEAST_WIDE: Final = 64
_VOCABULARY: Final = 128_256
_NOMINAL: Final = 0.12
"""How far CUDA's total may be below the nominal size for both to mean one card."""


def with_flags(case: Case, flags: OldFlags, known: Sources) -> tuple[Case, tuple[str, ...]]:
    """Return a case with memory, length and sequences from the flags, and what was assumed."""
    changes: dict[str, object] = {}
    notes: list[str] = []
    if flags.total_vram is not None and case.gpu_mem_gib is None:
        memory, note = _memory(flags.total_vram, case, known)
        changes["gpu_mem_gib"] = memory
        notes.append(note)
    if flags.batch is not None and case.max_num_seqs is None:
        changes["max_num_seqs"] = flags.batch
    if flags.context is not None and case.max_model_len is None:
        changes["max_model_len"] = flags.context
    return case.model_copy(update=changes), tuple(notes)


def _memory(nominal_gb: float, case: Case, known: Sources) -> tuple[float, str]:
    """Return GiB as CUDA would report them: the card's own where the nominal size means it."""
    decimal = nominal_gb * _GB / GIB
    found = known.cards.find(case.gpu, None).card if case.gpu else None
    if found is None:
        return decimal, f"--total-vram: {nominal_gb:g} x 10^9 bytes are {decimal:.2f} GiB"
    own = found.memory_gib
    if (1 - _NOMINAL) * nominal_gb <= own <= nominal_gb:
        return own, f"--total-vram: a card of {nominal_gb:g} GB has {own:.2f} GiB for CUDA"
    return decimal, (
        f"--total-vram: {decimal:.2f} GiB are taken as stated, although {case.gpu} has {own:.2f}"
    )


def old_number(case: Case, flags: OldFlags, ours: Budget) -> OldNumber:
    """Return the old calculator's number of these flags, and why ours differs."""
    parts = {
        "--total-vram": flags.total_vram,
        "--model-size": flags.model_size,
        "--batch": flags.batch,
        "--context": flags.context,
        "--layers": flags.layers,
        "--heads": flags.heads,
        "--quant": case.quantization,
    }
    missing = [name for name, value in parts.items() if value is None]
    if missing:
        return OldNumber(result=None, why="it would also need " + ", ".join(missing))
    found = old_calculator(
        CalculatorInput.model_validate(
            {
                "total_vram": flags.total_vram,
                "model_size": flags.model_size,
                "quant": case.quantization,
                "batch": flags.batch,
                "context": flags.context,
                "layers": flags.layers,
                "heads": flags.heads,
            }
        )
    )
    if found is None:
        return OldNumber(result=None, why=f"it does not know the format {case.quantization}")
    return OldNumber(result=found, why=_why(found, flags, ours))


def _why(result: CalculatorResult, flags: OldFlags, ours: Budget) -> str:
    text = (
        "it multiplies query heads by the bytes of a weight and leaves out the head size; it knows "
        "no KV heads, activations, CUDA graphs, context or gpu_memory_utilization"
    )
    need = (ours.needed_kv_gib or 0.0) * GIB / _GB * (flags.batch or 1)
    if result.kv_cache_gb > 0 and need > 0:
        text += f"; for this batch ours needs {need / result.kv_cache_gb:.3g} times its KV cache"
    return text


def answer_of_flags(case: Case, flags: OldFlags, known: Sources) -> Answer:
    """Return the answer where only the old flags describe the model."""
    name = case.id or "budget"
    missing = [
        f"{flag}: not given (or give a model, or --model-config)"
        for flag, value in (
            ("--model-size", flags.model_size),
            ("--layers", flags.layers),
            ("--heads", flags.heads),
        )
        if value is None
    ]
    if missing:
        return unknown(name, missing)
    most = _evaluated(case, flags, known, least=False)
    if isinstance(most, Answer):
        return most
    budget, request, notes = most
    other = _evaluated(case, flags, known, least=True)
    if flags.kv_heads is None or flags.head_dim is None:
        notes = (*notes, "KV heads and head size: the most that they can be is counted")
        if not isinstance(other, Answer) and other[0].verdict is not budget.verdict:
            budget = _between(budget, other[0])
    return Answer(id=name, budget=budget, request=request, notes=notes)


def _between(most: Budget, least: Budget) -> Budget:
    missing = Finding(
        "",
        "--kv-heads and --head-dim: not given, and the verdict depends on them (from "
        f"{least.verdict} with one KV head of {_LEAST_WIDE} to {most.verdict} with all of "
        f"{_MOST_WIDE})",
        Severity.UNKNOWN,
    )
    refusals = (missing, *most.refusals)
    return most.model_copy(update={"verdict": Verdict.UNKNOWN, "refusals": refusals})


def _evaluated(
    case: Case, flags: OldFlags, known: Sources, *, least: bool
) -> tuple[Budget, BudgetRequest, tuple[str, ...]] | Answer:
    plain = case.model_copy(update={"quantization": None})
    question = ask(plain, known, _config(flags, least=least))
    if question.request is None:
        return unknown(case.id or "budget", question.missing, question.notes)
    stated = MemoryProfile(
        name="--model-size",
        model="",
        gpu="",
        version="",
        arguments=EngineArguments(),
        measured=Measured(weights_gib=(flags.model_size or 0.0) * _GB / GIB),
        source="--model-size",
    )
    own = stated.model_copy(update={"arguments": question.request.arguments})
    found = budget_with(question.request, own).model_copy(update={"notes": ()})
    return found, question.request, question.notes


def _config(flags: OldFlags, *, least: bool) -> dict[str, JsonValue]:
    heads = flags.heads or 1
    width = flags.head_dim or (_LEAST_WIDE if least else _MOST_WIDE)
    hidden = heads * width
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_hidden_layers": flags.layers or 1,
        "num_attention_heads": heads,
        "num_key_value_heads": flags.kv_heads or (1 if least else heads),
        "head_dim": width,
        "vocab_size": _VOCABULARY,
        "torch_dtype": "float16",
        "tie_word_embeddings": False,
    }
