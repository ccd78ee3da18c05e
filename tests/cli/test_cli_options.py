"""A command's options are the fields of one class."""

import inspect
from dataclasses import fields

import pytest

from cli.app import COMMANDS, app_of
from cli.generated import command
from cli.options.budget import BudgetOptions, CaseOptions
from cli.options.old_flags import OldFlags
from cli.options.onboard import OnboardOptions
from models.serving.onboarding import DEFAULT_OWNER
from tests.helpers.cli.command import triplane

pytestmark = pytest.mark.pure


def test_a_class_inside_the_options_stands_for_its_own_fields() -> None:
    names = set(inspect.signature(command("budget")).parameters)
    own = {field.name for field in fields(BudgetOptions)} - {"case_options", "old"}
    inner = {field.name for field in (*fields(CaseOptions), *fields(OldFlags))}
    assert names == own | inner
    assert {"model", "total_vram", "cases"} <= names


def test_what_is_not_given_is_not_in_the_case() -> None:
    options = BudgetOptions(case_options=CaseOptions(model="m", tp=2, enforce_eager=False))
    assert options.case == {"model": "m", "tp": 2, "enforce_eager": False}
    assert BudgetOptions().case == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_only_the_command_that_is_called_is_made(name: str) -> None:
    """Its neighbors' options, and all that they import, are not needed for it."""
    assert [each.name for each in app_of([name, "--help"]).registered_commands] == [name]
    assert [each.name for each in app_of(["--help", name]).registered_commands] == [*COMMANDS]


def test_a_command_that_does_not_exist_is_told_beside_those_that_do() -> None:
    ran = triplane("bugdet")
    assert ran.code == 2
    assert "budget" in ran.err, "the nearest of all commands"


def test_the_owner_of_a_draft_is_the_same_without_the_command_line() -> None:
    assert OnboardOptions().owner == DEFAULT_OWNER


@pytest.mark.parametrize("spelling", ["--license", "--licence"])
def test_both_spellings_of_a_license_are_taken(spelling: str) -> None:
    ran = triplane("onboard", spelling, "mit", "/nowhere")
    assert "No such option" not in ran.err
    assert "/nowhere" in ran.err
