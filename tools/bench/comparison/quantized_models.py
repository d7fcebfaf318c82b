# SPDX-License-Identifier: Apache-2.0
"""int8 models by ONNX Runtime's own quantisers, static (QDQ, weights and activations of 8 bits) and dynamic."""

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


class Samples(CalibrationDataReader):
    """Seeded inputs, as `feeds` makes them of a generator."""

    def __init__(self, feeds):
        generator = np.random.default_rng(7)
        self._samples = iter([feeds(generator) for _ in range(SAMPLES)])

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


def quantized(model, feeds, is_plain=False):
    """The model in int8: unsigned activations and weights per channel, or `is_plain`, as who says nothing gets it, signed ones and weights per tensor."""
    model = without_softmax(model)
    if model.opset_import[0].version < OPSET:
        model = version_converter.convert_version(model, OPSET)
    with tempfile.TemporaryDirectory() as folder:
        folded, result = pathlib.Path(folder) / "folded.onnx", pathlib.Path(folder) / "int8.onnx"
        fold(model, folded)
        logging.getLogger().setLevel(logging.ERROR)  # it advises what fold() did
        quantize_static(folded, result, Samples(feeds), quant_format=QuantFormat.QDQ, per_channel=not is_plain,
                        activation_type=QuantType.QInt8 if is_plain else QuantType.QUInt8, weight_type=QuantType.QInt8)
        return onnx.load(result)


def dynamic(model, op_type="MatMul"):
    """The model with the weights of one operator in 8 bits and what these are multiplied with quantized as it runs."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder) / "f32.onnx", pathlib.Path(folder) / "int8.onnx"
        onnx.save(model, source)
        logging.getLogger().setLevel(logging.ERROR)
        quantize_dynamic(source, result, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=[op_type])
        return onnx.load(result)
