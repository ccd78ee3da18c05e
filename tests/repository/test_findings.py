"""One type for what is found, with ids that are members of an enum or of the pack's registry."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from models.core.rule_ids import GateRule, MemoryRule, ProofRule
from policies.frame.registry import RULES

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("models", "catalog", "components", "policies", "cli", "sandbox", "goldens")
KINDS: Final = frozenset({"Finding", "Fault", "Loss", "Unreadable", "refusal"})
BY_THE_PROGRAM_ALONE: Final = {
    ProofRule.MARGIN: "the bound; the pack's plan-memory refuses it too",
    ProofRule.SHARING: "seats on shared cards; the pack sees the pods",
    ProofRule.REVISION: "part of the pack's plan-status",
    ProofRule.ENTRY: "part of the pack's plan-status",
    ProofRule.OPERATORS: "steps between modes; the pack judges the releases",
}
"""Ids that no rule of the pack has to have, and why."""


def files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def made(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that make a finding."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            yield node


def test_no_finding_is_made_with_an_id_written_out() -> None:
    """An id in quotes is one that nothing holds."""
    calls = 0
    for file in files():
        for call in made(ast.parse(file.read_text(encoding="utf-8"))):
            calls += 1
            rules = [each.value for each in call.keywords if each.arg == "rule"]
            written = [each for each in rules if isinstance(each, ast.Constant)]
            assert not written, f"{file.relative_to(ROOT)}:{call.lineno}"
    assert calls > 200, "the test looks for the wrong names"


def test_every_class_of_what_is_found_is_a_finding() -> None:
    """Another dataclass with a message and a remedy would be a second type."""
    for file in files():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            fields = {
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            if {"message", "remedy"} <= fields:
                assert node.name == "Finding", f"{file.relative_to(ROOT)}: {node.name}"


def test_the_programs_ids_are_the_packs_where_the_pack_proves_it_too() -> None:
    """A recorded exception of one must excuse the other."""
    registered = {each.rule.id for each in RULES}
    alone = {each for each in ProofRule if each not in registered}
    assert alone <= set(BY_THE_PROGRAM_ALONE)


def test_no_id_means_two_things() -> None:
    ids = [each.value for of in (ProofRule, GateRule, MemoryRule) for each in of]
    assert len(ids) == len(set(ids))
    registered = {each.rule.id for each in RULES}
    assert not registered & {each.value for of in (GateRule, MemoryRule) for each in of}
