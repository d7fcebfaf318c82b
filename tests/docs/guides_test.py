# SPDX-License-Identifier: Apache-2.0
"""The pages for contributors: the code that they show is the code that is built and tested, the files that they name are there, and their commands run."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = ("add-an-operator.md", "add-a-pass.md", "add-a-fusion.md")


def page_of(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def lines_of(text):
    return [line.strip() for line in text.strip().splitlines()]


def sources():
    tracked = subprocess.run(["git", "ls-files", "core", "providers"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {name: lines_of((ROOT / name).read_text(encoding="utf-8")) for name in tracked if name.endswith((".cc", ".h", ".def"))}


@pytest.mark.parametrize("guide", GUIDES)
def test_code_is_of_the_sources(guide):
    """Each block stands in a source that the page names, line by line."""
    page = page_of(guide)
    blocks = re.findall(r"^```cpp\n(.*?)^```", page, re.M | re.S)
    assert blocks
    files = sources()
    for block in blocks:
        wanted = lines_of(block)
        found = [name for name, lines in files.items() for i in range(len(lines) - len(wanted) + 1) if lines[i : i + len(wanted)] == wanted]
        assert found, f"{guide} shows code that no source has:\n{block}"
        folders = [str(pathlib.PurePath(name).parent) for name in found]
        assert any(folder in page for folder in folders), f"{guide} shows code of {found} and does not say where it is"


@pytest.mark.parametrize("guide", GUIDES)
def test_files_that_are_named_are_there(guide):
    named = {path for path in re.findall(r"`((?:core|providers|tests|docs)/[^`<>*\s]+)`", page_of(guide))}
    assert named
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_run(guide):
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```", page_of(guide), re.M | re.S) for line in block.splitlines()]
    assert commands
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
    for command in commands:
        done = subprocess.run(["sh", "-e", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert re.search(r"[1-9]\d* (?:tests? from|passed)", done.stdout), f"{command} ran no test:\n{done.stdout[-500:]}"
