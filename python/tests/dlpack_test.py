# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries in and out: DLPack of every kind, read in place where that is possible."""

import ctypes
import gc
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from broken_models import make_model
from onnx import TensorProto, helper

import gantry

INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
CPU, CUDA = 1, 2


class DLTensor(ctypes.Structure):
    """As dlpack.h declares it, and the members of DLManagedTensor after it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Foreign:
    """A tensor of a library that NumPy knows nothing of; hands out its memory through DLPack only."""

    def __init__(self, array, code, device=CPU, lanes=1, bits=None):
        self.array, self.code, self.device, self.lanes = array, code, device, lanes
        self.bits = bits or 8 * array.itemsize
        self.freed = 0

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, **_options):
        array, ndim = self.array, self.array.ndim
        extents = ctypes.c_int64 * ndim
        self.shape = extents(*array.shape)
        self.strides = extents(*(step // array.itemsize for step in array.strides))

        def free(_tensor):
            self.freed += 1

        self.deleter = DELETER(free)
        self.tensor = DLTensor(array.ctypes.data, self.device, 0, ndim, self.code, self.bits, self.lanes, self.shape, self.strides, 0, None,
                               ctypes.cast(self.deleter, ctypes.c_void_p))
        return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)


def session_of(element_type, op_type="Identity"):
    of_any_rank = [helper.make_tensor_value_info(name, element_type, None) for name in "xy"]
    model = make_model([helper.make_node(op_type, ["x"], ["y"])], of_any_rank[:1], of_any_rank[1:])
    model.opset_import[0].version = 25
    return gantry.Session(model)


@pytest.mark.parametrize(
    ("dtype", "code"),
    [("float32", FLOAT), ("float64", FLOAT), ("float16", FLOAT), ("int8", INT), ("int64", INT), ("uint8", UINT), ("uint32", UINT),
     ("bool", BOOL), ("complex64", 5), (ml_dtypes.bfloat16, BFLOAT), (ml_dtypes.float8_e4m3fn, 10), (ml_dtypes.float8_e4m3fnuz, 11),
     (ml_dtypes.float8_e5m2, 12), (ml_dtypes.float8_e5m2fnuz, 13), (ml_dtypes.float8_e8m0fnu, 14)],
)  # fmt: skip
def test_every_element_type(dtype, code):
    given = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    foreign = Foreign(given, code)
    result = session_of(helper.np_dtype_to_tensor_dtype(given.dtype)).run({"x": foreign})["y"]
    assert result.dtype == given.dtype
    assert result.tobytes() == given.tobytes()
    gc.collect()
    assert foreign.freed == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::-1, ::2],
        lambda a: a[:, 1:2],
        lambda a: a[:0],
        lambda a: a[0, 0],
        lambda a: np.broadcast_to(a[:1], (3, 6)),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 6),
    ],
)
def test_every_layout(view):
    given = np.asarray(view(np.arange(24, dtype=np.float32).reshape(4, 6)))
    session = session_of(TensorProto.FLOAT, "Neg")
    np.testing.assert_array_equal(session.run({"x": Foreign(given, FLOAT)})["y"], -given)
    np.testing.assert_array_equal(session.run({"x": given})["y"], -given)


def test_refusals():
    session = session_of(TensorProto.FLOAT)
    ones = np.ones(2, np.float32)
    for wrong, said in [
        (Foreign(ones, FLOAT, device=CUDA), 'input "x": expected memory of a device .* \\(none\\), found DLPack.s device \\(2, 0\\); copy it to the host first'),
        (Foreign(ones, 99), "ONNX has no element type for a Foreign of DLPack type code 99 with 32 bits"),
        (Foreign(ones, FLOAT, lanes=2), "ONNX has no element type"),
        (Foreign(ones.astype(int), INT), "expected float32 of any rank, found .*int64"),
    ]:
        with pytest.raises(gantry.InvalidArgumentError, match=said):
            session.run({"x": wrong})

    class Unwilling:
        def __dlpack__(self, **_options):
            raise BufferError("the tensor requires grad")

    with pytest.raises(gantry.InvalidArgumentError, match='input "x": an Unwilling does not hand out its memory \\(BufferError: the tensor requires grad'):
        session.run({"x": Unwilling()})


def test_read_only_arrays():
    given = np.ones(3, np.float32)
    given.flags.writeable = False
    assert session_of(TensorProto.FLOAT, "Neg").run({"x": given})["y"].tolist() == [-1] * 3


def test_lists_of_lists():
    session = session_of(TensorProto.FLOAT, "Neg")
    assert session.run({"x": [[1, 2], [3, 4]]})["y"].tolist() == [[-1, -2], [-3, -4]]
    with pytest.raises(gantry.InvalidArgumentError, match='input "x": expected an array; a list cannot be made one: .*inhomogeneous'):
        session.run({"x": [[1, 2], [3]]})
    with pytest.raises(gantry.InvalidArgumentError, match='input "x": expected an array, found None'):
        session.run({"x": None})
    with pytest.raises(gantry.InvalidArgumentError, match='input "x": expected an array, found a dict'):
        session.run({"x": {}})
    with pytest.raises(gantry.InvalidArgumentError, match='input "x": expected float32, found a list of <U1'):
        session.run({"x": ["a"]})


def test_outputs_are_shared():
    result = session_of(TensorProto.FLOAT, "Neg").run({"x": np.ones(3, np.float32)})["y"]
    other = np.from_dlpack(result)
    assert np.shares_memory(other, result)
    del result
    gc.collect()
    assert other.tolist() == [-1, -1, -1]


def test_strings_of_every_type():
    session = session_of(TensorProto.STRING)
    texts = ["a", "", "ünïcödé"]
    for given in (np.array(texts), np.array(texts, object), np.array(texts, np.dtypes.StringDType()), texts):
        assert session.run({"x": given})["y"].tolist() == texts


LARGE = """
import resource, sys
import numpy as np, onnx
from onnx import helper
import gantry
info = lambda n, s: helper.make_tensor_value_info(n, 1, s)
graph = helper.make_graph([helper.make_node("ReduceMax", ["x"], ["y"], keepdims=0)], "g", [info("x", ["n"])], [info("y", [])])
session = gantry.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
class Only:
    def __init__(self, array): self.array = array
    def __dlpack__(self, **options): return self.array.__dlpack__(**options)
    def __dlpack_device__(self): return self.array.__dlpack_device__()
x = np.ones(64 << 20, np.float32)
session.run({"x": x[:1000]})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
session.run({"x": x})
session.run({"x": Only(x)})
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


def test_large_inputs_are_not_copied():
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64, "MiB more than before, for inputs of 256 MiB"


def test_nothing_is_left_behind():
    """Objects and memory after many runs, failed ones too, are those of before."""
    session = session_of(TensorProto.FLOAT, "Neg")
    given = np.ones(1000, np.float32)

    def work(count):
        for _ in range(count):
            session.run({"x": given})
            session.run({"x": Foreign(given, FLOAT)})
            for wrong in (given.astype(int), None, "x"):
                with pytest.raises(gantry.InvalidArgumentError):
                    session.run({"x": wrong})

    work(20)
    gc.collect()
    before = (len(gc.get_objects()), sys.getrefcount(given), sys.getrefcount(given.dtype), sys.getrefcount(None) // 1000)
    work(300)
    gc.collect()
    after = (len(gc.get_objects()), sys.getrefcount(given), sys.getrefcount(given.dtype), sys.getrefcount(None) // 1000)
    assert after[0] - before[0] < 100
    assert after[1:] == before[1:]


def test_results_outlive_their_session():
    session = session_of(TensorProto.FLOAT, "Neg")
    result, info, placement = session.run({"x": np.ones(4, np.float32)})["y"], session.inputs[0], session.placement
    del session
    gc.collect()
    assert (info.name, result.tolist(), placement.nodes[0].op_type) == ("x", [-1] * 4, "Neg")


class Twice:
    """Gives one capsule as often as it is asked, which only the first may use."""

    def __init__(self):
        self.array = np.ones(3, np.float32)
        self.capsule = self.array.__dlpack__()

    def __dlpack_device__(self):
        return (CPU, 0)

    def __dlpack__(self, **_options):
        return self.capsule


def test_a_capsule_is_used_once():
    session, twice = session_of(TensorProto.FLOAT), Twice()
    np.testing.assert_array_equal(session.run({"x": twice})["y"], [1, 1, 1])
    for _ in range(3):
        with pytest.raises(gantry.InvalidArgumentError, match="Twice does not hand out its memory"):
            session.run({"x": twice})
        gc.collect()
