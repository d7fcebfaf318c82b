# SPDX-License-Identifier: Apache-2.0
"""The environment in which tests run: no file and no variable of the user's decides a result.

`tools/test` starts every suite in it, and tests/conftest.py enters it for a test that is run by hand. The variable MARK says
that this was done: whatever else an environment with it holds was set by a test, on purpose, for a process that it starts.
"""

import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile

MARK = "GANTRY_TEST_ENVIRONMENT"

# What changes results, or where files are sought. LANGUAGE, LANG and LC_*: messages of the system, and how numbers are read.
FOREIGN = ("GANTRY_", "ONEDNN_", "DNNL_", "OPENBLAS_", "OMP_", "GOMP_", "KMP_", "MKL_", "XDG_", "LC_", "LANG")

# Where a build and its tests lie: tools/test and its users say so. And which code OpenBLAS may run, which machines set where a
# release of it has code that computes wrongly on their CPU.
KEPT = ("GANTRY_BINARY", "GANTRY_MODELS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def clean(environment, home):
    """A copy of an environment for tests: without what is FOREIGN, with `home` as a home folder, and MARKed.

    The compiler cache keeps its folder, so that nothing is compiled again.
    """
    cleaned = {name: value for name, value in environment.items() if name in KEPT or not name.startswith(FOREIGN)}
    if "CCACHE_DIR" not in cleaned and shutil.which("ccache"):
        cleaned["CCACHE_DIR"] = subprocess.run(["ccache", "--get-config", "cache_dir"], env=dict(environment), stdin=subprocess.DEVNULL,
                                               capture_output=True, text=True, check=True).stdout.strip()
    pathlib.Path(home).mkdir(parents=True, exist_ok=True)
    # One locale for all: without any, Python would set another for what it starts.
    return {**cleaned, "HOME": str(home), "LANG": "C.UTF-8", MARK: "clean"}


def enter():
    """Makes this process's own environment a clean one, unless it is."""
    if MARK not in os.environ:
        home = tempfile.mkdtemp(prefix="gantry-tests-home-")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        cleaned = clean(os.environ, home)
        os.environ.clear()
        os.environ.update(cleaned)
