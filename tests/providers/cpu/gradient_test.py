# SPDX-License-Identifier: Apache-2.0
"""Gradient against differences of the model's own values in f64."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from oracle import run_gantry

import gantry

DOMAIN = "ai.onnx.preview.training"


def N(op_type, inputs, output, **attributes):
    return helper.make_node(op_type, inputs, [output], **attributes)


def constant(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


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
    "mean": ([N("Mul", ["a", "b"], "m"), N("ReduceMean", ["m"], "y", keepdims=0)], (2, 3), (2, 3), []),
    "softmax": ([N("MatMul", ["a", "b"], "m"), N("Softmax", ["m"], "s", axis=-1), N("Mul", ["s", "m"], "y")], (2, 3), (3, 4), []),
    "twice": ([N("Mul", ["a", "a"], "t"), N("Mul", ["t", "b"], "u"), N("Mul", ["u", "t"], "y")], (2,), (2,), []),
}


def model_of(nodes, shape_a, shape_b, constants, gradient, outputs, dtype=TensorProto.DOUBLE, inputs=("a", "b")):
    shapes = {"a": shape_a, "b": shape_b, "c": shape_a}
    graph = helper.make_graph(
        [*nodes, *([gradient] if gradient else [])], "graph", [helper.make_tensor_value_info(x, dtype, shapes[x]) for x in inputs],
        [helper.make_value_info(name, helper.make_tensor_type_proto(dtype, None)) for name in outputs], constants,
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    for output in model.graph.output:
        output.type.tensor_type.shape.SetInParent()
        for _ in range({"da": len(shape_a), "db": len(shape_b)}.get(output.name, 0)):
            output.type.tensor_type.shape.dim.add()
    return model


def value_model(nodes, shape_a, shape_b, constants):
    """The sum of y, whose derivatives are those that Gradient starts from."""
    total = N("ReduceSum", ["y"], "total", keepdims=0)
    return model_of([*nodes, total], shape_a, shape_b, constants, None, ["total"])


@pytest.mark.parametrize("name", PARTS)
def test_rules(name):
    nodes, shape_a, shape_b, constants = PARTS[name]
    rng = np.random.default_rng(1)
    feeds = {"a": rng.uniform(0.5, 2, shape_a), "b": rng.uniform(0.5, 2, shape_b)}
    gradient = helper.make_node("Gradient", ["a", "b"], ["da", "db"], domain=DOMAIN, xs=["a", "b"], y="y")
    found = run_gantry(model_of(nodes, shape_a, shape_b, constants, gradient, ["da", "db"]), feeds)
    session = gantry.Session(value_model(nodes, shape_a, shape_b, constants), device="CPU")
    for variable, derivative in zip("ab", found, strict=True):
        assert derivative.shape == feeds[variable].shape
        for place in np.ndindex(derivative.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = {key: x.copy() for key, x in feeds.items()}
                moved[variable][place] += step
                sides.append(float(session.run(moved)["total"]))
            np.testing.assert_allclose(derivative[place], (sides[0] - sides[1]) / 2e-5, rtol=1e-6, atol=1e-7)


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
    gradient = helper.make_node("Gradient", ["a"], ["da"], domain=DOMAIN, xs=["a"], y=target)
    with pytest.raises(gantry.Error, match=message):
        run_gantry(model_of(nodes, (2,), (2,), [], gradient, ["da"]), {"a": np.ones(2), "b": np.ones(2)})
