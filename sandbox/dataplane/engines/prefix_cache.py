"""The prefix cache: blocks of tokens by the hash of all that leads to them, the oldest go first."""

from collections import OrderedDict
from collections.abc import Sequence


class PrefixCache:
    """At most `capacity` blocks, least recently used first out."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._blocks: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def hits(self, hashes: Sequence[bytes]) -> int:
        """Return how many blocks from the beginning are held; they count as used now."""
        number = 0
        for block in hashes:
            if block not in self._blocks:
                break
            number += 1
        # The end of a chain is given up before its beginning, which others may share.
        for block in reversed(hashes[:number]):
            self._blocks.move_to_end(block)
        return number

    def keep(self, hashes: Sequence[bytes]) -> None:
        """Hold these blocks from now on, as many from the beginning as there is room for."""
        for block in reversed(hashes[: self._capacity]):
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
