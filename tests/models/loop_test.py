# SPDX-License-Identifier: Apache-2.0
"""Loops as exporters write them, against ONNX Runtime run live."""

import numpy as np
import onnx
import onnxruntime
import pytest

import gantry


@pytest.mark.parametrize("inputs", ["n, go", ",", "n,"])
@pytest.mark.parametrize("shape", ["", "[1]"])
def test_iteration_and_condition_have_the_rank_that_the_body_declares(inputs, shape):
    """The standard's own case test_loop11 declares the iteration as [1], and so does spox."""
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]> g (int64{shape} n, bool{shape} go) => (int64 last, int64 i_all, bool c_all) {{
        zero = Constant <value_int = 0> ()
        last, i_all, c_all = Loop ({inputs}, zero) <body = b (int64{shape} i, bool{shape} c, int64 before) => (bool{shape} c_out, int64 after, int64{shape} i_out, bool{shape} c_copy) {{
            three = Constant <value: tensor = int64{shape} {{3}}> ()
            c_out = Less (i, three) c_copy = Identity (c) i_out = Identity (i)
            none = Constant <value: tensor = int64[0] {{}}> ()
            flat = Reshape (i, none)
            after = Add (before, flat) }}> }}""")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    extents = [1] if shape else []
    feeds = {"n": np.full(extents, 4), "go": np.full(extents, True)}
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = gantry.Session(model).run(feeds)
    assert found["last"] == 6
    for name, value in zip(("last", "i_all", "c_all"), expected):
        assert found[name].shape == value.shape and np.array_equal(found[name], value)


def test_a_body_that_declares_another_rank_than_the_loop_begins_with(capfd):
    """As tf2onnx's tests have it; inference is told the rank by the body alone."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x) => (float[2, 3] y) {
        four = Constant <value_int = 4> ()
        y = Loop (four, , x) <body = b (int64 i, bool c, float before) => (bool c_out, float after) {
            c_out = Identity (c)
            twice = Add (before, before)
            after = Neg (twice) }> }""")
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    assert np.array_equal(gantry.Session(model).run(feeds)["y"], expected)
    assert 'input "before" of a loop\'s body' in capfd.readouterr().err


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_that_declares_a_wrong_rank(flag):
    """Nothing is inferred of Reshape's result: what the branch says is all there is, until the other branch says something else."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (bool flag, float[2, 3] x, int64[n] shape) => (float[a, b] y) {
        y = If (flag) <then_branch = t () => (float[k] r) { r = Reshape (x, shape) }, else_branch = e () => (float[2, 3] s) { s = Neg (x) }> }""")
    feeds = {"flag": np.array(flag), "x": np.arange(6, dtype=np.float32).reshape(2, 3), "shape": np.array([3, 2])}
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    assert np.array_equal(gantry.Session(model).run(feeds)["y"], expected)
