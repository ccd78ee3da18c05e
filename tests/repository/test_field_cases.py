"""The codes of field cases: whatever cites one, docs/traps.md explains it."""

import re
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
FAMILIES: Final = (
    *("VLLM", "QOS", "PSTK", "LMC", "KSV", "KEDA", "EAIG", "GPUO", "LH", "MINIO", "PROM", "ESO"),
    *("ARGO", "PULK", "PULP", "EKS", "FB"),
)
FOLDERS: Final = (
    *("models", "catalog", "components", "policies", "cli", "sandbox", "benchmarks", "goldens"),
    *("tests", "docs", "examples"),
)
CODE: Final = re.compile(rf"\b(?:{'|'.join(FAMILIES)})-\d\d\b")
ROW: Final = re.compile(r"^\| ([A-Z]+-\d\d) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def explained() -> list[str]:
    """Return the codes that the page has a row for, in its order."""
    return [row[0] for row in ROW.findall((ROOT / "docs" / "traps.md").read_text())]


def test_every_code_that_is_cited_is_explained() -> None:
    """A code in a rule's reason leads nowhere for whoever cannot look it up."""
    files = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".yaml"}
    ]
    assert len(files) > 400
    cited = {code for path in files for code in CODE.findall(path.read_text())}
    assert len(cited) > 60
    assert cited <= set(explained())


def test_a_code_is_explained_once() -> None:
    codes = explained()
    assert len(codes) == len(set(codes))
