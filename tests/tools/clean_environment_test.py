# SPDX-License-Identifier: Apache-2.0
"""What a user's machine holds decides no test: neither marks of killed runs, nor variables, nor a locale."""

import os
import pathlib
import subprocess
import sys

import clean_environment
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Killed while it runs, as by a user or for want of memory: that leaves a mark in the user's folder.
KILLED = """
import os, signal, threading, gantry
from small_graph import small_graph
import numpy as np
model, feeds = small_graph("y = Relu(x)", {"x": np.ones(3, np.float32)})
session = gantry.Session(model)
session.run(feeds)
os.kill(os.getpid(), signal.SIGKILL)
"""

HOSTILE = {"GANTRY_CONFIG": "{\"session\": {\"threads\": \"many\"}}", "GANTRY_PROVIDER_FILES": "/nowhere", "GANTRY_LOG": "trace", "LC_ALL": "de_DE.UTF-8",
           "LANGUAGE": "de", "OMP_NUM_THREADS": "1", "ONEDNN_MAX_CPU_ISA": "SSE41", "ONEDNN_VERBOSE": "all"}


def without_mark(home, **variables):
    """An environment as a user has it: this one, with another home and without the mark of a clean one."""
    mine = {name: value for name, value in os.environ.items() if name != clean_environment.MARK}
    return {**mine, "HOME": str(home), **variables}


def test_a_hostile_environment_decides_nothing(tmp_path):
    home = tmp_path / "home"
    path = os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])
    killed = subprocess.run([sys.executable, "-c", KILLED], env=without_mark(home, PYTHONPATH=path), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert killed.returncode < 0, killed.stderr
    assert [path for path in home.rglob("*") if path.is_file()], "the killed run left no mark to test with"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "tests/providers/cpu/library_test.py"], cwd=ROOT,
                          env=without_mark(home, **HOSTILE), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("name", [*HOSTILE, "XDG_CACHE_HOME", "OPENBLAS_NUM_THREADS"])
def test_variables_of_the_user_are_left_out(name, tmp_path):
    cleaned = clean_environment.clean({"PATH": os.environ["PATH"], "HOME": "/home/somebody", name: "x"}, tmp_path / "home")
    assert name not in cleaned and cleaned["HOME"] == str(tmp_path / "home") and (tmp_path / "home").is_dir()


def test_the_compiler_cache_stays_where_it_is(tmp_path):
    assert clean_environment.clean({"PATH": os.environ["PATH"], "HOME": "/home/somebody", "CCACHE_DIR": "/cache"}, tmp_path)["CCACHE_DIR"] == "/cache"
