# SPDX-License-Identifier: Apache-2.0
"""tools/memcheck.py: tests of the release build under Valgrind's memcheck."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import memcheck  # noqa: E402: the folder of scripts is no package
from workspace import PYTHON, Failure  # noqa: E402

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  volatile int* x = malloc(4 * sizeof(int));
  for (int i = 0; i < WRITTEN; ++i) x[i] = i;
  if (x[3] == 3) puts("as written");
  return 0;
}
"""

# A kernel's result that nobody wrote, seen where it is compared.
TESTS = """
import numpy
def test_written(): assert (numpy.zeros(300) == 0).all()
def test_unwritten(): numpy.array_equal(numpy.empty(3000), numpy.empty(3000))
def test_written_again(): assert (numpy.ones(300) == 1).all()
"""

needs_valgrind = pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")


@pytest.fixture
def listed(tmp_path):
    """A build folder with programs as tests of ctest: `good` and `bad`, and one that memcheck does not watch."""
    lines = []
    for name, written in (("good", 4), ("bad", 3)):
        subprocess.run(["gcc", "-O1", "-xc", f"-DWRITTEN={written}", "-o", tmp_path / name, "-"], input=PROGRAM, text=True, check=True)
        lines += [f'add_test({name} "{tmp_path / name}")', f'set_tests_properties({name} PROPERTIES TIMEOUT 60 WORKING_DIRECTORY "{tmp_path}")']
    (tmp_path / "AllocationCounter").symlink_to(tmp_path / "bad")
    lines += [f'add_test(AllocationCounter.Counts "{tmp_path / "AllocationCounter"}")', "set_tests_properties(AllocationCounter.Counts PROPERTIES TIMEOUT 60)"]
    (tmp_path / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
    return tmp_path


@needs_valgrind
def test_what_nobody_wrote_fails_a_test_of_ctest(listed, monkeypatch):
    monkeypatch.setattr(memcheck, "FOLDER", listed / "memcheck")
    done = subprocess.run(["ctest", "--test-dir", memcheck.ctest_folder(listed), "--output-on-failure"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "1 tests failed out of 2" in done.stdout and "bad (Failed)" in done.stdout, done.stdout
    assert "depends on uninitialised value" in done.stdout


@needs_valgrind
def test_what_nobody_wrote_fails_a_test_of_pytest(tmp_path, monkeypatch):
    monkeypatch.setattr(memcheck, "FOLDER", tmp_path)
    script, variables = memcheck.watched_python("python")
    folder = tmp_path / "tests"
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "support").symlink_to(ROOT / "tests" / "support")
    (folder / "some_test.py").write_text(TESTS)
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tx", f"popen//python={script}", "--dist=load", folder]
    done = subprocess.run(command, env=variables | {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert "3 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR tests/some_test.py::test_unwritten" in done.stdout, done.stdout
    assert "depends on uninitialised value" in done.stdout


def test_without_valgrind_says_what_to_install(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Failure, match="apt-get install valgrind"):
        memcheck.command()
