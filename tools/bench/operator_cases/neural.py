# SPDX-License-Identifier: Apache-2.0
"""Operators of networks: pools, sampling, quantization, attention, recurrence; products and convolutions for completeness."""

import numpy as np

from operator_cases.case import Case, bytes_of, integers, ints, normal, uniform, value

IMAGE = (1, 64, 112, 112)


def pools():
    shapes = (("3 x 3, stride 2", IMAGE, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}), ("2 x 2, stride 2", IMAGE, {"kernel_shape": [2, 2], "strides": [2, 2]}),
              ("3 x 3, stride 1", (1, 64, 56, 56), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}), ("5 x 5, stride 1", (1, 256, 20, 20), {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]}),
              ("1 axis", (8, 64, 2000), {"kernel_shape": [3], "strides": [2]}), ("3 axes", (1, 16, 32, 56, 56), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}))
    for op in ("MaxPool", "AveragePool", "LpPool"):
        for variant, shape, attributes in shapes:
            yield Case(op, f"f32 {variant}", (normal(*shape),), attributes=attributes)
    yield Case("MaxPool", "f32 with indices", (normal(*IMAGE),), outputs=2, attributes=shapes[0][2])
    yield Case("MaxPool", "u8 3 x 3, stride 2", (bytes_of(*IMAGE),), attributes=shapes[0][2])
    yield Case("MaxPool", "i8 2 x 2, stride 2", (bytes_of(*IMAGE, dtype=np.int8),), attributes=shapes[1][2])
    yield Case("AveragePool", "f32 7 x 7, stride 1", (normal(1, 512, 14, 14),), attributes={"kernel_shape": [7, 7]})
    yield Case("AveragePool", "f32 3 x 3, counts pads", (normal(1, 64, 56, 56),), attributes={"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1})
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield Case(op, "f32 planes of 7 x 7", (normal(8, 2048, 7, 7),))
        yield Case(op, "f32 planes of 112 x 112", (normal(*IMAGE),))
    yield Case("MaxUnpool", "f32 2 x 2", (normal(1, 64, 56, 56), unpool_indices(64, 56)), attributes={"kernel_shape": [2, 2], "strides": [2, 2]})
    rois = lambda generator: np.concatenate([np.zeros((64, 1)), np.sort(generator.uniform(0, 49, (64, 2, 2)), axis=1).reshape(64, 4)], axis=1).astype(np.float32)  # noqa: E731
    yield Case("MaxRoiPool", "f32 64 regions", (normal(1, 256, 50, 50), rois), attributes={"pooled_shape": [7, 7]})


def unpool_indices(channels, extent):
    """What MaxPool 2 x 2 over twice the extent could have found: the first element of each window."""
    def make(_generator):
        y, x = np.meshgrid(2 * np.arange(extent), 2 * np.arange(extent), indexing="ij")
        planes = np.arange(channels)[:, None, None] * (4 * extent * extent)
        return (planes + y * (2 * extent) + x)[np.newaxis].astype(np.int64)
    return make


def sampling():
    none = np.zeros(0, np.float32)
    up, down = np.float32([1, 1, 2, 2]), np.float32([1, 1, 0.5, 0.5])
    for mode in ("nearest", "linear", "cubic"):
        yield Case("Resize", f"f32 {mode}, twice", (normal(1, 16, 128, 128), None, up), attributes={"mode": mode}, constants=(2,))
        yield Case("Resize", f"f32 {mode}, half", (normal(1, 16, 256, 256), None, down), attributes={"mode": mode}, constants=(2,))
    yield Case("Resize", "f32 linear, aligned corners, to 300 x 300", (normal(1, 3, 480, 640), None, None, ints(1, 3, 300, 300)),
               attributes={"mode": "linear", "coordinate_transformation_mode": "align_corners"}, constants=(3,))
    yield Case("Resize", "f32 linear, antialias, half", (normal(1, 16, 256, 256), None, down), attributes={"mode": "linear", "antialias": 1}, constants=(2,))
    yield Case("Resize", "f32 nearest, asymmetric floor, twice", (normal(1, 64, 64, 64), None, up),
               attributes={"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, constants=(2,))
    yield Case("Resize", "u8 linear, half", (bytes_of(1, 3, 512, 512), None, down), attributes={"mode": "linear"}, constants=(2,))
    yield Case("Resize", "f32 linear, channels last, twice", (normal(1, 128, 128, 16), none, np.float32([1, 2, 2, 1])), attributes={"mode": "linear"}, constants=(1, 2))
    yield Case("Upsample", "f32 nearest, twice", (normal(1, 16, 128, 128), up), attributes={"mode": "nearest"}, constants=(1,), opset=9)
    yield Case("Upsample", "f32 linear, twice", (normal(1, 16, 128, 128), up), attributes={"mode": "linear"}, constants=(1,), opset=9)
    grid = uniform(-1.1, 1.1, 1, 64, 64, 2)
    for mode in ("linear", "nearest", "cubic"):
        yield Case("GridSample", f"f32 {mode}", (normal(1, 64, 64, 64), grid), attributes={"mode": mode}, opset=20)
    yield Case("GridSample", "f32 linear, border", (normal(1, 64, 64, 64), grid), attributes={"mode": "linear", "padding_mode": "border"}, opset=20)
    yield Case("GridSample", "f32 linear, reflection", (normal(1, 64, 64, 64), grid), attributes={"mode": "linear", "padding_mode": "reflection"}, opset=20)
    yield Case("GridSample", "f32 linear, 3 axes", (normal(1, 8, 32, 32, 32), uniform(-1, 1, 1, 32, 32, 32, 3)), attributes={"mode": "linear"}, opset=20)
    yield Case("AffineGrid", "f32 2 axes", (normal(4, 2, 3), ints(4, 3, 256, 256)), opset=20)
    regions = lambda generator: np.sort(generator.uniform(0, 49, (100, 2, 2)), axis=1).reshape(100, 4).astype(np.float32)  # noqa: E731
    for mode in ("avg", "max"):
        yield Case("RoiAlign", f"f32 {mode}, 100 regions", (normal(1, 256, 50, 50), regions, np.zeros(100, np.int64)), opset=16,
                   attributes={"mode": mode, "output_height": 7, "output_width": 7, "sampling_ratio": 2})
    boxes = lambda generator: np.concatenate([corner := generator.uniform(0, 500, (1, 2000, 2)), corner + generator.uniform(10, 80, (1, 2000, 2))], axis=2).astype(np.float32)  # noqa: E731
    yield Case("NonMaxSuppression", "f32 2,000 boxes, 10 classes", (boxes, uniform(0, 1, 1, 10, 2000), value(100, np.int64), value(0.5), value(0.3)))


def quantization():
    for kind, zero in (("u8", np.uint8(3)), ("i8", np.int8(3)), ("u16", np.uint16(3))):
        data = (lambda dtype: integers(0, 100, 1024, 1024, dtype=dtype))(zero.dtype)
        yield Case("QuantizeLinear", f"f32 to {kind}", (normal(1024, 1024), value(0.1), value(zero, zero.dtype)))
        yield Case("DequantizeLinear", f"{kind} to f32", (data, value(0.1), value(zero, zero.dtype)))
        per_axis = (uniform(0.05, 0.1, 1024), np.full(1024, zero, zero.dtype))
        for axis, variant in ((1, "last"), (0, "first")):
            yield Case("QuantizeLinear", f"f32 to {kind}, {variant} axis", (normal(1024, 1024), *per_axis), attributes={"axis": axis})
            yield Case("DequantizeLinear", f"{kind} to f32, {variant} axis", (data, *per_axis), attributes={"axis": axis})
    yield Case("QuantizeLinear", "f32 to i8, channels", (normal(*IMAGE), uniform(0.05, 0.1, 64), np.zeros(64, np.int8)), attributes={"axis": 1})
    yield Case("QuantizeLinear", "f32 to u8, blocks of 32", (normal(1024, 1024), uniform(0.05, 0.1, 1024, 32), np.full((1024, 32), 3, np.uint8)), attributes={"axis": 1, "block_size": 32})
    yield Case("QuantizeLinear", "f16 to u8", (normal(1024, 1024, dtype=np.float16), value(0.1, np.float16), value(3, np.uint8)))
    yield Case("DequantizeLinear", "i32 to f32", (integers(-9999, 9999, 1024, 1024, dtype=np.int32), value(0.1)))
    yield Case("DequantizeLinear", "i8 to f32, blocks of 32", (bytes_of(1024, 1024, dtype=np.int8), uniform(0.05, 0.1, 1024, 32)), attributes={"axis": 1, "block_size": 32})
    yield Case("DequantizeLinear", "i8 to f32, blocks down", (bytes_of(1024, 1024, dtype=np.int8), uniform(0.05, 0.1, 32, 1024)), attributes={"axis": 0, "block_size": 32})
    yield Case("DynamicQuantizeLinear", "f32", (normal(1024, 1024),), outputs=3)


def attention():
    heads = normal(1, 12, 128, 64)
    yield Case("Attention", "f32 12 x 128 x 64", (heads, heads, heads), opset=23)
    yield Case("Attention", "f32 12 x 128 x 64 causal", (heads, heads, heads), attributes={"is_causal": 1}, opset=23)
    yield Case("Attention", "f32 one query of 1024", (normal(1, 12, 1, 64), normal(1, 12, 1024, 64), normal(1, 12, 1024, 64)), opset=23)
    yield Case("RotaryEmbedding", "f32 32 x 128 x 64", (normal(1, 32, 128, 64), normal(256, 32), normal(256, 32), integers(0, 256, 1, 128)), opset=23)
    yield Case("RotaryEmbedding", "f32 interleaved", (normal(1, 32, 128, 64), normal(256, 32), normal(256, 32), integers(0, 256, 1, 128)), attributes={"interleaved": 1}, opset=23)
    for equation, shapes in (("bqhd,bkhd->bhqk", [(2, 128, 8, 64)] * 2), ("bhqk,bkhd->bqhd", [(2, 8, 128, 128), (2, 128, 8, 64)]), ("ij,jk->ik", [(256, 256)] * 2),
                             ("bij,bjk->bik", [(16, 128, 128)] * 2), ("i,j->ij", [(1024,), (1024,)]), ("ij->ji", [(1024, 1024)]), ("ijk->ik", [(64, 128, 128)]),
                             ("bii->bi", [(64, 128, 128)]), ("bnd,d->bn", [(8, 1024, 128), (128,)]), ("bhwc,hkc->bhwk", [(8, 14, 14, 64), (14, 14, 64)])):
        yield Case("Einsum", f"f32 {equation}", tuple(normal(*shape) for shape in shapes), attributes={"equation": equation})


def recurrent():
    size, inputs, steps = 128, 64, 50
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for batch in (1, 16):
            weights = (uniform(-0.1, 0.1, 1, gates * size, inputs), uniform(-0.1, 0.1, 1, gates * size, size))
            yield Case(op, f"f32 50 steps, batch {batch}", (normal(steps, batch, inputs), *weights), outputs=2, attributes={"hidden_size": size}, constants=(1, 2))


def dense():
    image = normal(1, 64, 56, 56)
    yield Case("Conv", "f32 3 x 3, 64 channels", (image, normal(64, 64, 3, 3)), attributes={"pads": [1, 1, 1, 1]}, constants=(1,), is_dense=True)
    yield Case("Conv", "f32 1 x 1, 64 to 256", (image, normal(256, 64, 1, 1)), constants=(1,), is_dense=True)
    yield Case("Conv", "f32 depthwise 3 x 3", (normal(*IMAGE), normal(64, 1, 3, 3)), attributes={"pads": [1, 1, 1, 1], "group": 64}, constants=(1,), is_dense=True)
    yield Case("ConvTranspose", "f32 2 x 2, stride 2", (image, normal(64, 64, 2, 2)), attributes={"strides": [2, 2]}, constants=(1,), is_dense=True)
    yield Case("DeformConv", "f32 3 x 3", (normal(1, 32, 32, 32), normal(32, 32, 3, 3), normal(1, 18, 30, 30)), is_dense=True)
    yield Case("ConvInteger", "u8 3 x 3", (bytes_of(1, 64, 56, 56), bytes_of(64, 64, 3, 3)), attributes={"pads": [1, 1, 1, 1]}, constants=(1,), is_dense=True)
    yield Case("QLinearConv", "u8 i8 3 x 3", (bytes_of(1, 64, 56, 56), value(0.1), value(3, np.uint8), bytes_of(64, 64, 3, 3, dtype=np.int8), value(0.1), value(0, np.int8),
                                             value(9.0), value(3, np.uint8)), attributes={"pads": [1, 1, 1, 1]}, constants=(1, 2, 3, 4, 5, 6, 7), is_dense=True)
    yield Case("MatMul", "f32 512 x 512 x 512", (normal(512, 512), normal(512, 512)), constants=(1,), is_dense=True)
    yield Case("MatMul", "f32 1 x 4096 x 4096", (normal(1, 4096), normal(4096, 4096)), constants=(1,), is_dense=True)
    yield Case("MatMul", "f32 batches of 128 x 64 x 128", (normal(12, 128, 64), normal(12, 64, 128)), is_dense=True)
    yield Case("Gemm", "f32 256 x 768 x 768", (normal(256, 768), normal(768, 768), normal(768)), constants=(1, 2), is_dense=True)
    yield Case("MatMulInteger", "u8 i8 256 x 768 x 768", (bytes_of(256, 768), bytes_of(768, 768, dtype=np.int8)), constants=(1,), is_dense=True)
    yield Case("QLinearMatMul", "u8 i8 256 x 768 x 768", (bytes_of(256, 768), value(0.1), value(3, np.uint8), bytes_of(768, 768, dtype=np.int8), value(0.1), value(0, np.int8),
                                                         value(9.0), value(3, np.uint8)), constants=(1, 2, 3, 4, 5, 6, 7), is_dense=True)


CASES = (*pools(), *sampling(), *quantization(), *attention(), *recurrent(), *dense())
