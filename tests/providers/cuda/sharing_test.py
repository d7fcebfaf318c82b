# SPDX-License-Identifier: Apache-2.0
"""Tensors that other libraries have on a device, and ours for them, over the fake driver, whose streams work asynchronously."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from cuda_worker import BUILD, FAKE

# What a library of tensors does: memory and a stream of its own, and DLPack.
LIBRARY = """
import ctypes, gc, sys
import numpy as np
import gantry
from small_graph import small_graph

driver = ctypes.CDLL(sys.argv[1])

def call(name, *arguments):
    assert getattr(driver, name)(*arguments) == 0, name

def made_by(name, *more):
    handle = ctypes.c_void_p()
    call(name, ctypes.byref(handle), *more)
    return handle

# A context of its own, as calls of gantry leave none behind.
context = made_by("cuDevicePrimaryCtxRetain", 1)
call("cuCtxSetCurrent", context)

class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

class Theirs:
    def __init__(self, host, device=1, offset=0, strides=None):
        self.host, self.device, self.offset, self.strides = host, device, offset, strides
        self.memory, self.freed, self.streams = ctypes.c_ulonglong(), 0, []
        call("cuMemAllocFromPoolAsync", ctypes.byref(self.memory), ctypes.c_size_t(4096), None, None)
        self.stream = made_by("cuStreamCreate", 1)
        self.write(host)

    @property
    def address(self):
        return self.memory.value + self.offset

    def write(self, host):  # some time later
        self.host = host
        call("cuMemcpyHtoDAsync_v2", ctypes.c_ulonglong(self.address), host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(host.nbytes), self.stream)

    def read(self):  # what lies there now
        return np.frombuffer(ctypes.string_at(self.address, self.host.nbytes), self.host.dtype).reshape(self.host.shape)

    def __dlpack_device__(self):
        return (2, self.device)

    def __dlpack__(self, *, stream):
        self.streams.append(stream)
        event = made_by("cuEventCreate", 2)
        call("cuEventRecord", event, self.stream)
        call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
        ndim = self.host.ndim
        self.shape = (ctypes.c_int64 * ndim)(*self.host.shape)
        self.steps = (ctypes.c_int64 * ndim)(*self.strides) if self.strides else None

        def free(_):
            self.freed += 1

        self.deleter = DELETER(free)
        self.tensor = DLTensor(self.address, 2, self.device, ndim, 2, 32, 1, self.shape, self.steps, 0, None, ctypes.cast(self.deleter, ctypes.c_void_p))
        return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)

def raises(kind, said, call):
    try:
        call()
    except kind as error:
        assert said in str(error), str(error)
    else:
        raise AssertionError(f"no {kind.__name__}: {said}")

ONES = np.ones((2, 8), np.float32)
model, _ = small_graph("y = Mul(x, x)", {"x": ONES})
session = gantry.Session(model, device="CUDA:0")
"""

TAKEN = """
x = Theirs(3 * ONES)
for number in range(3, 7):
    x.write(number * ONES)
    np.testing.assert_array_equal(session.run({"x": x})["y"], number * number * ONES)
    gc.collect()
    assert x.freed == number - 2, "handed back when the run is over"
assert all(stream > 2 for stream in x.streams)

taken = session.from_dlpack(x)
assert (taken.address, taken.device, taken.dtype, taken.shape) == (x.address, "CUDA:0", "float32", (2, 8))
np.testing.assert_array_equal(session.run({"x": taken})["y"], 36 * ONES)

aside = Theirs(5 * ONES, offset=4)
copied = session.from_dlpack(aside)
assert copied.address % 16 == 0 and aside.freed == 1
np.testing.assert_array_equal(copied.numpy(), 5 * ONES)

# Written to in place.
y = Theirs(0 * ONES)
binding = gantry.Binding(session)
binding.input("x", taken)
binding.output("y", y)
for _ in range(4):
    binding.run()
    assert binding.result("y") is y
    np.testing.assert_array_equal(y.read(), 36 * ONES)
raises(gantry.InvalidArgumentError, 'output "y": a Theirs begins at an address that kernels of CUDA:0 do not write to', lambda: binding.output("y", aside))
raises(gantry.InvalidArgumentError, 'input "x": expected memory of a device of the session', lambda: session.run({"x": Theirs(ONES, device=0)}))
raises(gantry.InvalidArgumentError, "(CUDA:0 (2, 1)), found DLPack's device (2, 0); copy it to the host first", lambda: binding.input("x", Theirs(ONES, device=0)))
raises(gantry.InvalidArgumentError, 'input "x": a Theirs has gaps between its elements', lambda: session.run({"x": Theirs(ONES, strides=(1, 2))}))
raises(gantry.InvalidArgumentError, 'input "x": expected float32[2,8]', lambda: session.run({"x": Theirs(np.ones((2, 7), np.float32))}))

class Unwilling(Theirs):
    def __dlpack__(self, *, stream):
        raise BufferError("it is being written to")

raises(gantry.InvalidArgumentError, "does not hand out its memory (BufferError: it is being written to)", lambda: session.run({"x": Unwilling(ONES)}))
del taken, binding
gc.collect()
assert x.freed == 5 and y.freed == 1
"""

LENT = """
binding = gantry.Binding(session)
binding.input("x", 3 * ONES)
binding.output_on("y", "CUDA:0")
binding.run()
y = binding.result("y")
# Nothing is under way when a run is over.
np.testing.assert_array_equal(np.frombuffer(ctypes.string_at(y.address, 64), np.float32).reshape(2, 8), 9 * ONES)
assert y.__dlpack_device__() == (2, 1), "as the driver counts"
for stream in (None, -1, 1, 2, 12345):
    y.__dlpack__(stream=stream)
y.__dlpack__(max_version=(1, 0), dl_device=(2, 1), copy=False)
raises(ValueError, "stream: expected -1, 1", lambda: y.__dlpack__(stream=0))
raises(ValueError, "stream: expected -1, 1", lambda: y.__dlpack__(stream=-2))
raises(TypeError, "stream: expected None or a number", lambda: y.__dlpack__(stream="x"))
raises(BufferError, "dl_device", lambda: y.__dlpack__(dl_device=(2, 0)))
raises(BufferError, "copy=True", lambda: y.__dlpack__(copy=True))
packed = session.allocate_on("CUDA:0", "int4", [4])
raises(BufferError, "packed elements of int4", lambda: packed.__dlpack__())

back = session.from_dlpack(y)
assert back.address == y.address
before = y.address
del y, binding
gc.collect()
np.testing.assert_array_equal(back.numpy(), 9 * ONES)
class Host:
    def __dlpack__(self, **options): return back.__dlpack__(**{**options, "dl_device": (1, 0)})
    def __dlpack_device__(self): return (1, 0)
np.testing.assert_array_equal(np.from_dlpack(Host()), 9 * ONES)
half = session.allocate_on("CUDA:0", "bfloat16", [4])
assert session.from_dlpack(half).dtype == "bfloat16"
"""


@pytest.mark.parametrize("program", [TAKEN, LENT], ids=["taken", "lent"])
def test_memory_is_shared(tmp_path, program):
    if not (FAKE / "libcuda.so.1").exists():
        pytest.skip(f"{FAKE} is not built (-DGANTRY_BUILD_TESTS=ON)")
    config = tmp_path / "config.json"
    options = {"libraries": [str(FAKE)], "cache": str(BUILD / "tests" / "fake_cuda_cache"), "own_kernels": True}
    config.write_text(json.dumps({"providers": {"options": {"cuda": options}}}), encoding="utf-8")
    support = str(pathlib.Path(__file__).resolve().parents[2] / "support")
    environment = {**os.environ, "GANTRY_CONFIG": str(config), "PYTHONPATH": os.pathsep.join([str(BUILD / "python"), support]),
                   "GANTRY_FAKE_CUDA": "devices=2 latency_us=20000"}
    done = subprocess.run([sys.executable, "-c", LIBRARY + program, FAKE / "libcuda.so.1"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
