"""A guard on what holds data: an update that would lose some fails, already in the preview.

The program cannot see the state, and policies cannot either. A hook before the update can: the
engine hands it the resource's inputs as they were and as they become. `models/plan/changes.py`
judges.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import pulumi
from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceHookOptions

from models.plan.changes import cautions, losses


def guarded(name: str, label: str, accepted: Collection[str]) -> ResourceHookBinding:
    """Return hooks for one resource: `name` is unique in the program, `label` names the object.

    `accepted` are the objects whose data may be lost in this change (`accept_data_loss`).
    """

    def judge(args: ResourceHookArgs) -> None:
        refuse(label, args.type, args.old_inputs or {}, args.new_inputs or {}, accepted)

    # The hook must fail the preview: an update that loses data is not to be met half-way.
    hook = ResourceHook(f"{name}-guard", judge, ResourceHookOptions(on_dry_run=True))
    return ResourceHookBinding(before_update=[hook])


def refuse(
    label: str,
    type_token: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    accepted: Collection[str],
) -> None:
    """Raise where the update loses data that nobody has given up; say what needs doing first."""
    kind = type_token.rsplit(":", 1)[-1]
    for caution in cautions(kind, _plain(old), _plain(new)):
        pulumi.log.warn(str(replace(caution.of(label), path="")))
    lost = losses(kind, _plain(old), _plain(new))
    standing = [loss for loss in lost if not (loss.approvable and label in accepted)]
    if not standing:
        return
    lines = [str(replace(loss.of(label), path="")) for loss in standing]
    raise pulumi.RunError("\n".join(["this change loses data and is refused:", *lines]))


def _plain(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs as plain data; what the preview does not know yet is left out."""
    return {
        key: _value(member)
        for key, member in inputs.items()
        if not isinstance(member, pulumi.Output)
    }


def _value(member: Any) -> Any:
    if isinstance(member, Mapping):
        return _plain(cast("Mapping[str, Any]", member))
    if isinstance(member, list | tuple):
        listed = cast("list[Any]", member)
        return [_value(each) for each in listed if not isinstance(each, pulumi.Output)]
    return member
