# SPDX-License-Identifier: Apache-2.0
"""docs/find-it.md: who searches the tree for a term of the field finds the file that the page names, among the first hits."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["core", "providers", "plugin_sdk"]
HITS = 10  # of each search; a reader looks at no more
PAGE = (ROOT / "docs" / "find-it.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| `([^`]+)` \|", PAGE, re.M)
OTHER_NAMES = re.findall(r"^\| [^|]+ \| [^|`]+ \| `([^`]+)` \|", PAGE, re.M)
# What the page must name, by the question that brings a reader.
QUESTIONS = {"int8 convolution", "GELU", "memory plan", "CUDA graph"}


def lines(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def by_name(term):
    """Files whose path has the term, spaces and hyphens read as underscores; names that have it first, then short paths."""
    pattern = re.compile(".*".join(re.escape(part) for part in re.sub(r"[ -]", "_", term).split("*")), re.I)
    found = [path for path in lines("git", "ls-files", "--", *FOLDERS) if pattern.search(path)]
    return sorted(found, key=lambda path: (not pattern.search(pathlib.PurePath(path).name), len(path)))


def by_text(term):
    """Files whose text has the term, those with the most lines of it first."""
    pattern = ".*".join(re.escape(part) for part in term.split("*"))
    counts = [line.rsplit(":", 1) for line in lines("git", "grep", "-icE", pattern, "--", *FOLDERS)]
    return [path for path, _ in sorted(counts, key=lambda pair: -int(pair[1]))]


def test_the_questions_are_answered():
    assert {term for term, _ in ROWS} >= QUESTIONS


@pytest.mark.parametrize(("term", "path"), ROWS, ids=[term for term, _ in ROWS])
def test_the_file_is_among_the_first_hits(term, path):
    assert (ROOT / path).is_file()
    names, texts = by_name(term)[:HITS], by_text(term)[:HITS]
    assert path in names + texts, f"searching for {term!r} finds\n  by name {names}\n  by text {texts}"


@pytest.mark.parametrize("path", OTHER_NAMES)
def test_the_file_of_another_name_is_there(path):
    assert (ROOT / path).is_file()
