"""Conditions: how they are made and how they get their time stamps."""

from typing import Any, cast

from sandbox.core.kube import Object


def condition(obj: Object, kind: str, ok: bool, reason: str, message: str) -> Object:
    """Return a condition about the present generation of `obj`, without a time yet."""
    return {
        "type": kind,
        "status": "True" if ok else "False",
        "reason": reason,
        "message": message,
        "observedGeneration": obj["metadata"].get("generation", 0),
    }


def stamped(new: Object, old: Object, now: str) -> Object:
    """Return `new` with `lastTransitionTime` on every condition, kept where nothing turned.

    Elements of lists are matched by what they are about (type, name or reference), not by place.
    """
    result = {key: _stamp(value, old.get(key), now) for key, value in new.items()}
    if {"type", "status", "reason"} <= new.keys():
        same = old.get("status") == new["status"]
        result["lastTransitionTime"] = old.get("lastTransitionTime", now) if same else now
    return result


def _stamp(new: Any, old: Any, now: str) -> Any:
    if isinstance(new, dict):
        return stamped(cast(Object, new), cast(Object, old) if isinstance(old, dict) else {}, now)
    if isinstance(new, list):
        items = cast(list[Any], new)
        previous = cast(list[Any], old) if isinstance(old, list) else []
        before = {_identity(item): item for item in previous}
        return [_stamp(item, before.get(_identity(item)), now) for item in items]
    return new


def _identity(item: Any) -> str:
    if isinstance(item, dict):
        fields = cast(Object, item)
        for key in ("type", "parentRef", "ancestorRef", "name"):
            if key in fields:
                return f"{key}={fields[key]}"
    return repr(cast(object, item))
