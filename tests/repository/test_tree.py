"""What may not stand anywhere in the tree: registry hosts, machine paths, copies of shared data."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

FORBIDDEN: Final = {
    "a package registry's host": re.compile(
        r"pypi\.org|pythonhosted\.org|" + r"proxy\.golang\.org|registry\.npmjs|deb\.debian\.org"
    ),
    "a path of one machine": re.compile(r"(?<![\w.])/(?:root|home/\w+|work)/"),
    "an index address": re.compile(r"--(?:extra-)?index-url\s+\S+://"),
}
THIS: Final = Path(__file__).relative_to(ROOT)


def tracked() -> list[Path]:
    """Return the files that belong to the project, committed or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


@pytest.mark.process
def test_no_file_names_a_registry_or_a_machine() -> None:
    """The project works wherever it is cloned, with whatever mirror its user has."""
    found: list[str] = []
    files = tracked()
    assert len(files) > 50
    for path in files:
        if path.relative_to(ROOT) == THIS:
            continue
        text = path.read_text(errors="replace")
        found += [
            f"{path.relative_to(ROOT)}: {what}: {match.group(0)}"
            for what, pattern in FORBIDDEN.items()
            for match in pattern.finditer(text)
        ]
    assert not found, "\n".join(found)


@pytest.mark.pure
def test_requirements_are_locked_with_hashes() -> None:
    """A package without a hash could be anything."""
    text = (ROOT / "requirements.lock").read_text()
    entries = re.findall(r"^[A-Za-z0-9_.-]+==[^\s\\]+(?:[^\n\\]*)\\\n", text, re.MULTILINE)
    assert len(entries) > 40
    assert text.count("==") <= text.count("--hash=sha256:")
    assert "://" not in text


@pytest.mark.pure
def test_test_modules_have_names_of_their_own() -> None:
    """They are imported by their bare name: two of one name hide each other."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) > 50
    assert sorted({name for name in names if names.count(name) > 1}) == []
