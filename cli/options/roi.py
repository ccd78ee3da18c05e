"""The options of `roi`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Final

from typer import Option

_LOAD: Final = "Load"
_PRICE: Final = "Price of a prompt token"
_TIERS: Final = "Tiers"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoiOptions:
    """Tell what a KV cache outside the GPU saves and costs. Exits with 1 if it does not pay."""

    requests_per_sec: Annotated[float, Option(help="Requests at the peak.", rich_help_panel=_LOAD)]
    prompt_tokens: Annotated[float, Option(help="Tokens of one prompt.", rich_help_panel=_LOAD)]
    hit_rate: Annotated[float, Option(help="Share of prompt tokens found.", rich_help_panel=_LOAD)]
    baseline_hit_rate: Annotated[
        float | None, Option(help="Found without the tiers, 0 to 1.", rich_help_panel=_LOAD)
    ] = None
    load_factor: Annotated[
        float | None, Option(help="Average load over the peak.", rich_help_panel=_LOAD)
    ] = None
    hit_cost_share: Annotated[
        float | None, Option(help="Cost of a hit over computing it.", rich_help_panel=_LOAD)
    ] = None
    prefill_usd_per_token: Annotated[
        float | None, Option(help="USD per token computed.", rich_help_panel=_PRICE)
    ] = None
    gpu: Annotated[
        str | None, Option(help="A card whose price the catalog has.", rich_help_panel=_PRICE)
    ] = None
    region: Annotated[str, Option(help="Where that price holds.", rich_help_panel=_PRICE)] = (
        "us-east-1"
    )
    gpu_usd_per_hour: Annotated[
        float | None, Option(help="USD per GPU and hour.", rich_help_panel=_PRICE)
    ] = None
    prefill_tokens_per_sec: Annotated[
        float | None, Option(help="Tokens per second of a replica.", rich_help_panel=_PRICE)
    ] = None
    gpus_per_replica: Annotated[
        int | None, Option(help="GPUs of a replica.", rich_help_panel=_PRICE)
    ] = None
    gpu_busy_share: Annotated[
        float | None, Option(help="Share of the hour in use.", rich_help_panel=_PRICE)
    ] = None
    nodes: Annotated[int | None, Option(help="Nodes with local tiers.", rich_help_panel=_TIERS)] = (
        None
    )
    cpu_gib: Annotated[
        float | None, Option(help="GiB of host memory, a node.", rich_help_panel=_TIERS)
    ] = None
    nvme_gib: Annotated[
        float | None, Option(help="GiB of NVMe, a node.", rich_help_panel=_TIERS)
    ] = None
    remote_gib: Annotated[
        float | None, Option(help="GiB of remote storage.", rich_help_panel=_TIERS)
    ] = None
    cpu_usd_per_gib_month: Annotated[
        float | None, Option(help="USD per GiB and month.", rich_help_panel=_TIERS)
    ] = None
    nvme_usd_per_gib_month: Annotated[
        float | None, Option(help="USD per GiB and month.", rich_help_panel=_TIERS)
    ] = None
    remote_usd_per_gib_month: Annotated[
        float | None, Option(help="USD per GiB and month.", rich_help_panel=_TIERS)
    ] = None
    other_usd_per_hour: Annotated[
        float | None, Option(help="Cache servers, network.", rich_help_panel=_TIERS)
    ] = None
    hours_per_month: Annotated[
        float | None, Option(help="Hours of a month.", rich_help_panel=_TIERS)
    ] = None
    kv_bytes_per_token: Annotated[
        float | None, Option(help="For tokens held and rates.", rich_help_panel=_TIERS)
    ] = None
    as_json: Annotated[bool, Option("--json", help="JSON for programs.")] = False

    @property
    def given(self) -> Mapping[str, float]:
        """The fields of `RoiInput` that are given."""
        ours = {"gpu", "region", "as_json"}
        names = [each.name for each in fields(self) if each.name not in ours]
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}
