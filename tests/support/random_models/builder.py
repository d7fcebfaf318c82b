# SPDX-License-Identifier: Apache-2.0
"""A model that grows node by node; each node runs in ONNX Runtime as it is added, so that shapes, values and what is refused are known."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

onnxruntime.set_default_logger_severity(4)

LARGEST = 1e3  # of values that later nodes may read
LARGEST_BETWEEN = 1e9  # of those that only the same step reads
MOST_ELEMENTS = 1 << 20


class Unusable(Exception):
    """A node that ONNX Runtime refuses, or whose results say nothing; the step that wanted it ends there."""


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    array: np.ndarray = dataclasses.field(compare=False, repr=False)
    is_constant: bool = False

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim

    @property
    def is_float(self):
        return self.array.dtype == np.float32


class Builder:
    """Holds nodes, constants and inputs of one graph. `rng` decides everything, so that a seed is a model."""

    def __init__(self, rng, opset):
        self.rng = rng
        self.opset = opset
        self.nodes = []
        self.constants = {}
        self.inputs = {}
        self.values = []  # what steps may read
        self._count = 0

    # Choices.

    def chance(self, share):
        return self.rng.random() < share

    def one_of(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def numbers(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def pick(self, suits=lambda value: True):
        """A float value that suits, the newer the likelier."""
        found = [value for value in self.values if value.is_float and suits(value)]
        if not found:
            raise Unusable("no value suits")
        return found[-1 - min(int(self.rng.exponential(1.5)), len(found) - 1)]

    # Parts of the model.

    def name(self, stem="v"):
        self._count += 1
        return f"{stem}{self._count}"

    def input(self, array):
        name = self.name("x")
        self.inputs[name] = array
        self.values.append(Value(name, array))
        return self.values[-1]

    def constant(self, array, shared=0.1):
        """A constant; now and then one that is there already."""
        array = np.asarray(array)
        if self.chance(shared):
            for name, other in self.constants.items():
                if other.dtype == array.dtype and other.shape == array.shape and other.size > 1 and array.dtype == np.float32:
                    return Value(name, other, True)
        name = self.name("c")
        self.constants[name] = array
        return Value(name, array, True)

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def scalar(self, number):
        """A number as exporters write it: of rank 0 or 1, seldom of more."""
        rank = self.one_of(0, 1, 1, 2, 4, 5) if self.chance(0.2) else 0
        return self.constant(np.full((1,) * rank, number, np.float32))

    def add(self, op_type, inputs, outputs=1, captured=(), keep=True, domain="", **attributes):
        """Appends a node and returns its outputs, one alone without a tuple. `inputs`: values, or None for those left out."""
        attributes = {key: value for key, value in attributes.items() if value is not None}
        names = [value.name if value else "" for value in inputs]
        made = [self.name() for _ in range(outputs)]
        try:
            node = helper.make_node(op_type, names, made, name=self.name("n"), domain=domain, **attributes)
        except ValueError as error:  # a window of an image without extents
            raise Unusable(str(error)) from None
        arrays = _run_node(node, [*(value for value in inputs if value), *captured], self.opset)
        for array in arrays:
            if array.size > MOST_ELEMENTS or (not array.size and op_type.endswith(("Conv", "Pool"))):  # the window is larger than the image
                raise Unusable("too large, or nothing")
            if array.dtype.kind == "f" and not np.all(np.abs(array) < (LARGEST if keep else LARGEST_BETWEEN)):
                raise Unusable("not finite")
        self.nodes.append(node)
        values = [Value(name, array) for name, array in zip(made, arrays, strict=True)]
        if keep:
            self.values.extend(values)
        return values[0] if outputs == 1 else tuple(values)


def _run_node(node, inputs, opset):
    given = {value.name: value.array for value in inputs}
    graph = helper.make_graph([node], "node", [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in given.items()],
                              [onnx.ValueInfoProto(name=name) for name in node.output])
    model = helper.make_model(graph, opset_imports=opset_imports(opset), ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, given)
    except Exception as error:  # ONNX Runtime has a class for each kind, which are not exported
        raise Unusable(str(error)) from None


def opset_imports(opset):
    return [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]


def finish(builder, rng):
    """The model: constants as initializers or as nodes, outputs where nobody reads, and now and then between."""
    read = {name for node in builder.nodes for name in _read_by(node)}
    outputs = []
    arrays = {value.name: value.array for value in builder.values}
    for node in builder.nodes:
        for name in node.output:
            if name in arrays and (name not in read or rng.random() < 0.08):
                outputs.append(name)
    if not outputs:
        raise Unusable("no outputs")
    nodes, initializers = [], []
    for name, array in builder.constants.items():
        if name not in read:
            continue
        tensor = numpy_helper.from_array(array, name)
        if rng.random() < 0.15:
            nodes.append(helper.make_node("Constant", [], [name], name=f"k{name}", value=tensor))
        else:
            initializers.append(tensor)
    graph = helper.make_graph(
        nodes + builder.nodes, "random",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in builder.inputs.items() if name in read],
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(arrays[name].dtype), arrays[name].shape) for name in outputs],
        initializers)
    model = helper.make_model(graph, opset_imports=opset_imports(builder.opset), ir_version=10)
    return model, {name: array for name, array in builder.inputs.items() if name in read}


def _read_by(node):
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _read_by(inner)
