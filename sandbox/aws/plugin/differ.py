"""Diff: what changed, and whether it takes a new resource."""

from dataclasses import dataclass

from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.plain import bare, canonical, changes
from sandbox.aws.core.values import Props, is_empty
from sandbox.aws.plugin.checks import DEFAULTS


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """`paths` maps a property path to add, delete or update; `replacing` are those that replace."""

    paths: dict[str, str]
    replacing: frozenset[str]
    delete_first: bool


def compare(kind: AwsKind, old: Props, new: Props) -> Difference:
    """Compare a resource's old inputs with its new ones."""
    paths = changes(old, new, kind.rules)
    switched = _switched(kind, old, new)
    replacing = frozenset(
        path for path in paths if path in switched or kind.rules.replaces(bare(path))
    )
    return Difference(
        paths=paths,
        replacing=replacing,
        delete_first=bool(replacing) and _same_name(kind, old, new),
    )


def _switched(kind: AwsKind, old: Props, new: Props) -> set[str]:
    """Return the alternatives where another one is given than before."""
    before = {name for name in kind.rules.alternatives if not is_empty(old.get(name))}
    after = {name for name in kind.rules.alternatives if not is_empty(new.get(name))}
    return set() if before == after else before | after


def _same_name(kind: AwsKind, old: Props, new: Props) -> bool:
    """Tell whether both would have the same name of the program's own: then the old goes first."""
    name = kind.rules.name
    if name is None or name not in new or name in new.get(DEFAULTS, []):
        return False
    return canonical(old.get(name), kind.rules, name) == canonical(new[name], kind.rules, name)
