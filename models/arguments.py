"""From an environment's profile, a model and a card to the arguments of its engine.

Every choice that departs from the profile is told in a `Notice`; what was asked for and cannot be
had is a `Problem`.
"""

from models.accelerators import Accelerator, capability
from models.architecture import Architecture, Family
from models.base import Model
from models.catalogue import ModelEntry
from models.contract import EngineContract
from models.engine import (
    PROFILES,
    EngineArguments,
    EngineOverrides,
    EngineProfile,
    Environment,
    Parallelism,
)
from models.names import weights_path
from models.notices import Notice
from models.problems import Problem, shown

_TRITON_BELOW = (8, 0)
"""Cards before Ampere lack the default attention kernels."""


class Choice(Model):
    """The resolved arguments with what is to be said of them."""

    arguments: EngineArguments
    notices: tuple[Notice, ...]


class Wanted(Model):
    """What arguments are resolved from; `path` is where the settings of the model stand."""

    environment: Environment
    entry: ModelEntry
    architecture: Architecture
    accelerator: Accelerator
    contract: EngineContract
    parallelism: Parallelism
    overrides: EngineOverrides
    path: str

    @property
    def profile(self) -> EngineProfile:
        """The environment's defaults."""
        return PROFILES[self.environment]


def choose(wanted: Wanted) -> tuple[Choice, list[Problem]]:
    """Return the arguments of one model on one card, and what stands against them."""
    notices: list[Notice] = []
    problems: list[Problem] = []
    overrides, profile = wanted.overrides, wanted.profile
    caching, block_size = _paging(wanted, notices, problems)
    pre_ampere = wanted.accelerator.capability < _TRITON_BELOW
    utilization = overrides.gpu_memory_utilization or profile.gpu_memory_utilization
    arguments = EngineArguments(
        model_path=weights_path(wanted.entry.name, wanted.entry.revision),
        served_model_name=wanted.entry.name,
        gpu_memory_utilization=utilization,
        max_model_len=_length(wanted, notices, problems),
        max_num_seqs=overrides.max_num_seqs or profile.max_num_seqs,
        max_num_batched_tokens=overrides.max_num_batched_tokens,
        kv_cache_dtype=_kv_cache_dtype(wanted, notices, problems),
        dtype=_dtype(wanted, notices, problems),
        prefix_caching=caching,
        block_size=block_size,
        enforce_eager=bool(overrides.enforce_eager),
        kv_cache_memory_bytes=overrides.kv_cache_memory_bytes,
        attention_backend="TRITON_ATTN" if pre_ampere else None,
        parallelism=wanted.parallelism,
        extra_args=overrides.extra_args,
    )
    return Choice(arguments=arguments, notices=tuple(notices)), problems


def _length(wanted: Wanted, notices: list[Notice], problems: list[Problem]) -> int:
    positions = wanted.architecture.max_positions
    asked = wanted.overrides.max_model_len
    length = asked or wanted.profile.max_model_len
    if positions is None or length <= positions:
        return length
    if asked is not None:
        problems.append(
            Problem(
                path=f"{wanted.path}.engine.max_model_len",
                message=f"{wanted.entry.name} has fewer positions than that",
                value=shown(asked),
                allowed=f"at most {positions}",
                mend=f"set max_model_len to {positions} or less",
            )
        )
    else:
        text = f"max_model_len is {positions}, all positions that the model has, not {length}"
        notices.append(Notice(path=wanted.path, message=text))
    return positions


def _kv_cache_dtype(wanted: Wanted, notices: list[Notice], problems: list[Problem]) -> str:
    asked = wanted.overrides.kv_cache_dtype
    dtype = asked or wanted.profile.kv_cache_dtype
    if wanted.architecture.family is Family.SSM:
        if asked is not None and asked != "auto":
            problems.append(_not_for_family(wanted, "kv_cache_dtype", asked))
        return "auto"
    least = wanted.contract.minimum_capability.kv_cache_dtype.get(dtype)
    if least is None or wanted.accelerator.capability >= capability(least):
        return dtype
    card = f"{wanted.accelerator.name} (compute capability {wanted.accelerator.compute_capability})"
    if asked is None:
        text = f"kv_cache_dtype is the model's own, since {dtype} needs {least} and this is {card}"
        notices.append(Notice(path=wanted.path, message=text))
        return "auto"
    problems.append(
        Problem(
            path=f"{wanted.path}.engine.kv_cache_dtype",
            message=f"vLLM {wanted.contract.version} does not run this KV cache dtype on {card}",
            value=shown(dtype),
            allowed=f"compute capability {least} or newer",
            mend="leave kv_cache_dtype out, or set it to auto, or move the model to a newer card",
        )
    )
    return dtype


def _dtype(wanted: Wanted, notices: list[Notice], problems: list[Problem]) -> str:
    asked = wanted.overrides.dtype
    effective = wanted.architecture.dtype if asked in (None, "auto") else asked
    least = wanted.contract.minimum_capability.dtype.get(effective or "")
    if least is None or wanted.accelerator.capability >= capability(least):
        return asked or "auto"
    card = f"{wanted.accelerator.name} (compute capability {wanted.accelerator.compute_capability})"
    if asked in (None, "auto"):
        text = f"dtype is half: the checkpoint is {effective}, which {card} cannot compute"
        notices.append(Notice(path=wanted.path, message=text, level="warning"))
        return "half"
    problems.append(
        Problem(
            path=f"{wanted.path}.engine.dtype",
            message=f"{card} cannot compute in this dtype",
            value=shown(asked),
            allowed=f"compute capability {least} or newer",
            mend="set dtype to half, or leave it out",
        )
    )
    return asked or "auto"


def _paging(
    wanted: Wanted, notices: list[Notice], problems: list[Problem]
) -> tuple[bool | None, int | None]:
    """Return prefix caching and block size; None where the family decides that neither applies.

    Recurrent states are not paged: a pure SSM takes neither, and a hybrid's block size follows
    from its state's size, so the engine is left to align it.
    """
    overrides, profile, family = wanted.overrides, wanted.profile, wanted.architecture.family
    if family not in (Family.SSM, Family.HYBRID):
        caching = overrides.enable_prefix_caching
        return (
            profile.enable_prefix_caching if caching is None else caching,
            overrides.block_size or profile.block_size,
        )
    if overrides.block_size is not None:
        problems.append(_not_for_family(wanted, "block_size", overrides.block_size))
    if family is Family.SSM:
        if overrides.enable_prefix_caching:
            problems.append(_not_for_family(wanted, "enable_prefix_caching", value=True))
        return None, None
    if overrides.enable_prefix_caching:
        text = "prefix caching of a hybrid model hits whole state blocks only: measure its hit rate"
        notices.append(Notice(path=wanted.path, message=text, level="warning"))
    return overrides.enable_prefix_caching, None


def _not_for_family(wanted: Wanted, key: str, value: object) -> Problem:
    family = wanted.architecture.family.value
    return Problem(
        path=f"{wanted.path}.engine.{key}",
        message=f"{key} does not apply to a model of the {family} family ({wanted.entry.name})",
        value=shown(value),
        mend=f"leave {key} out",
    )
