"""A provider's configuration: which account and region, which default tags."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.core.api import DEFAULT_ACCOUNT, Aws
from sandbox.aws.core.home import StandInHome
from sandbox.aws.core.values import Props, has_unknown, part

ACTED_ON: Final = ("region", "defaultTags", "allowedAccountIds")

IGNORED: Final = (
    "accessKey",
    "secretKey",
    "token",
    "profile",
    "assumeRoles",
    "assumeRoleWithWebIdentity",
    "sharedConfigFiles",
    "sharedCredentialsFiles",
    "maxRetries",
    "retryMode",
    "skipCredentialsValidation",
    "skipMetadataApiCheck",
    "skipRegionValidation",
    "skipRequestingAccountId",
    "version",
    "pluginDownloadURL",
)
"""Whose credentials are used means nothing here: no request leaves the machine."""


def plain(raw: Mapping[str, Any]) -> Props:
    """Return configuration with values in their own types: the engine sends all as JSON text."""
    return {key: _opened(key, value) for key, value in raw.items() if value is not None}


def _opened(key: str, value: Any) -> Any:
    if key not in ("region",) and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def problems(config: Props) -> list[Finding]:
    """Return what the stand-in cannot honor; being pointed at any endpoint above all."""
    found: list[Finding] = []
    for key, value in config.items():
        if key in ACTED_ON or key in IGNORED or has_unknown(value):
            continue
        found.append(
            Finding(
                path=key,
                message="the AWS stand-in does not take this provider setting",
                value=None if "key" in key.lower() else shown(value),
                allowed=", ".join(ACTED_ON),
                remedy="its endpoint is moto's on the loopback address and cannot be set",
            )
        )
    if not config.get("region"):
        found.append(
            Finding(path="region", message="no region is given", remedy="aws.Provider(region=...)")
        )
    return found


def connect(home: StandInHome, config: Props) -> tuple[Aws, dict[str, str]]:
    """Return the account to talk to and the default tags."""
    label, endpoint = home.read_config()
    accounts = cast("list[str]", config.get("allowedAccountIds") or [DEFAULT_ACCOUNT])
    tags = part(part(config, "defaultTags"), "tags")
    aws = Aws(
        region=str(config["region"]),
        endpoint=endpoint,
        account=str(accounts[0]),
        home=home,
        label=label,
    )
    return aws, tags
