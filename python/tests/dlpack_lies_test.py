# SPDX-License-Identifier: Apache-2.0
"""Capsules that lie, in what can be seen to be a lie: each is refused with a sentence or read right, and its tensor is freed once or not at all.

As a program: dlpack_lies_test.py SEED COUNT runs so many random capsules in this process. Numbers are drawn around the edges of their types; what lies
outside of the memory that is there and cannot be told from memory is left out."""

import ctypes
import faulthandler
import gc
import itertools
import math
import pathlib
import random
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "support"))

INT32, INT64 = 1 << 31, 1 << 63
MEMORY = np.arange(4096, dtype=np.float32)
EXTENTS = (0, 1, 1, 2, 3, 5)
LIES = (-1, -2, -INT64, INT64 - 1, INT64 // 2, 1 << 40)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]  # fmt: skip


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Liar:
    """A tensor drawn at random. `expected`: its elements; None: it must be refused."""

    def __init__(self, draw):
        self.shape = [draw.choice(EXTENTS) for _ in range(draw.randrange(5))]
        dense = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        self.strides = draw.choice([None, dense, [draw.randrange(-9, 9) for _ in self.shape]])
        self.fields = {"device_type": 1, "device_id": 0, "ndim": len(self.shape), "code": 2, "bits": 32, "lanes": 1, "byte_offset": 4 * draw.randrange(64)}
        self.first = 2048  # of MEMORY, so that strides may lead either way
        self.name, self.major, self.flags, self.has_deleter = b"dltensor", 1, 0, draw.random() < 0.9
        self.is_versioned = draw.random() < 0.4
        self.has_data = self.has_shape = True
        self.is_lie = draw.random() < 0.6 and self.lie(draw)
        self.frees = 0
        self.tensors = []
        self.expected = None if self.is_lie else self.elements()

    def lie(self, draw):
        """True: whoever reads it can see that it is one."""
        what = draw.randrange(9)
        is_empty = 0 in self.shape
        if what == 0:
            self.fields["ndim"] = draw.choice([-1, -INT32, INT32 - 1, 65, 129, 1 << 20])
        elif what == 1:
            self.has_shape = False
            return bool(self.shape)
        elif what == 2 and self.shape:
            self.shape[draw.randrange(len(self.shape))] = draw.choice([-1, -2, -INT64, -INT32])
        elif what == 3 and self.shape and not is_empty:
            self.shape = [*self.shape, INT64 - 1, 3]
            self.fields["ndim"], self.strides = len(self.shape), None
        elif what == 4 and any(extent > 1 for extent in self.shape) and not is_empty:
            axis = next(axis for axis, extent in enumerate(self.shape) if extent > 1)
            self.strides = [1] * len(self.shape)
            self.strides[axis] = draw.choice([INT64 - 1, -INT64, INT64 // 2])
        elif what == 5:
            self.has_data = False
            return not is_empty
        elif what == 6:
            self.fields["code"], self.fields["bits"], self.fields["lanes"] = draw.choice([(2, 0, 1), (2, 7, 1), (2, 32, 0), (2, 32, 2), (2, 32, 65535), (255, 32, 1)])
        elif what == 7:
            self.name = draw.choice([b"used_dltensor", b"", b"tensor", None])
            self.is_versioned = False
        elif what == 8:
            self.is_versioned, self.major = True, draw.choice([0, 2, (1 << 32) - 1])
        else:
            return False
        return True

    def elements(self):
        strides = self.strides or [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        first = self.first + self.fields["byte_offset"] // 4
        flat = [MEMORY[first + sum(i * step for i, step in zip(at, strides))] for at in itertools.product(*map(range, self.shape))]
        return np.array(flat, np.float32).reshape(self.shape)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_options):
        extents = ctypes.c_int64 * max(len(self.shape), 1)
        shape, strides = extents(*self.shape), extents(*(self.strides or []))

        def free(_tensor):
            self.frees += 1

        deleter = DELETER(free)
        tensor = DLTensor(data=MEMORY.ctypes.data + 4 * self.first if self.has_data else None, shape=shape if self.has_shape else None,
                          strides=strides if self.strides else None, **self.fields)  # fmt: skip
        address = ctypes.cast(deleter, ctypes.c_void_p) if self.has_deleter else None
        managed = Versioned(self.major, 0, None, address, self.flags, tensor) if self.is_versioned else Managed(tensor, None, address)
        self.tensors.append((managed, shape, strides, deleter))
        return new_capsule(ctypes.addressof(managed), b"dltensor_versioned" if self.is_versioned else self.name, None)


def run(seed, count):
    from dlpack_test import session_of
    from onnx import TensorProto

    import gantry

    draw = random.Random(seed)
    session = session_of(TensorProto.FLOAT)
    refused = taken = 0
    for number in range(count):
        liar = Liar(draw)
        told = f"capsule {number} of seed {seed}: {vars(liar)}"
        try:
            result = session.run({"x": liar})["y"]
            assert liar.expected is not None, f"{told} was taken"
            np.testing.assert_array_equal(result, liar.expected, err_msg=told)
            taken += 1
            del result
            gc.collect(0)
            assert liar.frees == liar.has_deleter, told
        except gantry.InvalidArgumentError as error:
            assert liar.expected is None, f"{told} was refused: {error}"
            assert str(error).startswith('input "x": ') and "Liar" in str(error), f"{told}: {error}"
            assert liar.frees <= len(liar.tensors), told
            refused += 1
    print(f"{taken} taken, {refused} refused")
    assert taken > count // 5 and refused > count // 5


def test_lies_are_refused():
    """In a process of its own: what is believed wrongly ends it."""
    done = subprocess.run([sys.executable, __file__, "1", "3000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-3000:]}"


if __name__ == "__main__":
    faulthandler.enable()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    run(int(sys.argv[1]), int(sys.argv[2]))
