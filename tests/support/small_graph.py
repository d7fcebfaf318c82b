# SPDX-License-Identifier: Apache-2.0
"""Models of a few nodes, written as ONNX's text form writes them, with constants given as arrays."""

import numpy as np
import onnx
from onnx import helper


def small_graph(text, inputs, constants=None, opset=21):
    """A model whose nodes are `text`, one a line: `y = Relu(x)`, attributes in angle brackets before the inputs.

    `inputs`: arrays by name, also what to feed; an extent can be left open by giving (array, shape). The outputs are what nobody reads.
    """
    constants = constants or {}
    arrays = {name: given[0] if isinstance(given, tuple) else given for name, given in inputs.items()}
    shapes = {name: given[1] if isinstance(given, tuple) else given.shape for name, given in inputs.items()}
    nodes = onnx.parser.parse_graph("g () => () {\n" + text + "\n}").node
    for number, node in enumerate(nodes):
        node.name = node.name or f"n{number}"
    read = {name for node in nodes for name in node.input}
    outputs = [name for node in nodes for name in node.output if name not in read]
    graph = helper.make_graph(
        nodes, "small",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(arrays[name].dtype), shapes[name]) for name in inputs],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    domains = {node.domain for node in nodes} - {""}
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return onnx.shape_inference.infer_shapes(model, data_prop=True), arrays


def typed_outputs(model, dtype):
    """The model with the element type of outputs of which shape inference has none, as for operators whose old versions it does not know."""
    for info in model.graph.output:
        if not info.type.tensor_type.elem_type:
            info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model
