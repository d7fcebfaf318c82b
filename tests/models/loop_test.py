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
