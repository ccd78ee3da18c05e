"""One context of a kubeconfig."""

from typing import Any

import pytest

from models.core.kubeconfigs import only

pytestmark = pytest.mark.pure

FILE: dict[str, Any] = {
    "current-context": "other",
    "contexts": [
        {"name": "other", "context": {"cluster": "c2", "user": "u2"}},
        {"name": "edge", "context": {"cluster": "c1", "user": "u1", "namespace": "n"}},
    ],
    "clusters": [{"name": "c1", "cluster": {"server": "https://a"}}, {"name": "c2", "cluster": {}}],
    "users": [{"name": "u1", "user": {"token": "t"}}, {"name": "u2", "user": {"token": "s"}}],
}


def test_only_the_context_with_its_cluster_and_user_is_kept() -> None:
    found = only(FILE, "edge")
    assert found == {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "edge",
        "contexts": [FILE["contexts"][1]],
        "clusters": [FILE["clusters"][0]],
        "users": [FILE["users"][0]],
    }


def test_another_clusters_change_is_no_change() -> None:
    more: list[Any] = [*FILE["contexts"], {"name": "new", "context": {"cluster": "c3"}}]
    changed: dict[str, Any] = {**FILE, "contexts": more}
    assert only(changed, "edge") == only(FILE, "edge")


def test_a_context_that_is_not_there_is_none() -> None:
    assert only(FILE, "prod") is None
    assert only({"contexts": None}, "edge") is None
