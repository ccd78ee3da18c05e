"""Exit codes of the command, and the error for input that cannot be used."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the command's exit code means (docs/cli.md)."""

    GOOD = 0
    FINDING = 1
    UNUSABLE_INPUT = 2
    OUR_FAULT = 3


class InputError(Exception):
    """The input cannot be used; the message says which and how to fix it."""
