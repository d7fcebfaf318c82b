# SPDX-License-Identifier: Apache-2.0
"""Models that must be refused, by what is wrong with them, and a good one."""

import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21


def value(name, element_type=TensorProto.FLOAT, shape=("n", 3)):
    return helper.make_tensor_value_info(name, element_type, list(shape))


def make_model(nodes, inputs, outputs, initializers=(), domains=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializer=list(initializers))
    imports = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def add_model():
    """z = x + y, [n, 3]."""
    return make_model([helper.make_node("Add", ["x", "y"], ["z"], name="plus")], [value("x"), value("y")], [value("z")])


def weighted_model(weight):
    """z = x + w."""
    return make_model([helper.make_node("Add", ["x", "w"], ["z"], name="plus")], [value("x")], [value("z", shape=("n", "m"))], [weight])


def external_weight(**entries):
    """A weight [3] outside the model's file."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, text in entries.items():
        weight.external_data.add(key=key, value=str(text))
    return weight


def cyclic_model():
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"], name="second")]
    return make_model(nodes, [value("x")], [value("b")])


def wrongly_typed_model():
    return make_model([helper.make_node("Add", ["x", "y"], ["z"], name="plus")], [value("x"), value("y", TensorProto.INT64)], [value("z")])


def huge_weight_model():
    return weighted_model(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 40, 1 << 40], raw_data=b"1234"))


def short_weight_model():
    return weighted_model(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 20], raw_data=b"1234"))


def negative_weight_model():
    return weighted_model(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-5], raw_data=b"1234"))


def unknown_operator_model():
    return make_model([helper.make_node("Frobnicate", ["x"], ["z"], name="strange")], [value("x")], [value("z")])


def foreign_operator_model():
    node = helper.make_node("Frobnicate", ["x"], ["z"], name="strange", domain="com.acme")
    return make_model([node], [value("x")], [value("z")], domains=["com.acme"])


def far_axis_model():
    """An axis that no 32 bits hold: the onnx library's inference would read beyond the shape."""
    node = helper.make_node("LayerNormalization", ["x", "y"], ["z"], name="norm", axis=(1 << 63) - 1)
    return make_model([node], [value("x"), value("y")], [value("z")])


def endless_equation_model():
    """Signs that are no letters, of a scalar: the onnx library's inference would never end."""
    node = helper.make_node("Einsum", ["x"], ["z"], name="sum", equation="(((")
    return make_model([node], [value("x", shape=())], [value("z", shape=())])


def future_model():
    model = add_model()
    model.opset_import[0].version = 999
    return model


def filling_model():
    """z of the shape that the input says."""
    node = helper.make_node("ConstantOfShape", ["shape"], ["z"], name="fill", value=numpy_helper.from_array(onnx.numpy_helper.np.float32([1])))
    return make_model([node], [value("shape", TensorProto.INT64, (2,))], [value("z", shape=("a", "b"))])


# Name -> (makes the bytes of the file, code, what the message must say).
BROKEN = {
    "empty": (lambda: b"", "INVALID_MODEL", ["empty"]),
    "text": (lambda: b"these are words, not a model", "INVALID_MODEL", ["not an ONNX model", "byte"]),
    "first byte": (lambda: add_model().SerializeToString()[:1], "INVALID_MODEL", ["not an ONNX model", "byte 1"]),
    "half": (lambda: add_model().SerializeToString()[:50], "INVALID_MODEL", ["not an ONNX model", "are left"]),
    "last bytes": (lambda: add_model().SerializeToString()[:-3], "INVALID_MODEL", ["not an ONNX model", "are left"]),
    "cycle": (lambda: cyclic_model().SerializeToString(), "INVALID_MODEL", ['Add "first"', '"b"', "cycle"]),
    "types": (lambda: wrongly_typed_model().SerializeToString(), "INVALID_MODEL", ['Add "plus"', "int64"]),
    "huge weight": (lambda: huge_weight_model().SerializeToString(), "INVALID_MODEL", ["w", "overflow"]),
    "short weight": (lambda: short_weight_model().SerializeToString(), "INVALID_MODEL", ["w", "4 bytes", "4194304"]),
    "negative extent": (lambda: negative_weight_model().SerializeToString(), "INVALID_MODEL", ["w", "egative"]),
    "unknown operator": (lambda: unknown_operator_model().SerializeToString(), "INVALID_MODEL", ['Frobnicate "strange"']),
    "foreign operator": (
        lambda: foreign_operator_model().SerializeToString(),
        "UNSUPPORTED",
        ["1 of 1 nodes", 'Frobnicate "strange"', "CPU", "com.acme"],
    ),
    "far axis": (lambda: far_axis_model().SerializeToString(), "INVALID_MODEL", ['LayerNormalization "norm"', "axis is 9223372036854775807"]),
    "endless equation": (lambda: endless_equation_model().SerializeToString(), "INVALID_MODEL", ['Einsum "sum"', "no list of letters"]),
    "future opset": (lambda: future_model().SerializeToString(), "INVALID_MODEL", ["opset 999", "supported"]),
}
