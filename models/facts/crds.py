"""Custom resource definitions as the catalog pins them: which versions of a kind are served."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.core.base import Model


class ServedVersion(Model):
    """One version of a definition; what is not `served` the API server refuses."""

    name: str
    served: bool


class Definition(Model):
    """One pinned definition: `component` installs it, `release` is the one it was read in."""

    component: str
    release: str
    group: str
    kind: str
    versions: tuple[ServedVersion, ...]

    @property
    def served(self) -> tuple[str, ...]:
        """The versions that can be used, the newest first as the definition lists them."""
        return tuple(each.name for each in self.versions if each.served)


@dataclass(frozen=True, slots=True)
class Definitions:
    """All pinned definitions by group and kind."""

    by_group: Mapping[str, Mapping[str, Definition]]

    @classmethod
    def of(cls, definitions: Iterable[Definition]) -> "Definitions":
        """Return definitions by group and kind; the last of two of one name wins."""
        groups: dict[str, dict[str, Definition]] = {}
        for each in definitions:
            groups.setdefault(each.group, {})[each.kind] = each
        return cls(groups)

    def component_of(self, group: str) -> Definition | None:
        """Return any definition of a group, which tells its component and release; or None."""
        return next(iter(self.by_group.get(group, {}).values()), None)
