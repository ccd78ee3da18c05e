"""A model in the catalog, and the catalog as a whole.

The catalog is data (`catalog/`); these are its types. What a model *is* (family, layers, weights)
is derived from its own `config.json`, which the entry carries, by `models/architecture.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, PositiveInt

from models.core.base import UNRESOLVED, DnsLabel, Model
from models.facts.accelerators import Accelerator, InstanceType
from models.facts.borders import Borders
from models.facts.charts import Chart
from models.facts.contract import EngineContract, Image
from models.facts.golden import Goldens, ModelGoldens
from models.facts.sharing import slices_of


class ModelStatus(StrEnum):
    """Where a model stands: LIVE may serve anywhere, STAGED never in prod, RETIRED nowhere."""

    LIVE = "LIVE"
    STAGED = "STAGED"
    RETIRED = "RETIRED"


class WeightFormat(StrEnum):
    """How the checkpoint's weights are stored."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    AWQ = "awq"
    GPTQ = "gptq"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"


Revision = Annotated[str, Field(pattern=r"^(unresolved|[0-9a-f]{40})$")]


class ModelEntry(Model):
    """One model: `name` is the id clients use and the directory `/models/<name>/`.

    `repository` is the hub's id; `revision` its commit, `unresolved` where no source gives one.
    `weight_bytes` are the checkpoint's bytes where a source gives them. `notes` say where figures
    come from and what is open.
    """

    name: DnsLabel
    repository: str
    revision: Revision
    format: WeightFormat
    license: str
    status: ModelStatus
    owner: str
    engine: str
    weight_bytes: PositiveInt | None = None
    notes: str = ""

    @property
    def resolved(self) -> bool:
        """Whether the revision has a source."""
        return self.revision != UNRESOLVED


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogModel:
    """An entry with its `config.json` (the hub's file, parsed)."""

    entry: ModelEntry
    config: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """Everything the catalog holds, by name. `revision` is a hash of its files."""

    revision: str
    models: Mapping[str, CatalogModel]
    accelerators: Mapping[str, Accelerator]
    instance_types: Mapping[str, InstanceType]
    engines: Mapping[str, EngineContract]
    borders: Borders
    """At which release the engine's treatment of memory changes."""
    images: Mapping[str, Image]
    charts: Mapping[str, Chart]
    prices: Mapping[tuple[str, str], float]
    """USD per hour on demand by (instance type, cloud region)."""
    monthly_prices: Mapping[tuple[str, str], float]
    """USD per GB (10^9 bytes) and month by (item, cloud region)."""
    goldens: Mapping[str, Goldens] = field(default_factory=dict[str, Goldens])
    """What releases' own code said, by release; a model's are read when they are asked for."""

    def goldens_of(self, model: CatalogModel, release: str) -> ModelGoldens | None:
        """Return what a release said of a model's very configuration, or None."""
        held = self.goldens.get(release)
        return None if held is None else held.of(model.entry.name, model.config)

    def accelerator_of(self, text: str) -> Accelerator | None:
        """Return the GPU that a name means: ours, its product label, or one of its aliases.

        Case, spaces, dashes and underscores do not matter. A MIG slice has a name too, its card's
        with the profile: h100-80gb-mig-3g-40gb.
        """
        wanted = plain_name(text)
        for accelerator in self.accelerators.values():
            for card in (accelerator, *slices_of(accelerator)):
                names = (card.name, card.product, *card.aliases)
                if any(plain_name(name) == wanted for name in names):
                    return card
        return None


def plain_name(text: str) -> str:
    """Return a name without case, spaces, dashes and underscores, fit for comparison."""
    return "".join(character for character in text.lower() if character.isalnum())
