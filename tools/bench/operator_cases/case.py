# SPDX-License-Identifier: Apache-2.0
"""What a case is: an operator, inputs that are made when it runs, and the model around it."""

import dataclasses
import typing

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
F32, F16, F64 = np.float32, np.float16, np.float64

Maker = typing.Callable[[np.random.Generator], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Case:
    """`inputs`: arrays, makers of arrays, or None for absent ones; those at positions in `constants` are initializers.

    `text`: a graph in ONNX's text form in place of one node, whose inputs x0, x1 ... are fed by position. `covers`: operators beside `op` that the case is for.
    `is_dense`: a product or convolution. `is_random`: results are not compared. `opset` is of `domain`. A dictionary among the inputs is a map of f32.
    `output_types`: element types or TypeProtos, where inference does not find them.
    """

    op: str
    variant: str
    inputs: tuple = ()
    outputs: int = 1
    attributes: dict = dataclasses.field(default_factory=dict)
    opset: int = OPSET
    constants: tuple = ()
    text: str = ""
    covers: tuple = ()
    is_dense: bool = False
    is_random: bool = False
    domain: str = ""
    output_types: tuple = ()

    @property
    def name(self):
        return f"{self.op}: {self.variant}"

    def build(self):
        """The model and its feeds."""
        generator = np.random.default_rng(3)
        arrays = [x(generator) if callable(x) else x for x in self.inputs]
        model = self._text_model(arrays) if self.text else self._node_model(arrays)
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        for output in model.graph.output:
            if output.type.WhichOneof("value") is None:  # not inferred: then it is like the first input
                output.type.CopyFrom(model.graph.input[0].type)
        given = [(i, x) for i, x in enumerate(arrays) if x is not None and i not in self.constants]
        return model, {f"x{i}": x for i, x in given}

    def _text_model(self, arrays):
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {self.opset}]>\n{self.text}')
        inputs = [given for given in model.graph.input if int(given.name.removeprefix("x")) not in self.constants]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        model.graph.initializer.extend(numpy_helper.from_array(arrays[i], f"x{i}") for i in self.constants)
        return model

    def _node_model(self, arrays):
        names = ["" if x is None else f"x{i}" for i, x in enumerate(arrays)]
        node = helper.make_node(self.op, names, [f"y{i}" for i in range(self.outputs)], name="node", domain=self.domain, **self.attributes)
        given = [(i, x) for i, x in enumerate(arrays) if x is not None]
        graph = helper.make_graph(
            [node], "graph",
            [helper.make_value_info(f"x{i}", type_of(x)) for i, x in given if i not in self.constants],
            [self._output(i) for i in range(self.outputs)],
            [numpy_helper.from_array(x, f"x{i}") for i, x in given if i in self.constants])
        opsets = {"": OPSET, self.domain: self.opset}
        return helper.make_model(graph, opset_imports=[helper.make_opsetid(*item) for item in opsets.items()], ir_version=10)

    def _output(self, i):
        if not self.output_types:
            return onnx.ValueInfoProto(name=f"y{i}")
        given = self.output_types[i]
        return helper.make_value_info(f"y{i}", helper.make_tensor_type_proto(given, None) if isinstance(given, int) else given)


def type_of(x):
    """The TypeProto of an input."""
    if not isinstance(x, dict):
        return helper.make_tensor_type_proto(element_type(x), x.shape)
    key = TensorProto.STRING if isinstance(next(iter(x)), str) else TensorProto.INT64
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))


def element_type(array):
    return TensorProto.STRING if array.dtype.kind in "OUS" else helper.np_dtype_to_tensor_dtype(array.dtype)


def normal(*shape, dtype=F32):
    return lambda generator: generator.standard_normal(shape, F32).astype(dtype)


def uniform(low, high, *shape, dtype=F32):
    return lambda generator: generator.uniform(low, high, shape).astype(dtype)


def integers(low, high, *shape, dtype=np.int64):
    """From low to below high."""
    return lambda generator: generator.integers(low, high, shape).astype(dtype)


def flags(*shape):
    return lambda generator: generator.random(shape, F32) < F32(0.5)


def bytes_of(*shape, dtype=np.uint8):
    """All values of an 8-bit type."""
    return lambda generator: generator.integers(0, 256, shape).astype(np.uint8).view(dtype)


def value(number, dtype=F32):
    return np.asarray(number, dtype)


def ints(*numbers):
    return np.asarray(numbers, np.int64)
