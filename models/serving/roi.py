"""What a KV cache outside the GPU saves and costs: ROI ratio, GPUs saved, break-even hit rate.

Arithmetic only; docs/tools.md has it worked by hand. A prompt token found in the cache is not
computed again; what it costs to bring it back is `hit_cost_share` of computing it. Everything
assumed is a field of `RoiInput` and is returned as an `Assumption`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from models.core.base import Model

Share = Annotated[float, Field(ge=0, le=1)]

GIB_PER_GB: Final = 1024**3 / 1000**3
"""A price per GB (10^9 bytes) times this is the price per GiB."""

_REGION: Final = "us-east-1"
_NVME: Final = ("ebs_gp3_storage", _REGION)
_REMOTE: Final = ("s3_standard_storage_first_50tb", _REGION)
"""What the tiers are assumed to be, by item and region of the price table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoragePrices:
    """What a GiB of the tiers costs a month, USD, where nothing is given."""

    nvme_usd_per_gib_month: float
    remote_usd_per_gib_month: float

    @classmethod
    def of(cls, per_gb_month: Mapping[tuple[str, str], float]) -> "StoragePrices":
        """Return the catalog's prices; raises `KeyError` where it has none."""
        return cls(
            nvme_usd_per_gib_month=per_gb_month[_NVME] * GIB_PER_GB,
            remote_usd_per_gib_month=per_gb_month[_REMOTE] * GIB_PER_GB,
        )


class RoiInput(Model):
    """The load, the price of computing a prompt token, and the tiers that hold the cache.

    `prefill_usd_per_token` is the price, or follows from `gpu_usd_per_hour` and
    `prefill_tokens_per_sec` (of `gpus_per_replica` GPUs together).
    """

    requests_per_sec: PositiveFloat
    prompt_tokens: PositiveFloat
    hit_rate: Share
    prefill_usd_per_token: PositiveFloat | None = None
    gpu_usd_per_hour: PositiveFloat | None = None
    prefill_tokens_per_sec: PositiveFloat | None = None
    gpus_per_replica: PositiveInt = 1
    gpu_busy_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    baseline_hit_rate: Share = 0.0
    hit_cost_share: Share = 0.05
    load_factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    nodes: PositiveInt = 1
    cpu_gib: NonNegativeFloat = 0.0
    nvme_gib: NonNegativeFloat = 0.0
    remote_gib: NonNegativeFloat = 0.0
    cpu_usd_per_gib_month: NonNegativeFloat = 0.0
    nvme_usd_per_gib_month: NonNegativeFloat | None = None
    remote_usd_per_gib_month: NonNegativeFloat | None = None
    other_usd_per_hour: NonNegativeFloat = 0.0
    hours_per_month: PositiveFloat = 730.0
    kv_bytes_per_token: PositiveFloat | None = None

    @model_validator(mode="after")
    def has_a_price(self) -> "RoiInput":
        """A prompt token needs a price, given or derived."""
        derived = self.gpu_usd_per_hour is not None and self.prefill_tokens_per_sec is not None
        if self.prefill_usd_per_token is None and not derived:
            message = (
                "the price of a prompt token is not known: give prefill_usd_per_token, or both "
                "gpu_usd_per_hour and prefill_tokens_per_sec"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def gains_over_its_baseline(self) -> "RoiInput":
        """What the GPU's own cache finds anyway is not the tiers' gain."""
        if self.baseline_hit_rate > self.hit_rate:
            message = (
                f"hit_rate {self.hit_rate:g} is below baseline_hit_rate "
                f"{self.baseline_hit_rate:g}: hit_rate counts all hits, with the tiers"
            )
            raise ValueError(message)
        return self


class Assumption(Model):
    """One number that the result rests on; `option` is how to change it."""

    option: str
    value: float
    source: Literal["given", "assumed"]
    why: str


class Roi(Model):
    """The result, USD per hour where the name says so.

    `roi_ratio` is savings over cost (None where the tiers cost nothing). `break_even_hit_rate` is
    the hit rate at which they are equal (None where no hit rate up to 1 reaches it). GPUs are None
    where no prefill rate is given.
    """

    pays: bool
    prefill_usd_per_token: float
    prompt_tokens_per_hour: float
    saved_tokens_per_hour: float
    savings_usd_per_hour: float
    tiers_usd_per_hour: float
    net_usd_per_hour: float
    roi_ratio: float | None
    break_even_hit_rate: float | None
    gpus_without: float | None
    gpus_with: float | None
    gpu_savings: float | None
    whole_gpus_saved: int | None
    tokens_held: float | None
    load_gib_per_sec: float | None
    assumptions: tuple[Assumption, ...]


def roi(question: RoiInput, prices: StoragePrices) -> Roi:
    """Return what the cache saves and costs."""
    price = token_price(question)
    tokens = question.requests_per_sec * question.load_factor * question.prompt_tokens * 3600
    worth = tokens * price * (1 - question.hit_cost_share)
    gain = question.hit_rate - question.baseline_hit_rate
    savings, cost = worth * gain, tiers_usd_per_hour(question, prices)
    break_even = None if worth == 0 else question.baseline_hit_rate + cost / worth
    without, with_ = _gpus(question)
    held, rate = _held(question), _load_rate(question)
    return Roi(
        pays=savings > cost,
        prefill_usd_per_token=price,
        prompt_tokens_per_hour=tokens,
        saved_tokens_per_hour=tokens * gain * (1 - question.hit_cost_share),
        savings_usd_per_hour=savings,
        tiers_usd_per_hour=cost,
        net_usd_per_hour=savings - cost,
        roi_ratio=None if cost == 0 else savings / cost,
        break_even_hit_rate=None if break_even is None or break_even > 1 else break_even,
        gpus_without=without,
        gpus_with=with_,
        gpu_savings=None if without is None or with_ is None else without - with_,
        whole_gpus_saved=None
        if without is None or with_ is None
        else (math.ceil(without) - math.ceil(with_)),
        tokens_held=held,
        load_gib_per_sec=rate,
        assumptions=assumptions(question, prices),
    )


def token_price(question: RoiInput) -> float:
    """Return USD per prompt token: as given, or GPU hours over tokens computed in them."""
    if question.prefill_usd_per_token is not None:
        return question.prefill_usd_per_token
    hour = (question.gpu_usd_per_hour or 0.0) * question.gpus_per_replica
    return hour / ((question.prefill_tokens_per_sec or 1.0) * 3600 * question.gpu_busy_share)


def tiers_usd_per_hour(question: RoiInput, prices: StoragePrices) -> float:
    """Return what the tiers cost: CPU and NVMe on every node, the remote one once."""
    nvme, remote = question.nvme_usd_per_gib_month, question.remote_usd_per_gib_month
    nvme = prices.nvme_usd_per_gib_month if nvme is None else nvme
    remote = prices.remote_usd_per_gib_month if remote is None else remote
    local = question.cpu_gib * question.cpu_usd_per_gib_month + question.nvme_gib * nvme
    month = local * question.nodes + question.remote_gib * remote
    return month / question.hours_per_month + question.other_usd_per_hour


def _gpus(question: RoiInput) -> tuple[float | None, float | None]:
    """Return GPUs that prefill keeps busy at the peak, without the tiers and with them."""
    if question.prefill_tokens_per_sec is None:
        return None, None
    each = question.prefill_tokens_per_sec * question.gpu_busy_share / question.gpus_per_replica
    gpus = question.requests_per_sec * question.prompt_tokens / each

    def computed(hit_rate: float) -> float:
        return gpus * (1 - hit_rate * (1 - question.hit_cost_share))

    return computed(question.baseline_hit_rate), computed(question.hit_rate)


def _held(question: RoiInput) -> float | None:
    if question.kv_bytes_per_token is None:
        return None
    local = (question.cpu_gib + question.nvme_gib) * question.nodes
    return (local + question.remote_gib) * 1024**3 / question.kv_bytes_per_token


def _load_rate(question: RoiInput) -> float | None:
    """Return GiB per second that the tiers must deliver at the peak."""
    if question.kv_bytes_per_token is None:
        return None
    gain = question.hit_rate - question.baseline_hit_rate
    tokens = question.requests_per_sec * question.prompt_tokens * gain
    return tokens * question.kv_bytes_per_token / 1024**3


_WHY: Final = {
    "requests_per_sec": "requests at the peak, over all replicas",
    "prompt_tokens": "tokens of one prompt, on average",
    "hit_rate": "share of prompt tokens found in any cache",
    "prefill_usd_per_token": "in place of a GPU's price and rate",
    "gpu_usd_per_hour": "one GPU",
    "prefill_tokens_per_sec": "prompt tokens that a replica computes, measured",
    "gpus_per_replica": "GPUs that reach that rate together",
    "gpu_busy_share": "share of the hour that a GPU computes; less makes a token dearer",
    "baseline_hit_rate": "share that the GPU's own prefix cache finds without the tiers",
    "hit_cost_share": "bringing a token back, as a share of computing it",
    "load_factor": "the average load over the peak",
    "nodes": "nodes with a CPU and an NVMe tier each",
    "cpu_gib": "CPU tier, a node",
    "nvme_gib": "NVMe tier, a node",
    "remote_gib": "remote tier, shared",
    "cpu_usd_per_gib_month": "host memory comes with the GPU node",
    "nvme_usd_per_gib_month": "EBS gp3 in us-east-1 (catalog/prices.yaml)",
    "remote_usd_per_gib_month": "S3 standard in us-east-1 (catalog/prices.yaml)",
    "other_usd_per_hour": "cache servers, network",
    "hours_per_month": "8760 hours over 12 months",
    "kv_bytes_per_token": "for tokens held and the rate of loading",
}


def assumptions(question: RoiInput, prices: StoragePrices) -> tuple[Assumption, ...]:
    """Return every number that the result rests on, given or assumed."""
    found: list[Assumption] = []
    for name, why in _WHY.items():
        value: float | None = getattr(question, name)
        if value is None:
            value = getattr(prices, name, None)
        if value is None:
            continue
        source = "given" if name in question.model_fields_set else "assumed"
        option = "--" + name.replace("_", "-")
        found.append(Assumption(option=option, value=value, source=source, why=why))
    return tuple(found)
