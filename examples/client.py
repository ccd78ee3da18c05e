"""Reads a stack's outputs (JSON on standard input) and lists what each region serves.

An example for client programs; standard library only. Exit code 2 where the input is not the
output of a Triplane stack.
"""

import json
import sys
from typing import Any


def lines(outputs: dict[str, Any]) -> list[str]:
    """Return one line per model: region, id, endpoint and capacity."""
    return [
        f"{name}: {model['id']} at {model['endpoint']}, up to {model['maxModelLen']} tokens"
        for name, region in sorted(outputs["regions"].items())
        for model in region["models"]
    ]


def main() -> int:
    """Print the models, or say what is wrong with the input."""
    try:
        found = lines(json.load(sys.stdin))
    except (ValueError, KeyError, TypeError) as error:
        print(f"not the output of a Triplane stack (pulumi stack output --json): {error!r}")
        return 2
    print("\n".join(found) or "no models are served")
    return 0


if __name__ == "__main__":
    sys.exit(main())
