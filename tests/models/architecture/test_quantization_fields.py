"""Quantization sections that lack something: named, not passed over."""

from typing import Any

import pytest

from models.architecture import architecture
from models.core.problems import ProblemsError
from tests.models.architecture.test_architecture import LLAMA

pytestmark = pytest.mark.pure


def test_a_section_without_a_method_is_refused() -> None:
    with pytest.raises(ProblemsError, match=r"quantization_config\.quant_method: .* missing"):
        architecture({**LLAMA, "quantization_config": {"bits": 4}})


@pytest.mark.parametrize("block", [[128], [128, 0], [128, 128, 128]])
def test_blocks_have_two_positive_sides(block: list[int]) -> None:
    section: dict[str, Any] = {"quant_method": "fp8", "weight_block_size": block}
    with pytest.raises(ProblemsError, match="weight_block_size"):
        architecture({**LLAMA, "quantization_config": section})
