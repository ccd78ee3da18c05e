"""What a stub engine is started with: its container's command and variables, as vLLM reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.engine.command import FaultKind, Parser
from models.engine.command_line import Line
from models.engine.serve import arguments_in
from models.facts.contract import EngineContract
from sandbox.core.errors import SandboxError

_ONLY_ODD: Final = frozenset({FaultKind.REPEATED, FaultKind.CONTRADICTORY})
"""What the engine's parser takes without a word."""

_MODEL_LEN: Final = 32768
"""Without the option the engine takes the length of config.json, which a stub does not read."""

_KV_BLOCKS: Final = 4096
"""Without `--num-gpu-blocks-override` the engine measures its card, which a stub does not have."""


class RefusedCommandError(SandboxError):
    """The engine would not start with this command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineSettings:
    """One engine's arguments, defaults filled in. `names` are what `model` of a request may be."""

    contract: EngineContract
    names: tuple[str, ...]
    root: str
    port: int
    max_model_len: int
    max_num_seqs: int
    block_size: int
    kv_blocks: int
    prefix_caching: bool
    api_keys: frozenset[str]


def settings_of(
    command: Sequence[str], variables: Mapping[str, str], contract: EngineContract
) -> EngineSettings:
    """Read a container's command and arguments, which may leave out the image's entry point.

    Raises:
        RefusedCommandError: where this release's parser would end with an error.

    """
    words = _without_program(command, contract)
    parser = Parser(contract)
    line = parser.read(words)
    faults = [fault for fault in parser.faults(line) if fault.kind not in _ONLY_ODD]
    if faults:
        raise RefusedCommandError("; ".join(f"{each.message}: {each.remedy}" for each in faults))
    try:
        arguments = arguments_in(line)
    except ValueError as error:
        raise RefusedCommandError(f"vLLM {contract.version}: {error}") from error
    root = line.positionals[0][1] if line.positionals else _text(line, "model")
    if root is None:
        raise RefusedCommandError("the command names no model: vllm serve MODEL")
    served = line.argument("served_model_name")
    key = _text(line, "api_key") or variables.get("VLLM_API_KEY")
    caching = arguments.enable_prefix_caching
    defaults = contract.defaults
    return EngineSettings(
        contract=contract,
        names=served.values if served is not None and served.values else (root,),
        root=root,
        port=_count(line, "port") or contract.port,
        max_model_len=arguments.max_model_len or _MODEL_LEN,
        max_num_seqs=arguments.max_num_seqs or contract.memory.sizes[-1].max_num_seqs,
        block_size=arguments.block_size or defaults.block_size,
        kv_blocks=_count(line, "num_gpu_blocks_override") or _KV_BLOCKS,
        prefix_caching=defaults.enable_prefix_caching if caching is None else caching,
        api_keys=frozenset({key} if key else ()),
    )


def _without_program(command: Sequence[str], contract: EngineContract) -> Sequence[str]:
    program = contract.command
    if tuple(command[: len(program)]) == program:
        return command[len(program) :]
    # Arguments alone: the image's entry point is the program.
    return command


def _text(line: Line, name: str) -> str | None:
    option = line.argument(name)
    return None if option is None else option.value


def _count(line: Line, name: str) -> int | None:
    text = _text(line, name)
    return int(text) if text is not None and text.isdigit() else None
