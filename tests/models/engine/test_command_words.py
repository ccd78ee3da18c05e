"""How the engine's parser reads a head and a value, at its borders."""

import pytest

from catalog.loader import load
from models.engine.command import FaultKind, Parser

pytestmark = pytest.mark.pure

PINNED = load().engines["0.33.0"]


def kinds(*words: str) -> list[FaultKind]:
    """Return what is wrong with the words of a `vllm serve`."""
    parser = Parser(PINNED)
    return [fault.kind for fault in parser.faults(parser.read(("model", *words)))]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # argparse, `human_readable_int_or_auto`: a number with k/K/m/M/g/G, or auto.
        (("--max-model-len=auto",), []),
        (("--max-model-len=AUTO",), []),
        (("--max-model-len=8k",), []),
        (("--max-model-len=many",), [FaultKind.NO_NUMBER]),
        # `human_readable_int` has no auto.
        (("--max-num-batched-tokens=auto",), [FaultKind.NO_NUMBER]),
        (("--max-num-batched-tokens=8k",), []),
        (("--max-num-seqs=1.5",), [FaultKind.NO_NUMBER]),
        (("--gpu-memory-utilization=0.9",), []),
        (("--gpu-memory-utilization=most",), [FaultKind.NO_NUMBER]),
    ],
)
def test_a_number_is_written_as_its_option_reads_it(
    words: tuple[str, ...], expected: list[FaultKind]
) -> None:
    assert kinds(*words) == expected


@pytest.mark.parametrize("removed", [row.name for row in PINNED.removed_flags][:20])
def test_an_option_that_is_gone_is_not_an_abbreviation_of_one_that_is_there(removed: str) -> None:
    """A parser may take a prefix for the longer option; the reader is told that it is gone."""
    assert kinds(removed)[:1] == [FaultKind.REMOVED]


def test_an_abbreviation_that_fits_one_option_is_that_option() -> None:
    """Argparse has allow_abbrev, which vLLM's parser keeps."""
    assert kinds("--max-model-l=8192") == []
    assert kinds("--max-n=8") == [FaultKind.AMBIGUOUS]
    assert kinds("--no-such-thing") == [FaultKind.UNKNOWN]
