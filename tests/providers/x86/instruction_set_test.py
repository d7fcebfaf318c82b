# SPDX-License-Identifier: Apache-2.0
"""The same results with the instructions of older CPUs, which oneDNN is told to keep to before it starts."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


LIBRARY = ("conv_test.py", "conv_transpose_test.py", "epilogue_test.py", "packed_matmul_test.py", "pool_test.py", "matmul_test.py",
           "dynamic_matmul_test.py", "exact_weights_test.py", "own_epilogue_test.py")
OWN = ("attention_test.py", "depthwise_block_test.py", "direct_conv_test.py", "elementwise_test.py", "implicit_gemm_conv_test.py",
       "recurrent_test.py")
NBITS = ("experts_test.py",)  # from AVX2 on; matmul_nbits_test.py has levels of its own
INT8 = ("exact_sums_test.py", "matmul_integer_test.py", "int8_test.py", "dynamic_quantize_lstm_test.py")


@pytest.mark.parametrize("level, files", [
    ("AVX2", LIBRARY + OWN + NBITS + INT8), ("AVX512_CORE", LIBRARY + OWN + INT8), ("SSE41", OWN + INT8), ("AVX2_VNNI", INT8), ("AVX512_CORE_VNNI", INT8),
])
def test_kernels_of_older_cpus(level, files):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib",
               *(HERE / name for name in files)]
    done = subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": level}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
