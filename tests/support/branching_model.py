# SPDX-License-Identifier: Apache-2.0
"""A model with a convolution, a product and an If, and what ONNX Runtime makes of it."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)
WEIGHTS = {"w": RNG.standard_normal((8, 3, 3, 3), np.float32), "b": RNG.standard_normal(8, np.float32), "v": RNG.standard_normal((512, 5), np.float32)}
X = RNG.standard_normal((2, 3, 10, 10), np.float32)


def network(batch="batch", weights=None, outputs=("y",), **made):
    """A convolution and a product whose Add and Relu providers fuse, and an If that reads the batch."""
    weights = {**WEIGHTS, **(weights or {})}
    branch = [helper.make_graph([helper.make_node("Mul", ["product", name], [f"{name}_result"])], f"{name}_branch", [],
                                [helper.make_tensor_value_info(f"{name}_result", TensorProto.FLOAT, ("batch", 5))]) for name in ("two", "three")]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["conv"], strides=[1, 1]), helper.make_node("Relu", ["conv"], ["relu"]),
             helper.make_node("Reshape", ["relu", "flat"], ["rows"]), helper.make_node("MatMul", ["rows", "v"], ["product"]),
             helper.make_node("If", ["flag"], ["y"], then_branch=branch[0], else_branch=branch[1])]
    types = {"y": (batch, 5), "conv": (batch, 8, 8, 8)}
    constants = {**weights, "flat": np.array([-1, 512]), "two": np.array(2, np.float32), "three": np.array(3, np.float32)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (batch, 3, 10, 10)), helper.make_tensor_value_info("flag", TensorProto.BOOL, ())],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, types.get(name)) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)], **made)


def by_peer(model, feed):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, feed), strict=True))
