"""Secret stack settings as the program reads them."""

from collections.abc import Mapping

import pulumi
from pulumi import Output
from pulumi.runtime.config import is_config_secret


def stored(config: pulumi.Config, key: str) -> Output[Mapping[str, str]]:
    """Return a secret stack setting (JSON).

    Raises `RunError` for one that stands in the stack's file in clear, and where it is missing.
    """
    name = f"{config.name}:{key}"
    if config.get(key) is not None and not is_config_secret(name):
        message = (
            f"the stack setting {name} stands in the stack's file in clear. Set it again with "
            f"pulumi config set --secret {name}, and replace the secret: it has been in plain text"
        )
        raise pulumi.RunError(message)
    return config.require_secret_object(key)
