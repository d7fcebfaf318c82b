# SPDX-License-Identifier: Apache-2.0
"""Normalizations and the softmax family, in their versions and element types."""

import numpy as np
import pytest

import gantry
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle, run_reference

FLOATS = ["float", "double", "float16", "bfloat16"]
TOLERANCE = {"float": 2e-5, "double": 1e-9, "float16": 4e-3, "bfloat16": 3e-2}


def random(*shape, seed=0, name="float"):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape).astype(NUMPY_OF[name])


def check(op_type, inputs, opset, attributes=None, outputs=1, rtol=2e-5, atol=2e-5, oracle=run_oracle):
    model, feeds = node_model(op_type, inputs, [element_type(inputs[0])] * outputs, opset, attributes)
    compare(run_gantry(model, feeds), oracle(model, feeds), rtol, atol)


def check_as_float(op_type, inputs, opset, attributes, name, outputs=1):
    """Against the oracle's f32 result for the rounded inputs."""
    model, feeds = node_model(op_type, inputs, [element_type(inputs[0])] * outputs, opset, attributes)
    wide, wide_feeds = node_model(op_type, [x.astype(np.float32) for x in inputs], [1] * outputs, opset, attributes)
    expected = [y.astype(NUMPY_OF[name]) for y in run_oracle(wide, wide_feeds)]
    tolerance = max(TOLERANCE[name], 2e-5)
    compare(run_gantry(model, feeds), expected, tolerance, tolerance)


SOFTMAXES = ["Softmax", "LogSoftmax", "Hardmax"]


@pytest.mark.parametrize("op_type", SOFTMAXES)
@pytest.mark.parametrize("opset", [1, 11, 13])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 33, 300), (17, 1, 1)])
def test_softmax(op_type, opset, axis, shape):
    if axis == -1 and opset < 11:
        pytest.skip("negative axes came with version 11")
    check(op_type, [random(*shape) * 5], opset, {} if axis is None else {"axis": axis})


@pytest.mark.parametrize("op_type", SOFTMAXES)
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_types(op_type, name, axis):
    check_as_float(op_type, [random(19, 37, name=name)], 13, {"axis": axis}, name)


def test_softmax_of_extremes():
    x = np.array([[1e30, -1e30, 0], [-np.inf, 1, 2], [-200, -300, -250], [88, 89, 90]], np.float32)
    check("Softmax", [x], 13)
    model, feeds = node_model("Softmax", [np.array([[1, np.nan, 2], [0, 0, 0]], np.float32)], [1], 13)
    y = run_gantry(model, feeds)[0]
    assert np.isnan(y[0]).all() and np.allclose(y[1], 1 / 3)


def statistics(channels, name="float"):
    scale, bias, mean = (random(channels, seed=i, name=name) for i in range(3))
    return [scale, bias, mean, np.abs(random(channels, seed=3, name=name)) + NUMPY_OF[name](0.1)]


@pytest.mark.parametrize("shape", [(2, 3, 8, 9), (4, 5), (2, 6, 30), (1, 2, 3, 4, 5), (1, 64, 56, 56)])
@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization(shape, opset):
    check("BatchNormalization", [random(*shape), *statistics(shape[1])], opset, {"epsilon": 0.01})


@pytest.mark.parametrize("opset", [1, 6])
def test_batch_normalization_of_old_versions(opset):
    attributes = {"is_test": 1} | ({"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {})
    inputs = [random(2, 3, 8, 9), *statistics(3)]
    model, feeds = node_model("BatchNormalization", inputs, [1], opset, attributes)
    new, new_feeds = node_model("BatchNormalization", inputs, [1], 9)
    compare(run_gantry(model, feeds), run_oracle(new, new_feeds), 2e-5, 2e-5)


@pytest.mark.parametrize("name", FLOATS)
def test_batch_normalization_types(name):
    check_as_float("BatchNormalization", [random(2, 5, 9, name=name), *statistics(5, name)], 15, {}, name)


@pytest.mark.parametrize("shape", [(3, 4, 5, 6), (6, 3)])
@pytest.mark.parametrize("opset", [14, 15])
def test_batch_normalization_in_training(shape, opset):
    inputs = [random(*shape), *statistics(shape[1])]
    attributes = {"training_mode": 1, "momentum": 0.7}
    check("BatchNormalization", inputs, opset, attributes, outputs=3, oracle=run_reference)


@pytest.mark.parametrize("shape", [(3, 4, 50, 61), (2, 3, 5000), (5, 4)])
@pytest.mark.parametrize("level", [0, 1e4, 3e5])
def test_batch_normalization_in_training_measures_well(shape, level):
    """Also where the mean is large beside the deviation: as f64 says, from the same numbers."""
    x = (random(*shape).astype(np.float64) + level).astype(np.float32)
    x.reshape(shape[0], shape[1], -1)[0, :, :2] += 3  # what the first elements say is not what all do
    model, feeds = node_model("BatchNormalization", [x, *statistics(shape[1])], [1, 1, 1], 15, {"training_mode": 1, "momentum": 0.0})
    y, mean, variance = run_gantry(model, feeds)
    axes = (0, *range(2, x.ndim))
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean(axes), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(variance, wide.var(axes), rtol=2e-6)
    assert np.abs(y.mean(axes, dtype=np.float64) - list(feeds.values())[2]).max() < {0: 1e-5, 1e4: 5e-3, 3e5: 5e-2}[level]


def test_batch_normalization_of_mixed_types():
    inputs = [random(2, 3, 8).astype(np.float16), *statistics(3)]
    inputs[1:3] = [x.astype(np.float16) for x in inputs[1:3]]
    model, feeds = node_model("BatchNormalization", inputs, [10], 15)
    x, scale, bias, mean, variance = (i.astype(np.float64) for i in inputs)
    place = (None, slice(None), None)
    expected = (x - mean[place]) / np.sqrt(variance[place] + 1e-5) * scale[place] + bias[place]
    compare(run_gantry(model, feeds), [expected.astype(np.float16)], 4e-3, 4e-3)


def test_batch_normalization_refuses_other_channels():
    model, feeds = node_model("BatchNormalization", [random(2, 3, 8), *statistics(4)], [1], 15)
    with pytest.raises(gantry.Error):
        run_gantry(model, feeds)


@pytest.mark.parametrize("shape", [(2, 3, 8, 9), (1, 4, 50), (2, 2, 3, 4, 5)])
@pytest.mark.parametrize("opset", [6, 22])
def test_instance_normalization(shape, opset):
    check("InstanceNormalization", [random(*shape), random(shape[1]), random(shape[1], seed=1)], opset, oracle=run_reference)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("with_bias", [True, False])
def test_layer_normalization(axis, with_bias):
    shape = (3, 4, 37)
    inputs = [random(*shape), random(*shape[axis:], seed=1)] + ([random(*shape[axis:], seed=2)] if with_bias else [])
    check("LayerNormalization", inputs, 17, {"axis": axis}, outputs=3)


@pytest.mark.parametrize("scale", [(1,), (37,), (1, 37), (4, 37), (4, 1), (3, 1, 1), (3, 4, 37)])
def test_layer_normalization_broadcasts_its_scale(scale):
    x, scale = random(3, 4, 37), random(*scale, seed=1)
    model, feeds = node_model("LayerNormalization", [x, scale], [1], 17)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5) * scale
    compare(run_gantry(model, feeds), [expected.astype(np.float32)], 2e-5, 2e-5)


@pytest.mark.parametrize("name", FLOATS)
def test_layer_normalization_types(name):
    check_as_float("LayerNormalization", [random(5, 70, name=name), random(70, name=name), random(70, seed=1, name=name)], 17, {},
                   name)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("name", FLOATS)
def test_rms_normalization(axis, name):
    x, scale = random(3, 4, 20, name=name), random(*(3, 4, 20)[axis:], seed=1, name=name)
    model, feeds = node_model("RMSNormalization", [x, scale], [element_type(x)], 23, {"axis": axis, "epsilon": 0.01})
    wide = x.astype(np.float64)
    axes = tuple(range(axis % 3, 3))
    expected = wide / np.sqrt((wide**2).mean(axes, keepdims=True) + 0.01) * scale.astype(np.float64)
    compare(run_gantry(model, feeds), [expected.astype(x.dtype)], TOLERANCE[name], TOLERANCE[name])


def test_group_normalization():
    """Version 18, with a scale for each group, is deprecated and refused by ONNX's checker."""
    inputs = [random(2, 6, 5, 4), random(6, seed=1), random(6, seed=2)]
    check("GroupNormalization", inputs, 21, {"num_groups": 3}, oracle=run_reference)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_normalization(p, axis):
    check("LpNormalization", [random(4, 5, 6)], 1, {"p": p, "axis": axis})


@pytest.mark.parametrize("axes", [[0, 2, 3], [1], [2, 3], [0, 1, 2, 3]])
def test_mean_variance_normalization(axes):
    check("MeanVarianceNormalization", [random(2, 3, 4, 5)], 13, {"axes": axes}, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 20])
@pytest.mark.parametrize("beta", [0.75, 0.5])
def test_lrn(size, beta):
    """As the specification writes it: ONNX Runtime takes odd sizes only, the reference evaluator confuses two axes."""
    x = random(2, 9, 13, 30)
    model, feeds = node_model("LRN", [x], [1], 13, {"size": size, "beta": beta, "alpha": 0.3, "bias": 1.5})
    squares = np.zeros(x.shape)
    for c in range(9):
        squares[:, c] = (x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].astype(np.float64) ** 2).sum(1)
    compare(run_gantry(model, feeds), [(x / (1.5 + 0.3 / size * squares) ** beta).astype(np.float32)], 2e-5, 2e-5)


@pytest.mark.parametrize("name", FLOATS)
def test_lrn_types(name):
    check_as_float("LRN", [random(2, 9, 13, name=name)[..., None]], 13, {"size": 3}, name)
