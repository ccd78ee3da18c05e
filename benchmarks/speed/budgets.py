"""How fast budgets are: 1,000 in one process, and one from a cold start.

    python -m benchmarks.speed.budgets [--json]

The models, cards and releases are the catalog's; every request differs in length, so that nothing
is answered from a cache that a real run would not have.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from pydantic import JsonValue

from benchmarks.shared.memory_cases import ROOT
from catalog.loader import load
from models.architecture import architecture
from models.core.releases import newest
from models.engine.arguments import EngineArguments
from models.facts.catalog import Catalog
from models.memory import BudgetRequest, Card, behavior_of_contract, budget

NUMBER: Final = 1000

_COLD: Final = """
import time
began = time.perf_counter()
from cli.__main__ import main
imported = time.perf_counter()
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["budget", {model!r}, "--gpu", {gpu!r}]) in (0, 1)
done = time.perf_counter()
print(imported - began, done - imported, "pulumi" in sys.modules)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """The figures; seconds unless the name says otherwise."""

    budgets: int
    per_second: float
    with_configuration_per_second: float
    interpreter: float
    cold_import: float
    cold_budget: float
    cold_whole: float
    imports_pulumi: bool


Job = tuple[Mapping[str, JsonValue], BudgetRequest]


def jobs(catalog: Catalog, number: int = NUMBER) -> list[Job]:
    """Return requests over every model and card of the catalog, each of another length."""
    contract = catalog.engines[newest(catalog.engines)]
    behavior = behavior_of_contract(contract)
    pairs = itertools.product(catalog.models.values(), catalog.accelerators.values())
    shapes = {name: architecture(model.config) for name, model in catalog.models.items()}
    found: list[Job] = []
    for index, (model, accelerator) in enumerate(itertools.islice(itertools.cycle(pairs), number)):
        request = BudgetRequest(
            architecture=shapes[model.entry.name],
            card=Card(memory_gib=accelerator.memory_gib, capability=accelerator.capability),
            behavior=behavior,
            arguments=EngineArguments(
                max_model_len=1024 + index, tensor_parallel_size=1 << index % 4
            ),
            n_gpus=8,
        )
        found.append((model.config, request))
    return found


def per_second(work: Callable[[Job], object], given: Sequence[Job]) -> float:
    """Return how many jobs are done per second."""
    began = time.perf_counter()
    for job in given:
        work(job)
    return len(given) / (time.perf_counter() - began)


def _known(job: Job) -> object:
    return budget(job[1])


def _from_configuration(job: Job) -> object:
    built = architecture(job[0])
    return budget(job[1].model_copy(update={"architecture": built}))


def _python(code: str) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - began, done.stdout


def speed(catalog: Catalog, number: int = NUMBER, rounds: int = 5) -> Speed:
    """Measure everything."""
    given = jobs(catalog, number)
    code = _COLD.format(model=next(iter(catalog.models)), gpu=next(iter(catalog.accelerators)))
    _python(code)
    cold = [_python(code) for _ in range(rounds)]
    words = [text.split() for _, text in cold]
    return Speed(
        budgets=number,
        per_second=per_second(_known, given),
        with_configuration_per_second=per_second(_from_configuration, given),
        interpreter=statistics.median(_python("")[0] for _ in range(rounds)),
        cold_import=statistics.median(float(each[0]) for each in words),
        cold_budget=statistics.median(float(each[1]) for each in words),
        cold_whole=statistics.median(seconds for seconds, _ in cold),
        imports_pulumi=any(each[2] == "True" for each in words),
    )


def shown(found: Speed) -> str:
    """Return the figures as text."""
    return "\n".join(
        (
            f"{found.budgets} budgets in one process: {found.per_second:.0f} per second",
            "with the configuration read anew: "
            f"{found.with_configuration_per_second:.0f} per second",
            f"one `budget` from a cold start: {found.cold_whole:.2f} s (interpreter "
            f"{found.interpreter:.2f}, imports {found.cold_import:.2f}, "
            f"catalog and budget {found.cold_budget:.2f})",
            f"pulumi is {'' if found.imports_pulumi else 'not '}imported on its path",
        )
    )


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = speed(load())
    print(json.dumps(asdict(found), indent=2) if options.json else shown(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
