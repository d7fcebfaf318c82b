# SPDX-License-Identifier: Apache-2.0
"""libonnxruntime.so.1 over gantry: one program (api_program.cc) says the same with it as with ONNX Runtime's own."""

import os
import pathlib
import subprocess
import sys

import command_line
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

BUILD = command_line.BINARY.parents[1]
PROGRAM = BUILD / "tests" / "api_program"
OURS = BUILD / "lib" / "gantry" / "onnxruntime" / "libonnxruntime.so.1"
(THEIRS,) = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.1.*")
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
value = helper.make_tensor_value_info
W = numpy_helper.from_array(np.array([1, 2, 3], np.float32), "w")


def saved(folder, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "the graph", inputs, outputs, list(initializers), doc_string="of the graph")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8, producer_name="tester",
                              domain="org.test", doc_string="a model", model_version=7)
    helper.set_model_props(model, {"author": "nobody", "b": "2"})
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def add(folder):
    nodes = [helper.make_node("Add", ["x", "y"], ["z"]), helper.make_node("Mul", ["x", "w"], ["p"])]
    return saved(folder, nodes, [value("x", FLOAT, ["n", 3]), value("y", FLOAT, [None, 3])], [value("z", FLOAT, ["n", 3]), value("p", FLOAT, ["n", 3])], [W])


def defaults(folder):
    """An input that the model has a value for."""
    return saved(folder, [helper.make_node("Add", ["x", "w"], ["z"])], [value("x", FLOAT, [3]), value("w", FLOAT, [3])], [value("z", FLOAT, [3])], [W])


def strings(folder):
    return saved(folder, [helper.make_node("Identity", ["x"], ["y"])], [value("x", STRING, [2, 2])], [value("y", STRING, [2, 2])])


def maps(folder):
    rows = helper.make_sequence_type_proto(helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, [])))
    node = helper.make_node("ZipMap", ["x"], ["m"], domain="ai.onnx.ml", classlabels_int64s=[5, 6, 7])
    return saved(folder, [node], [value("x", FLOAT, [2, 3])], [helper.make_value_info("m", rows)])


def unknown_rank(folder):
    return saved(folder, [helper.make_node("Identity", ["x"], ["y"])], [value("x", FLOAT, None)], [value("y", FLOAT, None)])


def sequence(folder):
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    nodes = [helper.make_node("SequenceAt", ["s", "one"], ["e"]), helper.make_node("SequenceInsert", ["s", "e"], ["t"])]
    return saved(folder, nodes, [helper.make_value_info("s", kind)], [value("e", FLOAT, None), helper.make_value_info("t", kind)],
                 [numpy_helper.from_array(np.array(1), "one")])


def run(library, scenario, model, argument=""):
    done = subprocess.run([PROGRAM, library, scenario, model, argument], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1), f"ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("scenario, make, argument", [
    ("describe", add, ""), ("describe", defaults, ""), ("describe", maps, ""), ("describe", sequence, ""), ("run", add, ""), ("run", defaults, ""),
    ("run", strings, ""), ("run", maps, ""), ("bytes", add, ""), ("in_place", add, ""), ("errors", add, ""), ("over", defaults, ""), ("options", add, "2"), ("binding", add, ""),
    ("async", add, ""), ("sequence", sequence, ""), ("files", add, "FOLDER"), ("objects", add, ""),
    ("objects", unknown_rank, ""), ("describe", unknown_rank, ""),
])
def test_the_program_says_the_same(scenario, make, argument, tmp_path):
    model = make(tmp_path)
    said = {}
    for name, library in (("theirs", THEIRS), ("ours", OURS)):
        (tmp_path / name).mkdir()
        said[name] = run(library, scenario, model, str(tmp_path / name) if argument == "FOLDER" else argument)
    assert "failed" not in said["theirs"]
    assert said["ours"] == said["theirs"]


def test_a_fixed_extent_is_what_inputs_are_told(tmp_path):
    assert "the input shapes [4, 3] [2, 3] cannot be broadcast" in run(OURS, "options", add(tmp_path), "4")


SLOTS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p * 2)
get_api, get_version = library.OrtGetApiBase().contents
get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(get_api)
print(ctypes.CFUNCTYPE(ctypes.c_char_p)(get_version)().decode(), *(bool(get_api(version)) for version in (0, 1, 31, 1000)))
table = ctypes.cast(get_api(31), ctypes.POINTER(ctypes.c_void_p))
status = ctypes.CFUNCTYPE(ctypes.c_void_p)(table[int(sys.argv[2])])()
print(ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(table[2])(status).decode())
"""


def test_a_function_that_is_not_there_returns_a_status():
    done = subprocess.run([sys.executable, "-c", SLOTS, OURS, "83"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    versions, message = done.stdout.splitlines()
    assert versions == "1.31.0 False True True False"
    assert message == "function 83 of ONNX Runtime's OrtApi, counted from 0, is not there in gantry"


def test_it_is_found_by_its_folder(tmp_path):
    """As LD_LIBRARY_PATH puts it before another one, and by the name that programs are linked with."""
    script = "import ctypes; ctypes.CDLL('libonnxruntime.so.1').OrtGetApiBase; print(next(l for l in open('/proc/self/maps') if 'libonnxruntime' in l).split()[-1])"
    done = subprocess.run([sys.executable, "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(OURS.parent)})
    assert pathlib.Path(done.stdout.strip()) == OURS.resolve()
