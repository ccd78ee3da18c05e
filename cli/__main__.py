"""Runs the command and turns whatever happens into an exit code.

A person sees one line, never a traceback; `TRIPLANE_DEBUG=1` shows it. Typer and what it needs are
imported here and nowhere below `cli/options`; a command imports its own part when it is called.
"""

import os
import sys
import traceback
from collections.abc import Sequence

from typer.main import get_command

from cli.app import app_of
from cli.errors import ExitCode, InputError
from models.core.problems import ProblemsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (the process's own by default); return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code: object = get_command(app_of(given)).main(
            given, prog_name="triplane", standalone_mode=False
        )
    except (InputError, ProblemsError) as error:
        _say(str(error))
        return ExitCode.UNUSABLE_INPUT
    except BrokenPipeError:
        # The reader has gone (`| head`); point stdout elsewhere so that the final flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.GOOD
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except Exception as error:
        return _failed(error)
    return code if isinstance(code, int) else ExitCode.GOOD


def _failed(error: Exception) -> int:
    """Return the code of a usage error, which typer shows itself, or of a fault of ours."""
    show: object = getattr(error, "show", None)
    code: object = getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        _ = show()
        return ExitCode.UNUSABLE_INPUT
    if type(error).__name__ == "Abort":
        return 130
    if os.environ.get("TRIPLANE_DEBUG") == "1":
        traceback.print_exception(error)
    text = " ".join(str(error).split())[:300]
    _say(f"internal error, our fault: {type(error).__name__}: {text}")
    _say("please report it with the command line and the output under TRIPLANE_DEBUG=1")
    return ExitCode.OUR_FAULT


def _say(text: str) -> None:
    print(f"triplane: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
