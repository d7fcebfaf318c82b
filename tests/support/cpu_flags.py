# SPDX-License-Identifier: Apache-2.0
"""Features of the CPU that this process runs on, by the names of /proc/cpuinfo.

An emulated process (tools/test --emulate) sees the machine's /proc/cpuinfo: what NumPy's own question to the CPU does not find is left out, and so
is what the level forbids that the process is masked to (tools/test --cpu) or that ONEDNN_MAX_CPU_ISA holds the kernels of `x86` to.
"""

import os
import pathlib
import re

from numpy._core._multiarray_umath import __cpu_features__ as FOUND

# A feature that is not there, and the beginnings of the names that go with it.
LEFT_OUT = {"AVX2": ("avx2", "avx_vnni", "avx512", "amx"), "AVX512F": ("avx512", "amx"), "AVX512BW": ("avx512bw", "avx512_vnni", "avx512_bf16", "amx"),
            "AVX512VNNI": ("avx512_vnni", "avx512_bf16", "amx")}

# Levels of ONEDNN_MAX_CPU_ISA, and the beginnings of the names that each forbids.
FORBIDDEN = {"SSE41": ("avx", "amx", "fma", "f16c"), "AVX": ("avx2", "avx_vnni", "avx512", "amx"), "AVX2": ("avx_vnni", "avx512", "amx"), "AVX2_VNNI": ("avx512", "amx"),
             "AVX512_CORE": ("avx512_vnni", "avx_vnni", "avx512_bf16", "amx"), "AVX512_CORE_VNNI": ("avx_vnni", "avx512_bf16", "amx"), "AVX512_CORE_BF16": ("avx_vnni", "amx")}


def _read():
    line = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"), re.M)
    flags = set(line[1].split()) if line else set()
    masked_to = pathlib.Path(os.environ.get("LD_AUDIT", "")).stem
    if "avx512f" in flags and not FOUND.get("AVX512F") and not masked_to:  # emulated: NumPy does not ask for this one
        flags.discard("avx_vnni")
    levels = (os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper(), masked_to)
    absent = tuple(name for level in levels for name in FORBIDDEN.get(level, ()))
    absent += tuple(name for feature, names in LEFT_OUT.items() if not FOUND.get(feature) for name in names)
    return frozenset(flag for flag in flags if not absent or not flag.startswith(absent))


CPU_FLAGS = _read()
