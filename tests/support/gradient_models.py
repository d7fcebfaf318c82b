# SPDX-License-Identifier: Apache-2.0
"""Models with a Gradient node, and derivatives as differences of a model's own values in f64."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import gantry

DOMAIN = "ai.onnx.preview.training"


def N(op_type, inputs, output, **attributes):
    return helper.make_node(op_type, inputs, [output], **attributes)


def constant(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def number(name, value):
    return numpy_helper.from_array(np.array(value, np.float64), name)


def model_of(nodes, shape_a, shape_b, constants, gradient, outputs, dtype=TensorProto.DOUBLE, inputs=("a", "b"), opset=18):
    shapes = {"a": shape_a, "b": shape_b, "c": shape_a}
    graph = helper.make_graph(
        [*nodes, *([gradient] if gradient else [])], "graph", [helper.make_tensor_value_info(x, dtype, shapes[x]) for x in inputs],
        [helper.make_value_info(name, helper.make_tensor_type_proto(dtype, None)) for name in outputs], constants,
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    for output in model.graph.output:
        output.type.tensor_type.shape.SetInParent()
        for _ in range({"da": len(shape_a), "db": len(shape_b)}.get(output.name, 0)):
            output.type.tensor_type.shape.dim.add()
    return model


def feeds_of(shape_a, shape_b, seed):
    rng = np.random.default_rng(seed)
    return {"a": rng.uniform(0.5, 2, shape_a), "b": rng.uniform(0.5, 2, shape_b)}


def assert_slopes(session, feeds, found, rtol, atol, step=1e-5):
    """`found`, by variable, is how the output "total" of `session` changes with each element of `feeds`."""
    for variable, derivative in found.items():
        assert derivative.shape == feeds[variable].shape
        for place in np.ndindex(derivative.shape):
            sides = []
            for moved_by in (step, -step):
                moved = {key: x.copy() for key, x in feeds.items()}
                moved[variable][place] += moved_by
                sides.append(float(session.run(moved)["total"]))
            np.testing.assert_allclose(derivative[place], (sides[0] - sides[1]) / (2 * step), rtol=rtol, atol=atol, err_msg=f"by {variable}{list(place)}")


def total_session(nodes, shape_a, shape_b, constants, target, opset=18):
    """A session for the sum of `target`, whose derivatives are those that Gradient starts from."""
    total = N("ReduceSum", [target], "total", keepdims=0)
    return gantry.Session(model_of([*nodes, total], shape_a, shape_b, constants, None, ["total"], opset=opset), device="CPU")


def gradient_of(xs, outputs, target):
    return helper.make_node("Gradient", xs, outputs, domain=DOMAIN, xs=xs, y=target)
