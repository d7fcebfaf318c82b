# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX graph node by node, with seeded random weights."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8


class GraphWriter:
    """Collects nodes and weights; values are referred to by name. Two writers with one seed and one order of calls write the same model."""

    def __init__(self, name, seed=0):
        self.name = name
        self._generator = np.random.default_rng(seed)
        self._nodes, self._weights, self._inputs, self._outputs = [], [], [], []
        self._constants = {}

    def input(self, name, dtype, shape):
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, shape, dtype=TensorProto.FLOAT):
        self._outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def normal(self, shape, deviation):
        """A weight of normally distributed f32 around 0."""
        return self._weight(self._generator.standard_normal(shape, np.float32) * np.float32(deviation))

    def uniform(self, shape, low, high):
        """A weight of evenly distributed f32."""
        return self._weight(self._generator.uniform(low, high, shape).astype(np.float32))

    def constant(self, value, dtype):
        """A small constant; equal ones are one initializer."""
        array = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self._weight(array)
        return self._constants[key]

    def node(self, op_type, inputs, outputs=1, **attributes):
        """Adds a node; returns its output's name, or the list of them if there are several or they are named by a list."""
        index = len(self._nodes)
        names = outputs if isinstance(outputs, list) else [f"{op_type.lower()}_{index}_{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(op_type, inputs, names, name=f"{op_type}_{index}", **attributes))
        return names[0] if len(names) == 1 else names

    def model(self):
        """The checked model of everything so far."""
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _weight(self, array):
        name = f"weight_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(array, name))
        return name
