"""The command line itself: its commands, help and completion."""

from collections.abc import Sequence
from typing import Final

import typer

from cli.generated import command

COMMANDS: Final = (
    "budget",
    "calibrate",
    "select",
    "roi",
    "place",
    "onboard",
    "changes",
    "explain",
    "check",
    "smoke",
)
"""In the order of the help."""


def app_of(arguments: Sequence[str]) -> typer.Typer:
    """Return the application; where the first argument is a command, with this one only."""
    named = [name for name in COMMANDS if name in arguments[:1]]
    app = typer.Typer(
        name="triplane",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    _ = app.callback()(triplane)
    for name in named or COMMANDS:
        _ = app.command(name)(command(name))
    return app


def triplane() -> None:
    """Say before anything is created whether a model will run, and what it takes.

    Exit codes: 0 good; 1 a verdict other than fits; 2 input that cannot be used; 3 our own fault.
    """
