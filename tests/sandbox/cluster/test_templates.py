"""Data of a control plane with its definitions, kept to begin others from."""

from pathlib import Path

import pytest

from sandbox.cluster import templates
from sandbox.cluster.cluster import Sandbox
from sandbox.cluster.templates import DATA, RECORD, Templates
from sandbox.crds import sources as crds
from sandbox.crds.sources import PinnedDefinition
from sandbox.toolchain import Toolchain
from tests.helpers.sandbox.cluster import CRD_SETS

FIRST, SECOND = crds.read_lock()[:2]


def definition(lock: crds.CrdLock, text: bytes = b"{}") -> PinnedDefinition:
    return PinnedDefinition(lock=lock, text=text, source="shared")


@pytest.fixture
def tools_of(tmp_path: Path) -> Toolchain:
    """A toolchain of empty files."""
    for name in ("etcd", "kube-apiserver", "kwok"):
        build = tmp_path / "builds" / f"{name}-one" / name
        build.parent.mkdir(parents=True)
        build.touch()
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(build)
    return Toolchain(bin_dir=tmp_path / "bin", pulumi_home=tmp_path, official=False)


class Workshop:
    """Plays the control plane that loads the definitions."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.times = 0

    def __call__(self) -> Path:
        self.times += 1
        wal = self.home / DATA / "member" / "wal"
        wal.mkdir(parents=True)
        (wal / "0.wal").write_text("definitions")
        (wal / "1.tmp").write_text("reserved")
        (self.home / RECORD).write_text("{}")
        return self.home


@pytest.mark.pure
def test_definitions_are_loaded_once_for_many_sandboxes(tmp_path: Path) -> None:
    kept, workshop = Templates(root=tmp_path / "kept"), Workshop(tmp_path / "workshop")
    for name in ("one", "other"):
        home = tmp_path / name
        home.mkdir()
        kept.lay("key", home, workshop)
        assert (home / DATA / "member" / "wal" / "0.wal").read_text() == "definitions"
        assert (home / RECORD).read_text() == "{}"
        assert not list(home.rglob("*.tmp")), "64 MB that etcd only reserves"
    assert workshop.times == 1


@pytest.mark.pure
def test_sandboxes_do_not_share_what_they_write(tmp_path: Path) -> None:
    kept, workshop = Templates(root=tmp_path / "kept"), Workshop(tmp_path / "workshop")
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        kept.lay("key", tmp_path / name, workshop)
        log = tmp_path / name / DATA / "member" / "wal" / "0.wal"
        assert log.read_text() == "definitions"
        log.write_text("a stack")


@pytest.mark.pure
def test_definitions_that_could_not_be_loaded_are_not_kept(tmp_path: Path) -> None:
    """Half of them would be missing in every sandbox to come."""
    home, kept = tmp_path / "home", Templates(root=tmp_path / "kept")
    home.mkdir()

    def broken() -> Path:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        kept.lay("key", home, broken)
    assert not (home / DATA).exists()
    workshop = Workshop(tmp_path / "workshop")
    kept.lay("key", home, workshop)
    assert workshop.times == 1


@pytest.mark.pure
def test_other_definitions_and_other_tools_make_another_template(tools_of: Toolchain) -> None:
    """Whatever reads or wrote the data counts, and no more: kwok may change."""
    both = [definition(FIRST), definition(SECOND)]
    name = templates.key(tools_of, both)
    assert templates.key(tools_of, list(reversed(both))) == name
    assert templates.key(tools_of, both[:1]) != name
    assert templates.key(tools_of, [definition(FIRST, b"[]"), definition(SECOND)]) != name
    for tool, changes in (("kwok", False), ("etcd", True)):
        build = tools_of.path(tool).resolve()
        newer = build.parents[1] / f"{tool}-two" / tool
        newer.parent.mkdir()
        newer.touch()
        link = tools_of.bin_dir / tool
        link.unlink()
        link.symlink_to(newer)
        assert (templates.key(tools_of, both) != name) is changes, tool


@pytest.mark.engine
def test_a_new_sandbox_has_its_definitions_and_nobodys_objects(shared_box: Sandbox) -> None:
    api = shared_box.api()
    wanted = {lock.name for lock in crds.select(crds.read_lock(), CRD_SETS)}
    assert api.names("/apis/apiextensions.k8s.io/v1/customresourcedefinitions") == wanted
    spaces = api.names("/api/v1/namespaces")
    assert {"default", "kube-node-lease", "kube-public", "kube-system"} <= spaces
    assert api.list("/api/v1/secrets") == []
    assert (shared_box.home / RECORD).exists()
