# SPDX-License-Identifier: Apache-2.0
"""Random tensors: reproducible from a seed, different without one, and distributed as asked."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracle import NUMPY_OF, node_model, run_gantry

FLOATS = ["float", "double", "float16", "bfloat16"]
COUNT = 40000


def onnx_type(type_name):
    return helper.np_dtype_to_tensor_dtype(np.dtype(NUMPY_OF[type_name]))


def drawn(op_type, inputs, type_name, attributes, opset=22):
    model, feeds = node_model(op_type, inputs, [onnx_type(type_name)], opset, attributes)
    (result,) = run_gantry(model, feeds)
    assert result.dtype == NUMPY_OF[type_name]
    return result.astype(np.float64)


@pytest.mark.parametrize("type_name", FLOATS)
def test_normal(type_name):
    attributes = {"shape": [COUNT], "dtype": onnx_type(type_name), "mean": 3.0, "scale": 2.0, "seed": 1.0}
    values = drawn("RandomNormal", [], type_name, attributes)
    assert abs(values.mean() - 3) < 0.05
    assert abs(values.std() - 2) < 0.05
    assert abs(((values - 3) ** 4).mean() / 16 - 3) < 0.2
    np.testing.assert_array_equal(values, drawn("RandomNormal", [], type_name, attributes))


@pytest.mark.parametrize("type_name", FLOATS)
def test_uniform(type_name):
    attributes = {"shape": [COUNT], "dtype": onnx_type(type_name), "low": -1.0, "high": 3.0, "seed": 2.0}
    values = drawn("RandomUniform", [], type_name, attributes)
    assert values.min() >= -1 and values.max() <= 3
    counts, _ = np.histogram(values, 8, (-1, 3))
    assert counts.min() > COUNT / 8 * 0.93 and counts.max() < COUNT / 8 * 1.07
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02


def test_like_takes_shape_and_type():
    x = np.zeros((3, 5), np.float16)
    assert drawn("RandomNormalLike", [x], "float16", {}).shape == (3, 5)
    assert drawn("RandomUniformLike", [x], "double", {"dtype": TensorProto.DOUBLE}).shape == (3, 5)
    assert drawn("RandomUniformLike", [x.astype(np.int32)], "float", {"dtype": TensorProto.FLOAT}, 1).shape == (3, 5)


def test_seeds_and_their_absence():
    shape = {"shape": [100]}
    first = drawn("RandomUniform", [], "float", {**shape, "seed": 1.0})
    assert not np.array_equal(first, drawn("RandomUniform", [], "float", {**shape, "seed": 1.5}))
    assert not np.array_equal(drawn("RandomUniform", [], "float", shape), drawn("RandomUniform", [], "float", shape))


@pytest.mark.parametrize("type_name", ["float", "bool", "int32", "uint64", "bfloat16"])
def test_bernoulli(type_name):
    probabilities = np.tile(np.array([0, 0.25, 1], np.float32), (COUNT, 1))
    ones = drawn("Bernoulli", [probabilities], type_name, {"dtype": onnx_type(type_name), "seed": 3.0})
    assert set(np.unique(ones)) <= {0.0, 1.0}
    np.testing.assert_allclose(ones.mean(0), [0, 0.25, 1], atol=0.02)


@pytest.mark.parametrize("type_name", ["int32", "int64"])
def test_multinomial(type_name):
    logits = np.log(np.array([[0.1, 0.2, 0.7], [5, 5, 0]]) + 1e-30).astype(np.float32)
    attributes = {"sample_size": COUNT, "dtype": onnx_type(type_name), "seed": 4.0}
    classes = drawn("Multinomial", [logits], type_name, attributes)
    assert classes.shape == (2, COUNT)
    for row, expected in zip(classes, ([0.1, 0.2, 0.7], [0.5, 0.5, 0])):
        np.testing.assert_allclose(np.bincount(row.astype(int), minlength=3) / COUNT, expected, atol=0.02)
