"""What secrets look like, whatever they are called: for settings and for the policy pack.

Messages name where one stands and what it looks like, never the value.
"""

import re
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from models.core.findings import Finding

SHAPES: Final = (
    ("a Hugging Face token", re.compile(r"\bhf_[A-Za-z0-9]{20,}\b")),
    ("an API key", re.compile(r"\bsk-[A-Za-z0-9_-]{20,}")),
    ("an AWS access key", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})")),
    ("a Slack token", re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a JSON web token", re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}")),
    ("a password in a URL", re.compile(r"://[^/\s:@$({]+:[^/\s@$({]{3,}@")),
)


def shape_of(value: str) -> str | None:
    """Return what a value is by its shape, whatever it is called."""
    return next((what for what, shape in SHAPES if shape.search(value)), None)


def secrets_in_clear(value: JsonValue, path: str = "") -> Iterator[Finding]:
    """Yield a problem for every text in settings that looks like a secret."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from secrets_in_clear(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from secrets_in_clear(member, f"{path}[{index}]")
    elif isinstance(value, str) and (what := shape_of(value)) is not None:
        yield Finding(
            path=path,
            message=f"the value looks like {what} (it is not shown); this file is for everybody",
            remedy="keep it where the region's `secrets` say (docs/secrets.md), remove it here, "
            "and replace it: it has been in plain text",
        )
