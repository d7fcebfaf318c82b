# SPDX-License-Identifier: Apache-2.0
"""tools/lint: nothing large is tracked; a mutex is of the type that the compiler checks, and what it guards is annotated; clang then finds an access without it."""

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = shutil.which("clang++-14")
COUNTER = """#include <gantry/sdk/mutex.h>

class Counter {{
 public:
  int next() {{
    {lock}
    return ++count_;
  }}
  int wait() {{
    const gantry::sdk::MutexLock lock(mutex_);
    while (count_ == 0) changed_.wait(mutex_);
    {unlock}
    return count_;
  }}

 private:
  gantry::sdk::Mutex mutex_;
  gantry::sdk::CondVar changed_;
  int count_ GANTRY_GUARDED_BY(mutex_) = 0;
}};

int main() {{ return Counter().next(); }}
"""
LOCK = "const gantry::sdk::MutexLock lock(mutex_);"
UNLOCK = "const gantry::sdk::MutexUnlock unlock(mutex_);"


@pytest.fixture
def lint(monkeypatch, tmp_path):
    """The script as a module that looks at `tmp_path`."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    loader = importlib.machinery.SourceFileLoader("lint", str(ROOT / "tools" / "lint"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    loader.exec_module(module)
    module.ROOT = tmp_path
    return module


def findings(lint, name, text):
    path = lint.ROOT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return lint.check_mutexes([name])


def test_what_a_program_made_is_not_tracked(lint):
    subprocess.run(["git", "init", "-q"], cwd=lint.ROOT, check=True)
    (lint.ROOT / "--help").mkdir()
    (lint.ROOT / "--help" / "model.onnx").write_bytes(bytes(lint.MOST_BYTES + 1))
    (lint.ROOT / "small.txt").write_bytes(bytes(lint.MOST_BYTES))
    assert lint.check_tracked() == []
    subprocess.run(["git", "add", "--", "--help", "small.txt"], cwd=lint.ROOT, check=True)
    assert lint.check_tracked() == [f"--help/model.onnx: more than {lint.MOST_BYTES} bytes; what programs make belongs under build/"]


@pytest.mark.parametrize("text", ["std::mutex mutex_;", "const std::lock_guard lock(mutex);", "std::condition_variable changed;", "std::shared_mutex m;"])
def test_a_mutex_that_the_compiler_does_not_check_is_found(lint, text):
    (finding,) = findings(lint, "core/run/frame.cc", f"{text}\n")
    assert finding.startswith("core/run/frame.cc:1: std::")
    assert "is not checked by the compiler" in finding
    assert findings(lint, "tests/core/run/frame_test.cc", f"{text}\n") == []


@pytest.mark.parametrize("mutex", ["Mutex mutex_;", "  mutable sdk::Mutex mutex_;", "  static gantry::sdk::Mutex mutex_;"])
def test_a_mutex_that_guards_nothing_is_found(lint, mutex):
    (finding,) = findings(lint, "providers/cpu/linear_algebra/blas.cc", f"{mutex}\nint count_;\n")
    assert finding == "providers/cpu/linear_algebra/blas.cc: nothing says that mutex_ guards it; expected GANTRY_GUARDED_BY(mutex_) behind what it guards"
    assert findings(lint, "providers/cpu/linear_algebra/blas.cc", f"{mutex}\nint count_ GANTRY_GUARDED_BY(mutex_);\n") == []


@pytest.mark.skipif(CLANG is None, reason="clang++-14 is not installed; tools/setup does it")
@pytest.mark.parametrize(("lock", "unlock", "expected"), [
    (LOCK, "", ""),
    ("", "", "writing variable 'count_' requires holding mutex 'mutex_'"),
    (LOCK, UNLOCK, "reading variable 'count_' requires holding mutex 'mutex_'"),
])
def test_clang_finds_an_access_without_the_mutex(tmp_path, lock, unlock, expected):
    source = tmp_path / "counter.cc"
    source.write_text(COUNTER.format(lock=lock, unlock=unlock))
    options = ["-std=c++17", "-fsyntax-only", "-Wthread-safety", "-Werror", f"-I{ROOT / 'plugin_sdk' / 'cpp'}"]
    done = subprocess.run([CLANG, *options, source], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (expected == "")
    assert expected in done.stderr


def test_clang_tidy_runs_the_analysis():
    rules = (ROOT / ".clang-tidy").read_text()
    assert "clang-diagnostic-thread-safety*" in rules
    assert "-Wthread-safety" in rules
