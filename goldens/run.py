"""Runs the oracle: one process per card, some of them at a time, every answer kept at once."""

import hashlib
import json
import os
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from queue import Empty, Queue
from typing import Final, cast

from pydantic import JsonValue

from goldens.cases import GoldenCase, card_of
from goldens.environment import ROOT, driver_of, home, python_of
from models.facts.catalog import Catalog

LIMIT_SEC: Final = 1200
"""Seconds for one case; the largest takes about half a minute on an idle core, and the oracle runs
at the lowest priority beside whatever else the machine does."""
_NICE: Final = 10
_BATCH: Final = 40
"""Cases of one process; importing the engine again costs about half a minute."""

Answer = dict[str, JsonValue]
Say = Callable[[str], None]


def ask(
    asked: Iterable[GoldenCase],
    catalog: Catalog,
    version: str,
    *,
    workers: int,
    fresh: bool,
    say: Say,
) -> dict[str, Answer]:
    """Return the oracle's answers by `<model>/<case>`.

    Answers of an earlier run to the same questions are taken over, unless `fresh`.
    """
    python, driver = python_of(version), driver_of(version)
    os.nice(max(0, _NICE - os.nice(0)))
    folder = home(version)
    store = folder / "answers.jsonl"
    _salvage(folder, store)
    known = {} if fresh else _known(store)
    answers: dict[str, Answer] = {}
    by_card: dict[str, list[dict[str, JsonValue]]] = defaultdict(list)
    for case in asked:
        job = case.job(catalog.models[case.model].config)
        key = key_of(job, card_of(catalog.accelerators[case.card]))
        if key in known:
            answers[str(job["id"])] = known[key]
        else:
            by_card[case.card].append({**job, "key": key})
    say(f"{len(answers)} answers are known, {sum(map(len, by_card.values()))} are asked for")
    queue: Queue[tuple[str, list[dict[str, JsonValue]]]] = Queue()
    for card, jobs in by_card.items():
        for start in range(0, len(jobs), _BATCH):
            queue.put((card, jobs[start : start + _BATCH]))
    lock = threading.Lock()

    def work(number: int) -> None:
        while True:
            try:
                card, jobs = queue.get_nowait()
            except Empty:
                return
            begin = {
                "card": card_of(catalog.accelerators[card]),
                "driver": None if driver is None else str(driver),
                "limit_sec": LIMIT_SEC,
                "cases": jobs,
            }
            found = _process(python, begin, folder / f"worker-{number}")
            with lock:
                _keep(store, jobs, found, answers)
                say(f"{card}: {len(found)} of {len(jobs)} answered, {queue.qsize()} batches left")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def _salvage(folder: Path, store: Path) -> None:
    """Keep what workers of an interrupted run had been told."""
    for told in sorted(folder.glob("worker-*/told.jsonl")):
        jobs = json.loads((told.parent / "jobs.json").read_text(encoding="utf-8"))
        _keep(store, jobs["cases"], _lines(told), {})
        told.unlink()


def _lines(told: Path) -> list[Answer]:
    """Return the answers of a file; the last line may be cut."""
    found: list[Answer] = []
    for line in told.read_text(encoding="utf-8").splitlines():
        try:
            found.append(cast("Answer", json.loads(line)))
        except ValueError:
            break
    return found


def key_of(job: Mapping[str, JsonValue], card: Mapping[str, JsonValue]) -> str:
    """Return what identifies a question: everything that the oracle is told, and its own code."""
    code = sorted((ROOT / "goldens" / "oracle").glob("*.py"))
    digest = hashlib.sha256()
    for path in code:
        digest.update(path.read_bytes())
    digest.update(json.dumps([job, card], sort_keys=True).encode())
    return digest.hexdigest()[:24]


def _process(python: Path, jobs: Mapping[str, object], scratch: Path) -> list[Answer]:
    scratch.mkdir(parents=True, exist_ok=True)
    asked, told = scratch / "jobs.json", scratch / "told.jsonl"
    asked.write_text(json.dumps(jobs), encoding="utf-8")
    told.unlink(missing_ok=True)
    environ = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    environ |= {"PYTHONPATH": str(ROOT), "HOME": str(scratch), "TMPDIR": str(scratch)}
    with (scratch / "log.txt").open("w", encoding="utf-8") as log:
        subprocess.run(
            [str(python), "-m", "goldens.oracle", str(asked), str(told)],
            check=False,
            env=environ,
            cwd=scratch,
            stdout=log,
            stderr=log,
        )
    if not told.exists():
        return []
    found = _lines(told)
    told.unlink()
    return found


def _keep(
    store: Path,
    jobs: list[dict[str, JsonValue]],
    found: list[Answer],
    answers: dict[str, Answer],
) -> None:
    keys = {job["id"]: job["key"] for job in jobs}
    with store.open("a", encoding="utf-8") as out:
        for answer in found:
            answers[str(answer["id"])] = answer
            out.write(json.dumps({"key": keys[answer["id"]], **answer}, sort_keys=True) + "\n")


def _known(store: Path) -> dict[str, Answer]:
    if not store.exists():
        return {}
    found: dict[str, Answer] = {}
    for line in store.read_text(encoding="utf-8").splitlines():
        answer = cast("Answer", json.loads(line))
        late = str(answer.get("error", "")).startswith(("took more", "the process died"))
        if not late:
            found[str(answer.pop("key"))] = answer
    return found
