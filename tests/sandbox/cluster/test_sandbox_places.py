"""Where things are kept, which ports are chosen, and who waits for whom."""

import json
import threading
from pathlib import Path

import pytest

from sandbox.core import locks, ports
from sandbox.core.errors import SandboxError
from sandbox.core.paths import PROJECT_ROOT, cache_root, sandboxes_home

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TRIPLANE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/triplane")),
        ({"TRIPLANE_CACHE": "", "XDG_CACHE_HOME": ""}, Path.home() / ".cache" / "triplane"),
    ],
)
def test_the_cache_is_where_the_environment_says(environ: dict[str, str], expected: Path) -> None:
    """An empty variable is an unset one."""
    assert cache_root(environ) == expected


def test_sandboxes_can_be_kept_apart_from_the_tools() -> None:
    """Credentials may have to be on another disk than half a gigabyte of tools."""
    assert sandboxes_home({"TRIPLANE_SANDBOX_HOME": "/s"}) == Path("/s")
    assert sandboxes_home({"TRIPLANE_CACHE": "/a"}) == Path("/a/sandboxes")


def test_nothing_is_kept_in_the_tree() -> None:
    """A clean checkout must not cost the toolchain, nor a commit take a token along."""
    assert not cache_root({}).is_relative_to(PROJECT_ROOT)


def test_ports_are_kept_and_never_shared(tmp_path: Path) -> None:
    """A stopped sandbox still owns its ports: its kubeconfig names one."""
    chosen: list[dict[str, int]] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        chosen.append(ports.ensure(tmp_path, tmp_path / name, ("a", "b", "c")))
    everything = [port for each in chosen for port in each.values()]
    assert len(set(everything)) == 6
    assert ports.ensure(tmp_path, tmp_path / "one", ("a", "b", "c")) == chosen[0]


def test_a_new_role_gets_a_port_without_moving_the_others(tmp_path: Path) -> None:
    """An update of the project that adds a process must not break old kubeconfigs."""
    (tmp_path / "one").mkdir()
    before = ports.ensure(tmp_path, tmp_path / "one", ("a",))
    after = ports.ensure(tmp_path, tmp_path / "one", ("a", "b"))
    assert after["a"] == before["a"]
    assert json.loads((tmp_path / "one" / "ports.json").read_text()) == after


def test_a_taken_port_is_named_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bind error deep in a log would not say which sandbox to purge."""

    def taken(_port: int) -> bool:
        return False

    monkeypatch.setattr(ports, "is_free", taken)
    monkeypatch.setattr(ports, "_RELEASE_TIMEOUT_SEC", 0.0)
    with pytest.raises(SandboxError, match=r"port 16001 of etcd is taken .* purge the sandbox"):
        ports.require_free(16001, "etcd")


def test_a_second_holder_waits_and_says_so(tmp_path: Path) -> None:
    """Two builds at once: a silent wait of half an hour looks like a hang."""
    said = threading.Event()
    entered = threading.Event()

    def second() -> None:
        with locks.exclusive(tmp_path / "lock", said.set):
            entered.set()

    with locks.exclusive(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        assert said.wait(5)
        assert not entered.is_set()
    assert entered.wait(5)
    thread.join()
