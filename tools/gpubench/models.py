# SPDX-License-Identifier: Apache-2.0
"""The models that tools/gpu-bench compares, built with random weights: ResNet-50, MobileNetV2, BERT, ViT-B, GPT-2 and a Llama-style decoder.

Needs the packages onnx and numpy. Weights are scaled so that activations keep their size; nothing of a time depends on their values. A past of keys
and values stands among the weights, so that no candidate pays for bringing it to the device in every run. For machines without those packages there are
outlines: the models as they are, but with a list in place of their weights, by which gpubench.outline writes them there.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from gpubench import outline

KINDS = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}

PERIOD = 1048583  # a prime, so that rows do not repeat each other


def elements_of(values, kind):
    """The array as it lies in a tensor of that type; bf16 as the upper halves of floats, rounded."""
    if kind != TensorProto.BFLOAT16:
        return values.astype(helper.tensor_dtype_to_np_dtype(kind))
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


class Builder:
    """A graph that grows node by node; tensors are named by number."""

    weights = None  # of an outline: takes what stands in place of the numbers

    def __init__(self, dtype: str, seed: int = 0):
        self.dtype, self.kind = dtype, KINDS[dtype]
        self.rng = np.random.default_rng(seed)
        # Repeated where more are wanted, from another place each time: a billion random numbers take longer than what is measured.
        self.random = self.rng.standard_normal(PERIOD, np.float32)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def op(self, op_type, *inputs, outputs=1, domain="", **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, kind=None):
        name = f"c{len(self.constants)}"
        value = np.asarray(value)
        if kind is None and value.dtype.kind == "f":
            kind = self.kind
        if kind is None:
            self.constants.append(numpy_helper.from_array(value, name))
        else:
            self.constants.append(TensorProto(name=name, data_type=kind, dims=value.shape, raw_data=elements_of(value, kind).tobytes()))
        return name

    def large(self, kind, shape, mean, deviation):
        """A tensor of random numbers."""
        tensor = TensorProto(name=f"c{len(self.constants)}", data_type=kind, dims=shape)
        if self.weights is not None:
            count = int(np.prod(shape))
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in self.weights.add(TensorProto.DataType.Name(kind), count, mean, deviation).items():
                tensor.external_data.add(key=key, value=str(value))
        elif kind == TensorProto.UINT8:
            tensor.raw_data = self.rng.integers(0, 256, shape, np.uint8).tobytes()
        else:
            numbers = np.roll(self.random, -int(self.rng.integers(PERIOD))) * np.float32(deviation) + np.float32(mean)
            tensor.raw_data = np.resize(elements_of(numbers, kind), shape).tobytes()
        self.constants.append(tensor)
        return tensor.name

    def weight(self, *shape, fan_in):
        return self.large(self.kind, shape, 0, fan_in ** -0.5)

    def vector(self, count, value=0.0):
        return self.large(self.kind, [count], value, 0.02)

    def integers(self, *values):
        return self.constant(np.array(values, np.int64))

    def input(self, name, shape, kind=None):
        self.inputs.append(helper.make_tensor_value_info(name, kind or self.kind, shape))
        return name

    def output(self, value, name):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"out_{name}"))
        self.outputs.append(helper.make_tensor_value_info(name, self.kind, None))

    def model(self, opset=23):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    # Layers.

    def conv(self, x, channels, made, kernel, stride=1, group=1, relu=None):
        pad = kernel // 2
        inner = channels // group * kernel * kernel
        w, b = self.weight(made, channels // group, kernel, kernel, fan_in=inner), self.vector(made)
        y = self.op("Conv", x, w, b, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
        if relu == 6:
            return self.op("Clip", y, self.constant(np.float32(0)), self.constant(np.float32(6)))
        return self.op("Relu", y) if relu else y

    def linear(self, x, inner, made, bias=True):
        y = self.op("MatMul", x, self.weight(inner, made, fan_in=inner))
        return self.op("Add", y, self.vector(made)) if bias else y

    def quantized(self, x, inner, made, block=32):
        """A product with a matrix of 4 bits."""
        blocks = inner // block
        w = self.large(TensorProto.UINT8, (made, blocks, block // 2), 0, 0)
        s = self.large(self.kind, [made * blocks], 0.25 * inner ** -0.5, 0)
        return self.op("MatMulNBits", x, w, s, domain="com.microsoft", K=inner, N=made, bits=4, block_size=block)

    def layer_norm(self, x, width):
        return self.op("LayerNormalization", x, self.vector(width, 1.0), self.vector(width), axis=-1, epsilon=1e-5)

    def pool(self, x, width, classes):
        x = self.op("GlobalAveragePool", x)
        x = self.op("Flatten", x)
        return self.op("Gemm", x, self.weight(classes, width, fan_in=width), self.vector(classes), transB=1)


def resnet50(dtype="f32", batch=1, size=224, blocks=(3, 4, 6, 3)):
    b = Builder(dtype)
    x = b.conv(b.input("x", [batch, 3, size, size]), 3, 64, 7, 2, relu=True)
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, count in enumerate(blocks):
        inner = 64 << stage
        for i in range(count):
            stride = 2 if i == 0 and stage > 0 else 1
            y = b.conv(x, channels, inner, 1, relu=True)
            y = b.conv(y, inner, inner, 3, stride, relu=True)
            y = b.conv(y, inner, 4 * inner, 1)
            shortcut = x if i > 0 else b.conv(x, channels, 4 * inner, 1, stride)
            x, channels = b.op("Relu", b.op("Add", y, shortcut)), 4 * inner
    b.output(b.pool(x, channels, 1000), "y")
    return b.model()


def mobilenet_v2(dtype="f32", batch=1, size=224, repeats=1.0):
    b = Builder(dtype)
    x, channels = b.conv(b.input("x", [batch, 3, size, size]), 3, 32, 3, 2, relu=6), 32
    for factor, made, count, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(max(1, round(count * repeats))):
            stride, wide = first_stride if i == 0 else 1, channels * factor
            y = x if factor == 1 else b.conv(x, channels, wide, 1, relu=6)
            y = b.conv(y, wide, wide, 3, stride, group=wide, relu=6)
            y = b.conv(y, wide, made, 1)
            x = b.op("Add", x, y) if stride == 1 and channels == made else y
            channels = made
    x = b.conv(x, channels, 1280, 1, relu=6)
    b.output(b.pool(x, 1280, 1000), "y")
    return b.model()


def attention(b, q, k, v, heads, kv_heads=None, past=None, causal=0):
    """Of flat queries, keys and values; with a past (keys, values) also what the next step has as its past."""
    more = {"q_num_heads": heads, "kv_num_heads": kv_heads or heads, "is_causal": causal}
    if past is None:
        return b.op("Attention", q, k, v, **more)
    return b.op("Attention", q, k, v, "", *past, outputs=3, **more)


def encoder(b, x, width, heads, layers, inner, before):
    """Layers of BERT (norms behind) or of ViT (norms before)."""
    for _ in range(layers):
        y = b.layer_norm(x, width) if before else x
        y = attention(b, *(b.linear(y, width, width) for _ in range(3)), heads)
        x = b.op("Add", b.linear(y, width, width), x)
        x, y = (x, b.layer_norm(x, width)) if before else [b.layer_norm(x, width)] * 2
        y = b.linear(b.op("Gelu", b.linear(y, width, inner)), inner, width)
        x = b.op("Add", y, x)
        if not before:
            x = b.layer_norm(x, width)
    return x


def bert(dtype="f32", batch=1, length=128, width=768, heads=12, layers=12, words=30522):
    b = Builder(dtype)
    ids = b.input("ids", [batch, length], TensorProto.INT64)
    x = b.op("Gather", b.weight(words, width, fan_in=1), ids)
    x = b.layer_norm(b.op("Add", x, b.weight(length, width, fan_in=1)), width)
    b.output(encoder(b, x, width, heads, layers, 4 * width, False), "y")
    return b.model()


def vit(dtype="f32", batch=1, size=224, patch=16, width=768, heads=12, layers=12):
    b = Builder(dtype)
    x = b.input("x", [batch, 3, size, size])
    w = b.weight(width, 3, patch, patch, fan_in=3 * patch * patch)
    x = b.op("Conv", x, w, b.vector(width), kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = b.op("Transpose", b.op("Reshape", x, b.integers(0, width, -1)), perm=[0, 2, 1])
    x = b.op("Concat", b.constant(np.zeros((batch, 1, width), np.float32)), x, axis=1)
    x = b.op("Add", x, b.weight((size // patch) ** 2 + 1, width, fan_in=1))
    x = b.layer_norm(encoder(b, x, width, heads, layers, 4 * width, True), width)
    x = b.op("Gather", x, b.constant(np.array(0, np.int64)), axis=1)
    b.output(b.linear(x, width, 1000), "y")
    return b.model()


def gpt2(dtype="f32", past=256, width=768, heads=12, layers=12, words=50257):
    """One token behind `past` others."""
    b = Builder(dtype)
    table = b.weight(words, width, fan_in=1)
    x = b.op("Gather", table, b.input("ids", [1, 1], TensorProto.INT64))
    x = b.op("Add", x, b.weight(1, width, fan_in=1))
    for layer in range(layers):
        cache = [b.weight(1, heads, past, width // heads, fan_in=4) for _ in range(2)]
        y = b.layer_norm(x, width)
        y, _, _ = attention(b, *(b.linear(y, width, width) for _ in range(3)), heads, past=cache)
        x = b.op("Add", b.linear(y, width, width), x)
        y = b.linear(b.layer_norm(x, width), width, 4 * width)
        x = b.op("Add", b.linear(b.op("Gelu", y, approximate="tanh"), 4 * width, width), x)
    x = b.layer_norm(x, width)
    b.output(b.linear(x, width, words, bias=False), "y")
    return b.model()


def llama(dtype="bf16", past=256, length=1, width=2048, heads=32, kv_heads=8, layers=16, inner=8192, words=128256, int4=False):
    """`length` tokens behind `past` others; the extents are those of a decoder of 1.2 billion weights."""
    b = Builder(dtype)
    size = width // heads
    product = b.quantized if int4 else lambda x, k, n: b.linear(x, k, n, bias=False)
    norm = lambda x: b.op("RMSNormalization", x, b.vector(width, 1.0), axis=-1, epsilon=1e-5)  # noqa: E731
    x = b.op("Gather", b.weight(words, width, fan_in=1), b.input("ids", [1, length], TensorProto.INT64))
    angles = np.arange(past + length)[:, None] / 10000 ** (np.arange(size // 2) / (size // 2))
    cos, sin = b.constant(np.cos(angles).astype(np.float32)), b.constant(np.sin(angles).astype(np.float32))
    places = b.constant(np.arange(past, past + length, dtype=np.int64)[None])
    for layer in range(layers):
        cache = [b.weight(1, kv_heads, past, size, fan_in=4) for _ in range(2)] if past else None
        y = norm(x)
        q, k, v = product(y, width, width), product(y, width, kv_heads * size), product(y, width, kv_heads * size)
        q = b.op("RotaryEmbedding", q, cos, sin, places, num_heads=heads)
        k = b.op("RotaryEmbedding", k, cos, sin, places, num_heads=kv_heads)
        y = attention(b, q, k, v, heads, kv_heads, cache, causal=1)
        y = y[0] if past else y
        x = b.op("Add", product(y, width, width), x)
        y = norm(x)
        gate = product(y, width, inner)
        y = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), product(y, width, inner))
        x = b.op("Add", product(y, inner, width), x)
    x = b.op("Slice", x, b.integers(-1), b.integers(1 << 62), b.integers(1)) if length > 1 else x
    b.output(b.linear(norm(x), width, words, bias=False), "y")
    return b.model()


# Rows of the comparison, the most telling first: when time runs out the last are missing.
ROWS = {
    "ResNet-50 1 f16": (resnet50, {"dtype": "f16"}),
    "BERT 1x128 f16": (bert, {"dtype": "f16"}),
    "GPT-2 decode 256 f16": (gpt2, {"dtype": "f16"}),
    "Llama 1B decode 256 bf16": (llama, {}),
    "Llama 1B decode 256 int4": (llama, {"int4": True, "dtype": "f16"}),
    "ResNet-50 1 f32": (resnet50, {}),
    "Llama 1B prefill 512 bf16": (llama, {"past": 0, "length": 512}),
    "MobileNetV2 1 f16": (mobilenet_v2, {"dtype": "f16"}),
    "ViT-B 1 f16": (vit, {"dtype": "f16"}),
    "BERT 8x128 f16": (bert, {"dtype": "f16", "batch": 8}),
    "ResNet-50 8 f16": (resnet50, {"dtype": "f16", "batch": 8}),
    "ResNet-50 64 f16": (resnet50, {"dtype": "f16", "batch": 64}),
    "BERT 1x128 f32": (bert, {}),
    "MobileNetV2 1 f32": (mobilenet_v2, {}),
    "ViT-B 1 f32": (vit, {}),
    "GPT-2 decode 256 f32": (gpt2, {}),
    "Llama 1B prefill 512 int4": (llama, {"past": 0, "length": 512, "int4": True, "dtype": "f16"}),
    "BERT 1x128 bf16": (bert, {"dtype": "bf16"}),
    "GPT-2 decode 256 bf16": (gpt2, {"dtype": "bf16"}),
    "ResNet-50 1 bf16": (resnet50, {"dtype": "bf16"}),
    "ViT-B 1 bf16": (vit, {"dtype": "bf16"}),
    "MobileNetV2 1 bf16": (mobilenet_v2, {"dtype": "bf16"}),
    "ResNet-50 8 f32": (resnet50, {"batch": 8}),
    "BERT 8x128 f32": (bert, {"batch": 8}),
    "ResNet-50 64 f32": (resnet50, {"batch": 64}),
    "ResNet-50 8 bf16": (resnet50, {"dtype": "bf16", "batch": 8}),
    "BERT 8x128 bf16": (bert, {"dtype": "bf16", "batch": 8}),
    "ResNet-50 64 bf16": (resnet50, {"dtype": "bf16", "batch": 64}),
}


def outline_of(make, **more):
    """The model without its weights, and the list of these (gpubench.outline)."""
    Builder.weights = outline.Weights()
    try:
        return make(**more), Builder.weights.rows
    finally:
        Builder.weights = None


def random_inputs(model, seed=0):
    """Feeds as numpy arrays; bf16 as the upper halves of floats (uint16)."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        kind = info.type.tensor_type.elem_type
        if kind == TensorProto.INT64:
            feeds[info.name] = rng.integers(0, 100, shape)
        else:
            values = rng.standard_normal(shape, np.float32) * np.float32(0.5)
            feeds[info.name] = (values.view(np.uint32) >> 16).astype(np.uint16) if kind == TensorProto.BFLOAT16 \
                else values.astype(helper.tensor_dtype_to_np_dtype(kind))
    return feeds
