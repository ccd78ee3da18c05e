"""What EKS's documentation lists of its closed sets (`eks_values.yaml`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_READ: Final[Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeImage:
    """An AMI type: its architecture (None where nothing is known), whether it brings a driver."""

    architecture: str | None = None
    nvidia: bool = False


IMAGES: Final[Mapping[str, NodeImage]] = {
    name: NodeImage(**fields) for name, fields in _READ["images"]["types"].items()
}
ADD_ONS: Final[tuple[str, ...]] = tuple(_READ["add_ons"]["names"])
ADD_ON_VERSION: Final = re.compile(_READ["add_ons"]["version_form"])
ACCESS_POLICIES: Final[frozenset[str]] = frozenset(
    f"arn:aws:eks::aws:cluster-access-policy/{name}" for name in _READ["access_policies"]["names"]
)
