"""The tables of docs/stand-in.md, made from the types: `python -m sandbox.aws.tables`."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sandbox.aws.core.kind import AwsKind
from sandbox.aws.kinds import KINDS
from sandbox.aws.plugin.invokes import INVOKES
from sandbox.aws.server.eks import OWN
from sandbox.core.paths import PROJECT_ROOT

DOCUMENT: Final = PROJECT_ROOT / "docs" / "stand-in.md"
BEGIN: Final = "<!-- made by python -m sandbox.aws.tables -->"
END: Final = "<!-- end of what was made -->"


def text() -> str:
    """Return what stands between the marks."""
    accounted = [*_unread(), "", *_inert()]
    parts = [*_types(), "", *_unverified(), "", *accounted, "", *_own(), "", *_invokes()]
    return "\n".join(["", *parts, ""])


def _types() -> Iterator[str]:
    yield "### Types, and what a change of each property does"
    yield ""
    yield (
        "Sources are files of hashicorp/terraform-provider-aws, the provider that pulumi-aws "
        "wraps. `region` replaces and `tags` are updated in place everywhere."
    )
    yield ""
    yield "| type | replaces | updates in place | source |"
    yield "|---|---|---|---|"
    for kind in _sorted():
        rules = kind.rules
        row = (f"`{kind.sdk}`", _names(rules.replace), _names(rules.update), f"`{rules.source}`")
        yield f"| {' | '.join(row)} |"


def _unverified() -> Iterator[str]:
    yield "### Properties without a citation"
    yield ""
    yield "| type | property, taken as updated in place |"
    yield "|---|---|"
    for kind in _sorted():
        if kind.rules.unverified:
            yield f"| `{kind.sdk}` | {_names(kind.rules.unverified)} |"


def _unread() -> Iterator[str]:
    yield "### Accepted and not read back"
    yield ""
    yield "A refresh cannot tell that these differ: no API tells them, or moto drops them."
    yield ""
    yield "| type | property | what it does |"
    yield "|---|---|---|"
    yield from _reasons({kind.sdk: kind.rules.unread for kind in _sorted()})


def _inert() -> Iterator[str]:
    yield "### Accepted, and without an effect on a cluster here"
    yield ""
    yield "| type | property | why |"
    yield "|---|---|---|"
    yield from _reasons({kind.sdk: kind.rules.inert for kind in _sorted()})


def _reasons(by_type: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for sdk, reasons in by_type.items():
        for reason in dict.fromkeys(reasons.values()):
            same = tuple(path for path, text in reasons.items() if text == reason)
            yield f"| `{sdk}` | {_names(same)} | {reason} |"


def _own() -> Iterator[str]:
    yield "### EKS calls that it answers itself"
    yield ""
    yield from (f"- `{route}`" for route in OWN)


def _invokes() -> Iterator[str]:
    yield "### Data sources"
    yield ""
    yield from (f"- `{token}`" for token in INVOKES)


def _sorted() -> list[AwsKind]:
    return sorted(KINDS.values(), key=lambda kind: kind.sdk)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "none"


def renewed(document: str) -> str:
    """Return the document with fresh tables; raises `ValueError` where the marks are missing."""
    head, found, rest = document.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        message = f"{DOCUMENT.name} has lost the marks {BEGIN!r} and {END!r}"
        raise ValueError(message)
    return f"{head}{BEGIN}{text()}{END}{tail}"


def main(path: Path = DOCUMENT) -> int:
    """Renew the tables of docs/stand-in.md."""
    path.write_text(renewed(path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
