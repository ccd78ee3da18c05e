"""`python3 -m catalog.programs.seed`: copy one revision of a model onto the models volume.

With `collect` as its argument it removes revisions that are not used any more (`collect.py`).
Runs in a pod, in an image that we did not build: Python 3.10 or newer, boto3 and the standard
library. docs/seeding.md has the variables, the layout, the exit codes and the mends.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Final, NoReturn

from catalog.programs.seed.collect import collect, read_collection
from catalog.programs.seed.errors import ConfigError, SeedError, Stopped, say
from catalog.programs.seed.run import seed
from catalog.programs.seed.settings import read_settings
from catalog.programs.seed.source import Source, connect
from catalog.programs.seed.volume import disk_error


def stop(signum: int, _frame: object) -> NoReturn:
    """Turn a signal into an orderly end."""
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # the way out must not be interrupted as well
    raise Stopped(signum)


def one_revision() -> None:
    """Bring the revision of the environment onto the volume."""
    settings = read_settings(os.environ)
    seed(settings, lambda: Source(connect(settings), settings))


def unused_revisions() -> None:
    """Remove what the environment does not name."""
    collect(read_collection(os.environ))


PROGRAMS: Final[dict[str, Callable[[], None]]] = {
    "": one_revision,
    "collect": unused_revisions,
}


def main() -> int:
    """Run once; return the exit code: 0 done, 1 try again, 2 change something first."""
    os.umask(0o022)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)
    try:
        try:
            asked = " ".join(sys.argv[1:])
            if asked not in PROGRAMS:
                raise ConfigError(f"no such command: {asked!r}; leave it out, or say collect")
            PROGRAMS[asked]()
        except OSError as error:
            raise disk_error(error, "") from error
    except Stopped as stopped:
        say("stopped by a signal; the next run continues from here")
        return 128 + int(stopped.args[0])
    except SeedError as error:
        say(f"error: {error}")
        return error.code
    except Exception:
        say(f"error: a fault of this program; run again\n{traceback.format_exc()}")
        return 1
    return 0


if __name__ == "__main__":
    # Not sys.exit: it would wait for streams, and one that stalls outlives the grace period.
    os._exit(main())
