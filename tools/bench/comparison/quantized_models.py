# SPDX-License-Identifier: Apache-2.0
"""int8 models by ONNX Runtime's own static quantiser: QDQ, weights of 8 bits per channel, activations of 8 bits."""

import logging
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

SAMPLES = 4  # of noise, to find the ranges of activations
OPSET = 17   # scales per channel need 13


class Noise(CalibrationDataReader):
    """Seeded pictures of normal noise for the model's one input."""

    def __init__(self, name, shape):
        generator = np.random.default_rng(7)
        self._samples = iter([{name: generator.standard_normal(shape, np.float32)} for _ in range(SAMPLES)])

    def get_next(self):
        return next(self._samples, None)


def fold(model, path):
    """Writes the model with normalisations folded into convolutions, which the quantiser expects to be done before it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def without_softmax(model):
    """The model ends with the scores that a last Softmax reads: in 8 bits, one step of it is a large part of any probability."""
    last = model.graph.node[-1]
    if last.op_type == "Softmax":
        model.graph.output[0].name = last.input[0]
        del model.graph.node[-1]
    return model


def quantized(model):
    """The model, whose one input is a picture and whose one output scores classes, in int8."""
    model = without_softmax(model)
    if model.opset_import[0].version < OPSET:
        model = version_converter.convert_version(model, OPSET)
    image = model.graph.input[0]
    shape = [extent.dim_value for extent in image.type.tensor_type.shape.dim]
    with tempfile.TemporaryDirectory() as folder:
        folded, result = pathlib.Path(folder) / "folded.onnx", pathlib.Path(folder) / "int8.onnx"
        fold(model, folded)
        logging.getLogger().setLevel(logging.ERROR)  # it advises what fold() did
        quantize_static(folded, result, Noise(image.name, shape), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        return onnx.load(result)


def dynamic(model):
    """The model with its products' weights in 8 bits and activations quantized as it runs."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder) / "f32.onnx", pathlib.Path(folder) / "int8.onnx"
        onnx.save(model, source)
        logging.getLogger().setLevel(logging.ERROR)
        quantize_dynamic(source, result, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])
        return onnx.load(result)
