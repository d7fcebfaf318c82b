# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime's tools make of PyTorch's models: its optimizer at each level, its quantizers, 16-bit floats, 4-bit weights, fused transformers."""

import functools
import logging
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime import quantization
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, matmul_nbits_quantizer, shape_inference
from onnxruntime.transformers import float16, optimizer
from torch import nn
from zoo_makers import torch_modules, torch_models
from zoo_makers.made import Made
from zoo_makers.torch_export import export

logging.disable(logging.WARNING)


class Net(nn.Module):
    """Convolutions of each kind, pooled and classified."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, 1, 1, groups=16),
            nn.Hardswish(),
            nn.Conv2d(16, 32, 1),
            nn.ReLU6(),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 10),
        )

    def forward(self, x):
        return self.layers(x)


def of_layer(name):
    module, inputs = torch_modules.LAYERS[name]()
    return export(module, inputs, "script", 17)


BASES = {
    "net": lambda: export(Net(), [torch_models.images(2, 32)], "script", 17),
    "net dynamo": lambda: export(Net(), [torch_models.images(2, 32)], "dynamo"),
    "residual": lambda: torch_models.vision("resnet18", "script", 64),
    "separable": lambda: torch_models.vision("mobilenet_v3_small", "script", 64),
    "shuffled": lambda: torch_models.vision("shufflenet_v2_x0_5", "script", 64),
    **{
        name: functools.partial(of_layer, name)
        for name in ("Linear", "TransformerEncoderLayer", "MultiheadAttention", "Embedding", "LayerNorm", "GELU", "GELU tanh")
    },
    **{f"{kind} {more}": functools.partial(of_layer, f"{kind} {more}") for kind in ("LSTM", "GRU") for more in ({}, {"bidirectional": True})},
    **{
        f"text {kind}": functools.partial(torch_models.text_model, kind, "script")
        for kind in ("bert", "distilbert", "roberta", "gpt2", "gpt_neo", "llama", "mistral", "qwen2", "phi")
    },
    **{f"text {kind} dynamo": functools.partial(torch_models.text_model, kind, "dynamo") for kind in ("bert", "gpt2", "llama", "gemma")},
}


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = [feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


def through_files(made, rewrite) -> onnx.ModelProto:
    """The model that `rewrite` writes, of a file and a place for another."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder, "before.onnx"), pathlib.Path(folder, "after.onnx")
        onnx.save(made.model, before)
        rewrite(before, after)
        return onnx.load(after)


def optimized(level):
    def rewrite(made):
        def write(before, after):
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
            options.optimized_model_filepath = str(after)
            onnxruntime.InferenceSession(str(before), options, providers=["CPUExecutionProvider"])

        return Made(through_files(made, write), made.feeds, made.expected)

    return rewrite


def quantized_dynamically(**more):
    def rewrite(made):
        return Made(through_files(made, lambda before, after: quantization.quantize_dynamic(before, after, **more)), made.feeds, bound=2e-2)

    return rewrite


def quantized_statically(**more):
    def rewrite(made):
        def write(before, after):
            shape_inference.quant_pre_process(str(before), str(before), skip_symbolic_shape=True)
            quantization.quantize_static(before, after, Reader(made.feeds), **more)

        return Made(through_files(made, write), made.feeds, bound=5e-2)  # a sum may come to the next number, and so on

    return rewrite


def halved(**more):
    return lambda made: Made(
        float16.convert_float_to_float16(made.model, **more),
        {name: value.astype(np.float16) if value.dtype == np.float32 and not more.get("keep_io_types") else value for name, value in made.feeds.items()},
        bound=3e-2,
    )


def four_bits(block, is_symmetric, accuracy):
    def rewrite(made):
        quantizer = matmul_nbits_quantizer.MatMulNBitsQuantizer(made.model, block, is_symmetric, accuracy_level=accuracy)
        quantizer.process()
        return Made(quantizer.model.model, made.feeds, bound=2e-2)

    return rewrite


def fused(kind, **more):
    def rewrite(made):
        def write(before, after):
            model = optimizer.optimize_model(str(before), model_type=kind, num_heads=4, hidden_size=32, **more)
            model.save_model_to_file(str(after))

        return Made(through_files(made, write), made.feeds, made.expected)

    return rewrite


REWRITES = {
    **{f"optimized {level}": optimized(f"ORT_ENABLE_{level}") for level in ("BASIC", "EXTENDED", "LAYOUT", "ALL")},
    "dynamic s8": quantized_dynamically(weight_type=QuantType.QInt8),
    "dynamic u8": quantized_dynamically(weight_type=QuantType.QUInt8),
    "dynamic s8 channels": quantized_dynamically(weight_type=QuantType.QInt8, per_channel=True),
    "dynamic s8 of 7 bits": quantized_dynamically(weight_type=QuantType.QInt8, reduce_range=True),
    **{
        f"static {form.name} {what}": quantized_statically(quant_format=form, **more)
        for form in (QuantFormat.QDQ, QuantFormat.QOperator)
        for what, more in {
            "u8 s8": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8},
            "s8 s8": {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8},
            "u8 u8": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8},
            "u8 s8 channels": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": True},
        }.items()
    },
    "static QDQ 16 bits": quantized_statically(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt16, weight_type=QuantType.QInt8),
    "half": halved(),
    "half within": halved(keep_io_types=True),
    "4 bits of 32": four_bits(32, True, 0),
    "4 bits of 16 with zero points": four_bits(16, False, 0),
    "4 bits of 32 by integers": four_bits(32, True, 4),
    "fused bert": fused("bert"),
    "fused gpt2": fused("gpt2"),
    "fused nothing but by ONNX Runtime": fused("bert", opt_level=2),
}


@functools.cache
def base(name) -> Made:
    return BASES[name]()


def rewritten(name, how) -> Made:
    return REWRITES[how](Made(onnx.ModelProto.FromString(base(name).model.SerializeToString()), base(name).feeds, base(name).expected))


def models():
    for name in BASES:
        for how in REWRITES:
            yield f"{name} {how}", functools.partial(rewritten, name, how)
