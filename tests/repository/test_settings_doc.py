"""docs/settings.md says what the settings' own classes say."""

from typing import Annotated

import pytest
from pydantic import Field

from catalog.generate.settings_page import PAGE, PageError, classes, docstrings, renewed, table
from models.core.base import DnsLabel, Model
from models.settings.settings import LATER, Settings

pytestmark = pytest.mark.pure


class Sample(Model):
    """What a table is made of in these tests."""

    name: DnsLabel
    """A name
    on two lines."""
    size: Annotated[int, Field(ge=2, lt=9)] = 3
    """A size | a bound."""
    parts: tuple[bool, ...] | None = None
    """Its parts."""


class Silent(Model):
    """A class with a field that nothing is said of."""

    said: str
    """Something."""
    unsaid: str


def test_the_page_is_what_the_settings_make() -> None:
    """`make docs` renews it."""
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page


def test_every_field_of_every_class_is_said_once() -> None:
    """A key that nobody explains is one that nobody sets."""
    page = PAGE.read_text(encoding="utf-8")
    assert len(classes()) > 25
    for name, of in classes().items():
        assert set(docstrings(of)) == set(of.model_fields), name
        assert page.count(f"<!-- settings: {name} -->\n| key") == 1
        assert f"# {name.removesuffix('Settings') or name}\n" in page, "links lead to headings"
    assert page.count("*later*") == len(LATER) + 1, "and once where the word is explained"


def test_a_table_says_type_bounds_default_and_docstring() -> None:
    assert table(Sample).splitlines()[2:] == [
        "| `name` | DNS label | must be given | A name on two lines. |",
        "| `size` | whole number, at least 2, below 9 | `3` | A size \\| a bound. |",
        "| `parts` | list of boolean |  | Its parts. |",
    ]


def test_a_field_without_a_docstring_is_refused() -> None:
    with pytest.raises(PageError, match="Silent: no docstring below unsaid"):
        table(Silent)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<!-- settings: Taint -->", "", r"classes without: \['Taint'\]"),
        ("<!-- settings: Taint -->", "<!-- settings: Taunt -->", r"without a class: \['Taunt'\]"),
    ],
)
def test_a_place_that_does_not_fit_is_refused(old: str, new: str, said: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    with pytest.raises(PageError, match=said):
        renewed(page.replace(old, new))


def test_later_settings_exist() -> None:
    """A path that leads nowhere would mark nothing."""
    for path in LATER:
        assert path.partition(".")[0] in Settings.model_fields
