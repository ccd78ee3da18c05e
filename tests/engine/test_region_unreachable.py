"""A region whose API server is down: it fails alone, or is suspended; nothing of it is lost.

Two regions: one on a control plane that is stopped, one whose manifests are written to files. The
real engine and the real Kubernetes provider, and the transformation that the program uses.
"""

import json
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, cast

import pytest

from sandbox import toolchain
from sandbox.cluster import cluster
from sandbox.core.paths import PROJECT_ROOT
from sandbox.toolchain import Toolchain

pytestmark = pytest.mark.engine

NAME: Final = "unreachable-region"
WEST: Final = "urn:pulumi:lab::lab::**::west*"
PROGRAM: Final = """
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TREE"])
import pulumi
import pulumi_kubernetes as k8s
from pulumi import ResourceOptions

from components.core.suspension import suspend


class Region(pulumi.ComponentResource):
    def __init__(self, name, provider, opts=None):
        super().__init__("triplane:region:Region", name, None, opts)
        child = ResourceOptions(parent=self)
        made = k8s.Provider(f"{name}-provider", opts=child, **provider)
        there = ResourceOptions(parent=self, provider=made)
        names = ["first", "second"] if "SECOND" in os.environ else ["first"]
        for each in names:
            k8s.core.v1.ConfigMap(
                f"{name}-{each}",
                metadata={
                    "name": each,
                    "namespace": "default",
                    # Changes in place; a change of data would replace the object.
                    "labels": {"value": os.environ["VALUE"]},
                },
                opts=there,
            )


kubeconfig = Path(os.environ["CONFIG"]).read_text()
frozen = [suspend] if "SUSPENDED" in os.environ else None
west = {"kubeconfig": kubeconfig, "cluster_identifier": "west"}
Region("west", west, ResourceOptions(transformations=frozen))
Region("east", {"render_yaml_to_directory": os.environ["EAST"]})
"""


class Stack:
    """The two regions in a project of their own."""

    def __init__(self, home: Path, tools: Toolchain, kubeconfig: Path) -> None:
        self.project, self.east = home / "project", home / "east"
        self.project.mkdir()
        (home / "state").mkdir()
        runtime = {"name": "python", "options": {"virtualenv": str(PROJECT_ROOT / ".venv")}}
        file = json.dumps({"name": "lab", "runtime": runtime})
        (self.project / "Pulumi.yaml").write_text(file)
        (self.project / "__main__.py").write_text(PROGRAM)
        self.command = [str(tools.path("pulumi")), "--non-interactive"]
        self.env = tools.env()
        self.env.pop("KUBECONFIG", None)
        self.env |= {
            "PULUMI_BACKEND_URL": f"file://{home / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "lab",
            "TREE": str(PROJECT_ROOT),
            "CONFIG": str(kubeconfig),
            "EAST": str(self.east),
        }
        assert self.run("stack", "select", "--create", "lab").returncode == 0

    def run(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run pulumi; the variables reach the program."""
        return subprocess.run(
            [*self.command, *words],
            cwd=self.project,
            env={**self.env, **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def up(self, value: str, *words: str, **variables: str) -> tuple[int, str]:
        """Update to a value; return the exit code and what was printed."""
        done = self.run("up", "--yes", "--skip-preview", *words, VALUE=value, **variables)
        return done.returncode, done.stdout + done.stderr

    def values(self) -> dict[str, str]:
        """Return the value that the state has of each object, by Pulumi name."""
        done = self.run("stack", "export", VALUE="")
        rows = cast("list[dict[str, Any]]", json.loads(done.stdout)["deployment"]["resources"])
        return {
            row["urn"].rsplit("::", 1)[-1]: row["inputs"]["metadata"]["labels"]["value"]
            for row in rows
            if row["type"] == "kubernetes:core/v1:ConfigMap"
        }


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack]:
    """Return the stack, up at value 1, with west's control plane stopped."""
    tools = toolchain.ensure()
    box = cluster.start(NAME, crd_sets=(), tools=tools)
    try:
        made = Stack(tmp_path_factory.mktemp("regions"), tools, box.kubeconfig)
        assert made.up("1", SECOND="yes")[0] == 0
        cluster.stop(NAME)
        yield made
    finally:
        cluster.stop(NAME, purge=True)


def test_one_region_fails_alone_and_the_others_are_finished(stack: Stack) -> None:
    """With --continue-on-error; the command still says that something failed."""
    code, text = stack.up("2", "--continue-on-error", SECOND="yes")
    assert code != 0
    assert "unreachable" in text
    assert stack.values() == {
        "west-first": "1",
        "west-second": "1",
        "east-first": "2",
        "east-second": "2",
    }


def test_what_is_taken_out_of_the_settings_is_not_forgotten(stack: Stack) -> None:
    """Deleting fails where nobody answers, and the object stays in the state."""
    code, text = stack.up("3", "--continue-on-error")
    assert code != 0
    assert "unreachable" in text
    assert "west-second" in stack.values()
    assert "east-second" not in stack.values()


def test_a_refresh_never_takes_silence_for_deletion(stack: Stack) -> None:
    done = stack.run("refresh", "--yes", "--skip-preview", VALUE="3")
    assert done.returncode != 0
    assert {"west-first", "west-second"} <= set(stack.values())


def test_a_suspended_region_stays_as_it_is_and_nothing_fails(stack: Stack) -> None:
    """One setting: exit code 0, west untouched, east changed."""
    code, text = stack.up("4", SECOND="yes", SUSPENDED="yes")
    assert code == 0, text
    values = stack.values()
    assert (values["west-first"], values["west-second"]) == ("1", "1")
    assert (values["east-first"], values["east-second"]) == ("4", "4")


def test_a_suspended_region_passes_preview_and_refresh(stack: Stack) -> None:
    previewed = stack.run("preview", VALUE="5", SECOND="yes", SUSPENDED="yes")
    assert previewed.returncode == 0, previewed.stdout + previewed.stderr
    # East's provider writes files, which nobody can read back.
    words = ("refresh", "--yes", "--skip-preview", "--target", WEST)
    refreshed = stack.run(*words, VALUE="5", SECOND="yes", SUSPENDED="yes")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    assert stack.values()["west-first"] == "1"


def test_a_region_can_be_left_out_of_one_command(stack: Stack) -> None:
    """Without a change of settings: --exclude by URN."""
    code, text = stack.up("6", "--exclude", WEST, SECOND="yes")
    assert code == 0, text
    values = stack.values()
    assert (values["west-first"], values["east-first"]) == ("1", "6")


def test_a_region_that_answers_again_catches_up(stack: Stack) -> None:
    """Suspended while it answers: still nothing changes. Then it is let go."""
    cluster.start(NAME, crd_sets=())
    code, text = stack.up("7", SECOND="yes", SUSPENDED="yes")
    assert code == 0, text
    assert stack.values()["west-first"] == "1"
    code, text = stack.up("7", SECOND="yes")
    assert code == 0, text
    assert set(stack.values().values()) == {"7"}
    code, text = stack.up("7", SECOND="yes")
    assert "unchanged" in text
    assert "~" not in text
