"""Tokens of a stub engine: four bytes of text are one, so that a common beginning is common.

No tokenizer is needed for routing: what counts is that equal beginnings give equal tokens and that
lengths are of the right order.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

_BYTES_PER_TOKEN: Final = 4
_DIGEST_BYTES: Final = 12
_WORDS: Final = ("A ", "stub ", "engine ", "writes ", "these ", "words ", "and ", "no ", "model. ")


def count(text: bytes) -> int:
    """Return how many tokens a text is; an empty one is one (the begin-of-sequence token)."""
    return max(1, -(-len(text) // _BYTES_PER_TOKEN))


def block_hashes(text: bytes, block_size: int) -> Iterator[bytes]:
    """Yield one hash per full block of tokens; each covers everything before it too."""
    width = block_size * _BYTES_PER_TOKEN
    parent = b""
    for start in range(0, len(text) - width + 1, width):
        block = text[start : start + width]
        parent = blake2b(parent + block, digest_size=_DIGEST_BYTES).digest()
        yield parent


def word(index: int) -> str:
    """Return the text of the output token with this index."""
    return _WORDS[index % len(_WORDS)]
