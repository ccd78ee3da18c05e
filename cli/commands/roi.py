"""`triplane roi`: what a KV cache outside the GPU saves and costs."""

import json
from typing import Final

from pydantic import ValidationError

from catalog.loader import load
from cli.errors import ExitCode, InputError
from cli.options.roi import RoiOptions
from models.core.problems import from_validation
from models.serving.roi import Roi, RoiInput, StoragePrices, roi

_LINES: Final = (
    ("prefill_usd_per_token", "USD per prompt token computed", ".3e"),
    ("prompt_tokens_per_hour", "prompt tokens per hour", ",.0f"),
    ("saved_tokens_per_hour", "tokens not computed again, per hour", ",.0f"),
    ("savings_usd_per_hour", "saved, USD per hour", ".4f"),
    ("tiers_usd_per_hour", "tiers cost, USD per hour", ".4f"),
    ("net_usd_per_hour", "net, USD per hour", ".4f"),
    ("roi_ratio", "ROI ratio (saved over cost)", ".2f"),
    ("break_even_hit_rate", "break-even hit rate", ".2%"),
    ("gpus_without", "GPUs for prefill at the peak, without the tiers", ".2f"),
    ("gpus_with", "with the tiers", ".2f"),
    ("gpu_savings", "GPUs saved", ".2f"),
    ("whole_gpus_saved", "whole GPUs saved", "d"),
    ("tokens_held", "tokens that the tiers hold", ",.0f"),
    ("load_gib_per_sec", "GiB per second from the tiers at the peak", ".3f"),
)


def run(options: RoiOptions) -> int:
    """Compute, print and return the exit code: 0 if the tiers pay."""
    given = dict(options.given)
    note = None
    if options.gpu is not None and "gpu_usd_per_hour" not in given:
        given["gpu_usd_per_hour"], note = _gpu_price(options.gpu, options.region)
    try:
        question = RoiInput.model_validate(given)
    except ValidationError as error:
        problems = from_validation(error, "roi")
        raise InputError("\n".join(problem.ruled for problem in problems)) from None
    found = roi(question, StoragePrices.of(load().monthly_prices))
    if options.as_json:
        print(json.dumps(found.model_dump(mode="json"), indent=2, ensure_ascii=False))
    else:
        _show(found, note)
    return ExitCode.GOOD if found.pays else ExitCode.FINDING


def _gpu_price(gpu: str, region: str) -> tuple[float, str]:
    """Return the cheapest price per hour of one GPU of the kind in a region, and its machine."""
    from cli.commands.select import card_of

    catalog = load()
    card = card_of(catalog, gpu)
    prices = [
        (catalog.prices[machine.name, region] / machine.gpus, machine.name)
        for machine in card.instance_types
        if (machine.name, region) in catalog.prices
    ]
    if not prices:
        raise InputError(
            f"--gpu {gpu}: the catalog has no price of it in {region}; give --gpu-usd-per-hour"
        )
    price, name = min(prices)
    return price, f"a GPU of {name} in {region}, {price:.4f} USD per hour (catalog/prices.yaml)"


def _show(result: Roi, note: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    style, words = ("green", "pays") if result.pays else ("red", "does not pay")
    console.print(f"the cache [{style}]{words}[/]")
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, text, form in _LINES:
        value: float | None = getattr(result, name)
        table.add_row(text, "-" if value is None else format(value, form))
    console.print(table)
    if result.roi_ratio is None:
        console.print("no ROI ratio: the tiers cost nothing under these assumptions")
    if result.break_even_hit_rate is None:
        console.print("no break-even: no hit rate up to 1 earns what the tiers cost")
    table = Table("assumption", "value", "", "why", box=None, pad_edge=False)
    for each in result.assumptions:
        table.add_row(each.option, f"{each.value:.6g}", each.source, each.why)
    console.print(table)
    if note is not None:
        console.print(f"--gpu-usd-per-hour: {note}")
