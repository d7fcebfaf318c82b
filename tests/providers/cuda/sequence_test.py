# SPDX-License-Identifier: Apache-2.0
"""Operators that reverse, cast bits, standardise, gate and take determinants, with shapes that ONNX's cases do not have."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from onnx import TensorProto
from small_graph import small_graph

TOLERANCES = {np.float32: (1e-4, 1e-5), np.float16: (1e-2, 5e-3), ml_dtypes.bfloat16: (4e-2, 4e-2), np.float64: (1e-10, 1e-11)}


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shape", [(7, 3), (5, 4, 6), (6, 2, 3, 5), (3, 9, 8)])
@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64, np.float16, np.bool_])
def test_reversed_sequences(cuda, shape, time, dtype):
    lengths = np.random.default_rng(1).integers(0, shape[time] + 1, shape[1 - time])
    lengths[-1] = shape[time]
    x = (random(*shape) * 50).astype(dtype)
    text = f"y = ReverseSequence<time_axis={time}, batch_axis={1 - time}>(x, n)"
    assert compare_all(cuda, *small_graph(text, {"x": x, "n": lengths}, opset=10)) == ["ReverseSequence"]


def test_a_sequence_longer_than_there_is(cuda):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    model, feeds = small_graph("y = ReverseSequence(x, n)", {"x": x, "n": np.array([9, 0, -2])}, opset=10)
    np.testing.assert_array_equal(cuda.run(model, feeds)[1]["y"], np.stack([x[::-1, 0], x[:, 1], x[:, 2]], axis=1))


# Of f32, which is what ONNX's checker takes: the function that defines the operator has constants of it.
@pytest.mark.parametrize("shape, axes", [((2, 3, 5, 7), "[0, 2, 3]"), ((2, 3, 40, 50), "[0, 2, 3]"), ((300, 40), "[0]"), ((6, 50), "[1]"), ((4, 5, 6, 33), "[0, 2]"), ((3, 4), "[0, 1]"),
                                         ((2, 3, 4), "[-1, 0]")])
def test_mean_and_variance(cuda, shape, axes):
    text = f"y = MeanVarianceNormalization<axes={axes}>(x)"
    assert compare_all(cuda, *small_graph(text, {"x": random(*shape)}, opset=13), rtol=1e-4, atol=1e-5) == ["MeanVarianceNormalization"]


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("shape", [(1, 1), (5, 2, 2), (3, 3), (2, 3, 4, 4), (5, 5), (4, 17, 17), (40, 40)])
def test_determinants(cuda, dtype, shape):
    rtol, _ = TOLERANCES[dtype]
    # So that 16 bits hold it.
    x = (random(*shape, dtype=np.float64) / np.sqrt(shape[-1])).astype(dtype)
    assert compare_all(cuda, *small_graph("y = Det(x)", {"x": x}, opset=22), rtol=rtol, atol=1e-12) == ["Det"]


@pytest.mark.parametrize("size", [3, 6])
def test_determinants_of_few_pivots(cuda, size):
    x = np.zeros((4, size, size), np.float32)
    x[0] = np.eye(size)[::-1]
    x[1] = np.eye(size)[np.roll(range(size), 1)] * 2
    x[2, :, 0] = 1  # of rank 1
    x[3] = np.arange(size * size).reshape(size, size)
    x[3, 0, 0] = 0
    compare_all(cuda, *small_graph("y = Det(x)", {"x": x}, opset=22), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_gates(cuda, dtype):
    rtol, atol = TOLERANCES[dtype]
    feeds = {"a": random(3, 5, 7, dtype=dtype), "b": random(3, 5, 7, dtype=dtype, seed=1)}
    assert compare_all(cuda, *small_graph("y = SwiGLU<alpha=1.5>(a, b)", feeds, opset=28), rtol=rtol, atol=atol) == ["cuda.SwiGLU"]


@pytest.mark.parametrize("dtype, to", [(np.float32, TensorProto.INT32), (np.int16, TensorProto.FLOAT16), (np.uint8, TensorProto.INT8), (np.float64, TensorProto.UINT64)])
def test_bits_as_another_type(cuda, dtype, to):
    assert compare_all(cuda, *small_graph(f"y = BitCast<to={to}>(x)", {"x": (random(3, 5) * 9).astype(dtype)}, opset=26)) == ["BitCast"]
