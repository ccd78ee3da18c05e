"""Arguments that follow from a model's family and a card's kernels: paging, attention backend."""

from typing import Final

from models.architecture import CacheKind, Family
from models.core.findings import Severity
from models.memory.terms.pages import base_block
from models.serving.reasons import ArgumentInputs, Reasons

_TRITON_BELOW: Final = (8, 0)
"""Cards before Ampere lack the default attention kernels."""

_LATENT: Final = frozenset({CacheKind.MLA, CacheKind.MLA_SLIDING})


def attention_backend(inputs: ArgumentInputs, log: Reasons) -> str | None:
    """Return the backend for cards that the default kernels do not run on."""
    name = "attention_backend"
    if inputs.architecture.family is Family.SSM:
        log.leaves_out(name, "the model has no attention layers")
        return None
    if inputs.accelerator.capability >= _TRITON_BELOW:
        log.leaves_out(name, f"the engine's own choice runs on {inputs.card}")
        return None
    latent = any(cache.kind in _LATENT for cache in inputs.architecture.caches)
    kernels = "MLA kernels" if latent else "attention kernels"
    log.because(name, f"the default {kernels} need 8.0 and this is {inputs.card}")
    return "TRITON_MLA" if latent else "TRITON_ATTN"


def paging(
    inputs: ArgumentInputs, cache_dtype: str, log: Reasons
) -> tuple[bool | None, int | None]:
    """Return prefix caching and block size; None where the family decides that neither applies.

    Recurrent states are not paged: a pure SSM takes neither, and a hybrid's block size follows
    from its state's size, so the engine is left to align it.
    """
    overrides, profile, family = inputs.overrides, inputs.profile, inputs.architecture.family
    caching, blocks = "enable_prefix_caching", "block_size"
    asked = overrides.enable_prefix_caching
    if family not in (Family.SSM, Family.HYBRID):
        on = profile.enable_prefix_caching if asked is None else asked
        what = "requests that begin alike share KV blocks" if on else "no blocks are shared"
        log.taken(caching, asked=asked is not None, what=what)
        return on, _block_size(inputs, cache_dtype, log)
    if overrides.block_size is not None:
        log.not_for_family("block_size", overrides.block_size)
    if family is Family.SSM:
        if asked:
            log.not_for_family("enable_prefix_caching", value=True)
        log.leaves_out(caching, "a recurrent state holds no tokens that could be shared")
        log.leaves_out(blocks, "a state of fixed size is not paged")
        return None, None
    log.leaves_out(blocks, "the engine aligns blocks with the size of the state")
    if asked:
        text = "prefix caching of a hybrid model hits whole state blocks only: measure its hit rate"
        log.departs(caching, text, Severity.WARNING)
    else:
        what = "a hybrid model hits whole state blocks only"
        if asked is None:
            log.leaves_out(caching, f"so the engine decides; {what}")
        else:
            log.because(caching, f"asked for: off; {what}")
    return asked, None


def _block_size(inputs: ArgumentInputs, cache_dtype: str, log: Reasons) -> int | None:
    """Return the tokens per block; None where the card's kernels for this model fix another size.

    A size that is given keeps the engine from kernels that want another (FlashMLA takes 64 only).
    """
    asked, name = inputs.overrides.block_size, "block_size"
    size = asked or inputs.profile.block_size
    own = base_block(inputs.architecture, inputs.accelerator.capability, cache_dtype)
    what = "tokens of a KV block, the unit of sharing"
    if size % own == 0:
        log.taken(name, asked=asked is not None, what=what)
        return size
    if asked is None:
        log.leaves_out(name, f"this model's kernels on {inputs.card} take blocks of {own} tokens")
        return None
    text = f"block_size {asked}: this model's best kernels on {inputs.card} take blocks of {own}"
    log.departs(name, text, Severity.WARNING)
    return asked
