"""Real runs of vLLM (`data/vram_cases.jsonl`) as budget requests, and what was observed.

A line's inputs become a request; `observed` is read only by whoever compares. A run whose model or
GPU cannot be resolved has no request and says what is missing.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, cast

import yaml
from pydantic import JsonValue

from catalog.loader import load
from models.accelerators import Accelerator, capability
from models.architecture import architecture
from models.architecture.names import Alias, ModelNames
from models.catalogue import Catalogue, plain_name
from models.memory import Arguments, BudgetRequest, Card, behaviour_of
from models.problems import ProblemsError

ROOT: Final = Path(__file__).parent.parent
DATA: Final = ROOT.parent / "shared" / "data"

Line = Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One run. `request` is None where inputs do not suffice; `missing` names them."""

    id: str
    source: str
    kind: str
    request: BudgetRequest | None
    missing: str | None
    observed: Mapping[str, JsonValue]

    def number(self, name: str) -> float | None:
        """Return an observed number."""
        value = self.observed.get(name)
        return float(value) if isinstance(value, int | float) else None

    @property
    def started(self) -> bool:
        """Whether the engine ran."""
        return self.observed.get("oom") is not True


def model_names() -> ModelNames:
    """Return the alias table over the summaries in the data."""
    text = (ROOT / "catalog" / "model_aliases.yaml").read_text(encoding="utf-8")
    table = cast("dict[str, list[JsonValue]]", yaml.safe_load(text))
    aliases = tuple(Alias.model_validate_json(json.dumps(each)) for each in table["models"])
    given = cast(
        "dict[str, dict[str, JsonValue]]",
        json.loads((DATA / "model_configs.json").read_text(encoding="utf-8")),
    )
    return ModelNames(aliases, given)


def cases() -> list[Case]:
    """Return every run in the data."""
    names, catalogue = model_names(), load()
    text = (DATA / "vram_cases.jsonl").read_text(encoding="utf-8")
    lines = [cast("Line", json.loads(line)) for line in text.splitlines() if line.strip()]
    return [case_of(line, names, catalogue) for line in lines]


def case_of(line: Line, names: ModelNames, catalogue: Catalogue) -> Case:
    """Return one line as a case."""
    request, missing = _request(line, names, catalogue)
    observed = line.get("observed")
    return Case(
        id=str(line["id"]),
        source=str(line.get("source")),
        kind=str(line.get("class")),
        request=request,
        missing=missing,
        observed=observed if isinstance(observed, Mapping) else {},
    )


def _request(
    line: Line, names: ModelNames, catalogue: Catalogue
) -> tuple[BudgetRequest | None, str | None]:
    model = str(line.get("model"))
    config = names.configuration(model)
    if config is None:
        return None, f"model: no configuration is known for {model!r}"
    card, problem = card_of(line, catalogue)
    if card is None:
        return None, problem
    try:
        found = architecture(config)
    except ProblemsError as error:
        return None, f"model: {error}"
    version = line.get("vllm_version")
    behaviour = behaviour_of(version if isinstance(version, str) else None)
    asked = arguments_of_line(line)
    try:
        request = BudgetRequest(
            architecture=found,
            card=card,
            behaviour=behaviour,
            arguments=asked,
            n_gpus=_whole(line, "n_gpus"),
        )
    except ValueError as error:
        return None, f"arguments: {error}"
    return request, None


_NOT_CUDA: Final = re.compile(r"ascend|npu|intel|arc pro|gaudi|tpu", re.IGNORECASE)


def card_of(line: Line, catalogue: Catalogue) -> tuple[Card | None, str | None]:
    """Return the card of a line: by name, by the stated GiB, or what is missing."""
    name, stated = line.get("gpu"), line.get("gpu_mem_gib")
    if name and _NOT_CUDA.search(str(name)):
        return None, f"gpu: {name!r} is not a GPU that this model covers (CUDA, ROCm)"
    if _whole(line, "n_gpus") is None and _whole(line, "tp") is None:
        return None, "n_gpus and tp: neither is given"
    memory = float(stated) if isinstance(stated, int | float) else None
    accelerator = _accelerator(str(name), catalogue) if name else None
    other = _other_gpu(str(name)) if name and accelerator is None else None
    if other is not None:
        changed = {"memory_gib": memory or other.memory_gib}
        return other.model_copy(update=changed), None
    if accelerator is None and memory is not None:
        accelerator = min(
            catalogue.accelerators.values(), key=lambda each: abs(each.memory_gib - memory)
        )
        if abs(accelerator.memory_gib - memory) > 1.0:
            card = Card(memory_gib=memory, capability=(9, 0), product=str(name))
            return card, None
    if accelerator is None:
        return None, f"gpu: {name!r} is not in the catalogue and gpu_mem_gib is not given"
    return Card(
        memory_gib=memory or accelerator.memory_gib,
        capability=accelerator.capability,
        product=accelerator.product,
    ), None


def _accelerator(name: str, catalogue: Catalogue) -> Accelerator | None:
    plain = re.sub(r"\(.*?\)", " ", name).strip()
    for candidate in (name, plain, re.sub(r"\s*\d+ ?GB.*$", "", plain)):
        found = catalogue.accelerator_of(candidate)
        if found is not None:
            return found
    return None


@cache
def _other_gpus() -> tuple[tuple[str, Card], ...]:
    text = (ROOT / "catalog" / "other_gpus.yaml").read_text(encoding="utf-8")
    table = cast("dict[str, list[dict[str, JsonValue]]]", yaml.safe_load(text))
    found: list[tuple[str, Card]] = []
    for entry in table["gpus"]:
        memory = entry["memory_gib"]
        card = Card(
            memory_gib=float(memory) if isinstance(memory, int | float) else 0.0,
            capability=capability(str(entry["compute_capability"])),
            rocm=entry.get("rocm") is True,
        )
        names = cast("list[str]", entry["names"])
        found += [(plain_name(name), card) for name in names]
    return tuple(found)


def _other_gpu(name: str) -> Card | None:
    plain = re.sub(r"\(.*?\)", " ", name)
    wanted = {plain_name(name), plain_name(plain), plain_name(re.sub(r"\d+ ?GB.*$", "", plain))}
    return next((card for known, card in _other_gpus() if known in wanted), None)


_QUANTISATIONS: Final = (
    ("bitsandbytes", "bitsandbytes"),
    ("mxfp4", "mxfp4"),
    ("nvfp4", "nvfp4"),
    ("fp8", "fp8"),
    ("awq", "awq"),
    ("gptq", "gptq"),
)


def arguments_of_line(line: Line) -> Arguments:
    """Return the engine arguments of a line; null or absent takes the release's default."""
    quant = line.get("quant")
    text = quant.lower() if isinstance(quant, str) else ""
    method = next((name for word, name in _QUANTISATIONS if word in text), text or None)
    cache = line.get("kv_cache_dtype")
    dtype = line.get("dtype")
    utilization = line.get("gpu_memory_utilization")
    return Arguments(
        max_model_len=_whole(line, "max_model_len"),
        gpu_memory_utilization=float(utilization) if isinstance(utilization, int | float) else None,
        max_num_seqs=_whole(line, "max_num_seqs"),
        max_num_batched_tokens=_whole(line, "max_num_batched_tokens"),
        kv_cache_dtype=cache if isinstance(cache, str) else None,
        dtype=dtype if isinstance(dtype, str) else None,
        quantization=method,
        block_size=_whole(line, "block_size"),
        enable_prefix_caching=_flag(line, "enable_prefix_caching"),
        enforce_eager=_flag(line, "enforce_eager"),
        kv_cache_memory_bytes=_whole(line, "kv_cache_memory_bytes"),
        tensor=_whole(line, "tp") or _whole(line, "n_gpus") or 1,
        pipeline=_whole(line, "pp") or 1,
        data=_whole(line, "dp") or 1,
        expert_parallel=bool(line.get("ep")),
    )


def _whole(line: Line, name: str) -> int | None:
    value = line.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(line: Line, name: str) -> bool | None:
    value = line.get(name)
    return value if isinstance(value, bool) else None
