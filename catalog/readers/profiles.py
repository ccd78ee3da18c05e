"""Reads and writes memory profiles: `profiles/<name>.yaml`, one measured run each."""

from pathlib import Path
from typing import Final

from catalog.readers.own import own_reader
from catalog.readers.reading import Reader
from models.cases.profiles import MemoryProfile

HERE: Final = Path(__file__).parents[1] / "profiles"


def load_profiles(root: Path | None = None) -> tuple[MemoryProfile, ...]:
    """Return every profile under `root`, by name. Raises `ProblemsError` with all problems."""
    reader = own_reader("profiles") if root is None else Reader(root)
    found: list[MemoryProfile] = []
    for file in sorted(reader.root.glob("*.yaml")):
        profile = reader.model(file.name, MemoryProfile)
        if profile is not None:
            reader.same_name(file.name, "name", profile.name)
            found.append(profile)
    reader.finish("memory profiles")
    return tuple(found)


def profile_text(profile: MemoryProfile) -> str:
    """Return a profile as its file's text; what is not set is left out."""
    import yaml

    data = profile.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    text: str = yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType] - PyYAML's stub is partly untyped
        data, sort_keys=False, allow_unicode=True
    )
    return text


def write_profile(profile: MemoryProfile, root: Path | None = None) -> Path:
    """Write a profile and return its path; one of the same name is replaced."""
    folder = root or HERE
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{profile.name}.yaml"
    path.write_text(profile_text(profile), encoding="utf-8")
    return path
