"""The change inside a running process: the code of live functions is replaced.

Whoever imported a function, wrapped it or hung it into a validator has the same function object, so
replacing its code reaches all of them and nothing has to be imported again. What runs while a
module is imported (constants, class bodies, decorators, defaults) cannot be changed so.
"""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, Protocol, cast, runtime_checkable

Name = tuple[str, int]
"""A function's dotted name and which of that name it is, in the file's order."""

_OPTIMIZED: Final = 0x1
"""Set for functions, not for modules and class bodies."""


@runtime_checkable
class _Cache(Protocol):
    __wrapped__: Callable[..., object]

    def cache_clear(self) -> None: ...


def changed_functions(path: Path, source: str, changed: str) -> dict[Name, CodeType] | None:
    """Return the new code of each function that differs; None where anything else does."""
    before = _Parts(compile(source, str(path), "exec", dont_inherit=True))
    after = _Parts(compile(changed, str(path), "exec", dont_inherit=True))
    if before.imported != after.imported or before.functions.keys() != after.functions.keys():
        return None
    different: dict[Name, CodeType] = {}
    for name, code in after.functions.items():
        own = before.functions[name]
        if own != code:
            if own.co_freevars != code.co_freevars:
                return None
            different[name] = code
    return different or None


def replace(path: Path, source: str, different: dict[Name, CodeType]) -> int:
    """Replace the code of every live function of these names; return how many there were."""
    own = _Parts(compile(source, str(path), "exec", dont_inherit=True)).functions
    wanted = {
        (own[name].co_qualname, own[name].co_firstlineno): each for name, each in different.items()
    }
    count = 0
    for function in _functions():
        code = function.__code__
        if code.co_filename != str(path):
            continue
        if new := wanted.get((code.co_qualname, code.co_firstlineno)):
            function.__code__ = new
            count += 1
    return count


def clear_caches(folder: Path) -> None:
    """Forget what cached functions of a tree have learnt from the code as it was."""
    for each in gc.get_objects():
        if type(each).__name__ == "_lru_cache_wrapper":
            cache = cast("_Cache", each)
            code = getattr(cache.__wrapped__, "__code__", None)
            if isinstance(code, CodeType) and code.co_filename.startswith(f"{folder}/"):
                cache.cache_clear()


def _functions() -> Iterator[FunctionType]:
    for each in gc.get_objects():
        if type(each) is FunctionType:
            yield each


class _Parts:
    """A module's code in two parts: what runs while it is imported, and its functions."""

    def __init__(self, code: CodeType) -> None:
        self.functions: dict[Name, CodeType] = {}
        self.imported = self._split(code)

    def _split(self, code: CodeType) -> list[object]:
        kept: list[object] = [code.co_code, code.co_names, code.co_name]
        for constant in cast("tuple[object, ...]", code.co_consts):
            if not isinstance(constant, CodeType):
                kept.append((type(constant).__name__, constant))
            elif constant.co_name.startswith("<"):
                kept.append(constant)
            elif constant.co_flags & _OPTIMIZED:
                name = constant.co_qualname
                ordinal = sum(1 for each, _ in self.functions if each == name)
                self.functions[name, ordinal] = constant
                kept.append(name)
            else:
                kept.append(self._split(constant))
        return kept
