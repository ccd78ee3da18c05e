"""Over how many GPUs of a node a model's tensors can be split, whatever memory says."""

from typing import Final

from models.architecture import Architecture, Part, Shard, Weight
from models.core.rule_ids import SHAPE_RULES
from models.engine.arguments import EngineArguments
from models.facts.accelerators import Accelerator
from models.facts.contract import EngineContract
from models.memory import BudgetRequest
from models.memory.inputs.request import resolve
from models.memory.verdict.refusals import refusals

NODE_GPUS: Final = 8
"""GPUs of a node where the catalog knows no machine with the card."""


def node_gpus(accelerator: Accelerator) -> int:
    """Return the most GPUs of this kind that one node has."""
    return max((each.gpus for each in accelerator.instance_types), default=NODE_GPUS)


def legal_tensor_parallel(
    architecture: Architecture, accelerator: Accelerator, contract: EngineContract
) -> tuple[int, ...]:
    """Return the tensor parallel sizes that the model's shapes allow on one node of the card.

    Query heads, KV heads and quantization groups as the engine checks them (VLLM-01, 02, 03), and
    every split width divisible, without which its layers cannot be built.
    """
    return tuple(
        size
        for size in range(1, node_gpus(accelerator) + 1)
        if _widths_divide(architecture, size)
        and not _refused(architecture, accelerator, contract, size)
    )


def _refused(
    architecture: Architecture, accelerator: Accelerator, contract: EngineContract, size: int
) -> bool:
    arguments = EngineArguments(max_model_len=1, max_num_seqs=1, tensor_parallel_size=size)
    request = BudgetRequest.of(architecture, accelerator, contract, arguments)
    return any(each.rule in SHAPE_RULES for each in refusals(request, resolve(request)))


def _widths_divide(architecture: Architecture, size: int) -> bool:
    return all(
        _divides(weight, size) for weight in architecture.weights if weight.part is not Part.VISION
    )


def _divides(weight: Weight, size: int) -> bool:
    if weight.shard is Shard.INPUT:
        return weight.columns % size == 0
    if weight.shard is Shard.OUTPUT:
        return all(rows.replicated or rows.size % size == 0 for rows in weight.rows)
    return True
