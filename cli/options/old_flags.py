"""The old calculator's flags."""

from dataclasses import dataclass
from typing import Annotated, Final

from typer import Option

from cli.errors import InputError

_PANEL: Final = "The old calculator's flags"
_MOST_GB: Final = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class OldFlags:
    """The flags as given; sizes in GB (10^9 bytes). `kv_heads` and `head_dim` are new."""

    total_vram: Annotated[
        float | None, Option(help="The card's nominal memory, GB.", rich_help_panel=_PANEL)
    ] = None
    model_size: Annotated[
        float | None, Option(help="The checkpoint's size, GB.", rich_help_panel=_PANEL)
    ] = None
    batch: Annotated[
        int | None, Option(min=1, help="Sequences at once.", rich_help_panel=_PANEL)
    ] = None
    context: Annotated[
        int | None, Option(min=1, help="Tokens per sequence.", rich_help_panel=_PANEL)
    ] = None
    layers: Annotated[
        int | None, Option(min=1, max=10000, help="Layers.", rich_help_panel=_PANEL)
    ] = None
    heads: Annotated[int | None, Option(min=1, max=4096, help="Heads.", rich_help_panel=_PANEL)] = (
        None
    )
    kv_heads: Annotated[
        int | None, Option(min=1, max=4096, help="KV heads (new).", rich_help_panel=_PANEL)
    ] = None
    head_dim: Annotated[
        int | None, Option(min=1, max=8192, help="Head size (new).", rich_help_panel=_PANEL)
    ] = None

    def __post_init__(self) -> None:
        """Refuse sizes that no card and no checkpoint has."""
        for name, value in (("--total-vram", self.total_vram), ("--model-size", self.model_size)):
            if value is not None and not 0 < value <= _MOST_GB:
                raise InputError(f"{name} {value:g}: must be GB, above 0 and at most {_MOST_GB:g}")

    @property
    def used(self) -> bool:
        """Whether any of them is given."""
        mine = (self.total_vram, self.model_size, self.layers, self.heads, self.batch, self.context)
        return any(value is not None for value in mine)
