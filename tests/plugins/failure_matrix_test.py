# SPDX-License-Identifier: Apache-2.0
"""docs/failure-matrix.md: every row names tests, and they exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
ROWS = 38


def rows():
    for line in (ROOT / "docs" / "failure-matrix.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0].isdigit():
            yield int(cells[0]), cells


def names_of(path):
    """The tests of a file: suite.case, suite.case/parameter for names that are a fake provider's, or functions of Python."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".py"):
        return set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    names = {f"{suite}.{case}" for suite, case in re.findall(r"^TEST(?:_F)?\((\w+), (\w+)\)", text, re.MULTILINE)}
    parameters = re.findall(r'(?:Br(?:oken|each)|Fault)\{\s*"(\w+)"', text)
    for suite, case in re.findall(r"^TEST_P\((\w+), (\w+)\)", text, re.MULTILINE):
        names |= {f"{suite}.{case}", *(f"{suite}.{case}/{parameter}" for parameter in parameters)}
    return names


def test_every_row_is_there():
    assert [number for number, _ in rows()] == list(range(1, ROWS + 1))
    assert all(len(cells) == 5 and all(cells) for _, cells in rows())


@pytest.mark.parametrize("number", range(1, ROWS + 1))
def test_row_names_tests_that_exist(number):
    tests = dict(rows())[number][4]
    named = re.findall(r"`([^`]+)`", tests)
    assert named, "a row names at least one test"
    assert re.sub(r"`[^`]+`|\s", "", tests) == "", "and nothing else"
    for name in named:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file(), path
        assert test in names_of(path), name
