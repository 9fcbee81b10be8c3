"""In which order tests are run, and that none of their kinds is empty."""

import pathlib
import types

import pytest

from tests import conftest

TESTS = pathlib.Path(__file__).parent


def test_what_begins_first_is_there():
    assert [x for x in conftest.LONGEST if not (TESTS / x).is_file()] == []


def test_the_longest_begin_and_the_others_keep_their_order():
    names = ["b/test_b.py", conftest.LONGEST[1], "a.py", conftest.LONGEST[0]]
    items = [types.SimpleNamespace(path=TESTS / name) for name in names]
    conftest.pytest_collection_modifyitems(items)
    found = [item.path.relative_to(TESTS).as_posix() for item in items]
    assert found == [*conftest.LONGEST[:2], "b/test_b.py", "a.py"]


@pytest.mark.parametrize("kind", ["slow", "peers", "accelerator"])
def test_each_kind_that_make_leaves_for_later_has_tests(kind):
    mark = f"pytest.mark.{kind}\n"
    assert any(mark in path.read_text() for path in TESTS.rglob("test_*.py"))
