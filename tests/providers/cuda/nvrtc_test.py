# SPDX-License-Identifier: Apache-2.0
"""The kernels that the tests have run on the host, compiled for devices by NVRTC where it is installed; that needs no GPU."""

import ctypes
import os

import numpy as np
import pytest
from cuda_worker import SOURCES, compare_all
from small_graph import small_graph

ARCHITECTURES = ["sm_80", "sm_90", "sm_120"]
MOST = 150  # sources, the newest


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
    """The compiler's complaint; empty: there is none."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None) == 0
    options = [f"-arch={architecture}".encode(), b"-std=c++17", b"-default-device"]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or "failed without a word" if failed else ""


def test_kernels_compile_for_devices(nvrtc, cuda):
    # So that there is one at least, also if this test runs alone.
    compare_all(cuda, *small_graph("y = Add(x, x)", {"x": np.ones(3, np.float32)}))
    sources = sorted(SOURCES.glob("*.cu"), key=os.path.getmtime)[-MOST:]
    assert sources
    complaints = {}
    for number, file in enumerate(sources):
        complaint = compile_source(nvrtc, file.read_bytes(), ARCHITECTURES[number % len(ARCHITECTURES)])
        if complaint:
            complaints[file.name] = complaint
    assert complaints == {}
    assert "error" in compile_source(nvrtc, b"int nothing() { return unknown; }", ARCHITECTURES[0])
