"""`python -m goldens`: ask the pinned engine's own code, without a GPU and without weights.

Exit codes: 0 good, 1 a sample differs from what is committed (or a drift was found), 2 the oracle
cannot be set up, or left a case without an answer.
"""

import argparse
import random
import sys
import time
from collections import defaultdict
from typing import Final

from pydantic import JsonValue

from catalog.loader import load
from catalog.readers.goldens import load_goldens
from goldens.cases import GoldenCase, cases
from goldens.compare import differences, drift, plain
from goldens.environment import OracleError
from goldens.files import failed, golden, text_of, write
from goldens.run import ask
from models.facts.catalog import Catalog

VERSION: Final = "0.33.0"
_DEFAULT_WORKERS: Final = 2


def main(words: list[str] | None = None) -> int:
    """Parse the command line and do what it asks."""
    parser = argparse.ArgumentParser(prog="goldens", description=__doc__)
    parser.add_argument("--engine", default=VERSION, help="the engine release")
    parser.add_argument("--sample", type=int, help="ask N random cases again and compare")
    parser.add_argument("--seed", type=int, help="of the sample; printed where it is not given")
    parser.add_argument("--model", help="ask for one model only, and write its file alone")
    parser.add_argument("--drift", nargs=2, metavar=("A", "B"), help="compare two releases")
    parser.add_argument("--fresh", action="store_true", help="take over no earlier answers")
    parser.add_argument("--workers", type=int, default=_DEFAULT_WORKERS)
    given = parser.parse_args(words)
    if given.drift:
        return _drift(*given.drift)
    try:
        catalog = load()
        asked = cases(catalog, given.engine)
        if given.model:
            asked = [case for case in asked if case.model == given.model]
        if given.sample is not None:
            return _sample(catalog, asked, given.engine, given.sample, given.seed, given.workers)
        return _generate(catalog, asked, given.engine, given.model, given.fresh, given.workers)
    except OracleError as error:
        _say(str(error))
        return 2


def _say(text: str) -> None:
    print(f"goldens: {text}", flush=True)


def _generate(
    catalog: Catalog,
    asked: list[GoldenCase],
    version: str,
    only: str | None,
    fresh: bool,
    workers: int,
) -> int:
    began = time.monotonic()
    answers = ask(asked, catalog, version, workers=workers, fresh=fresh, say=_say)
    missing = failed(answers, asked)
    for line in missing:
        _say(line)
    if missing:
        _say(f"{len(missing)} cases have no answer; nothing is written. Run again to go on")
        return 2
    by_model: dict[str, list[dict[str, JsonValue]]] = defaultdict(list)
    for case in asked:
        by_model[case.model].append(golden(case, answers[f"{case.model}/{case.name}"]))
    texts = {
        name: text_of(version, name, catalog.models[name].config, found)
        for name, found in by_model.items()
    }
    write(version, texts, alone=only is not None)
    _say(f"{len(asked)} cases of {len(texts)} models in {time.monotonic() - began:.0f} s")
    return 0


def _sample(
    catalog: Catalog,
    asked: list[GoldenCase],
    version: str,
    size: int,
    seed: int | None,
    workers: int,
) -> int:
    chosen_seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    _say(f"a sample of {size} of {len(asked)} cases, seed {chosen_seed}")
    chosen = random.Random(chosen_seed).sample(asked, min(size, len(asked)))
    answers = ask(chosen, catalog, version, workers=workers, fresh=True, say=_say)
    missing = failed(answers, chosen)
    goldens = load_goldens(version)
    wrong = 0
    for case in chosen:
        name = f"{case.model}/{case.name}"
        if any(line.startswith(f"{name}: ") for line in missing):
            continue
        held = goldens.models.get(case.model)
        found = next((one for one in held.cases if one.case == case.name), None) if held else None
        texts = list(
            differences(None if found is None else plain(found), golden(case, answers[name]))
        )
        wrong += bool(texts)
        _say(f"{name}: {'; '.join(texts) or 'equal'}")
    for line in missing:
        _say(line)
    return 1 if wrong else 2 if missing else 0


def _drift(before: str, after: str) -> int:
    old, new = load_goldens(before), load_goldens(after)
    for goldens in (old, new):
        if not goldens.models:
            _say(f"there are no goldens of {goldens.version}")
            return 2
    lines = drift(old, new)
    for line in lines:
        print(line)
    _say(f"{len(lines)} differences from {before} to {after}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
