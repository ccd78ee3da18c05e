"""What the SDK's signatures do not say of a type: what replaces, what is a set, defaults.

Every list is read from the Terraform provider that pulumi-aws wraps (`source`, a path in
hashicorp/terraform-provider-aws) or its documentation. A property that the stand-in acts on without
such a source stands in `unverified`, which docs/stand-in.md prints; one that stands in no list is
refused when it is given, since nothing here would act on it. Entries are single values: of an
object each part that is acted on has its own, so that no other part of it slips through.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The hand-written facts of one type. Paths are Pulumi names, dotted, without list indices.

    `replace`: a change makes a new resource. `update`: it is changed in place. `sets`: order means
    nothing. `documents`: JSON, compared as JSON. `defaults`: what the provider fills in. `enums`:
    allowed values. `name`: the property that is named after the resource where it is absent;
    `name_limit` its greatest length. `exclusive`: of each group at most one may be given.
    `alternatives`: going from one of them to another makes a new resource. `recomputed`: outputs
    that an update changes. `whole`: maps that a refresh takes as they are, so that a key that
    somebody added is drift. `tagged`: whether the type has tags.

    Whatever is accepted is read back as it was given, except `unread`: values that no API tells, or
    that moto drops, each with what they do. `inert`: values that are accepted and change nothing
    that a cluster here would show, each with the reason. docs/stand-in.md prints both.
    """

    source: str
    replace: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    enums: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    name: str | None = None
    name_limit: int = 255
    exclusive: tuple[tuple[str, ...], ...] = ()
    alternatives: tuple[str, ...] = ()
    recomputed: tuple[str, ...] = ()
    whole: tuple[str, ...] = ("tags", "tagsAll")
    tagged: bool = True
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    inert: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def known(self) -> tuple[str, ...]:
        """Return every value that is accepted."""
        return (*self.replace, *self.update, *self.unverified)

    def accepts(self, path: str) -> bool:
        """Tell whether a single value, by its whole path, may be given."""
        return path in self.known or path == "region" or (path == "tags" and self.tagged)

    def acts_on(self, name: str) -> bool:
        """Tell whether a property, or a part of it, stands in one of the lists."""
        if name == "region" or (name in ("tags", "tagsAll") and self.tagged):
            return True
        return any(each == name or each.startswith(f"{name}.") for each in self.known)

    def replaces(self, path: str) -> bool:
        """Tell whether a change of `path` (without indices) makes a new resource.

        The longest entry that `path` lies under decides.
        """
        if path == "region" or path.startswith("region."):
            return True
        hits = [each for each in self.known if _under(path, each)]
        return bool(hits) and max(hits, key=len) in self.replace


def _under(path: str, entry: str) -> bool:
    return path == entry or path.startswith(f"{entry}.")
