# SPDX-License-Identifier: Apache-2.0
"""Models small enough to travel, which tools/gpu-test compares with the CPU: those of tools/gpu-bench with few layers, and operators that these lack.

Needs the packages onnx and numpy. Inputs are random when they are run, so numbers that have to fit together are constants.
"""

import numpy as np
from onnx import TensorProto

from gpubench import models

# The models of tools/gpu-bench with few layers.
SMALL = {
    "resnet": (models.resnet50, {"size": 64, "blocks": (1, 1)}),
    "mobilenet": (models.mobilenet_v2, {"size": 64, "repeats": 0.3}),
    "bert": (models.bert, {"length": 40, "width": 128, "heads": 4, "layers": 2, "words": 500}),
    "vit": (models.vit, {"size": 64, "width": 128, "heads": 4, "layers": 2}),
    "gpt2": (models.gpt2, {"past": 300, "width": 128, "heads": 4, "layers": 2, "words": 500}),
    "llama_decode": (models.llama, {"past": 300, "width": 256, "heads": 4, "kv_heads": 2, "layers": 2, "inner": 512, "words": 500}),
    "llama_prefill": (models.llama, {"past": 0, "length": 40, "width": 256, "heads": 4, "kv_heads": 2, "layers": 2, "inner": 512, "words": 500}),
    "llama_int4": (models.llama, {"past": 300, "width": 256, "heads": 4, "kv_heads": 2, "layers": 2, "inner": 512, "words": 500, "int4": True}),
    "llama_int4_rows": (models.llama, {"past": 40, "length": 3, "width": 256, "heads": 4, "kv_heads": 2, "layers": 1, "inner": 512, "words": 500, "int4": True}),
    "llama_int4_prefill": (models.llama, {"past": 0, "length": 40, "width": 256, "heads": 4, "kv_heads": 2, "layers": 1, "inner": 512, "words": 500, "int4": True}),
}

MICROSOFT = {"domain": "com.microsoft"}


def group_attention(dtype="f16", heads=4, kv_heads=2, size=64, room=96):
    """One token for each of two rows behind pasts of different lengths in caches of `room`, with rotary embedding; and three tokens behind pasts of one length."""
    b = models.Builder(dtype)
    angles = np.arange(room)[:, None] / 10000 ** (np.arange(size // 2) / (size // 2))
    cos, sin = b.constant(np.cos(angles)), b.constant(np.sin(angles))
    for name, length, lengths in (("next", 1, (80, 61)), ("several", 3, (50, 50))):
        x = b.input(f"{name}_x", [2, length, heads * size])
        q, k, v = (b.linear(x, heads * size, count * size, bias=False) for count in (heads, kv_heads, kv_heads))
        past = [b.input(f"{name}_{which}", [2, kv_heads, room, size]) for which in ("keys", "values")]
        held, total = b.constant(np.array(lengths, np.int32) - 1), b.constant(np.array([max(lengths)], np.int32))
        made = b.op("GroupQueryAttention", q, k, v, *past, held, total, cos, sin, outputs=3, num_heads=heads, kv_num_heads=kv_heads, do_rotary=1, **MICROSOFT)
        for what, value in zip(("y", "present_keys", "present_values"), made):
            b.output(value, f"{name}_{what}")
    return b.model()


def multi_head_attention(dtype="f16", heads=4, size=32, past=30):
    """Queries, keys and values of one matmul, with a bias, a mask and a past, few and many queries."""
    b = models.Builder(dtype)
    width = heads * size
    for name, length in (("next", 1), ("many", 20)):
        q, k, v = (b.linear(b.input(f"{name}_{which}", [2, length, width]), width, width) for which in ("q", "k", "v"))
        mask = b.op("Cast", b.op("Greater", b.input(f"{name}_mask", [2, past + length]), b.constant(np.float32(-0.5))), to=TensorProto.INT32)
        cache = [b.input(f"{name}_{which}", [2, heads, past, size]) for which in ("keys", "values")]
        made = b.op("MultiHeadAttention", q, k, v, b.vector(3 * width), mask, "", *cache, outputs=3, num_heads=heads, **MICROSOFT)
        for what, value in zip(("y", "present_keys", "present_values"), made):
            b.output(value, f"{name}_{what}")
    return b.model()


def recurrent(dtype="f16", steps=20, rows=3, numbers=40):
    """A bidirectional LSTM and an RNN in one launch for all steps, and a GRU with so many units that each step is a launch."""
    b = models.Builder(dtype)

    def layer(op_type, x, inner, hidden, gates, directions=1, **more):
        w, r = b.weight(directions, gates * hidden, inner, fan_in=inner), b.weight(directions, gates * hidden, hidden, fan_in=hidden)
        y = b.op(op_type, x, w, r, b.large(b.kind, (directions, 2 * gates * hidden), 0, 0.1), hidden_size=hidden, **more)
        y = b.op("Transpose", y, perm=[0, 2, 1, 3])
        return b.op("Reshape", y, b.integers(steps, rows, directions * hidden))

    x = b.input("x", [steps, rows, numbers])
    x = layer("LSTM", x, numbers, 64, 4, 2, direction="bidirectional")
    x = layer("GRU", x, 128, 160, 3, linear_before_reset=1)
    b.output(layer("RNN", x, 160, 48, 1, direction="reverse"), "y")
    return b.model()


def few_rows(dtype="f16", inner=256):
    """Skinny GEMMs with right operands in either layout, groups with one left operand, and epilogues."""
    b = models.Builder(dtype)
    matrices = [b.weight(inner, made, fan_in=inner) for made in (256, 64, 40)]
    turned, wide, whole = b.weight(200, 360, fan_in=360), b.weight(200, inner, fan_in=200), b.weight(inner, inner, fan_in=inner)
    for rows in (1, 3, 8):
        x = b.input(f"x{rows}", [rows, inner])
        y = b.op("Concat", *(b.op("MatMul", x, matrix) for matrix in matrices), axis=1)
        y = b.op("Gemm", y, turned, b.vector(200), transB=1)
        y = b.op("Relu", b.op("Add", b.op("MatMul", y, wide), b.vector(inner)))
        y = b.op("Add", b.op("MatMul", y, whole), b.vector(inner))
        b.output(b.op("Add", y, x), f"y{rows}")
    return b.model()


def tiles(dtype="f16"):
    """Matmuls of many rows, with extents for which a device of some 130 multiprocessors uses each tile size, and one with split-K."""
    b = models.Builder(dtype)
    for number, (rows, inner, made) in enumerate([(1500, 40, 1544), (1100, 72, 1104), (700, 72, 800), (500, 72, 560), (40, 2048, 72)]):
        x = b.input(f"x{number}", [rows, inner])
        y = b.op("Add", b.op("MatMul", x, b.weight(inner, made, fan_in=inner)), b.vector(made))
        b.output(b.op("Gelu", y), f"y{number}")
    b.output(b.op("Gemm", y, b.weight(200, 72, fan_in=72), b.vector(200), transB=1), "turned")
    return b.model()


def attention_tiles(dtype="f16", heads=16):
    """Attention of many queries, with and without several warps that share queries; some with a past."""
    b = models.Builder(dtype)
    for number, (length, size, kv_heads, past) in enumerate([(260, 64, heads, 0), (140, 128, 4, 0), (50, 64, 4, 30)]):
        q = b.input(f"q{number}", [2, length, heads * size])
        k, v = (b.input(f"{which}{number}", [2, length, kv_heads * size]) for which in "kv")
        cache = [b.weight(2, kv_heads, past, size, fan_in=4) for _ in range(2)] if past else None
        y = models.attention(b, q, k, v, heads, kv_heads, cache, causal=number % 2)
        b.output(y[0] if past else y, f"y{number}")
    return b.model()


def transposes(dtype="f16"):
    """Transposes by whole and partial tiles, and Concat and Split with one launch."""
    b = models.Builder(dtype)
    for number, (shape, perm) in enumerate([((130, 67), (1, 0)), ((3, 40, 66), (0, 2, 1)), ((2, 33, 5, 70), (0, 3, 1, 2)), ((2, 33, 5, 70), (3, 2, 1, 0)),
                                            ((4, 9, 3, 32), (0, 2, 1, 3)), ((1, 300, 2), (2, 1, 0))]):
        x = b.input(f"x{number}", list(shape))
        b.output(b.op("Transpose", x, perm=list(perm)), f"y{number}")
    parts = b.op("Split", x, axis=1, num_outputs=3, outputs=3)
    b.output(b.op("Concat", parts[2], parts[0], parts[1], axis=1), "turned_round")
    return b.model()


def channels_last(dtype="f16", channels=16):
    """Convolutions with element-wise nodes, pools and a squeeze between them, which are channels-last in 16 bits."""
    b = models.Builder(dtype)
    x = b.op("HardSwish", b.conv(b.input("x", [2, 3, 33, 31]), 3, channels, 3, 2))
    y = b.op("HardSwish", b.conv(x, channels, channels, 3, group=channels))
    squeezed = b.op("GlobalAveragePool", y)
    squeezed = b.op("HardSigmoid", b.conv(squeezed, channels, channels, 1))
    y = b.conv(b.op("Mul", y, squeezed), channels, channels, 1)
    y = b.op("AveragePool", b.op("Add", x, y), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = b.op("Mul", y, b.op("Sigmoid", y))
    b.output(b.op("MaxPool", b.conv(y, channels, 24, 3), kernel_shape=[2, 2], strides=[2, 2]), "y")
    return b.model()


class Quantiser:
    """Writes floats as quantisers do: pairs of QuantizeLinear and DequantizeLinear around each operator, int8 weights per channel."""

    def __init__(self, b):
        self.b = b

    def pair(self, x, scale, zero=0, dtype=np.int8):
        scale, zero = self.b.constant(np.float32(scale)), self.b.constant(np.array(zero, dtype))
        return self.b.op("DequantizeLinear", self.b.op("QuantizeLinear", x, scale, zero), scale, zero)

    def weights(self, shape, axis, dtype=np.int8):
        fan_in = int(np.prod(shape)) // shape[axis]
        middle = 128 if dtype == np.uint8 else 0
        numbers = (self.b.rng.integers(-127, 128, shape) + middle).astype(dtype)
        scales = self.b.rng.uniform(0.5, 1, shape[axis]).astype(np.float32) * np.float32(fan_in ** -0.5 / 64)
        zeros = np.full(shape[axis], middle, dtype)
        return self.b.op("DequantizeLinear", self.b.constant(numbers), self.b.constant(scales), self.b.constant(zeros), axis=axis), scales

    def conv(self, x, scale, channels, made, kernel, stride=1, group=1, dtype=np.int8):
        b = self.b
        w, scales = self.weights((made, channels // group, kernel, kernel), 0, dtype)
        bias = b.constant(b.rng.integers(-9000, 9000, made).astype(np.int32))
        bias = b.op("DequantizeLinear", bias, b.constant((scales * np.float32(scale)).astype(np.float32)), axis=0)
        return b.op("Conv", x, w, bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)


def int8(dtype="f32"):
    """A quantised network with a residual, a depthwise convolution and unsigned weights, and matmuls: QDQ, dynamic, and integer."""
    b = models.Builder(dtype)
    q = Quantiser(b)
    x = q.pair(b.op("Clip", b.input("x", [2, 3, 33, 31]), b.constant(np.float32(-2)), b.constant(np.float32(2))), 0.016)
    x = q.pair(b.op("Relu", q.conv(x, 0.016, 3, 32, 7, 2)), 0.01, -128)
    y = q.pair(b.op("Relu", q.conv(x, 0.01, 32, 32, 3, group=32)), 0.01, 0, np.uint8)
    y = q.pair(q.conv(y, 0.01, 32, 32, 1, dtype=np.uint8), 0.02)
    y = q.pair(b.op("Relu", b.op("Add", y, x)), 0.02, 0, np.uint8)
    y = q.pair(b.op("Relu", q.conv(y, 0.02, 32, 40, 3, group=2)), 0.02, -128)
    b.output(b.op("GlobalAveragePool", y), "image")
    z = q.pair(b.input("z", [5, 200]), 0.03, 3)
    w, _ = q.weights((200, 96), 1)
    z = q.pair(b.op("MatMul", z, w), 0.03, 120, np.uint8)
    w, scales = q.weights((130, 96), 0)
    bias = b.op("DequantizeLinear", b.constant(np.arange(130, dtype=np.int32) * 9), b.constant((scales * np.float32(0.03)).astype(np.float32)), axis=0)
    b.output(b.op("Gemm", z, w, bias, transB=1), "rows")
    matrix = b.constant(b.rng.integers(-128, 128, (200, 72)).astype(np.int8))
    b.output(b.op("DynamicQuantizeMatMul", b.input("w", [20, 200]), matrix, b.constant(np.float32(0.001)), b.constant(np.array(3, np.int8)), b.vector(72), **MICROSOFT), "dynamic")
    return b.model()


OPERATORS = {"group_attention": group_attention, "multi_head_attention": multi_head_attention, "recurrent": recurrent, "few_rows": few_rows, "tiles": tiles,
             "attention_tiles": attention_tiles, "transposes": transposes,
             "channels_last": channels_last}


def small_models():
    """(name, model) of each in f16, and of some in f32; quantised ones have f32 floats."""
    for name, (make, more) in SMALL.items():
        for dtype in ("f16", "f32") if name in ("resnet", "bert", "gpt2") else ("f16",):
            yield f"small_{name}_{dtype}", make(**{**more, "dtype": dtype})
    for name, make in OPERATORS.items():
        for dtype in ("f16", "f32"):
            yield f"small_{name}_{dtype}", make(dtype)
    yield "small_int8_f32", int8()


def open_model(width=64):
    """Rows "n" of any number through operators that plan by shape: a matmul, a convolution over the rows, norms, a softmax, reductions."""
    b = models.Builder("f32")
    x = b.input("x", ["n", width])
    x = b.op("Gelu", b.op("MatMul", x, b.constant(np.eye(width, dtype=np.float32))))
    x = b.op("LayerNormalization", x, b.constant(np.ones(width, np.float32)), axis=-1, epsilon=1e-5)
    image = b.op("Reshape", x, b.integers(1, 1, -1, width))
    image = b.op("Conv", image, b.constant(np.full((4, 1, 3, 3), 0.1, np.float32)), pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    sums = b.op("ReduceMax", b.op("Softmax", image, axis=-1), b.integers(2, 3), keepdims=0)
    b.output(sums, "y")
    return b.model()
