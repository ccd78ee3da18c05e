"""Engine arguments: what one replica of vLLM is started with, and how that is written.

`EngineArguments` is the resolved, complete set (`models/plan/plan.py` resolves it from the
environment's profile, the model and the deployment's overrides); `command_line` renders it for one
engine release and refuses what that release does not accept.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, PositiveInt

from models.core.base import Model
from models.core.problems import Problem, shown
from models.engine.command import Fault, FaultKind, Parser
from models.facts.contract import EngineContract


class Environment(StrEnum):
    """The stack's environment; it selects the engine profile."""

    DEV = "dev"
    STAGING = "staging"
    PROD = "prod"


class EngineProfile(Model):
    """An environment's engine defaults (docs/settings.md)."""

    gpu_memory_utilization: float
    max_model_len: PositiveInt
    max_num_seqs: PositiveInt
    kv_cache_dtype: str
    enable_prefix_caching: bool
    block_size: PositiveInt


PROFILES: Final[Mapping[Environment, EngineProfile]] = {
    Environment.PROD: EngineProfile(
        gpu_memory_utilization=0.90,
        max_model_len=8192,
        max_num_seqs=256,
        kv_cache_dtype="fp8",
        enable_prefix_caching=True,
        block_size=16,
    ),
    Environment.STAGING: EngineProfile(
        gpu_memory_utilization=0.88,
        max_model_len=8192,
        max_num_seqs=128,
        kv_cache_dtype="fp8",
        enable_prefix_caching=True,
        block_size=16,
    ),
    Environment.DEV: EngineProfile(
        gpu_memory_utilization=0.85,
        max_model_len=4096,
        max_num_seqs=64,
        kv_cache_dtype="fp8",
        enable_prefix_caching=True,
        block_size=16,
    ),
}


class Parallelism(Model):
    """How one replica is spread over GPUs. GPUs of a replica = tensor x pipeline x data."""

    tensor: PositiveInt = 1
    pipeline: PositiveInt = 1
    data: PositiveInt = 1
    expert: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that one replica takes."""
        return self.tensor * self.pipeline * self.data


class EngineOverrides(Model):
    """What a deployment changes of its environment's profile; None keeps the profile's value.

    `extra_args` are passed as they are after ours; one that the engine does not know, or that
    repeats one of ours, is refused.
    """

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=0.95)] | None = None
    max_model_len: PositiveInt | None = None
    max_num_seqs: PositiveInt | None = None
    max_num_batched_tokens: PositiveInt | None = None
    kv_cache_dtype: str | None = None
    dtype: str | None = None
    enable_prefix_caching: bool | None = None
    block_size: PositiveInt | None = None
    enforce_eager: bool | None = None
    kv_cache_memory_bytes: PositiveInt | None = None
    extra_args: tuple[str, ...] = ()


class EngineArguments(Model):
    """The complete arguments of one replica. None leaves the choice to the engine.

    `prefix_caching` None means that neither switch is passed (families to which it does not
    apply); `block_size` likewise. `model_path` is the directory of the weights in the pod.
    """

    model_path: str
    served_model_name: str
    gpu_memory_utilization: float
    max_model_len: PositiveInt
    max_num_seqs: PositiveInt
    max_num_batched_tokens: PositiveInt | None = None
    kv_cache_dtype: str = "auto"
    dtype: str = "auto"
    quantization: str | None = None
    prefix_caching: bool | None = None
    block_size: PositiveInt | None = None
    enforce_eager: bool = False
    kv_cache_memory_bytes: PositiveInt | None = None
    attention_backend: str | None = None
    parallelism: Parallelism = Parallelism()
    extra_args: tuple[str, ...] = ()


def command_line(args: EngineArguments, contract: EngineContract) -> tuple[str, ...]:
    """Return the container's arguments (without the command) for one engine release.

    Every option is `--name=value` or a bare switch, in a fixed order, so that two renders are
    equal. Call `problems_of` first: this function does not check.
    """
    pairs: list[tuple[str, object]] = [
        ("--host", "0.0.0.0"),
        ("--port", contract.port),
        ("--served-model-name", args.served_model_name),
        ("--gpu-memory-utilization", f"{args.gpu_memory_utilization:g}"),
        ("--max-model-len", args.max_model_len),
        ("--max-num-seqs", args.max_num_seqs),
        ("--max-num-batched-tokens", args.max_num_batched_tokens),
        ("--kv-cache-dtype", args.kv_cache_dtype),
        ("--dtype", args.dtype),
        ("--quantization", args.quantization),
        ("--block-size", args.block_size),
        ("--kv-cache-memory-bytes", args.kv_cache_memory_bytes),
        ("--attention-backend", args.attention_backend),
        ("--tensor-parallel-size", args.parallelism.tensor),
        ("--pipeline-parallel-size", args.parallelism.pipeline),
        ("--data-parallel-size", args.parallelism.data),
    ]
    always = {"--tensor-parallel-size"}
    unset = {"--pipeline-parallel-size": 1, "--data-parallel-size": 1, "--dtype": "auto"}
    rendered = [
        f"{name}={value}"
        for name, value in pairs
        if value is not None and (name in always or unset.get(name) != value)
    ]
    return (args.model_path, *rendered, *_switches(args), *args.extra_args)


def _switches(args: EngineArguments) -> list[str]:
    switches: list[str] = []
    if args.prefix_caching is not None:
        switches.append(
            "--enable-prefix-caching" if args.prefix_caching else "--no-enable-prefix-caching"
        )
    if args.enforce_eager:
        switches.append("--enforce-eager")
    if args.parallelism.expert:
        switches.append("--enable-expert-parallel")
    return switches


def option_of(argument: str) -> str:
    """Return the option of a command line word: `--max-model-len` of `--max_model_len=4096`.

    The engine's parser takes underscores for dashes in option names.
    """
    name = argument.split("=", 1)[0]
    return "--" + name[2:].replace("_", "-") if name.startswith("--") else name


_TWICE: Final = frozenset({FaultKind.REPEATED, FaultKind.CONTRADICTORY})


def problems_of(words: tuple[str, ...], contract: EngineContract, path: str) -> list[Problem]:
    """Return what this engine release does not accept among command line words.

    Unknown options, removed options (with what replaces them), options given twice, and values
    that the option does not take; see `models/engine/command.py` for the spellings.
    """
    parser = Parser(contract)
    return [_problem(fault, words, path) for fault in parser.faults(parser.read(words))]


def _problem(fault: Fault, words: tuple[str, ...], path: str) -> Problem:
    """Return a fault as a problem of the settings."""
    twice = fault.kind in _TWICE
    return Problem(
        path=path,
        message=fault.message,
        value=shown(words[fault.at]),
        allowed=fault.allowed,
        mend="use the typed setting (engine.*) or extra_args, not both" if twice else fault.mend,
    )
