"""The one place that reaches behind the SDK: the stack's configuration.

The engine hands it to every analyzer (`AnalyzerStackConfigureRequest.config`), but the SDK for
Python (1.21) keeps only the stack's tags. Recorded exceptions stand in that configuration. Should
the SDK change, nothing is received and no exception holds: the preview refuses more, never less.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pulumi.runtime import get_config_env
from pulumi_policy import policy as sdk

Receive = Callable[[Mapping[str, str]], None]


def watch_configuration(receive: Receive) -> None:
    """Call `receive` with the stack's configuration, before any resource is shown.

    Older engines give it by environment, and then it is received at once.
    """
    known = get_config_env()
    if known:
        receive({str(key): str(value) for key, value in known.items()})
    servicer: Any = getattr(sdk, "_PolicyAnalyzerServicer", None)
    original: Any = getattr(servicer, "ConfigureStack", None)
    if original is None:
        return

    def configure(self: Any, request: Any, context: Any) -> Any:
        receive(dict(request.config))
        return original(self, request, context)

    servicer.ConfigureStack = configure
