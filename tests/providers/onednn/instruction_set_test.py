# SPDX-License-Identifier: Apache-2.0
"""The same results with the instructions of older CPUs, which oneDNN is told to keep to before it starts."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


LIBRARY = ("conv_test.py", "deconv_test.py", "chain_test.py", "dense_product_test.py", "pool_test.py", "product_test.py", "tensor_product_test.py")
OWN = ("attention_test.py", "depthwise_block_test.py", "direct_conv_test.py", "elementwise_test.py", "recurrent_test.py")
BYTES = ("exact_sums_test.py", "integer_test.py", "quantized_test.py")  # the library's at levels with VNNI


@pytest.mark.parametrize("level, files", [
    ("AVX2", LIBRARY + OWN + BYTES), ("AVX512_CORE", LIBRARY + OWN + BYTES), ("SSE41", OWN + BYTES), ("AVX2_VNNI", BYTES), ("AVX512_CORE_VNNI", BYTES),
])
def test_kernels_of_older_cpus(level, files):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib",
               *(HERE / name for name in files)]
    done = subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": level}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
