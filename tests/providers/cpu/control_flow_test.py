# SPDX-License-Identifier: Apache-2.0
"""What If, Loop and Scan hand out: tensors that leave the session are made in their place, others come out as they are."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from oracle import run_ort, run_reference

import gantry

X = np.float32([[1, -2, 3], [-4, 5, -6]])

# name: the outputs of the graph and its nodes, in ONNX's text; inputs are bool c, float[2, 3] x, int64 n
CASES = {
    "made by a kernel": ("float[2, 3] y", "y = If(c) <then_branch = a () => (float[2, 3] t) { t = Relu(x) }, else_branch = b () => (float[2, 3] e) { m = Neg(x) e = Exp(m) }>"),
    "what is captured": ("float[2, 3] y", "y = If(c) <then_branch = a () => (float[2, 3] t) { t = Identity(x) }, else_branch = b () => (float[2, 3] e) { e = Neg(x) }>"),
    "constants": ("float[2] y", "y = If(c) <then_branch = a () => (float[2] t) { t = Constant <value = float[2] {1.0, 2.0}> () }, else_branch = b () => (float[2] e) { e = Constant <value = float[2] {3.0, 4.0}> () }>"),
    "one value twice": ("float[2, 3] y, float[2, 3] z", "y, z = If(c) <then_branch = a () => (float[2, 3] t, float[2, 3] t) { t = Relu(x) }, else_branch = b () => (float[2, 3] e, float[2, 3] f) { e = Neg(x) s = Shape(x) f = Reshape(e, s) }>"),
    "views of what is made": ("float[6] y, float[2, 3] z", "y, z = If(c) <then_branch = a () => (float[6] t, float[2, 3] r) { r = Relu(x) f = Constant <value = int64[1] {-1}> () t = Reshape(r, f) }, else_branch = b () => (float[6] e, float[2, 3] m) { m = Neg(x) f = Constant <value = int64[1] {-1}> () e = Reshape(m, f) }>"),
    "read by the body too": ("float[2, 3] y, float[2, 3] z", "y, z = If(c) <then_branch = a () => (float[2, 3] t, float[2, 3] u) { t = Relu(x) u = Exp(t) }, else_branch = b () => (float[2, 3] e, float[2, 3] f) { e = Neg(x) f = Add(e, e) }>"),
    "fewer than were asked for": ("int64[2, k] y", "y = If(c) <then_branch = a () => (int64[2, k] t) { r = Relu(x) t = NonZero(r) }, else_branch = b () => (int64[2, k] e) { m = Neg(x) r = Relu(m) e = NonZero(r) }>"),
    "nested": ("float[2, 3] y", "y = If(c) <then_branch = a () => (float[2, 3] t) { t = If(c) <then_branch = aa () => (float[2, 3] tt) { tt = Relu(x) }, else_branch = ab () => (float[2, 3] te) { te = Abs(x) }> }, else_branch = b () => (float[2, 3] e) { e = Neg(x) }>"),
    "nested, fewer than were asked for": ("int64[2, k] y", "y = If(c) <then_branch = a () => (int64[2, k] t) { t = If(c) <then_branch = aa () => (int64[2, k] tt) { r = Relu(x) tt = NonZero(r) }, else_branch = ab () => (int64[2, k] te) { te = NonZero(x) }> }, else_branch = b () => (int64[2, k] e) { e = NonZero(x) }>"),
    "read in the graph too": ("float[2, 3] y, float[2, 3] z", "y = If(c) <then_branch = a () => (float[2, 3] t) { t = Relu(x) }, else_branch = b () => (float[2, 3] e) { e = Neg(x) }> z = Exp(y)"),
    "only read in the graph": ("float[2, 3] z", "y = If(c) <then_branch = a () => (float[2, 3] t) { t = Relu(x) }, else_branch = b () => (float[2, 3] e) { e = Neg(x) }> z = Exp(y)"),
    "texts": ("string[2] y", 'y = If(c) <then_branch = a () => (string[2] t) { u = Constant <value_strings = ["a", "b"]> () t = Identity(u) }, else_branch = b () => (string[2] e) { e = Constant <value_strings = ["c", "d"]> () }>'),
    "last of a loop": ("float[2, 3] y", "y = Loop(n, c, x) <body = b (int64 i, bool g, float[2, 3] v) => (bool h, float[2, 3] w) { h = Identity(g) w = Add(v, x) }>"),
    "the loop's own input": ("float[2, 3] y, float[2, 3] z", "y, z = Loop(n, c, x, x) <body = b (int64 i, bool g, float[2, 3] v, float[2, 3] w) => (bool h, float[2, 3] vo, float[2, 3] wo) { h = Identity(g) wo = Identity(v) vo = Mul(w, v) }>"),
    "a loop that ends itself": ("float[2, 3] y, float[m, 2, 3] z", "y, z = Loop(n, c, x) <body = b (int64 i, bool g, float[2, 3] v) => (bool h, float[2, 3] w, float[2, 3] s) { one = Constant <value = int64 {1}> () h = Less(i, one) w = Add(v, x) s = Identity(w) }>"),
    "one value to carry and to keep": ("float[2, 3] y, float[m, 2, 3] z", "y, z = Loop(n, c, x) <body = b (int64 i, bool g, float[2, 3] v) => (bool h, float[2, 3] w, float[2, 3] w) { h = Identity(g) w = Add(v, x) }>"),
    "a loop in a branch": ("float[2, 3] y", "y = If(c) <then_branch = a () => (float[2, 3] t) { t = Loop(n, c, x) <body = b (int64 i, bool g, float[2, 3] v) => (bool h, float[2, 3] w) { h = Identity(g) w = Add(v, x) }> }, else_branch = d () => (float[2, 3] e) { e = Neg(x) }>"),
    "a branch in a loop": ("float[2, 3] y", "y = Loop(n, c, x) <body = b (int64 i, bool g, float[2, 3] v) => (bool h, float[2, 3] w) { h = Identity(g) one = Constant <value = int64 {1}> () q = Less(i, one) w = If(q) <then_branch = a () => (float[2, 3] t) { t = Add(v, x) }, else_branch = d () => (float[2, 3] e) { e = Mul(v, x) }> }>"),
    "last of a scan": ("float[3] y, float[2, 3] z", "s0 = Constant <value = float[3] {0.0, 1.0, 2.0}> () y, z = Scan <num_scan_inputs = 1, body = b (float[3] s, float[3] r) => (float[3] t, float[3] o) { t = Add(s, r) o = Exp(t) }> (s0, x)"),
    "a scan's own state": ("float[3] y, float[3] u, float[2, 3] z", "s0 = Constant <value = float[3] {0.0, 1.0, 2.0}> () y, u, z = Scan <num_scan_inputs = 1, body = b (float[3] s, float[3] w, float[3] r) => (float[3] so, float[3] wo, float[3] o) { so = Identity(w) wo = Add(s, r) o = Identity(r) }> (s0, s0, x)"),
}


def model_of(outputs, nodes):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 17]>\ng (bool c, float[2, 3] x, int64 n) => ({outputs}) {{ {nodes} used = Cast <to = 7> (c) unread = Add(used, n) }}')


@pytest.mark.parametrize("name", CASES)
def test_outputs(name):
    """Three runs of one session, whose results are compared when all are there: none is written to by a later one."""
    model = model_of(*CASES[name])
    session = gantry.Session(model, device="CPU")
    feeds = [{"c": np.array(c), "x": X + k, "n": np.array(n)} for k, (c, n) in enumerate([(True, 3), (False, 2), (True, 1)])]
    results = [session.run(given) for given in feeds]
    # ONNX Runtime 1.31 hands out memory that it has let go of where a body names an output twice.
    oracle = run_reference if name == "one value twice" else run_ort
    for given, found in zip(feeds, results, strict=True):
        for value, expected in zip(found.values(), oracle(model, given), strict=True):
            np.testing.assert_array_equal(value, expected) if value.dtype.kind in "OUi" else np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_a_run_after_one_that_failed_in_a_branch():
    model = model_of("float[2, 3] y", "y = If(c) <then_branch = a () => (float[2, 3] t) { r = Relu(x) m = Constant <value_ints = [-1]> () k = Reshape(n, m) q = Concat <axis = 0> (k, k) t = Reshape(r, q) }, else_branch = b () => (float[2, 3] e) { e = Neg(x) }>")
    session = gantry.Session(model, device="CPU")
    with pytest.raises(gantry.Error):
        session.run({"c": np.array(True), "x": X, "n": np.int64(4)})
    np.testing.assert_array_equal(session.run({"c": np.array(False), "x": X, "n": np.int64(4)})["y"], -X)


def test_a_scan_in_batches_needs_an_axis_to_scan():
    """Version 8, whose first axis is the batch."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["n"]), ("y", ["n", "m"]), ("s", []), ("t", []))]
    body = helper.make_graph([helper.make_node("Identity", ["s"], ["t"])], "body", values[2:3], values[3:])
    node = helper.make_node("Scan", ["", "x"], ["y"], name="scan", body=body, num_scan_inputs=1)
    model = helper.make_model(helper.make_graph([node], "g", values[:1], values[1:2]), opset_imports=[helper.make_opsetid("", 8)], ir_version=10)
    session = gantry.Session(model, device="CPU")
    with pytest.raises(gantry.InvalidModelError, match="input 0 has no axis 1"):
        session.run({"x": np.zeros(2, np.float32)})
