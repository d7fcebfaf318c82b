# SPDX-License-Identifier: Apache-2.0
"""A model that runs as long as it is told to, or until it is stopped."""

from broken_models import make_model, value
from onnx import TensorProto, helper


def loop_model():
    """Multiplies matrices `count` times."""
    step = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("MatMul", ["before", "before"], ["after"])],
        "step",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("before", shape=(512, 512))],
        [value("go_on", TensorProto.BOOL, ()), value("after", shape=(512, 512))],
    )
    node = helper.make_node("Loop", ["count", "", "x"], ["y"], body=step)
    return make_model([node], [value("count", TensorProto.INT64, ()), value("x", shape=(512, 512))], [value("y", shape=(512, 512))])
