"""Where CRDs come from, in which order, and what is refused."""

import hashlib
import json
from pathlib import Path

import pytest
import requests

from sandbox.core.errors import SandboxError
from sandbox.core.kube import Object
from sandbox.crds import sources as crds
from sandbox.crds import text as crd_text
from sandbox.crds.sources import CrdLock, CrdVersion

pytestmark = pytest.mark.pure

SPEC: Object = {
    "group": "example.com",
    "names": {"kind": "Widget", "plural": "widgets"},
    "scope": "Namespaced",
    "versions": [{"name": "v1", "served": True, "storage": True}],
}
TEXT = json.dumps(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": SPEC,
    }
).encode()
LOCK = CrdLock(
    file="widgets/widgets.example.com.yaml",
    group="example.com",
    kind="Widget",
    plural="widgets",
    scope="Namespaced",
    versions=(CrdVersion(name="v1", served=True, storage=True, status=True),),
    url="https://example.invalid/widgets.yaml",
    ref="v1.0.0",
    sha256=hashlib.sha256(TEXT).hexdigest(),
    spec_sha256=crd_text.spec_digest({"spec": SPEC}),
)


def _no_network(url: str) -> bytes:
    raise requests.ConnectionError(url)


def _shared(tmp_path: Path, text: bytes) -> Path:
    path = tmp_path / LOCK.file
    path.parent.mkdir()
    path.write_bytes(text)
    return tmp_path


def test_the_shared_directory_comes_first(tmp_path: Path) -> None:
    """It is there on the machines we build on, and costs no network."""

    def never(url: str) -> bytes:
        raise AssertionError(f"downloaded {url} although the file is there")

    found = crds.resolve(LOCK, _shared(tmp_path, TEXT), never)
    assert (found.source, found.text) == ("shared", TEXT)


def test_a_changed_shared_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    """A file that is not what the lock says must not be replaced by a weaker one in silence."""
    shared = _shared(tmp_path, TEXT + b"\n")
    with pytest.raises(SandboxError, match=r"widgets\.example\.com\.yaml has sha256 .* says"):
        crds.resolve(LOCK, shared, _no_network)


def test_without_the_directory_the_locked_address_is_downloaded(tmp_path: Path) -> None:
    """On any other machine the same text comes from upstream."""
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return TEXT

    found = crds.resolve(LOCK, tmp_path, fetch)
    assert found.source == "download"
    assert asked == [LOCK.url]
    assert json.loads(found.text)["spec"] == SPEC


def test_a_download_with_other_content_is_refused(tmp_path: Path) -> None:
    """An address whose content moved is an attack or a mistake, never a fallback."""
    other = TEXT.replace(b"Namespaced", b"Cluster")
    with pytest.raises(SandboxError, match=r"spec sha256 .* the address changed its content"):
        crds.resolve(LOCK, tmp_path, lambda _: other)


def test_a_chart_template_gives_the_definition_without_its_template_lines() -> None:
    """Some upstream files are Helm templates that hold several definitions."""
    chart = b"{{- if .Values.crds }}\n" + TEXT + b"\n---\nkind: Other\n{{- end }}\n"
    assert [crd["spec"] for crd in crd_text.parse(chart, chart=True)] == [SPEC]


def test_yaml_that_only_older_readers_take_for_more_than_text_stays_text() -> None:
    """Kubernetes reads `=` and dates as strings; PyYAML would not."""
    text = b"kind: CustomResourceDefinition\nspec: {enum: [=, '!='], since: 2024-01-02}\n"
    (crd,) = crd_text.parse(text, chart=False)
    assert crd["spec"] == {"enum": ["=", "!="], "since": "2024-01-02"}


def test_without_file_and_network_a_permissive_definition_and_one_warning(tmp_path: Path) -> None:
    """The sandbox must still come up, and must say that it validates less."""
    said: list[str] = []
    (found,) = crds.resolve_all([LOCK], said.append, tmp_path, _no_network)
    assert found.source == "permissive"
    crd = json.loads(found.text)
    assert crd["metadata"]["name"] == "widgets.example.com"
    version = crd["spec"]["versions"][0]
    assert version["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] is True
    assert version["subresources"] == {"status": {}}, "the stand-ins write there"
    (warning,) = said
    assert "1 CRDs are permissive" in warning
    assert "widgets.example.com" in warning


def test_an_unknown_set_is_refused_with_those_that_exist() -> None:
    """A misspelt set would otherwise load nothing and fail much later."""
    with pytest.raises(SandboxError, match=r"CRD sets keeda are not in .* keda"):
        crds.select(crds.read_lock(), ["keeda"])


def test_the_lock_covers_the_default_sets_and_names_exact_commits() -> None:
    """A branch in an address would change under us."""
    locks = crds.select(crds.read_lock(), crds.DEFAULT_SETS)
    assert {lock.set for lock in locks} == set(crds.DEFAULT_SETS)
    for lock in locks:
        commit = lock.url.split("/")[5]
        assert len(commit) == 40, f"{lock.name}: {lock.url} does not name a commit"
        assert sum(version.storage for version in lock.versions) == 1


def test_no_kind_is_locked_twice_in_the_default_sets() -> None:
    """Two definitions of one kind would overwrite each other at every start."""
    names = [lock.name for lock in crds.select(crds.read_lock(), crds.DEFAULT_SETS)]
    assert len(names) == len(set(names))
