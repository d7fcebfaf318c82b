# SPDX-License-Identifier: Apache-2.0
"""No primitive runs by one of oneDNN's reference implementations, whatever is broadcast, in whatever layout, on whatever instruction set; and no convolution by one of
its fallbacks without a warning. The library's own lines say what ran, not the provider's check."""

import collections
import os
import pathlib
import re
import subprocess
import sys

import pytest
from cpu_flags import CPU_FLAGS

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
# Levels of ONEDNN_MAX_CPU_ISA, each with the flag of a CPU that has it.
LEVELS = {"SSE41": "sse4_1", "AVX2": "avx2", "AVX2_VNNI": "avx_vnni", "AVX512_CORE": "avx512bw", "AVX512_CORE_VNNI": "avx512_vnni", "AVX512_CORE_BF16": "avx512_bf16",
          "AVX512_CORE_AMX": "amx_int8", "DEFAULT": "sse4_1"}


def run_cases(level, threads):
    """What each case ran, by its name: (primitive, implementation) pairs; and the process that did."""
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": level, "ONEDNN_VERBOSE": "1", "GANTRY_LOG": "info",
                   "PYTHONPATH": os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run([sys.executable, SUPPORT / "library_cases.py", str(threads)], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=600)
    ran, case = collections.defaultdict(set), None
    for line in done.stdout.splitlines():
        if line.startswith("case "):
            case = line.removeprefix("case ")
        elif line.startswith("onednn_verbose,exec,cpu,"):
            primitive, implementation = line.split(",")[3:5]
            ran[case].add((primitive, implementation))
    assert re.search(r"^end [0-9]{3,}$", done.stdout, re.M), done.stdout[-1000:] + done.stderr[-3000:]
    assert sum(map(len, ran.values())) > 300, "the library wrote no lines"
    return ran, done


@pytest.mark.parametrize("level", LEVELS)
def test_no_reference_implementation_runs(level):
    if LEVELS[level] not in CPU_FLAGS:
        pytest.skip(f"this CPU has no {LEVELS[level]}")
    ran, done = run_cases(level, 1 + len(level) % 2)
    references = {case: found for case, pairs in ran.items() if (found := [pair for pair in pairs if "ref" in re.split("[:+]", pair[1])])}
    assert not references, f"{len(references)} cases of {len(ran)}, the first ones: {dict(list(references.items())[:6])}"
    assert done.returncode == 0, done.stderr[-4000:]
    assert " reference implementation" not in done.stderr
    fallbacks = {pair for pairs in ran.values() for pair in pairs if pair[0] in ("convolution", "deconvolution") and "gemm" in pair[1]}
    for primitive, implementation in fallbacks:
        assert re.search(f"oneDNN's {primitive} .* runs by a fallback, {re.escape(implementation)}", done.stderr), (primitive, implementation)


def test_a_slow_implementation_is_said_once():
    """A dilated window, for which the library has only its reference."""
    program = ("import numpy as np, gantry\nfrom small_graph import small_graph\n"
               "model, feeds = small_graph('c = Conv(x, w)\\n y = AveragePool<kernel_shape=[3, 3], dilations=[2, 2]>(c)', {'x': np.ones((1, 8, 9, 9), np.float32)},\n"
               "                           {'w': np.ones((8, 8, 1, 1), np.float32)})\n"
               "for _ in range(3): gantry.Session(model, device='CPU').run(feeds)")
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "GANTRY_LOG": "info", "PYTHONPATH": str(SUPPORT)}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=True, timeout=60)
    lines = [line for line in done.stderr.splitlines() if "passed over" in line or "would run by" in line]
    assert len(lines) == 1, done.stderr
    for part in ('AveragePool "n1"', "oneDNN's pooling", "f32 [1, 8, 9, 9]", "ref:any", "compiled loops of this provider"):
        assert part in lines[0], lines[0]
