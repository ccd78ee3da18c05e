"""What one run is told: the pod's environment, read once and judged at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from catalog.programs.seed.errors import ConfigError, listed

MIB: Final = 1024**2
GIB: Final = 1024**3


@dataclass(frozen=True)
class Settings:
    """What to copy, from where, to where. Sizes in bytes, times in seconds."""

    model: str
    revision: str
    bucket: str
    prefix: str
    target: Path
    endpoint: str
    parallel: int
    chunk: int
    reserve: int
    verify_full: bool
    stale_sec: float
    require_checksums: bool = False
    addressing: Literal["auto", "path", "virtual"] = "auto"

    @property
    def source(self) -> str:
        """The source as a person writes it."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def where(self) -> str:
        """The store as a person names it."""
        return self.endpoint or "AWS S3"


class Environment:
    """Reads variables and gathers every problem, so that one run shows all of them."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.problems: list[str] = []

    def text(self, name: str, pattern: str, wanted: str, default: str = "") -> str:
        """Read a string that must match the whole pattern."""
        value = self.env.get(name) or default
        if not re.fullmatch(pattern, value):
            # Whatever has an "@" may be an address with a password in it.
            shown = "not shown, for it has an '@'" if "@" in value else repr(value)
            self.problems.append(f"{name} is {shown if value else 'not set'}; it must be {wanted}")
        return value

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """Read a number; the narrow pattern refuses 'nan', '1e9' and '1_0', which are slips."""
        value = self.env.get(name) or f"{default:g}"
        if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value) and low <= float(value) <= high:
            return float(value)
        self.problems.append(f"{name} is {value!r}; it must be a number from {low:g} to {high:g}")
        return default

    def addressing(self) -> Literal["auto", "path", "virtual"]:
        """Read where the bucket stands in an address; the SDK knows three words."""
        value = self.text(
            "S3_ADDRESSING_STYLE", "auto|path|virtual", "auto, path or virtual", "auto"
        )
        return "path" if value == "path" else "virtual" if value == "virtual" else "auto"


def read_settings(env: Mapping[str, str]) -> Settings:
    """Read the environment; raise one ConfigError that lists everything that is wrong."""
    read = Environment(env)
    name, wanted = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", "1 to 128 letters, digits, '.', '_', '-'"
    revision = rf"(?!current$)(?!.*\.partial$){name}"
    source = read.text(
        "TRIPLANE_SOURCE",
        r"s3://[A-Za-z0-9][A-Za-z0-9._-]{2,62}/[^/\s].*",
        "s3://bucket/prefix/, the folder that holds the weights",
    )
    bucket, _, prefix = source.removeprefix("s3://").partition("/")
    absolute = r"(?!.*/\.\.(/|$))/[^/].*"
    target = Path(read.text("TRIPLANE_TARGET", absolute, "absolute, such as /models/<name>"))
    if target.is_absolute() and not target.parent.is_dir():
        # Creating it would fill the container's own disk and lose the weights with the pod.
        folder = str(target.parent)
        read.problems.append(f"TRIPLANE_TARGET: {folder!r} is no directory; mount the volume there")
    settings = Settings(
        model=read.text("TRIPLANE_MODEL", name, wanted),
        revision=read.text("TRIPLANE_REVISION", revision, f"{wanted}, not 'current'"),
        bucket=bucket,
        prefix=prefix.rstrip("/") + "/",
        target=target,
        endpoint=read.text(
            "S3_ENDPOINT_URL",
            r"(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[1-9]\d{0,4})?(/[^@\s]*)?)?",
            "http(s)://host[:port], without credentials",
        ),
        parallel=int(read.number("TRIPLANE_PARALLEL", 8, 1, 64)),
        chunk=int(read.number("TRIPLANE_CHUNK_MIB", 64, 1, 1024) * MIB),
        reserve=int(read.number("TRIPLANE_RESERVE_GIB", 1, 0, 1e6) * GIB),
        verify_full=read.text("TRIPLANE_VERIFY", "size|full", "size or full", "size") == "full",
        stale_sec=read.number("TRIPLANE_LOCK_STALE_SEC", 60, 2, 3600),
        require_checksums=read.text("TRIPLANE_REQUIRE", "any|checksum", "any or checksum", "any")
        == "checksum",
        addressing=read.addressing(),
    )
    if read.problems:
        raise ConfigError(f"unusable environment; nothing was done:{listed(read.problems)}")
    return settings
