"""From an environment's profile, a model and a card to the arguments of its engine.

Every argument carries the reason of its value. A choice that departs from the profile is told in a
`Notice` as well; what was asked for and cannot be had is a `Problem`. The plan and `triplane
select` both resolve here.
"""

from models.architecture import Family
from models.core.base import Model
from models.core.findings import Finding, Severity
from models.core.names import weights_path
from models.engine.arguments import ServeArguments
from models.facts.accelerators import capability
from models.serving.family_arguments import attention_backend, paging
from models.serving.reasons import POSITIONAL, ArgumentInputs, Reason, Reasons


class Choice(Model):
    """The resolved arguments with their reasons and what is to be said of them."""

    arguments: ServeArguments
    notices: tuple[Finding, ...]
    reasons: tuple[Reason, ...] = ()


def choose(inputs: ArgumentInputs) -> tuple[Choice, list[Finding]]:
    """Return the arguments of one model on one card, and what stands against them."""
    log = Reasons(inputs)
    overrides = inputs.overrides
    cache_dtype = _kv_cache_dtype(inputs, log)
    caching, block_size = paging(inputs, cache_dtype, log)
    given = {**inputs.profile.model_dump(), **overrides.given(), **inputs.parallelism.arguments()}
    decided = {
        "max_model_len": _length(inputs, log),
        "kv_cache_dtype": cache_dtype,
        "dtype": _dtype(inputs, log),
        "quantization": inputs.quantization,
        "enable_prefix_caching": caching,
        "block_size": block_size,
        "enforce_eager": overrides.enforce_eager or None,
        "attention_backend": attention_backend(inputs, log),
    }
    arguments = ServeArguments.model_validate(
        {
            **given,
            **decided,
            "model_path": weights_path(inputs.entry.name, inputs.entry.revision),
            "served_model_name": inputs.entry.name,
            "extra_args": overrides.extra_args,
        }
    )
    _plain_reasons(inputs, log)
    choice = Choice(arguments=arguments, notices=tuple(log.notices), reasons=tuple(log.reasons))
    return choice, log.problems


def _plain_reasons(inputs: ArgumentInputs, log: Reasons) -> None:
    """Give the reasons of arguments that no rule decides."""
    overrides = inputs.overrides
    log.because(POSITIONAL, "the directory of the pinned revision on the models' volume")
    log.because("host", "the pod's own address is what its Service reaches")
    log.because("port", f"the port of the contract of vLLM {inputs.contract.version}")
    log.because("served_model_name", "the id that clients use, and the metrics' label")
    utilization = overrides.gpu_memory_utilization is not None
    what = "the share of the card for weights, activations and KV cache together"
    log.taken("gpu_memory_utilization", asked=utilization, what=what)
    sequences, what = overrides.max_num_seqs is not None, "requests that run at once"
    log.taken("max_num_seqs", asked=sequences, what=what)
    log.because("tensor_parallel_size", inputs.spread)
    log.because("pipeline_parallel_size", inputs.spread)
    log.because("data_parallel_size", inputs.spread)
    log.because("enable_expert_parallel", inputs.spread)
    _quantization(inputs, log)
    given = ("max_num_batched_tokens", "kv_cache_memory_bytes", "enforce_eager")
    for key in given:
        if getattr(overrides, key) is not None:
            log.taken(key, asked=True, what="departs from the engine's default")


def _quantization(inputs: ArgumentInputs, log: Reasons) -> None:
    name, found = "quantization", inputs.architecture.quantization
    if inputs.quantization is not None:
        what = "config.json does not say how the weights are quantized, so the engine is told"
        log.because(name, what)
    elif found is None:
        log.leaves_out(name, "the checkpoint is not quantized")
    else:
        log.leaves_out(name, f"the engine reads the method ({found.method}) from the checkpoint")


def _length(inputs: ArgumentInputs, log: Reasons) -> int:
    positions = inputs.architecture.max_positions
    asked = inputs.overrides.max_model_len
    length = asked or inputs.profile.max_model_len
    name, what = "max_model_len", "tokens of one request, prompt and answer"
    if positions is None or length <= positions:
        log.taken(name, asked=asked is not None, what=what)
        return length
    if asked is None:
        text = f"max_model_len is {positions}, all positions that the model has, not {length}"
        log.departs(name, text)
        return positions
    remedy = f"set max_model_len to {positions} or less"
    message = f"{inputs.entry.name} has fewer positions than that"
    log.because(name, f"the model has {positions} positions")
    log.refuse("max_model_len", message, asked, remedy, allowed=f"at most {positions}")
    return positions


def _kv_cache_dtype(inputs: ArgumentInputs, log: Reasons) -> str:
    asked = inputs.overrides.kv_cache_dtype
    dtype = asked or inputs.profile.kv_cache_dtype
    name = "kv_cache_dtype"
    if inputs.architecture.family is Family.SSM:
        if asked is not None and asked != "auto":
            log.not_for_family("kv_cache_dtype", asked)
        log.because(name, "the model keeps recurrent states and no KV cache to narrow")
        return "auto"
    least = inputs.contract.minimum_capability.kv_cache_dtype.get(dtype)
    if least is None or inputs.accelerator.capability >= capability(least):
        what = f"{inputs.card} stores it" if dtype != "auto" else "the model's own dtype"
        log.taken(name, asked=asked is not None, what=what)
        return dtype
    if asked is None:
        text = (
            f"kv_cache_dtype is the model's own, since {dtype} needs {least} and this is "
            f"{inputs.card}"
        )
        log.departs(name, text)
        return "auto"
    version = inputs.contract.version
    message = f"vLLM {version} does not run this KV cache dtype on {inputs.card}"
    remedy = "leave kv_cache_dtype out, or set it to auto, or move the model to a newer card"
    log.because(name, "asked for, and refused")
    allowed = f"compute capability {least} or newer"
    log.refuse("kv_cache_dtype", message, dtype, remedy, allowed=allowed)
    return dtype


def _dtype(inputs: ArgumentInputs, log: Reasons) -> str | None:
    asked = inputs.overrides.dtype
    effective = inputs.architecture.dtype if asked in (None, "auto") else asked
    least = inputs.contract.minimum_capability.dtype.get(effective or "")
    if least is None or inputs.accelerator.capability >= capability(least):
        if asked in (None, "auto"):
            log.leaves_out("dtype", f"{inputs.card} computes in {effective}")
            return None
        log.taken("dtype", asked=True, what=f"{inputs.card} computes in it")
        return asked
    if asked in (None, "auto"):
        text = f"dtype is half: the checkpoint is {effective}, which {inputs.card} cannot compute"
        log.departs("dtype", text, Severity.WARNING)
        return "half"
    log.because("dtype", "asked for, and refused")
    log.refuse(
        "dtype",
        f"{inputs.card} cannot compute in this dtype",
        asked,
        "set dtype to half, or leave it out",
        allowed=f"compute capability {least} or newer",
    )
    return asked
