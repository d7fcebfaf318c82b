# SPDX-License-Identifier: Apache-2.0
"""Conv and ConvTranspose over ranks, groups, pads, strides, dilations and element types."""

import itertools

import numpy as np
import pytest

import gantry
from conv_cases import CONVOLUTIONS
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle

FLOATS = ["float", "double", "float16", "bfloat16"]
# Sums of many products: the oracle adds in another order.
RTOL, ATOL = 1e-4, 1e-4


def check(op_type, inputs, attributes, opset=11, rtol=RTOL, atol=ATOL, oracle=run_oracle, constants=()):
    inputs = [x if x is None else np.asarray(x, np.float32) for x in inputs]
    model, feeds = node_model(op_type, inputs, [element_type(inputs[0])], opset, attributes, constants=constants)
    compare(run_gantry(model, feeds), oracle(model, feeds), rtol, atol)


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_conv(case, with_bias):
    x, w, attributes = CONVOLUTIONS[case]
    bias = [random(w[0], seed=2)] if with_bias else []
    # ONNX Runtime has no kernel for four spatial axes.
    if case == "four_axes":
        expected = convolve(random(*x), random(*w, seed=1), attributes["strides"])
        expected = expected + (bias[0][:, None, None, None, None] if with_bias else 0)
        model, feeds = node_model("Conv", [random(*x), random(*w, seed=1), *bias], [1], 11, attributes)
        compare(run_gantry(model, feeds), [expected.astype(np.float32)], RTOL, ATOL)
        return
    check("Conv", [random(*x), random(*w, seed=1), *bias], attributes)


def convolve(x, w, strides):
    """An unpadded convolution over any number of axes, as its definition says it."""
    out = [(i - k) // s + 1 for i, k, s in zip(x.shape[2:], w.shape[2:], strides)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    for place in itertools.product(*map(range, out)):
        window = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, strides, w.shape[2:]))
        y[(..., *place)] = np.tensordot(x[(slice(None), slice(None), *window)], w, (range(1, x.ndim), range(1, w.ndim)))
    return y


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("case", ["square", "depthwise", "pointwise", "grouped"])
def test_conv_types(case, name):
    x, w, attributes = CONVOLUTIONS[case]
    inputs = [(random(*s, seed=i) / 4).astype(NUMPY_OF[name]) for i, s in enumerate((x, w, (w[0],)))]
    model, feeds = node_model("Conv", inputs, [element_type(inputs[0])], 22, attributes)
    wide, wide_feeds = node_model("Conv", [i.astype(np.float32) for i in inputs], [1], 22, attributes)
    expected = run_oracle(wide, wide_feeds)[0].astype(NUMPY_OF[name])
    tolerance = {"float": 1e-4, "double": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}[name]
    compare(run_gantry(model, feeds), [expected], tolerance, tolerance)


def test_conv_constant_weights_at_any_byte():
    # A name of odd length before the raw bytes puts them at an odd place in a mapped file.
    for opset in (1, 11, 22):
        check("Conv", [random(1, 5, 9, 9), random(7, 5, 3, 3), random(7)], {}, opset=opset, constants=(1, 2))


def test_conv_of_empty_batch():
    model, feeds = node_model("Conv", [np.zeros((0, 3, 8, 8), np.float32), random(4, 3, 3, 3)], [1], 11, {})
    assert run_gantry(model, feeds)[0].shape == (0, 4, 6, 6)


@pytest.mark.parametrize("x, w, attributes, part", [
    ((1, 3, 8, 8), (4, 2, 3, 3), {}, "channels"),
    ((1, 3, 2, 2), (4, 3, 3, 3), {}, "spans 3"),
    ((1, 3, 8, 8), (4, 3, 3), {}, "rank"),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"strides": [1]}, "strides"),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"strides": [0, 1]}, "strides"),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"pads": [2**62, 2**62, 2**62, 2**62]}, "pads"),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"dilations": [2**62, 1]}, "dilations"),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"group": 0}, "group"),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"group": -2}, "group"),
])
def test_conv_refuses(x, w, attributes, part):
    model, feeds = node_model("Conv", [random(*x), random(*w)], [1], 11, attributes)
    del model.graph.value_info[:]
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    with pytest.raises(gantry.Error) as error:
        run_gantry(model, feeds)
    assert "Conv" in str(error.value) or part in str(error.value)


TRANSPOSED = {
    "plain": ((1, 3, 5, 6), (3, 4, 3, 3), {}),
    "strided": ((2, 3, 5, 6), (3, 4, 3, 2), {"strides": [2, 3], "pads": [1, 0, 1, 1]}),
    "output_padding": ((1, 3, 5, 6), (3, 2, 3, 3), {"strides": [3, 2], "output_padding": [1, 1]}),
    "dilated": ((1, 2, 4, 5), (2, 3, 2, 3), {"dilations": [2, 2], "pads": [1, 1, 1, 1]}),
    "grouped": ((2, 6, 5, 4), (6, 3, 3, 3), {"group": 3, "strides": [2, 2]}),
    "depthwise": ((1, 7, 9, 8), (7, 1, 2, 2), {"group": 7, "strides": [2, 2]}),
    "one_axis": ((2, 3, 11), (3, 5, 4), {"strides": [2], "pads": [1, 2]}),
    "three_axes": ((1, 2, 3, 4, 5), (2, 3, 3, 2, 2), {"strides": [1, 2, 2]}),
    "output_shape": ((1, 3, 4, 4), (3, 2, 3, 3), {"strides": [3, 3], "output_shape": [10, 10]}),
    "large": ((1, 48, 40, 40), (48, 32, 2, 2), {"strides": [2, 2]}),
}


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("case", TRANSPOSED)
def test_conv_transpose(case, with_bias):
    x, w, attributes = TRANSPOSED[case]
    bias = [random(w[1] * attributes.get("group", 1), seed=2)] if with_bias else []
    check("ConvTranspose", [random(*x), random(*w, seed=1), *bias], attributes)


@pytest.mark.parametrize("name", FLOATS)
def test_conv_transpose_types(name):
    x, w, attributes = TRANSPOSED["grouped"]
    inputs = [(random(*s, seed=i) / 4).astype(NUMPY_OF[name]) for i, s in enumerate((x, w))]
    model, feeds = node_model("ConvTranspose", inputs, [element_type(inputs[0])], 22, attributes)
    wide, wide_feeds = node_model("ConvTranspose", [i.astype(np.float32) for i in inputs], [1], 22, attributes)
    expected = run_oracle(wide, wide_feeds)[0].astype(NUMPY_OF[name])
    tolerance = {"float": 1e-4, "double": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}[name]
    compare(run_gantry(model, feeds), [expected], tolerance, tolerance)


@pytest.mark.parametrize("auto_pad, first", [("SAME_UPPER", 0), ("SAME_LOWER", 1)])
def test_conv_transpose_splits_odd_padding(auto_pad, first):
    """The specification since version 11: the larger half at the end for SAME_UPPER, at the begin for SAME_LOWER."""
    x, w = random(1, 1, 4), random(1, 1, 3)
    model, feeds = node_model("ConvTranspose", [x, w], [1], 11, {"strides": [2], "auto_pad": auto_pad})
    full = np.zeros(9, np.float32)
    for i in range(4):
        full[2 * i:2 * i + 3] += x[0, 0, i] * w[0, 0]
    compare(run_gantry(model, feeds), [full[first:first + 8].reshape(1, 1, 8)])
