# SPDX-License-Identifier: Apache-2.0
"""Quantized numbers: to and from them, and products and convolutions of them, against ONNX Runtime and formulas in numpy."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle, run_ort, run_reference
from small_graph import small_graph

import gantry

RANGES = {
    "uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767),
    "uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1),
}
FLOATS = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]


def run(op_type, inputs, output_types, opset, attributes=None):
    model, feeds = node_model(op_type, inputs, output_types, opset, attributes)
    return model, feeds, run_gantry(model, feeds)


def spread(scale, shape, axis, block):
    """A scale or zero point as one number for each element."""
    if scale.size == 1:
        return scale.reshape(())
    if scale.ndim == 1 and not block:
        return scale.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.repeat(scale, block, axis)[tuple(slice(n) for n in shape)]


GRANULARITIES = [
    ((), 1, 0),
    ((4,), 1, 0),
    ((5,), -1, 0),
    ((3, 2, 5), 1, 2),  # blocks along an inner axis
    ((3, 4, 2), 2, 3),  # the last block is shorter
]


@pytest.mark.parametrize("shape, axis, block", GRANULARITIES)
@pytest.mark.parametrize("type_name", RANGES)
@pytest.mark.parametrize("float_name", ["float", "float16", "bfloat16"])
def test_quantize_and_back(type_name, float_name, shape, axis, block):
    rng = np.random.default_rng(7)
    low, high = RANGES[type_name]
    floats = NUMPY_OF[float_name]
    x = rng.normal(0, (high - low) / 3, (3, 4, 5)).astype(floats)
    scale = rng.choice([0.25, 0.5, 1.0, 2.0], shape).astype(floats)  # powers of two: quotients are exact
    zero = rng.integers(low, high + 1, shape).astype(NUMPY_OF[type_name])
    wide = lambda a: spread(np.asarray(a).astype(np.float64), x.shape, axis % 3, block)
    expected = np.clip(np.rint(x.astype(np.float64) / wide(scale)) + wide(zero), low, high).astype(NUMPY_OF[type_name])
    attributes = {"axis": axis, "block_size": block}
    _, _, (y,) = run("QuantizeLinear", [x, scale, zero], [element_type(zero)], 25, attributes)
    compare(y, expected)
    back = ((expected.astype(np.float64) - wide(zero)) * wide(scale)).astype(floats)
    _, _, (z,) = run("DequantizeLinear", [expected, scale, zero], [element_type(x)], 25, attributes)
    compare(z, back)


def test_blocks_of_the_only_axis():
    x, scale = np.array([1, -2, 3, 4, -5, 6, 7], np.float32), np.array([0.5, 1, 2], np.float32)
    expected = np.rint(x / np.repeat(scale, 3)[:7]).astype(np.int8)
    for axis in (0, -1):
        attributes = {"axis": axis, "block_size": 3}
        _, _, (y,) = run("QuantizeLinear", [x, scale, np.zeros(3, np.int8)], [element_type(expected)], 21, attributes)
        compare(y, expected)
        _, _, (z,) = run("DequantizeLinear", [expected, scale], [element_type(x)], 21, attributes)
        compare(z, expected * np.repeat(scale, 3)[:7])


SHARES = [
    ((7, 1100), 1, 32),  # the last of a row is shorter than a vector
    ((7, 1100), 1, 300),
    ((7, 1100), -1, 6),  # shorter than a vector; more of them than are widened at once
    ((3, 70), 1, 1),
    ((2, 5, 49), 1, 0),  # one for each short plane
    ((40, 3, 4), 1, 0),
]


@pytest.mark.parametrize("shape, axis, block", SHARES)
@pytest.mark.parametrize("type_name", ["uint8", "int8", "uint16", "int16"])
def test_neighbours_that_share_scales(type_name, shape, axis, block):
    rng = np.random.default_rng(12)
    low, high = RANGES[type_name]
    levels = [-(-n // block) if i == axis % len(shape) else n for i, n in enumerate(shape)] if block else shape[axis]
    scale = rng.uniform(0.3, 3, levels).astype(np.float32)
    zero = rng.integers(low, high + 1, levels).astype(NUMPY_OF[type_name])
    x = rng.normal(0, (high - low) / 2, shape).astype(np.float32)
    wide = lambda a: spread(a, shape, axis % len(shape), block)
    expected = np.clip(np.rint(x / wide(scale)).astype(np.int64) + wide(zero), low, high).astype(NUMPY_OF[type_name])
    attributes = {"axis": axis, "block_size": block}
    _, _, (y,) = run("QuantizeLinear", [x, scale, zero], [element_type(zero)], 25, attributes)
    np.testing.assert_array_equal(y, expected)
    _, _, (z,) = run("DequantizeLinear", [expected, scale, zero], [TensorProto.FLOAT], 25, attributes)
    np.testing.assert_array_equal(z, (expected.astype(np.float32) - wide(zero).astype(np.float32)) * wide(scale))


@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("saturate", [0, 1])
def test_quantize_to_float8(type_name, saturate):
    x = np.array([0.0, 1.0, -2.5, 448.0, 449.0, 1e6, -1e6, 0.01, 57344.0, np.nan], np.float32)
    zero = np.zeros((), NUMPY_OF[type_name])
    model, feeds, (y,) = run("QuantizeLinear", [x, np.asarray(np.float32(2.0)), zero], [element_type(zero)], 19, {"saturate": saturate})
    np.testing.assert_array_equal(y.astype(np.float32), run_reference(model, feeds)[0].astype(np.float32))


@pytest.mark.parametrize("shape, axis, block", GRANULARITIES)
@pytest.mark.parametrize("type_name", ["float4e2m1", "float6e2m3", "float6e3m2"])
def test_quantize_to_packed_floats_and_back(type_name, shape, axis, block):
    rng = np.random.default_rng(11)
    x = (rng.normal(0, 3, (3, 4, 5)) * rng.choice([1, 1, 20], (3, 4, 5))).astype(np.float32)
    scale = rng.choice([0.25, 0.5, 1.0, 2.0], shape).astype(np.float32)
    zero = np.zeros(shape, NUMPY_OF[type_name])
    wide = spread(scale, x.shape, axis % 3, block)
    attributes = {"axis": axis, "block_size": block}
    model, feeds, (y,) = run("QuantizeLinear", [x, scale, zero], [element_type(zero)], 28, attributes)
    assert y.dtype == NUMPY_OF[type_name]
    np.testing.assert_array_equal(y.view(np.uint8), (x / wide).astype(NUMPY_OF[type_name]).view(np.uint8))
    if x.shape[axis] % max(block, 1) == 0:  # the reference wants whole blocks
        np.testing.assert_array_equal(y.view(np.uint8), run_reference(model, feeds)[0].view(np.uint8))
    _, _, (z,) = run("DequantizeLinear", [y, scale, zero], [TensorProto.FLOAT], 28, attributes)
    compare(z, y.astype(np.float32) * wide.astype(np.float32))


@pytest.mark.parametrize("opset", [10, 13, 19, 21, 23, 25])
def test_versions_against_onnx_runtime(opset):
    rng = np.random.default_rng(3)
    x = rng.normal(0, 60, (2, 3, 700)).astype(np.float32)
    x[0, 0, :4] = [np.inf, -np.inf, 1e30, -1e30]
    scale = np.asarray(np.float32(0.37)) if opset < 13 else rng.uniform(0.1, 2, 3).astype(np.float32)
    zero = rng.integers(0, 255, np.shape(scale)).astype(np.uint8)
    model, feeds, y = run("QuantizeLinear", [x, np.asarray(scale), zero], [TensorProto.UINT8], opset)
    compare(y, run_ort(model, feeds))
    model, feeds, z = run("DequantizeLinear", [y[0], np.asarray(scale), zero], [TensorProto.FLOAT], opset)
    compare(z, run_ort(model, feeds))
    integers = rng.integers(-(2**31), 2**31, (4, 9)).astype(np.int32)
    model, feeds, z = run("DequantizeLinear", [integers, np.asarray(np.float32(0.5))], [TensorProto.FLOAT], opset)
    compare(z, run_ort(model, feeds))


def test_quantize_defaults_and_types():
    x = np.array([[1.0, 300.0], [-4.0, 2.5]], np.float32)
    _, _, (y,) = run("QuantizeLinear", [x, np.asarray(np.float32(1.0))], [TensorProto.UINT8], 13)
    compare(y, np.array([[1, 255], [0, 2]], np.uint8))
    _, _, (y,) = run("QuantizeLinear", [x, np.asarray(np.float32(1.0))], [TensorProto.INT4], 25, {"output_dtype": TensorProto.INT4})
    compare(y, np.array([[1, 7], [-4, 2]], ml_dtypes.int4))
    integers = np.array([2**31 - 1, -7, 9], np.int32)
    _, _, (y,) = run("QuantizeLinear", [integers, np.asarray(np.float32(2.0))], [TensorProto.INT16], 25, {"output_dtype": TensorProto.INT16})
    compare(y, np.array([32767, -4, 4], np.int16))
    _, _, (y,) = run(
        "QuantizeLinear", [np.float32([1.0, 3.0]), np.asarray(np.float16(3.0))], [TensorProto.UINT8], 25, {"precision": TensorProto.FLOAT16}
    )
    compare(y, np.array([0, 1], np.uint8))


@pytest.mark.parametrize("x", [np.zeros((3, 2), np.float32), np.arange(-5, 70, dtype=np.float32) * 0.31, np.full((2, 2), 7, np.float32), np.zeros((0,), np.float32)])
def test_dynamic_quantize(x):
    model, feeds, y = run("DynamicQuantizeLinear", [x], [TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8], 11)
    compare(y, run_ort(model, feeds))


@pytest.mark.parametrize("x", [[1, np.inf], [-np.inf, 1], [np.inf, -np.inf], [-3e38, 3e38]])
def test_dynamic_quantize_without_a_finite_range(x):
    """As the operator's body computes it, which casts NaN to the zero point 0; ONNX Runtime's kernel and the reference make 255 of it."""
    body = onnx.defs.get_schema("DynamicQuantizeLinear", 21).function_body
    graph = helper.make_graph(body.node, "body", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info(name, dtype, None) for name, dtype in (("y", TensorProto.UINT8), ("y_scale", TensorProto.FLOAT), ("y_zero_point", TensorProto.UINT8))])
    spelled_out = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    feeds = {"x": np.array(x, np.float32)}
    _, _, y = run("DynamicQuantizeLinear", [feeds["x"]], [TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8], 21)
    compare(y, run_ort(spelled_out, feeds))


@pytest.mark.parametrize("a_type", [np.uint8, np.int8])
@pytest.mark.parametrize("b_type", [np.uint8, np.int8])
@pytest.mark.parametrize(
    "a_shape, b_shape, a_zeros, b_zeros",
    [((3, 7), (7, 5), (), ()), ((3, 7), (7, 5), (3,), (5,)), ((2, 3, 700), (700, 5), (), (5,)), ((2, 1, 3, 4), (5, 4, 2), None, ()), ((4,), (4,), (), ()), ((3, 0), (0, 2), (), ())],
)
def test_matmul_integer(a_type, b_type, a_shape, b_shape, a_zeros, b_zeros):
    rng = np.random.default_rng(5)
    draw = lambda t, shape: rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape).astype(t)
    a, b = draw(a_type, a_shape), draw(b_type, b_shape)
    a_zero = None if a_zeros is None else np.asarray(draw(a_type, a_zeros))
    b_zero = None if b_zeros is None else np.asarray(draw(b_type, b_zeros))
    _, _, (y,) = run("MatMulInteger", [a, b, a_zero, b_zero], [TensorProto.INT32], 10)
    wide_a = a.astype(np.int64) - (0 if a_zero is None else a_zero.astype(np.int64).reshape([*a_zeros, 1] if a_zeros else ()))
    wide_b = b.astype(np.int64) - (0 if b_zero is None else b_zero.astype(np.int64))
    compare(y, np.asarray(wide_a @ wide_b).astype(np.int32))


@pytest.mark.parametrize("zero_type", [np.uint8, np.int8])
@pytest.mark.parametrize("per_column", [False, True])
def test_qlinear_matmul(zero_type, per_column):
    rng = np.random.default_rng(9)
    info = np.iinfo(zero_type)
    draw = lambda shape: np.asarray(rng.integers(info.min, info.max + 1, shape)).astype(zero_type)
    columns = (6,) if per_column else ()
    scale_b = np.asarray(rng.uniform(0.01, 0.03, columns)).astype(np.float32)
    inputs = [draw((4, 300)), np.asarray(np.float32(0.02)), draw(()), draw((300, 6)), scale_b, draw(columns), np.asarray(np.float32(0.9)), draw(())]
    model, feeds, (y,) = run("QLinearMatMul", inputs, [element_type(inputs[0])], 10)
    expected = run_oracle(model, feeds)[0]
    # Ties of the last rounding may fall either way.
    assert np.abs(y.astype(int) - expected.astype(int)).max() <= 1
    assert (y == expected).mean() > 0.95


@pytest.mark.parametrize("x_type, w_type", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("channels", [2, 40, 120])  # sums of more than 2^24 for 40; for 120 also where each filter is less its mean
@pytest.mark.parametrize("zeros", [(), (6,)])
def test_conv_integer(x_type, w_type, channels, zeros):
    rng = np.random.default_rng(2)
    draw = lambda t, shape: np.asarray(rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape)).astype(t)
    x, w = draw(x_type, (2, 2 * channels, 9, 8)), draw(w_type, (6, channels, 3, 3))
    x_zero, w_zero = draw(x_type, ()), draw(w_type, zeros)
    attributes = {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}
    _, _, (y,) = run("ConvInteger", [x, w, x_zero, w_zero], [TensorProto.INT32], 10, attributes)
    exact_w = w.astype(np.float64) - w_zero.astype(np.float64).reshape((-1, 1, 1, 1) if zeros else ())
    model, feeds = node_model("Conv", [x.astype(np.float64) - float(x_zero), exact_w], [TensorProto.DOUBLE], 11, attributes)
    compare(y, run_gantry(model, feeds)[0].astype(np.int32))


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("channels", [4, 40, 140])
def test_qlinear_conv(per_channel, has_bias, channels):
    rng = np.random.default_rng(4)
    scale = lambda shape=(): np.asarray(rng.uniform(0.01, 0.04, shape)).astype(np.float32)
    byte = lambda shape=(): np.asarray(rng.integers(0, 256, shape)).astype(np.uint8)
    signed = lambda shape=(): np.asarray(rng.integers(-128, 128, shape)).astype(np.int8)
    per = (6,) if per_channel else ()
    bias = [rng.integers(-(2**20), 2**20, 6).astype(np.int32)] if has_bias else []
    inputs = [byte((2, channels, 11, 7)), scale(), byte(), signed((6, channels, 3, 3)), scale(per), np.zeros(per, np.int8), np.asarray(scale() * np.float32(60)), byte(), *bias]
    model, feeds, (y,) = run("QLinearConv", inputs, [TensorProto.UINT8], 10, {"pads": [1, 1, 1, 1]})
    expected = run_oracle(model, feeds)[0]
    assert np.abs(y.astype(int) - expected.astype(int)).max() <= 1
    assert (y == expected).mean() > 0.99


def test_what_does_not_fit_is_said():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(gantry.Error, match="does not fit data of shape"):
        run("QuantizeLinear", [x, np.ones(5, np.float32)], [TensorProto.UINT8], 13)
    with pytest.raises(gantry.Error, match="does not fit data of shape"):
        run("QuantizeLinear", [x, np.ones((2, 2), np.float32)], [TensorProto.UINT8], 21, {"block_size": 3})
    with pytest.raises(gantry.Error, match="cannot be multiplied|differ|incompatible|Incompatible"):
        run("MatMulInteger", [np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.uint8)], [TensorProto.INT32], 10)
    with pytest.raises(gantry.Error, match="neither one number nor one for each row"):
        run("MatMulInteger", [np.zeros((2, 3), np.uint8), np.zeros((3, 3), np.uint8), np.zeros(7, np.uint8)], [TensorProto.INT32], 10)


@pytest.mark.parametrize("type_name", ["uint8", "int8", "uint16", "int16"])
def test_rows_of_any_width(type_name):
    """Vectors and what is left of them, with one scale and with a scale for each element; halves, limits, infinities and NaN among them."""
    rng = np.random.default_rng(5)
    low, high = RANGES[type_name]
    for width in [*range(1, 36), 63, 64, 65, 700]:
        x = (rng.integers(2 * low - 9, 2 * high + 9, (3, width)) / 2).astype(np.float32)
        x[0, rng.integers(width)] = rng.choice([np.inf, -np.inf, np.nan, 3e9, -3e9])
        for scale in (np.float32(0.5), rng.choice([0.25, 0.5, 1.0], width).astype(np.float32)):
            zero = np.full(np.shape(scale), 3, NUMPY_OF[type_name])
            quotient = np.rint(np.nan_to_num(x / scale, nan=-1e9, posinf=1e9, neginf=-1e9)) + 3
            _, _, (y,) = run("QuantizeLinear", [x, np.asarray(scale), zero], [element_type(zero)], 21)
            expected = np.clip(quotient, low, high).astype(NUMPY_OF[type_name])
            np.testing.assert_array_equal(y, expected)
            _, _, (back,) = run("DequantizeLinear", [y, np.asarray(scale), zero], [1], 21)
            np.testing.assert_array_equal(back, (y.astype(np.float32) - 3) * scale)


@pytest.mark.parametrize("width", [1, 7, 16, 33, 100])
def test_dynamic_range_of_any_width(width):
    x = np.linspace(-3, 5, width).astype(np.float32)[np.random.default_rng(width).permutation(width)]
    model, feeds, y = run("DynamicQuantizeLinear", [x], [2, 1, 2], 11)
    compare(y, run_ort(model, feeds))


def test_quantized_convolution_without_a_provider_that_takes_it_whole():
    """The weights are turned into floats once, when the model is loaded; the tensor that two nodes read is turned into floats once a run."""
    weights = np.arange(-18, 18).reshape(4, 1, 3, 3).astype(np.int8)
    model, feeds = small_graph(
        "x = DequantizeLinear(q, s, z)\n wf = DequantizeLinear(w, s)\n c = Conv(x, wf)\n d = QuantizeLinear(c, sy, z)\n"
        "g = GlobalMaxPool(x)\n y = DequantizeLinear(d, sy, z)",
        {"q": np.arange(50).reshape(2, 1, 5, 5).astype(np.uint8)},
        {"w": weights, "s": np.float32(0.1), "z": np.uint8(3), "sy": np.float32(0.5)})
    session = gantry.Session(model, device="CPU")
    operators = sorted(node.op_type for node in session.placement.nodes)
    assert operators == ["Conv", "DequantizeLinear", "DequantizeLinear", "GlobalMaxPool", "QuantizeLinear"]
    results = session.run(feeds)
    for output, expected in zip(model.graph.output, run_oracle(model, feeds), strict=True):
        np.testing.assert_allclose(results[output.name], expected, atol=0.5001)  # one step


@pytest.mark.parametrize("type_name", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.7e-3, 0.33333334, 2.0, 1.9999999, 0.9999999, -0.7, 1e-30, 1e-40, 1e30, 6.1e-5])
def test_quotients_are_those_of_a_division(type_name, scale):
    """Halves and their neighbours too, whose last bit decides; infinities, and NaN, which becomes the least number."""
    dtype, scale = np.dtype(type_name), np.float32(scale)
    with np.errstate(all="ignore"):
        halves = ((np.arange(-300, 300) + 0.5) * np.float64(scale)).astype(np.float32)
        rng = np.random.default_rng(1)
        x = np.concatenate([halves, np.nextafter(halves, np.float32(np.inf)), np.nextafter(halves, np.float32(-np.inf)),
                            (rng.normal(size=5000) * 100 * np.float64(scale)).astype(np.float32), np.float32([np.inf, -np.inf, np.nan, 0, -0.0, 3e38, -3e38, 1e-45])])
        info = np.iinfo(dtype)
        quotient = x / scale
        expected = np.clip(np.rint(np.where(np.isnan(quotient), -np.inf, quotient)), info.min, info.max).astype(dtype)
    model, feeds = node_model("QuantizeLinear", [x, scale, np.zeros((), dtype)], [element_type(expected)], 21)
    np.testing.assert_array_equal(run_gantry(model, feeds)[0], expected)


@pytest.mark.parametrize("is_each", [False, True])
@pytest.mark.parametrize("type_name", ["uint8", "int8", "uint16", "int16"])
def test_quotients_far_beyond_a_type(type_name, is_each):
    """Above what 15 and 16 bits hold too, where vectors that are made narrower may lose a bit."""
    info = np.iinfo(type_name)
    places = np.concatenate([np.arange(32400, 33400), np.arange(65000, 66000), 2.0 ** np.arange(15, 60)]).astype(np.float32)
    x = np.concatenate([places, -places])
    for zero in (info.min, 3, info.max):
        expected = np.clip(x.astype(np.float64) + zero, info.min, info.max).astype(type_name)
        ones = np.ones(x.size if is_each else (), np.float32)
        _, _, (y,) = run("QuantizeLinear", [x, ones, np.full(ones.shape, zero, type_name)], [element_type(expected)], 21, {"axis": 0})
        np.testing.assert_array_equal(y, expected)
