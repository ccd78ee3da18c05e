"""Reads what people deploy: YAML and JSON files, folders, standard input; one bad file stops none.

Chart templates and `${VAR}` are read too: a placeholder becomes a value that is not known, with the
text around it, and the objects of such a file count as fragments.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

import yaml

from cli.reading.placeholders import is_template, known, marked
from models.core.findings import Finding
from policies.core.nodes import Node
from policies.core.unknowns import Plain, plain
from policies.views.kubernetes.manifest import Manifest, expanded

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_SIZE_MAX: Final = 50_000_000
_SKIPPED: Final = frozenset({".git", "node_modules", ".venv", "__pycache__", ".terraform"})
_PATCH_KEYS: Final = frozenset({"patch", "patches", "patchesStrategicMerge", "patchesJson6902"})
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Unreadable(Finding):
    """A file (`subject`), or a document of it, that cannot be read."""

    line: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """One file with its objects; `problems` are parts that could not be read.

    `blank`: it holds nothing but comments and separators.
    """

    file: str
    manifests: tuple[Manifest, ...] = ()
    problems: tuple[Unreadable, ...] = field(default=())
    blank: bool = False


def paths_of(given: Iterable[Path]) -> Iterator[Path]:
    """Yield the files that paths mean: folders stand for the YAML and JSON files below them."""
    for path in given:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*")):
            inside = not _SKIPPED.intersection(file.relative_to(path).parts)
            if inside and file.suffix.lower() in SUFFIXES and file.is_file():
                yield file


def read(path: Path) -> Read:
    """Return a file's objects; `-` is standard input."""
    name = str(path)
    try:
        raw = sys.stdin.buffer.read() if name == "-" else _bytes(path)
    except OSError as error:
        return _failed(name, error.strerror or "cannot be read")
    if len(raw) > _SIZE_MAX:
        return _failed(name, f"is larger than {_SIZE_MAX // 10**6} MB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _failed(name, "is not UTF-8 text")
    if "\0" in text:
        return _failed(name, "is binary")
    return read_text(text, name)


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > _SIZE_MAX:
        return b" " * (_SIZE_MAX + 1)
    return path.read_bytes()


def _failed(name: str, message: str) -> Read:
    return Read(file=name, problems=(Unreadable("", message, subject=name),))


def read_text(text: str, name: str) -> Read:
    """Return the objects of a text; what does not parse is told with its line."""
    if name.lower().endswith(".json") or (text.lstrip()[:1] == "{" and "{{" not in text[:200]):
        found = _json(text, name)
        if found is not None:
            return found
    if _is_blank(text):
        return Read(file=name, blank=True)
    templated = is_template(text)
    whole = marked(text) if templated else text
    manifests: list[Manifest] = []
    problems: list[Unreadable] = []
    for start, part in _documents(whole):
        try:
            manifests += _parsed(part, name, fragment=templated)
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            rest = _as_template(part, name)
            manifests += rest
            if not rest:
                problems.append(_problem(error, name, start, templated=templated))
    return Read(file=name, manifests=tuple(manifests), problems=tuple(problems))


def _is_blank(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    return all(not line or line.startswith("#") or line in ("---", "...") for line in lines)


def _parsed(text: str, name: str, *, fragment: bool) -> list[Manifest]:
    documents: Iterator[object] = yaml.load_all(text, Loader=_LOADER)
    return [each for parsed in documents for each in _manifests(parsed, name, fragment=fragment)]


def _as_template(text: str, name: str) -> list[Manifest]:
    """Return the objects of a text that only parses once its `{{ }}` are taken for placeholders."""
    if "{{" not in text:
        return []
    try:
        return _parsed(marked(text), name, fragment=True)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return []


def _json(text: str, name: str) -> Read | None:
    try:
        parsed: object = json.loads(text)
    except RecursionError:
        return _failed(name, "is nested too deeply")
    except ValueError:
        return None
    return Read(file=name, manifests=tuple(_manifests(parsed, name, fragment=False)))


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield each document with the number of its first line, so that one broken stops no other."""
    start = 0
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if index > start and (line.rstrip() == "---" or line.startswith(("--- ", "---\t"))):
            yield start, "".join(lines[start:index])
            start = index
    yield start, "".join(lines[start:])


def _problem(error: Exception, name: str, start: int, *, templated: bool) -> Unreadable:
    at: object = getattr(getattr(error, "problem_mark", None), "line", None)
    line = start + at + 1 if isinstance(at, int) else start + 1
    what = getattr(error, "problem", None) or str(error).split("\n")[0] or type(error).__name__
    hint = " (a template: render it first, for example with `helm template`)" if templated else ""
    return Unreadable("", f"{what}{hint}", subject=name, line=line)


def _manifests(parsed: object, name: str, *, fragment: bool) -> Iterator[Manifest]:
    if not isinstance(parsed, Mapping):
        if isinstance(parsed, list):
            for item in cast("list[object]", parsed):
                if isinstance(item, Mapping):
                    yield from _manifests(cast("object", item), name, fragment=fragment)
        return
    body = known(plain(cast("object", parsed)), "", shell=False)
    manifest = Manifest(
        body=Node(body),
        fragment=fragment,
        implied_kind=_implied_kind(body),
        implied_name=Path(name).stem,
    )
    if not manifest.implied_kind and not {"kind", "apiVersion"} & _keys(manifest.body):
        return
    for each in expanded(manifest):
        kustomized = each.is_kind("Kustomization") or _PATCH_KEYS & _keys(each.body)
        if kustomized:
            yield from _patches(each)
        else:
            yield replace(each, fragment=True) if _is_part(each, name) else each


def _implied_kind(body: Plain) -> str:
    """Return what a file without a kind is: a dashboard, rules, values of a chart."""
    keys = set(body) if isinstance(body, dict) else set[str]()
    if "panels" in keys or "dashboard" in keys:
        return "Dashboard"
    return "RuleGroups" if "groups" in keys else ""


def _keys(node: Node) -> set[str]:
    return set(node.value) if isinstance(node.value, dict) else set()


def _is_part(manifest: Manifest, name: str) -> bool:
    """Whether an object is a patch: it says so by its file, or lacks what the API demands."""
    if manifest.fragment or not manifest.kind or not _keys(manifest.body):
        return True
    stem = Path(name).stem.lower()
    if re.search(r"(^|[-_.])patch(es)?([-_.]|$)", stem):
        return True
    annotations = manifest.metadata["annotations"]
    if manifest.body["$patch"].present or "kustomize.config.k8s.io" in str(annotations.value):
        return True
    selector = manifest.spec["selector"].value is not None
    workload = manifest.is_kind("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
    images = [
        container["image"].value
        for container in _list(manifest.spec.at("template", "spec", "containers"))
    ]
    return workload and not selector and None in images


def _list(node: Node) -> Iterator[Node]:
    if isinstance(node.value, list):
        yield from (node[index] for index in range(len(node.value)))


def _patches(manifest: Manifest) -> Iterator[Manifest]:
    """Yield the objects of a kustomization's inline patches, as parts of objects."""
    for key in _PATCH_KEYS:
        for each in _list(manifest.body[key]):
            text = each["patch"].value if isinstance(each.value, dict) else each.value
            if not isinstance(text, str) or "\n" not in text:
                continue
            try:
                parsed: object = yaml.safe_load(text)
            except yaml.YAMLError:
                continue
            if isinstance(parsed, dict) and "kind" in parsed:
                body = known(plain(cast("object", parsed)), "", shell=False)
                yield Manifest(body=Node(body), fragment=True)
