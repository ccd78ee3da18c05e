"""Keys, versions and messages of the toolchain; nothing is built here."""

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from sandbox.toolchain import bindir, build, go
from sandbox.toolchain import table as toolchain_table
from sandbox.toolchain.table import TOOLS, Tool
from tests.helpers.sandbox.toolchain import ETCD, script

pytestmark = pytest.mark.pure


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


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.changed], ids=lambda tool: tool.name
)
def test_a_changed_module_is_the_one_that_go_mod_names_and_replaces(tool: Tool) -> None:
    """Go checks no replaced module: it is fetched and summed by what the table says."""
    assert tool.changed is not None
    text = (tool.source / "go.mod").read_text()
    assert f"{tool.changed.module} {tool.changed.version}" in text
    assert f"replace {tool.changed.module} => ./{build.OVERLAY}" in text
    assert f"module {tool.changed.module}\n" in (tool.source / build.OVERLAY / "go.mod").read_text()


def test_the_message_without_go_is_one_line_with_the_mend() -> None:
    """The first thing a newcomer may see."""
    text = go.missing_go_message(Version("1.26.6"), ["/usr/bin/go is 1.19"])
    assert "\n" not in text
    assert "Go >= 1.26.6" in text
    assert "/usr/bin/go is 1.19" in text
    assert "put one on PATH" in text


def test_a_bin_directory_is_made_once_and_its_host_is_beside_pulumi(tmp_path: Path) -> None:
    """Pulumi warns in every command of a language host that is not beside its own executable."""
    binary = script(tmp_path / "build" / "pulumi", "exit 0")
    provider = script(tmp_path / "build" / "pulumi-resource-kubernetes", "exit 0")
    files = {"pulumi": binary, "pulumi-resource-kubernetes": provider}
    first = bindir.ensure(tmp_path / "bin", files)
    assert bindir.ensure(tmp_path / "bin", files) == first
    assert not (first / "pulumi").is_symlink()
    assert (first / "pulumi-language-python").exists()
    assert not (first / "pulumi-resource-kubernetes").exists(), "found on PATH it causes a warning"
    bindir.install_plugin(first, tmp_path / "home", "4.25.0")
    plugin = tmp_path / "home/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes"
    assert plugin.resolve() == provider.resolve()
