# SPDX-License-Identifier: Apache-2.0
"""The kernels that the tests have run on the host, compiled for devices by NVRTC where it is installed; that needs no GPU."""

import ctypes
import os

import numpy as np
import pytest
from cuda_worker import SOURCES, compare_all
from small_graph import small_graph

ARCHITECTURES = ["sm_80", "sm_90", "sm_120"]
MOST = 150  # sources: the newest of each kind of parameters, then the newest of all


@pytest.fixture(scope="module")
def nvrtc():
    home = os.environ.get("CUDA_HOME")
    tried = []
    for name in ([f"{home}/lib64/libnvrtc.so.13", f"{home}/lib64/libnvrtc.so.12"] if home else []) + ["libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(str(error))
    return pytest.skip(f"no NVRTC on this machine: {tried[0]}")


def compile_source(nvrtc, source, architecture):
    """The compiler's error message; empty: none."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None) == 0
    options = [f"-arch={architecture}".encode(), b"-std=c++17", b"-default-device"]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or "failed without a word" if failed else ""


def newest_sources():
    newest = sorted(SOURCES.glob("*.cu"), key=os.path.getmtime, reverse=True)
    texts = {file: file.read_bytes() for file in newest}
    first = {}
    for file, text in texts.items():
        first.setdefault(text.rpartition(b"KERNEL(")[2].partition(b")")[0], file)
    return {file: texts[file] for file in [*first.values(), *newest][:MOST]}


def test_kernels_compile_for_devices(nvrtc, cuda):
    # So that there is one at least, also if this test runs alone.
    compare_all(cuda, *small_graph("y = Add(x, x)", {"x": np.ones(3, np.float32)}))
    sources = newest_sources()
    assert sources
    complaints = {}
    for number, (file, text) in enumerate(sources.items()):
        complaint = compile_source(nvrtc, text, ARCHITECTURES[number % len(ARCHITECTURES)])
        if complaint:
            complaints[file.name] = complaint
    assert complaints == {}
    assert "error" in compile_source(nvrtc, b"int nothing() { return unknown; }", ARCHITECTURES[0])
