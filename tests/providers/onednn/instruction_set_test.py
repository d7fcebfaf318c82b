# SPDX-License-Identifier: Apache-2.0
"""The same results with the instructions of older CPUs, which oneDNN is told to keep to before it starts."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


LIBRARY = ("conv_test.py", "chain_test.py", "pool_test.py", "product_test.py")
OWN = ("attention_test.py", "direct_conv_test.py", "recurrent_test.py")


@pytest.mark.parametrize("level, files", [("AVX2", LIBRARY + OWN), ("AVX512_CORE", LIBRARY + OWN), ("SSE41", OWN)])
def test_kernels_of_older_cpus(level, files):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib",
               *(HERE / name for name in files)]
    done = subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": level}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
