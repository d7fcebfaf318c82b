# SPDX-License-Identifier: Apache-2.0
"""Models whose weights, inputs and outputs are f16, as they are written for other devices and yet run on CPUs; and models of f32 whose weights were bf16 once."""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

LEAST = np.finfo(np.float16).tiny
MOST = np.finfo(np.float16).max


def halved(model):
    """The model with f16 in place of each f32: initializers, constants, the types that inputs and outputs state, and what Cast makes."""
    graph = model.graph
    for initializer in graph.initializer:
        if initializer.data_type == TensorProto.FLOAT:
            initializer.CopyFrom(half(initializer))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(half(attribute.t))
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.checker.check_model(model)
    return model


def half(tensor):
    array = np.array(np.clip(numpy_helper.to_array(tensor), -MOST, MOST))
    array[np.abs(array) < LEAST] = 0
    return numpy_helper.from_array(array.astype(np.float16), tensor.name)


def from_bf16(model):
    """The model with its weights rounded to bf16 and written in f32, as exporters write what was trained and published in bf16."""
    for initializer in model.graph.initializer:
        if initializer.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(initializer).astype(ml_dtypes.bfloat16).astype(np.float32)
            initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))
    return model
