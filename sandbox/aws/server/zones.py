"""Hosted zones with a given id.

AWS gives a zone its id, and so does moto. Settings name a zone that exists by the id that AWS gave
it, so that the zone which stands for it here must have the same.
"""

import importlib
import re
from typing import Any, Final

from sandbox.aws.server.wire import AwsRequest

CREATE: Final = "POST /2013-04-01/hostedzone"
REFERENCE: Final = "zone-id:"
"""A caller reference that begins like this goes on with the id that is wanted."""

_ID: Final = re.compile(rf"<CallerReference>{REFERENCE}(\w+)</CallerReference>")
_NAME: Final = re.compile(r"<Name>([^<]+?)\.?</Name>")


def keep_id(request: AwsRequest) -> None:
    """Let moto give the zone that is being created the id that its caller reference asks for."""
    body = request.body.decode()
    wanted, name = _ID.search(body), _NAME.search(body)
    if wanted is None or name is None:
        return
    # By name: these parts of moto have no types.
    ids: Any = importlib.import_module("moto.utilities.id_generator")
    route53: Any = importlib.import_module("moto.route53.models")
    zone = route53.HostedZoneIdentifier(request.account, f"{name[1]}.", None)
    ids.moto_id_manager.set_custom_id(zone, wanted[1])
