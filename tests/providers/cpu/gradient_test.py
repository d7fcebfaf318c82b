# SPDX-License-Identifier: Apache-2.0
"""Gradient against differences of the model's own values in f64."""

import numpy as np
import pytest
from gradient_models import DOMAIN, N, assert_slopes, constant, feeds_of, gradient_of, model_of, number, total_session
from onnx import TensorProto, helper, numpy_helper
from oracle import run_gantry

import gantry

# name: nodes from "a" and "b" to "y", shapes of a and b, initializers
PARTS = {
    "add": ([N("Add", ["a", "b"], "y")], (2, 3), (3,), []),
    "broadcast": ([N("Mul", ["a", "b"], "t"), N("Sub", ["t", "b"], "y")], (4, 1, 3), (2, 1), []),
    "div": ([N("Div", ["a", "b"], "t"), N("Neg", ["t"], "y")], (2, 3), (2, 1), []),
    "pow": ([N("Pow", ["a", "b"], "y")], (2, 3), (3,), []),
    "sum": ([N("Sum", ["a", "b", "a"], "y")], (2, 3), (1, 3), []),
    "chain": ([N("Exp", ["a"], "e"), N("Log", ["e"], "l"), N("Sqrt", ["b"], "s"), N("Mul", ["l", "s"], "m"), N("Tanh", ["m"], "y")], (2, 3), (2, 3), []),
    "waves": ([N("Sin", ["a"], "s"), N("Cos", ["b"], "c"), N("Mul", ["s", "c"], "m"), N("Reciprocal", ["b"], "r"), N("Add", ["m", "r"], "y")], (3,), (3,), []),
    "gates": ([N("Sigmoid", ["a"], "s"), N("Softplus", ["b"], "p"), N("Sub", ["s", "p"], "d"), N("Relu", ["d"], "r"), N("Abs", ["d"], "q"), N("Add", ["r", "q"], "y")], (2, 3), (3,), []),
    "matmul": ([N("MatMul", ["a", "b"], "y")], (2, 3), (3, 4), []),
    "batch": ([N("MatMul", ["a", "b"], "y")], (5, 2, 3), (3, 4), []),
    "spread batch": ([N("MatMul", ["a", "b"], "y")], (1, 2, 3), (5, 3, 4), []),
    "gemm": ([N("Gemm", ["a", "b", "b"], "y", transA=1, alpha=0.5)], (3, 3), (3, 3), []),
    "gemm of rows": ([N("Gemm", ["a", "b"], "y", transB=1)], (2, 3), (4, 3), []),
    "gemm of columns": ([N("Gemm", ["a", "b"], "y", transA=1, transB=1)], (3, 2), (4, 3), []),
    "shapes": ([N("Reshape", ["a", "shape"], "r"), N("Transpose", ["r"], "t", perm=[2, 0, 1]), N("Flatten", ["t"], "f"), N("Mul", ["f", "b"], "y")], (6, 2), (2, 6), [constant("shape", [2, 3, 2])]),
    "sums": ([N("ReduceSum", ["a", "axes"], "s", keepdims=1), N("ReduceMean", ["b", "axes"], "m", keepdims=1), N("Mul", ["s", "m"], "y")], (2, 3), (2, 3), [constant("axes", [1])]),
    "sums whose axis only 1 keeps": ([N("ReduceSum", ["a", "axes"], "s", keepdims=2), N("Mul", ["s", "b"], "y")], (2, 3), (2,), [constant("axes", [1])]),
    "mean": ([N("Mul", ["a", "b"], "m"), N("ReduceMean", ["m"], "y", keepdims=0)], (2, 3), (2, 3), []),
    "softmax": ([N("MatMul", ["a", "b"], "m"), N("Softmax", ["m"], "s", axis=-1), N("Mul", ["s", "m"], "y")], (2, 3), (3, 4), []),
    "inverse functions": ([N("Mul", ["a", "quarter"], "q"), N("Asin", ["q"], "s"), N("Acos", ["q"], "c"), N("Atan", ["a"], "t"), N("Asinh", ["a"], "h"), N("Atanh", ["q"], "k"), N("Mul", ["s", "c"], "u"), N("Mul", ["t", "h"], "v"), N("Mul", ["u", "v"], "w"), N("Mul", ["w", "k"], "x"), N("Add", ["b", "two"], "b2"), N("Acosh", ["b2"], "o"), N("Mul", ["x", "o"], "y")],
                          (2, 3), (3,), [number("quarter", 0.25), number("two", 2)]),
    "hyperbolic": ([N("Sinh", ["a"], "s"), N("Cosh", ["b"], "c"), N("Tan", ["s"], "t"), N("Erf", ["c"], "e"), N("Mul", ["t", "c"], "m"), N("Add", ["m", "e"], "y")], (2, 3), (2, 3), []),
    "activations": ([N("Sub", ["a", "b"], "x"), N("LeakyRelu", ["x"], "l", alpha=0.1), N("Elu", ["x"], "e", alpha=0.7), N("Selu", ["x"], "s"), N("Softsign", ["x"], "g"), N("Sum", ["l", "e", "s", "g"], "t"), N("Mul", ["t", "x"], "y")], (4, 5), (5,), []),
    "hard activations": ([N("Sub", ["a", "b"], "d"), N("Mul", ["d", "five"], "x"), N("HardSigmoid", ["x"], "h"), N("HardSwish", ["x"], "s"), N("Clip", ["x", "", "two"], "c"), N("Sum", ["h", "s", "c"], "t"), N("Mul", ["t", "b"], "y")], (4, 5), (5,), [number("five", 5), number("two", 2)]),
    "extremes": ([N("Max", ["a", "b", "one"], "h"), N("Min", ["a", "b"], "l"), N("Mul", ["h", "h"], "q"), N("Mean", ["q", "l", "b"], "y")], (4, 5), (5,), [number("one", 1)]),
    "where": ([N("Greater", ["a", "b"], "c"), N("Mul", ["a", "b"], "m"), N("Where", ["c", "m", "b"], "y")], (4, 5), (5,), []),
    "reductions": ([N("ReduceL2", ["a", "axes"], "l", keepdims=0), N("ReduceLogSumExp", ["a", "axes"], "e", keepdims=1), N("ReduceMax", ["a"], "m", keepdims=0), N("ReduceMin", ["b", "axes"], "n", keepdims=1), N("ReduceSumSquare", ["a", "axes"], "q", keepdims=0), N("ReduceL1", ["b", "axes"], "o"), N("Mul", ["l", "q"], "u"), N("Mul", ["e", "n"], "v"),
                    N("Mul", ["v", "u"], "w"), N("Mul", ["w", "m"], "x"), N("Mul", ["x", "o"], "y")], (2, 3), (2, 3), [constant("axes", [1])]),
    "some axes": ([N("ReduceSum", ["a", "axes"], "s", keepdims=0), N("ReduceMean", ["a", "axes"], "m", keepdims=0), N("Mul", ["s", "m"], "t"), N("Mul", ["t", "b"], "y")], (2, 3, 4), (3,), [constant("axes", [0, 2])]),
    "log softmax": ([N("MatMul", ["a", "b"], "m"), N("LogSoftmax", ["m"], "s", axis=0), N("Mul", ["s", "m"], "y")], (2, 3), (3, 4), []),
    "pieces": ([N("Concat", ["a", "b", "a"], "c", axis=1), helper.make_node("Split", ["c", "sizes"], ["p", "q"], axis=1), N("Mul", ["p", "p"], "r"), N("ReduceSum", ["q", "axes"], "s"), N("Mul", ["r", "s"], "y")], (2, 3), (2, 2), [constant("sizes", [5, 3]), constant("axes", [1])]),
    "half of a split": ([helper.make_node("Split", ["a", "sizes"], ["p", "q"], axis=0), N("Mul", ["q", "b"], "y")], (4, 3), (3,), [constant("sizes", [1, 3])]),
    "gather": ([N("Gather", ["a", "places"], "g", axis=0), N("Mul", ["g", "b"], "y")], (4, 3), (2, 3, 1), [numpy_helper.from_array(np.int64([[1, 3, 1], [0, 1, 1]]), "places")]),
    "expand": ([N("Expand", ["a", "shape"], "e"), N("Mul", ["e", "b"], "m"), N("Mul", ["m", "e"], "y")], (1, 3), (2, 3), [constant("shape", [4, 2, 3])]),
    "layer normalization": ([N("LayerNormalization", ["a", "b", "b"], "n", axis=-2, epsilon=0.1), N("Mul", ["n", "a"], "y")], (3, 4, 2), (4, 2), []),
    "convolution": ([N("Conv", ["a", "b"], "c", pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2]), N("Mul", ["c", "c"], "y")], (2, 3, 6, 7), (4, 3, 3, 2), []),
    "convolution with bias": ([N("Conv", ["k", "w", "b"], "c", strides=[3]), N("Mul", ["c", "c"], "d"), N("ReduceSum", ["d"], "s", keepdims=0), N("Mul", ["s", "a"], "y")], (2,), (2,),
                              [numpy_helper.from_array(np.arange(21.0).reshape(1, 3, 7) / 9, "k"), numpy_helper.from_array(np.arange(12.0).reshape(2, 3, 2) / 9, "w")]),
    "transposed convolution": ([N("ConvTranspose", ["a", "w"], "c", strides=[2], output_padding=[1]), N("GlobalAveragePool", ["c"], "p"), N("Mul", ["c", "p"], "d"), N("Mul", ["d", "b"], "y")], (2, 3, 4), (2, 1),
                               [numpy_helper.from_array(np.arange(18.0).reshape(3, 2, 3) / 9, "w")]),
    "gemm with beta": ([N("Gemm", ["a", "b", "b"], "y", beta=0.25)], (3, 3), (3, 3), []),
    "single numbers": ([N("Cast", ["a"], "f", to=TensorProto.FLOAT), N("Cast", ["f"], "d", to=TensorProto.DOUBLE), N("Mul", ["b", "b"], "c"), N("Mul", ["d", "c"], "y")], (2, 3), (3,), []),
    "twice": ([N("Mul", ["a", "a"], "t"), N("Mul", ["t", "b"], "u"), N("Mul", ["u", "t"], "y")], (2,), (2,), []),
}


@pytest.mark.parametrize("name", PARTS)
def test_rules(name):
    nodes, shape_a, shape_b, constants = PARTS[name]
    feeds = feeds_of(shape_a, shape_b, 1)
    model = model_of(nodes, shape_a, shape_b, constants, gradient_of(["a", "b"], ["da", "db"], "y"), ["da", "db"])
    found = dict(zip("ab", run_gantry(model, feeds), strict=True))
    session = total_session(nodes, shape_a, shape_b, constants, "y")
    if name == "single numbers":  # steps of f32
        assert_slopes(session, feeds, {"a": found.pop("a")}, rtol=2e-2, atol=1e-7)
    assert_slopes(session, feeds, found, rtol=1e-6, atol=1e-7)


def test_values_are_those_that_are_fed_and_the_rest_is_read_from_the_graph():
    """The derivative of a * b by a, at another a; b is neither variable nor fed."""
    gradient = helper.make_node("Gradient", ["c"], ["da"], domain=DOMAIN, xs=["a"], y="y")
    nodes = [N("Mul", ["a", "a"], "t"), N("Mul", ["t", "b"], "y")]
    model = model_of(nodes, (2,), (2,), [], gradient, ["da"], TensorProto.FLOAT, ("a", "b", "c"))
    feeds = {"a": np.float32([1, 1]), "b": np.float32([3, 5]), "c": np.float32([10, 20])}
    np.testing.assert_array_equal(run_gantry(model, feeds)[0], np.float32([60, 200]))


@pytest.mark.parametrize(
    "nodes, target, message",
    [
        ([N("Floor", ["a"], "y")], "y", "the derivative of Floor has no rule"),
        ([N("Neg", ["b"], "y")], "y", "does not depend on any of xs"),
    ],
)
def test_what_has_no_derivative_is_said(nodes, target, message):
    gradient = gradient_of(["a"], ["da"], target)
    with pytest.raises(gantry.Error, match=message):
        run_gantry(model_of(nodes, (2,), (2,), [], gradient, ["da"]), {"a": np.ones(2), "b": np.ones(2)})


SECOND = ["add", "broadcast", "div", "pow", "chain", "waves", "gates", "matmul", "batch", "gemm", "shapes", "sums", "mean", "softmax", "log softmax", "inverse functions", "hyperbolic", "activations", "reductions", "some axes", "layer normalization",
          "where", "extremes", "expand", "twice"]


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("name", SECOND)
def test_derivatives_of_derivatives(name, first):
    """Of z, which is the derivative of y by `first`, weighted."""
    nodes, shape_a, shape_b, constants = PARTS[name]
    feeds = feeds_of(shape_a, shape_b, 2)
    nodes = [*nodes, gradient_of([first], ["first"], "y"), N("Mul", ["first", first], "z")]
    model = model_of(nodes, shape_a, shape_b, constants, gradient_of(["a", "b"], ["da", "db"], "z"), ["da", "db"])
    found = dict(zip("ab", run_gantry(model, feeds), strict=True))
    assert_slopes(total_session(nodes, shape_a, shape_b, constants, "z"), feeds, found, rtol=1e-5, atol=1e-6)


def test_third_derivative():
    """Of a^5, by a: 60 a^2."""
    power = N("Pow", ["a", "five"], "y")
    chain = [gradient_of(["a"], [f"d{i}"], "y" if i == 1 else f"d{i - 1}") for i in (1, 2, 3)]
    chain[2].output[0] = "da"
    model = model_of([power, *chain[:2]], (3,), (3,), [number("five", 5)], chain[2], ["da"], inputs=("a",))
    np.testing.assert_allclose(run_gantry(model, {"a": np.array([1.0, 2, -3])})[0], [60, 240, 540], rtol=1e-9)


def test_what_has_no_rule_for_an_input_is_said():
    model = model_of([N("Clip", ["a", "b"], "y")], (2,), (), [], gradient_of(["b"], ["db"], "y"), ["db"])
    with pytest.raises(gantry.Error, match="the derivative of Clip by its input 1 has no rule"):
        run_gantry(model, {"a": np.ones(2), "b": np.array(1.5)})
