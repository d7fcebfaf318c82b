# SPDX-License-Identifier: Apache-2.0
"""MatMul by a constant matrix with a bias and an activation behind it, as one kernel: the same results as ONNX Runtime's, and left alone where it is not that."""

import numpy as np
import onnxruntime
import pytest
from onnx import numpy_helper, parser

import gantry

FUSED = "MatMul+activation"


def draw(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


CONSTANTS = {"w": draw(5, 7, seed=1), "b": draw(7, seed=2), "column": draw(3, 1, seed=3), "v": draw(7, seed=4)}


def model_of(text, shape="N, 3, 5", outputs="float[N, 3, 7] y"):
    constants = {name: array for name, array in CONSTANTS.items() if any(f"{before}{name}{after}" in text for before in "( " for after in ",)")}
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g (float[{shape}] x) => ({outputs}) {{ {text} }}')
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return model


def run(model, x, threads=1):
    """What gantry makes, and its kernels; it must be what ONNX Runtime makes."""
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
    found = session.run({"x": x})
    for array, name in zip(onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x}), found, strict=True):
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5)
    return [node.kernel for node in session.placement.nodes]


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Mish", "HardSwish"])
@pytest.mark.parametrize("sum_of", ["Add(m, b)", "Add(b, m)"])
@pytest.mark.parametrize("threads", [1, 2])
def test_product_bias_and_activation_are_one(activation, sum_of, threads):
    model = model_of(f"m = MatMul(x, w) s = {sum_of} y = {activation}(s)")
    assert run(model, draw(300, 3, 5, seed=5), threads) == [FUSED] * 3


def test_without_a_bias():
    assert run(model_of("m = MatMul(x, w) y = Sigmoid(m)"), draw(2, 3, 5, seed=5)) == [FUSED] * 2


def test_of_no_rows():
    assert run(model_of("m = MatMul(x, w) s = Add(m, b) y = Sigmoid(s)"), draw(0, 3, 5, seed=5)) == [FUSED] * 3


@pytest.mark.parametrize("text, outputs", [
    ("m = MatMul(x, w) s = Add(m, column) y = Sigmoid(s)", "float[N, 3, 7] y"),  # what is added is no row
    ("m = MatMul(x, w) s = Add(m, m) y = Sigmoid(s)", "float[N, 3, 7] y"),  # one value twice
    ("m = MatMul(x, w) s = Add(m, b) y = Erf(s)", "float[N, 3, 7] y"),  # another function
    ("m = MatMul(x, v) y = Sigmoid(m)", "float[N, 3] y"),  # a vector
    ("m = MatMul(x, w) s = Add(m, b) y = Sigmoid(s)", "float[N, 3, 7] y, float[N, 3, 7] s"),  # somebody reads what is in between
    ("m = MatMul(x, w) s = Add(m, b) t = Abs(s) u = Sigmoid(s) y = Add(t, u)", "float[N, 3, 7] y"),
])
def test_others_are_left_alone(text, outputs):
    x = draw(2, 3, 7 if "x, v" in text else 5, seed=5)
    assert FUSED not in run(model_of(text, "N, 3, 7" if "x, v" in text else "N, 3, 5", outputs), x)


def test_a_wrong_last_extent_is_named():
    session = gantry.Session(model_of("m = MatMul(x, w) y = Sigmoid(m)", "N, 3, K", "float[N, 3, M] y"), device="CPU")
    with pytest.raises(gantry.InvalidArgumentError, match="6.*not 5"):
        session.run({"x": draw(2, 3, 6, seed=5)})
