"""Of which wave a resource is (`components/core/waves.py`), told by its URN."""

import re
from typing import Final

NAMES: Final = {
    -4: "cluster",
    -3: "namespaces, secrets, certificates",
    -2: "volumes and weights",
    -1: "accelerators",
    0: "engines",
    1: "gateway, routes, autoscaling",
    2: "proof",
}

_COMPONENTS: Final[tuple[tuple[str, int], ...]] = (
    ("triplane:aws:GatewayRecord", 1),
    ("triplane:storage:ModelCollection", 1),
    ("triplane:gateway:", 1),
    ("triplane:autoscaling:", 1),
    ("triplane:engine:", 0),
    ("triplane:storage:", -2),
    ("triplane:namespaces:", -3),
    ("triplane:nodes:", -3),
    ("triplane:secrets:", -3),
    ("triplane:certificates:", -3),
    ("triplane:aws:", -4),
)
"""By a component's type, also of a component that the resource is in; the first counts."""

_OPERATORS: Final = re.compile(r"-operators([+-]\d)-")


def wave_of(urn: str) -> int | None:
    """Return the wave of a resource; None where its type does not say."""
    operator = _OPERATORS.search(urn)
    if operator is not None:
        return int(operator[1])
    return next((wave for component, wave in _COMPONENTS if component in urn), None)
