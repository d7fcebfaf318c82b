# SPDX-License-Identifier: Apache-2.0
"""Every provider in a process of its own gives what it gives in this one: values of each kind, control flow and devices to the bit, real models, whose kernels may
be fused otherwise at the borders of what is isolated, to within their rounding."""

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import onnx
import pytest
from model_files import light_file, model_file
from sanitizer import PATIENCE

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from isolated_cases import run  # noqa: E402: beside this file

random = np.random.default_rng(3)


def numbers(*shape, dtype=np.float32):
    return (random.standard_normal(shape) * 3).astype(dtype)


def text(graph, opset=21):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}').SerializeToString()


def real_models():
    line = numbers(1, 3, 48, 320)
    yield "OCR recognition", (model_file("rapidocr/rapidocr/models/PP-OCRv6_rec_small.onnx"), [{"x": line}, {"x": line[..., :96].copy()}, {"x": line}], "CPU")
    for name in ("squeezenet", "resnet50"):
        model = light_file(name)
        graph = onnx.load(model, load_external_data=False).graph
        (image,) = (value for value in graph.input if value.name not in {weight.name for weight in graph.initializer})
        shape = [d.dim_value for d in image.type.tensor_type.shape.dim]
        yield f"light {name}", (model, [{image.name: numbers(*shape)}], "CPU")
    voice = model_file("silero-vad/silero_vad/data/silero_vad.onnx")
    state = {"state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}
    yield "silero_vad", (voice, [{"input": numbers(1, 512), **state}, {"input": numbers(1, 512), **state}], "CPU")


CASES = {
    "sizes": (text("g (float[n] x) => (float[n] y) { a = Relu(x) y = Add(a, x) }"),
              [{"x": numbers(n)} for n in (1, 0, 7, 100_000, 3, 2_000_000, 100_000)], "CPU"),
    "scalar": (text("g (float x) => (float y) { y = Exp(x) }"), [{"x": numbers()}], "CPU"),
    "sizes that depend on elements": (text("g (float[n] x) => (int64[1, m] y, float[k] z) { y = NonZero(x) q = Greater(x, x) z = Compress(x, q) }"),
                                      [{"x": np.float32([0, 1, 2])}, {"x": np.float32([0, 0, 2])}, {"x": np.float32([5])}], "CPU"),
    "an output twice": (text("g (float[n] x) => (float[n] y, float[n] z) { y = Neg(x) z = Identity(y) }"), [{"x": numbers(5)}], "CPU"),
    "strings": (text("g (string[n] x, string[n] z) => (string[n] y, float[m] l) { y = StringConcat(x, z) q = Shape(y) l = ConstantOfShape(q) }"),
                [{"x": np.array(["a", ""], object), "z": np.array(["b", "long " * 30000], object)}], "CPU"),
    "a sequence comes out": (text("g (float[n] x, int64 i) => (seq(float[m]) y) { s = SplitToSequence <axis = 0> (x, i) y = SequenceInsert(s, x) }"),
                             [{"x": numbers(6), "i": np.int64(2)}, {"x": numbers(60000), "i": np.int64(30000)}], "CPU"),
    "a sequence goes in": (text("g (seq(float[m]) s) => (float[k] y) { y = ConcatFromSequence <axis = 0> (s) }"),
                           [{"s": [numbers(2), numbers(3)]}, {"s": [numbers(50000), numbers(1)]}], "CPU"),
    "a loop": (text("""g (int64 n, float[k] x) => (float[k] y, float[n, k] all) {
        t = Constant <value = bool {1}> ()
        y, all = Loop <body = b (int64 i, bool c, float[k] v) => (bool d, float[k] w, float[k] u) { d = Identity(c) w = Add(v, x) u = Mul(w, w) }> (n, t, x) }"""),
               [{"n": np.int64(3), "x": numbers(4)}, {"n": np.int64(0), "x": numbers(4)}, {"n": np.int64(5), "x": numbers(70000)}], "CPU"),
    "a branch": (text("""g (bool c, float[k] x) => (float[k] y) {
        y = If <then_branch = t () => (float[k] a) { a = Neg(x) }, else_branch = e () => (float[k] b) { b = Exp(x) }> (c) }"""),
                 [{"c": np.bool_(value), "x": numbers(4)} for value in (True, False)], "CPU"),
    "a device with memory of its own": (text("g (float[2, n] x) => (float[2, n] y) { a = Relu(x) y = Add(a, x) }"),
                                        [{"x": numbers(2, n)} for n in (3, 3, 40000)], "SIM:1"),
}
REAL = dict(real_models())


@pytest.fixture(name="isolated", scope="module")
def run_isolated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("isolated")
    (folder / "cases").write_bytes(pickle.dumps({**CASES, **REAL}))
    program = str(pathlib.Path(__file__).parent / "isolated_cases.py")
    done = subprocess.run([sys.executable, program, folder / "cases", folder / "results"], env={**os.environ, "GANTRY_ISOLATION": "all", "GANTRY_LOG": "info"},
                          timeout=300 * PATIENCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for provider in ("cpu", "sim"):
        assert f'provider "{provider}" runs in process ' in done.stderr
    return pickle.loads((folder / "results").read_bytes())


def same(ours, theirs, tolerance):
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other, tolerance)
    elif tolerance:
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())
    else:
        np.testing.assert_array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


@pytest.mark.parametrize("name", [*CASES, *REAL])
def test_results_are_the_same(isolated, name):
    ((expected, owners),) = run({name: {**CASES, **REAL}[name]}).values()
    actual, isolated_owners = isolated[name]
    assert {device for _, device in isolated_owners} >= {"SIM:1" if "device" in name else "CPU:0"}
    assert {provider for provider, _ in isolated_owners} - {"core"} <= {provider for provider, _ in owners}
    for one, other in zip(actual, expected, strict=True):
        assert one.keys() == other.keys()
        for output in one:
            same(one[output], other[output], 1e-4 if name in REAL else 0)


def test_arrays_of_the_sessions_memory_are_like_others():
    code = """
import gantry, ml_dtypes, numpy as np, onnx.parser, sys
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\\ng (float[n, 300] x, bfloat16[4] b, int4[2] q) => (float[n, 300] y, bfloat16[4] c, int4[2] r)'
                                ' { y = Relu(x) c = Identity(b) r = Identity(q) }').SerializeToString()
session = gantry.Session(model)
x = session.empty("x", [200, 300])
assert x.shape == (200, 300) and x.dtype == np.float32 and x.flags.c_contiguous and x.flags.writeable
x[...] = np.arange(60000, dtype="f").reshape(200, 300) - 9
b = session.empty("b")
assert b.shape == (4,) and b.dtype.name == "bfloat16"
b[...] = [1, 2, 3, 4]
small = {"b": b, "q": np.zeros(2, ml_dtypes.int4)}
out = session.run({"x": x, **small})
np.testing.assert_array_equal(out["y"], np.maximum(x, 0))
np.testing.assert_array_equal(session.run({"x": out["y"], **small})["y"], out["y"])
for name, shape, words in (("x", None, "open"), ("x", [2, 5], "float32[n,300]"), ("z", [2], "no such"), ("x", 5, "sequence"), ("q", None, "packed")):
    try:
        session.empty(name, shape)
        sys.exit(f"{name} {shape} was taken")
    except gantry.InvalidArgumentError as error:
        assert words in str(error), error
del session
assert x[0, 0] == -9
"""
    for isolation in ("all", "off"):
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GANTRY_ISOLATION": isolation}, timeout=120 * PATIENCE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


ARRAYS = """
import gantry, gc, numpy as np, onnx.parser, threading
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\\ng (float[n, 300] x) => (float[n, 300] y) { y = Relu(x) }').SerializeToString()
session = gantry.Session(model)
mine = session.arrays()
name = np._core.multiarray.get_handler_name

outside = np.zeros((200, 300), "f")
with mine:
    x = np.arange(60000, dtype="f").reshape(200, 300) - 9
    zeros = np.zeros(50000, "f")
    zeros[:] = 3
    del zeros
    zeros = np.zeros(50000, "f")  # over the memory of the one before
    grown = np.full(8000, 2, "f")
    grown.resize(90000, refcheck=False)
    grown.resize(6000, refcheck=False)
    grown.resize(1, refcheck=False)
    tiny = np.zeros(3)
    with mine:
        twice = np.ones(9000)
    again = np.ones(9000)
    other = []
    thread = threading.Thread(target=lambda: other.append(np.ones(9000)))
    thread.start(); thread.join()
after = np.ones(9000)
assert {name(array) for array in (zeros, tiny, twice, again)} == {"gantry_session"} and name(after) == name(outside) == name(other[0]) == "default_allocator"
assert not zeros.any() and grown.tolist() == [2]
expected = np.maximum(np.array(x), 0)
np.testing.assert_array_equal(session.run({"x": x})["y"], expected)
np.testing.assert_array_equal(session.run({"x": x[50:150]})["y"], expected[50:150])

failed = gantry.Session(model)
try:
    with failed.arrays():
        kept = np.full((100, 300), 5, "f")
        raise KeyError("out of the block")
except KeyError:
    pass
assert name(np.ones(9000)) == "default_allocator"
del failed, session, mine
gc.collect()
assert (kept == 5).all() and x[0, 0] == -9, "arrays outlive their session"
"""


@pytest.mark.parametrize("isolation", ["all", "off"])
def test_arrays_that_numpy_makes_in_the_sessions_memory(isolation):
    done = subprocess.run([sys.executable, "-c", ARRAYS], env={**os.environ, "GANTRY_ISOLATION": isolation}, timeout=120, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_neither_inputs_nor_outputs_of_the_sessions_memory_are_copied():
    """Seen in the memory that this process and the worker share: what lies there was made there, and there is nothing else."""
    code = """
import gantry, numpy as np, onnx.parser, re, sys
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\\ng (float[n] x) => (float[n] y) { y = Relu(x) }').SerializeToString()
session = gantry.Session(model)

def is_shared(array):
    at = array.__array_interface__["data"][0]
    for line in open("/proc/self/maps"):
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if begin <= at < end:
            return "gantry-tensors" in line

def pages():
    blocks = re.findall(r"gantry-tensors.*?Rss: +(\\d+) kB", open("/proc/self/smaps").read(), re.S)
    return sum(map(int, blocks)) * 1024

count = 4 << 20
with session.arrays():
    x = np.full(count, -1, "f")
x[:2] = 7
assert is_shared(x)
before = pages()
y = session.run({"x": x})["y"]
assert pages() - before < 0.1 * y.nbytes, "this process wrote no copy of the input there, and has not read the output yet"
assert is_shared(y) and y[0] == 7 and y[2] == 0, "an output is numpy's as it lies"
elsewhere = np.full(count, 2, "f")
before = pages()
z = session.run({"x": elsewhere})["y"]
assert not is_shared(elsewhere) and z[5] == 2 and pages() - before > 0.8 * z.nbytes
"""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GANTRY_ISOLATION": "all"}, timeout=120, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
