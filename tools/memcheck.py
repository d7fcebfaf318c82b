# SPDX-License-Identifier: Apache-2.0
"""Runs tests under Valgrind's memcheck: it tells what decides by memory that nobody wrote, or reads and writes outside of what was allocated,
also in libraries and in code that they generate. It watches the release build, so that nothing is compiled again, on a CPU with AVX2.

    ctest_folder(release)    a folder for `ctest --test-dir` with the C++ tests of a build, each under memcheck
    watched_python(name)     the environment's Python under memcheck; what it starts is not watched

Why not MemorySanitizer: docs/decisions/0082-memcheck.md.
"""

import json
import os
import pathlib
import shutil
import subprocess

from workspace import BUILD, PYTHON, ROOT, Failure

FOLDER = BUILD / "memcheck"
PACKAGE = "valgrind"  # of Debian

# How much longer a test may take.
PATIENCE = 10

# Tests that cannot run so, and why: what their names begin with.
UNWATCHED = {
    "Calls/FailureInjection": "has every call fail in turn, in thousands of processes",
    "cuda_conformance": "starts a process for each case, and those are not watched",
    "FileWatchTest.ReadsZerosWhereTheFileEnds": "handles SIGBUS by a mapping, behind memcheck's back",
    "MessageChannelTest.TellsOfDescriptorsThatThisProcessHasNoRoomFor": "sets a limit, which memcheck takes for its own",
    "SharedArena.FitsIntoALittleAddressSpace": "expects room for 256 GiB, which there is not under memcheck",
    "StartChild.TellsWhatFailed": "memcheck starts a program that is missing, and sees it end",
    "WorkerProcess.IsRefusedWhenItsProgramIsNone": "memcheck starts a program that is none, and sees it end",
    "AllocationCounter": "counts calls of malloc, which are memcheck's",
    "Threads/Allocation": "counts calls of malloc, which are memcheck's",
    "StrictJson.TakesMemoryByTheTextAndNotByItsNames": "measures memory, of which memcheck takes more",
}

# What a test of ctest keeps of its properties.
KEPT = ("WORKING_DIRECTORY", "SKIP_REGULAR_EXPRESSION", "LABELS")


def command() -> list:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise Failure(f"valgrind was not found, under which the tests run: apt-get install {PACKAGE}")
    suppressions = ROOT / "tests" / "support" / "memcheck.supp"
    return [valgrind, "--quiet", "--leak-check=no", "--num-callers=30", f"--suppressions={suppressions}"]


def quoted(text) -> str:
    return f"[==[{text}]==]"


def watched_test(test: dict) -> str:
    """A test of `ctest --show-only=json-v1` as lines of CTestTestfile.cmake."""
    # Random edits of a fuzz target's inputs are for the build at its full speed.
    arguments = [argument for argument in test["command"] if not argument.startswith("--seconds=")]
    properties = {one["name"]: one["value"] for one in test["properties"]}
    lines = [f"add_test({quoted(test['name'])} {' '.join(map(quoted, [*command(), '--error-exitcode=99', *arguments]))})",
             f"set_tests_properties({quoted(test['name'])} PROPERTIES TIMEOUT {properties['TIMEOUT'] * PATIENCE})"]
    for name in KEPT:
        if name in properties:
            value = properties[name]
            value = value if isinstance(value, str) else ";".join(value)
            lines.append(f"set_tests_properties({quoted(test['name'])} PROPERTIES {name} {quoted(value)})")
    return "\n".join(lines)


def ctest_folder(release: pathlib.Path) -> pathlib.Path:
    """The C++ tests of the build folder `release`, each under memcheck."""
    listing = subprocess.run(["ctest", "--test-dir", release, "--show-only=json-v1"], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    tests = [test for test in json.loads(listing.stdout)["tests"]
             if test["command"][0].startswith(f"{release}{os.sep}") and not test["name"].startswith(tuple(UNWATCHED))]
    folder = FOLDER / "ctest"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CTestTestfile.cmake").write_text("\n".join(map(watched_test, tests)) + "\n", encoding="utf-8")
    return folder


def watched_python(name: str) -> tuple:
    """A script that is the environment's Python under memcheck, and variables for it: each process writes what is found to a file of its own,
    where tests/conftest.py looks after each test."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    script = folder / "python"
    words = " ".join(f"'{word}'" for word in [*command(), f"--log-file={folder}/%p.log", PYTHON])
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    # Python's own allocator hands memory on without saying so.
    return script, {"MEMCHECK_LOGS": str(folder), "PYTHONMALLOC": "malloc"}
