"""A draft of a catalog entry from what is known of a model; what is not known is `unresolved`.

Pure: the caller has read the directory or asked the hub. A draft is always STAGED: a person makes
it LIVE once revision and license are right.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import Field, JsonValue, NonNegativeInt

from models.architecture import architecture
from models.core.base import UNRESOLVED, Model
from models.core.findings import Finding
from models.core.names import WORKLOAD_NAME_MAX
from models.core.problems import ProblemsError
from models.core.releases import newest
from models.engine.profiles import PROFILES, EngineOverrides, Environment
from models.facts.accelerators import Accelerator
from models.facts.catalog import ModelEntry, ModelStatus, WeightFormat
from models.facts.contract import EngineContract
from models.memory import Verdict
from models.serving.formats import CONTAINERS, find_format, under_format
from models.serving.selection import ModelCandidate, Selection, select

_SHA: Final = re.compile(r"[0-9a-f]{40}")
_WEIGHTS: Final = (".safetensors", ".bin", ".gguf")
DEFAULT_OWNER: Final = "platform-ml"


class SourceFacts(Model):
    """What a hub or a directory tells of a model. `files` are names with sizes (bytes or None)."""

    repository: str = UNRESOLVED
    revision: str = UNRESOLVED
    license: str = UNRESOLVED
    files: dict[str, NonNegativeInt | None] = Field(default_factory=dict)
    source: str


class EntryDraft(Model):
    """The entry with what was found wrong or left open while drafting it."""

    entry: ModelEntry
    subject: ModelCandidate | None
    problems: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class CardFit(Model):
    """Whether a model fits on one kind of card in prod, and over how many GPUs."""

    gpu: str
    gpus: int
    verdict: Verdict
    reason: str


def catalog_name(text: str) -> str:
    """Return a catalog name for a hub id or a directory: a DNS label that a pod's name can hold.

    `Qwen/Qwen2.5-7B-Instruct-AWQ` becomes `qwen25-7b-instruct-awq`.
    """
    last = text.rstrip("/").rsplit("/", 1)[-1].lower().replace(".", "")
    plain = re.sub(r"[^a-z0-9]+", "-", last).strip("-")
    if not plain[:1].isalpha():
        plain = f"model-{plain}".rstrip("-")
    return plain[:WORKLOAD_NAME_MAX].rstrip("-")


def newest_engine(engines: Mapping[str, EngineContract]) -> str:
    """Return the newest release that the catalog has a contract of."""
    return newest(engines)


def snapshot_of(parts: Sequence[str]) -> tuple[str, str]:
    """Return repository and revision of a directory in a hub's cache, else `unresolved` twice.

    Its path ends in `models--<owner>--<name>/snapshots/<commit>`.
    """
    if len(parts) < 3 or parts[-2] != "snapshots" or not _SHA.fullmatch(parts[-1]):
        return UNRESOLVED, UNRESOLVED
    return "/".join(parts[-3].removeprefix("models--").split("--", 1)), parts[-1]


def license_of(card: Mapping[str, JsonValue], tags: Iterable[str] = ()) -> str:
    """Return the license that a model card or the hub's tags name, else `unresolved`."""
    for key in ("license_name", "license"):
        value = card.get(key)
        if isinstance(value, str) and value and value != "other":
            return value
    tagged = (tag.removeprefix("license:") for tag in tags if tag.startswith("license:"))
    return next((tag for tag in tagged if tag != "other"), UNRESOLVED)


def draft(
    name: str,
    config: Mapping[str, JsonValue] | None,
    known: SourceFacts,
    *,
    engine: str,
    owner: str = DEFAULT_OWNER,
    asked_format: str | None = None,
) -> EntryDraft:
    """Return the entry's draft; without a configuration it is only a frame."""
    problems: list[str] = []
    subject_parts = None
    stored = asked_format if asked_format and asked_format.lower() not in CONTAINERS else None
    if config is not None:
        try:
            shapes = architecture(config)
            found, wrong = find_format(shapes, (name, *known.files), asked_format)
            problems += [problem.ruled for problem in wrong]
            subject_parts, stored = (shapes, found), found.format
        except ProblemsError as error:
            problems += [f"config.json: {problem.ruled}" for problem in error.problems]
    weight_format, bad = _weight_format(stored)
    problems += bad
    revision = known.revision if _SHA.fullmatch(known.revision) else UNRESOLVED
    size = sum(bytes_ or 0 for file, bytes_ in known.files.items() if _is_weight(file))
    entry = ModelEntry(
        name=name,
        repository=known.repository,
        revision=revision,
        format=weight_format,
        license=known.license,
        status=ModelStatus.STAGED,
        owner=owner,
        engine=engine,
        weight_bytes=size or None,
        notes=f"Drafted by triplane onboard from {known.source}.",
    )
    subject = None
    if subject_parts is not None:
        shapes, found = subject_parts
        subject = ModelCandidate(
            entry=entry, architecture=under_format(shapes, found), format=found
        )
    left = _open(entry, has_config=config is not None, stored=stored)
    return EntryDraft(entry=entry, subject=subject, problems=tuple(problems), open=left)


def _is_weight(file: str) -> bool:
    """Tell whether a file holds weights; copies in folders of the repository do not count."""
    return file.endswith(_WEIGHTS) and "/" not in file


def _weight_format(stored: str | None) -> tuple[WeightFormat, list[str]]:
    if stored is None:
        return WeightFormat.BF16, []
    try:
        return WeightFormat(stored), []
    except ValueError:
        allowed = ", ".join(each.value for each in WeightFormat)
        problem = Finding(
            path="format",
            message="the catalog has no such format",
            value=stored,
            allowed=allowed,
            remedy="give a checkpoint in one of these formats",
        )
        return WeightFormat.BF16, [problem.ruled]


def _open(entry: ModelEntry, *, has_config: bool, stored: str | None) -> tuple[str, ...]:
    """Return what a person has to fill in before the model may be LIVE."""
    left: list[str] = []
    if not has_config:
        left.append("config.json: nothing was read, so put the hub's file beside the entry")
    if stored is None:
        left.append("format: not known, bf16 stands in")
    for key in ("repository", "revision", "license"):
        if getattr(entry, key) == UNRESOLVED:
            left.append(f"{key}: unresolved")
    if entry.weight_bytes is None:
        left.append("weight_bytes: not known, the memory model counts them")
    return tuple(left)


def card_fits(
    subject: ModelCandidate,
    cards: Iterable[Accelerator],
    contract: EngineContract,
    *,
    most_gib: float | None = None,
) -> tuple[CardFit, ...]:
    """Return for every card whether the model fits in prod, over the fewest GPUs of one node.

    `most_gib` bounds what the engine may take of each GPU.
    """
    found: list[CardFit] = []
    for card in cards:
        overrides = None if most_gib is None else bounded(card, most_gib)
        chosen = select(subject, Environment.PROD, card, contract, overrides)
        found.append(_card_fit(chosen))
    return tuple(found)


def bounded(card: Accelerator, most_gib: float) -> EngineOverrides:
    """Return the utilization at which the engine takes at most so many GiB of the card."""
    profile = PROFILES[Environment.PROD].gpu_memory_utilization
    share = int(100 * most_gib / card.memory_gib) / 100
    return EngineOverrides(gpu_memory_utilization=max(0.01, min(profile, share)))


def _card_fit(chosen: Selection) -> CardFit:
    reasons = (*chosen.problems, *chosen.reasons)
    return CardFit(
        gpu=chosen.gpu,
        gpus=chosen.gpus,
        verdict=chosen.verdict,
        reason=reasons[0] if reasons else "",
    )
