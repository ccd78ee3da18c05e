"""How the program ends badly, and how it says so."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

CREDENTIALS: Final = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")


class SeedError(Exception):
    """The run failed; another run may succeed, and continues where this one ended."""

    code = 1


class ConfigError(SeedError):
    """Only a changed setting or a changed source can help."""

    code = 2


class SourceChangedError(Exception):
    """An object is not the one that was listed at the beginning of the run."""


class TransientError(Exception):
    """The store, or the way to it, failed in a manner that often passes."""


class Stopped(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt, no handler of errors may swallow it."""


def say(text: str) -> None:
    """Print at once, and without any credential that the environment holds."""
    for value in filter(None, map(os.environ.get, CREDENTIALS)):
        if len(value) >= 8:  # shorter ones are placeholders, and would blank ordinary words
            text = text.replace(value, "[hidden]")
    print(text, flush=True)


def listed(problems: Sequence[str]) -> str:
    """Lay problems out below a message, at most twenty."""
    more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
    return "".join(f"\n  - {problem}" for problem in [*problems[:20], *more])
