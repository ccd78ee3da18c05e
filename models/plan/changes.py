"""What a change in place would lose: an object as it is against the object that it becomes.

The engine's own protection stops what would be replaced or deleted. This is about updates: fields
that a server refuses, ignores, or answers with lost data. Pure, over bodies in the API's own
spelling; used by the program while it previews (`components/core/guard.py`) and by the policy pack
over a preview's JSON (`policies/changes/preview.py`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from models.core.base import GIB
from models.core.findings import Finding, Severity, Source
from models.core.names import OPERATORS_ANNOTATION
from models.core.quantities import InvalidQuantityError, parse
from models.settings.options import Operators

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loss(Finding):
    """One thing that a change would lose. `approvable`: naming the object in the settings helps."""

    source: Source = field(default=Source.CHANGE, kw_only=True)
    approvable: bool = field(default=False, kw_only=True)

    def of(self, label: str) -> "Loss":
        """Return it with the object that it is about, and how to approve it."""
        approve = f'; approve: "accept_data_loss": ["{label}"]' if self.approvable else ""
        return replace(self, subject=label, remedy=f"{self.remedy}{approve}")


def judges(kind: str) -> bool:
    """Whether an update of objects of a kind can lose anything that is known here."""
    return kind in _JUDGES


def losses(kind: str, old: Body, new: Body) -> list[Loss]:
    """Return what an update of an object of a kind loses; nothing for kinds that lose nothing."""
    judge = _JUDGES.get(kind)
    return [] if judge is None else list(judge(old, new))


def cautions(kind: str, old: Body, new: Body) -> list[Loss]:
    """Return what an update loses nothing by, and yet needs something done first."""
    return list(_tolerations(old, new)) if kind == "Release" else []


def _tolerations(old: Body, new: Body) -> Iterator[Loss]:
    """LH-01: what Longhorn starts keeps its old tolerations while a volume is attached."""
    was, now = (
        _at(_at(each, "values"), "defaultSettings").get("taintToleration") for each in (old, new)
    )
    if is_storage(str(new.get("chart", ""))) and was != now:
        yield Loss(
            severity=Severity.WARNING,
            path="values.defaultSettings.taintToleration",
            message=f"Longhorn's tolerations change from {was or 'none'} to {now or 'none'}: it "
            "takes them over once all volumes are detached (LH-01)",
            remedy="scale the engines down for this update, or expect that new nodes get no volume "
            "before they restart",
        )


def _claim(old: Body, new: Body) -> Iterator[Loss]:
    yield from _shrunk(_size(_at(old, "spec")), _size(_at(new, "spec")), "spec.resources.requests")


def _tenant(old: Body, new: Body) -> Iterator[Loss]:
    """MINIO-01: a pool's servers and drives are fixed at its first start."""
    before, after = _pools(old), _pools(new)
    for name, was in before.items():
        where = f"spec.pools[{name}]"
        now = after.get(name)
        if now is None:
            yield Loss(
                path=where,
                message=f"pool {name!r} is removed, and the objects on its drives with it",
                remedy="decommission the pool first (mc admin decommission start), wait until it "
                "is drained, then approve its removal",
                approvable=True,
            )
            continue
        for key in ("servers", "volumesPerServer"):
            if was.get(key) != now.get(key):
                yield Loss(
                    path=f"{where}.{key}",
                    message=f"{key} of pool {name!r} changes from {_counted(was.get(key))} to "
                    f"{_counted(now.get(key))}: erasure sets are fixed at a pool's first start, "
                    "and new servers or drives never join (MINIO-01)",
                    remedy="leave the pool as it is, and add a further pool for more room",
                )
        yield from _shrunk(_size(_template(was)), _size(_template(now)), f"{where} drives")
        yield from _other_class(_template(was), _template(now), where)


def _counted(value: object) -> str:
    """Return a count as it was written: the engine hands every number over as a float."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _other_class(was: Body, now: Body, where: str) -> Iterator[Loss]:
    if was.get("storageClassName") != now.get("storageClassName"):
        yield Loss(
            path=f"{where}.volumeClaimTemplate",
            message=f"the drives' class changes from {was.get('storageClassName')!r} to "
            f"{now.get('storageClassName')!r}: a volume claim template cannot be changed",
            remedy="leave the pool's class, and add a pool with the other class",
        )


def _namespace(old: Body, new: Body) -> Iterator[Loss]:
    """Whoever stops installing operators uninstalls them, unless they were handed over before."""
    was, now = (_at(_at(each, "metadata"), "annotations") for each in (old, new))
    if (was.get(OPERATORS_ANNOTATION), now.get(OPERATORS_ANNOTATION)) == (
        Operators.MANAGED.value,
        Operators.EXTERNAL.value,
    ):
        yield Loss(
            path=f"metadata.annotations[{OPERATORS_ANNOTATION}]",
            message="operators go from managed to external in one step: every release would be "
            "uninstalled, most take their definitions along, and with a definition goes every "
            "object that is made of it",
            remedy="set operators to handover and update, then to external and update: releases, "
            "namespaces and definitions stay where they are (docs/operators.md)",
        )


def _stateful_set(old: Body, new: Body) -> Iterator[Loss]:
    was = {_name(each): _at(each, "spec") for each in _list(old, "volumeClaimTemplates")}
    now = {_name(each): _at(each, "spec") for each in _list(new, "volumeClaimTemplates")}
    for name in was.keys() & now.keys():
        yield from _shrunk(_size(was[name]), _size(now[name]), f"volumeClaimTemplates[{name}]")


def _release(old: Body, new: Body) -> Iterator[Loss]:
    """A chart whose upgrades go one step at a time."""
    reference = str(new.get("chart", ""))
    steps = next((steps for chart, steps in _STEPPED.items() if is_chart(reference, chart)), None)
    was, now = _version(old.get("version")), _version(new.get("version"))
    if steps is None or was is None or now is None or was == now:
        return
    name = reference.rstrip("/").rsplit("/", 1)[-1]
    text = f"{_shown(was)} to {_shown(now)}"
    if now < was:
        yield Loss(
            path="version",
            message=f"chart {name!r} goes back from {text}: {steps} refuses to start on newer data",
            remedy="stay, or go forward; to go back, restore from a backup",
        )
    elif now[0] != was[0] or now[1] - was[1] > 1:
        yield Loss(
            path="version",
            message=f"chart {name!r} jumps from {text}: {steps} upgrades one minor release at a "
            "time, and its manager refuses to start after a jump",
            remedy="go over each minor release between, with all volumes healthy before each step",
        )


_STEPPED: Final = {"longhorn": "Longhorn"}
"""Charts that upgrade one minor release at a time, and what they install. Longhorn:
longhorn/longhorn@v1.12.1, enhancements/20230315-upgrade-path-enforcement.md."""


def is_chart(reference: str, chart: str) -> bool:
    """Whether a release's chart (a name, an OCI reference or a packed file) is this one."""
    name = reference.rstrip("/").rsplit("/", 1)[-1]
    return re.fullmatch(rf"{chart}(-v?\d[\w.+-]*\.tgz)?", name) is not None


def is_storage(reference: str) -> bool:
    """Whether a release's chart keeps volumes. Uninstalled, it deletes all of the cluster's."""
    return is_chart(reference, "longhorn")


def _version(text: object) -> tuple[int, int, int] | None:
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", str(text))
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def _shown(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


def _shrunk(was: float | None, now: float | None, field: str) -> Iterator[Loss]:
    if was is not None and now is not None and now < was:
        yield Loss(
            path=field,
            message=f"the volume shrinks from {was:g} to {now:g} GiB: volumes only grow in place",
            remedy="keep the size; for a smaller volume make a new one and move the data",
        )


def _size(claim: Body) -> float | None:
    text = _at(_at(claim, "resources"), "requests").get("storage")
    try:
        return float(parse(text) / GIB) if isinstance(text, str | int | float) else None
    except InvalidQuantityError:
        return None  # the API server refuses it


def _pools(tenant: Body) -> dict[str, Body]:
    return {str(pool.get("name")): pool for pool in _list(tenant, "pools")}


def _template(pool: Body) -> Body:
    return _at(_at(pool, "volumeClaimTemplate"), "spec")


def _list(body: Body, key: str) -> list[Body]:
    found = _at(body, "spec").get(key)
    return [
        cast("Body", each)
        for each in (cast("list[object]", found) if isinstance(found, list) else [])
        if isinstance(each, Mapping)
    ]


def _name(template: Body) -> str:
    return str(_at(template, "metadata").get("name"))


def _at(body: Body, key: str) -> Body:
    found = body.get(key)
    return cast("Body", found) if isinstance(found, Mapping) else {}


_JUDGES: Final[Mapping[str, Callable[[Body, Body], Iterator[Loss]]]] = {
    "PersistentVolumeClaim": _claim,
    "Tenant": _tenant,
    "Namespace": _namespace,
    "StatefulSet": _stateful_set,
    "Release": _release,
}
