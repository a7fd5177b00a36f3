"""docs/compatibility.md names each fact once, with the tests that prove it."""

from __future__ import annotations

import pytest

from tests.docs.facts import PAGE, collect, facts_of, listed, written

COUNTS = {"F": 16, "L": 6, "I": 8, "C": 14, "D": 2, "T": 6}
ALL = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]


def test_every_fact_has_one_row() -> None:
    assert listed(PAGE.read_text(encoding="utf-8")) == ALL


def test_no_test_names_a_fact_that_does_not_exist() -> None:
    assert set(collect()) <= set(ALL)


@pytest.mark.parametrize("fact", ALL)
def test_every_fact_is_proved(fact: str) -> None:
    assert collect()[fact]


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page, collect()), "run `make docs`"


def test_a_fact_is_carried_by_a_comment_in_or_right_above_its_test() -> None:
    source = """
LAYOUT = 1  # F1 is about the layout, but this is not a test

# F2, F3: above
@parametrize("x", [1])
def test_above(x):
    assert x

def test_inside():
    assert 1  # F11

def helper():
    pass  # F4

class TestMethods:
    # F5
    def test_method(self):
        "F6 in a string is not a comment"

def test_bare():
    assert "# F7"
"""
    assert facts_of(source) == {
        "test_above": {"F2", "F3"},
        "test_inside": {"F11"},
        "TestMethods::test_method": {"F5"},
    }


def test_a_row_without_tests_says_so() -> None:
    page = "| F1 | a layout | `old` |\n| F2 | a flag | – |\n"
    assert written(page, {"F2": ["tests/a.py::x", "tests/b.py::y"]}) == (
        "| F1 | a layout | – |\n| F2 | a flag | `tests/a.py::x`<br>`tests/b.py::y` |\n"
    )
