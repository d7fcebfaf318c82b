# SPDX-License-Identifier: Apache-2.0
"""Attributes, values, shapes and ranks as nobody would write them: each model of one node runs or is refused by a sentence, in a process that goes on."""

import re

import operator_fuzz

# Of some 70,000 that were tried; the onnx library's inference is part of what is tried.
FIRST, END = 0, 300
SAID = re.compile(r"(InvalidArgument|InvalidModel|Unsupported|OutOfMemory|DeadlineExceeded)Error: .*\w")


def test_hostile_models():
    became = dict(operator_fuzz.watch(FIRST, END))
    assert sorted(became) == list(range(FIRST, END))
    assert {number: result for number, result in became.items() if result != "ok" and not SAID.match(result)} == {}
    assert 50 < sum(result == "ok" for result in became.values()) < END - 50


def test_a_crash_and_a_hang_are_seen(monkeypatch, tmp_path):
    """Numbers 1 and 3 of a child that does so."""
    child = tmp_path / "child.py"
    child.write_text("import os, sys, time\nfor n in range(int(sys.argv[1]), int(sys.argv[2])):\n    print(n, 'begins', flush=True)\n    n == 1 and os.abort()\n    n == 3 and time.sleep(60)\n    print(n, 'ok', flush=True)\n")
    monkeypatch.setattr(operator_fuzz, "__file__", str(child))
    monkeypatch.setattr(operator_fuzz, "PATIENCE", 1)
    found = dict(operator_fuzz.watch(0, 5, limit_s=0.5))
    assert [found[n] for n in (0, 2, 4)] == ["ok"] * 3
    assert found[1].startswith("ended with -6") and found[3] == "hung"
