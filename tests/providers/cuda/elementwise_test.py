# SPDX-License-Identifier: Apache-2.0
"""Element-wise nodes as one generated kernel: which nodes are fused, shapes, element types."""

import ml_dtypes
import numpy as np
import pytest
from small_graph import small_graph


def random(*shape, dtype=np.float32, seed=0):
    values = np.random.default_rng(seed + sum(shape)).standard_normal(shape) * 3
    return (np.abs(values) * 20 if np.dtype(dtype).kind == "u" else values * (20 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)


SHAPES = {
    "same": ((4, 6, 8), (4, 6, 8)),
    "row": ((4, 6, 8), (8,)),
    "odd_row": ((4, 6, 7), (7,)),
    "half_words": ((4, 5, 6), (6,)),
    "column": ((4, 6, 8), (4, 1, 1)),
    "channel": ((2, 6, 5, 5), (6, 1, 1)),
    "both_ways": ((4, 1, 8), (6, 1)),
    "scalar": ((4, 6, 8), ()),
    "scalars": ((), ()),
    "one": ((3, 8), (1, 1, 1)),
    "empty": ((0, 3), (3,)),
    "many_axes": ((2, 1, 3, 1, 2, 1, 2), (3, 1, 2, 1, 1)),
    "long": ((70000,), (1,)),
}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
def test_shapes_are_broadcast(agrees, shapes, dtype):
    a, b = (random(*shape, dtype=dtype, seed=i) for i, shape in enumerate(SHAPES[shapes]))
    kernels = agrees(*small_graph("t = Mul(a, b)\n y = Add(t, a)", {"a": a, "b": b}))
    assert set(kernels) == {"cuda.Mul+Add"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
                                   np.int64, np.uint64])
@pytest.mark.parametrize("to", [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.float64, np.bool_])
def test_types_are_converted(agrees, dtype, to):
    x = np.arange(24).reshape(2, 12).astype(dtype)
    number = {"float32": 1, "float16": 10, "bfloat16": 16, "int32": 6, "int64": 7, "float64": 11, "bool": 9}[np.dtype(to).name]
    agrees(*small_graph(f"y = Cast<to={number}>(x)", {"x": x}))


ONE_KERNEL = {
    "many_steps": ("a = Div(x, root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(x, c)\n y = Mul(d, half)",
                      {"root": np.float32(1.4142135), "one": np.float32(1), "half": np.float32(0.7)}, 5),
    "diamond": ("a = Sigmoid(x)\n b = Tanh(x)\n c = Mul(a, b)\n y = Sub(c, a)", {}, 4),
    "types_in_between": ("a = Cast<to=10>(x)\n b = Cast<to=1>(a)\n c = Greater(b, x)\n y = Where(c, a, d)\n", {"d": np.ones((1, 5), np.float16)}, 4),
    "normalization": ("a = BatchNormalization<epsilon=0.01>(x, w, b, m, v)\n y = Relu(a)",
                      {"w": random(4), "b": random(4, seed=1), "m": random(4, seed=2), "v": np.abs(random(4, seed=3)) + 1}, 2),
    "quantization": ("a = QuantizeLinear<axis=1>(x, s, z)\n y = DequantizeLinear<axis=1>(a, s, z)",
                     {"s": np.abs(random(4)) + 0.1, "z": np.array([1, 2, 3, 4], np.int8)}, 2),
    "bounds": ("a = Clip(x, low)\n y = Clip(a, , high)", {"low": np.float32(-1), "high": np.float32(2)}, 2),
    "sum": ("a = Sum(x, w, x)\n b = Max(a, x, w)\n y = Mean(a, b, x)", {"w": random(5)}, 3),
}


@pytest.mark.parametrize("case", ONE_KERNEL)
def test_nodes_with_one_reader_are_fused(agrees, case):
    text, constants, count = ONE_KERNEL[case]
    kernels = agrees(*small_graph(text, {"x": random(3, 4, 6, 5)}, constants))
    assert len(kernels) == count and len(set(kernels)) == 1, kernels


def test_what_others_read_is_made_once(agrees):
    kernels = agrees(*small_graph("a = Exp(x)\n y = Neg(a)\n b = ReduceSum<keepdims=1>(a)\n z = Div(a, b)", {"x": random(5, 7) / 4}))
    assert kernels[0] == "cuda.Exp" and kernels[1] == "cuda.Neg" and kernels[3] == "cuda.Div"


def test_results_are_written_over_what_is_not_read_again(agrees):
    x = random(64, 64)
    text = "\n".join(f"a{i + 1} = {'Relu' if i % 2 else 'Neg'}(a{i})\n r{i} = ReduceMax<keepdims=1>(a{i + 1})" for i in range(4))
    agrees(*small_graph("a0 = Abs(x)\n" + text, {"x": x}))


def test_special_numbers(agrees):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-40], np.float32)
    for function in ("Relu", "Sigmoid", "Tanh", "Softplus", "Abs", "Sign", "Floor", "Reciprocal", "IsNaN", "IsInf", "Gelu", "Exp"):
        agrees(*small_graph(f"y = {function}(x)", {"x": x}))
    agrees(*small_graph("y = Max(x, z)\n q = Min(x, z)", {"x": x, "z": x[::-1].copy()}))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integers_divide_towards_zero(agrees, dtype):
    a = np.array([7, -7, 7, -7, 100, -128], dtype)
    b = np.array([2, 2, -2, -2, 7, 5], dtype)
    agrees(*small_graph("y = Div(a, b)\n z = Mod(a, b)\n w = Mod<fmod=1>(a, b)", {"a": a, "b": b}))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_the_largest_unsigned_number_divides_like_others(agrees, dtype):
    most = np.iinfo(dtype).max
    a = np.array([most, most - 1, 200, 5, 0], dtype)
    b = np.full(5, most, dtype)
    agrees(*small_graph("y = Div(a, b)\n z = Mod(a, b)\n w = Mod<fmod=1>(a, b)", {"a": a, "b": b}))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_remainders_of_floats(agrees, dtype):
    a = np.array([5.5, -5.5, 5.5, -5.5, 6, -6, 0, 7, np.inf, 3, 3], dtype)
    b = np.array([2, 2, -2, -2, 3, -3, -2, 0, 2, np.inf, -np.inf], dtype)
    agrees(*small_graph("y = Mod(a, b)", {"a": a, "b": b}, opset=28))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts(agrees, dtype, direction):
    bits = 8 * np.dtype(dtype).itemsize
    amounts = np.array([0, 1, 3, bits - 1, bits, 100, *([-1, -bits] if np.dtype(dtype).kind == "i" else [])]).astype(dtype)
    numbers = np.array([[0], [1], [77], [-1], [-128], [2**63 - 1]]).astype(dtype)
    agrees(*small_graph(f'y = BitShift<direction="{direction}">(a, b)', {"a": np.broadcast_to(numbers, (6, amounts.size)).copy(), "b": amounts}, opset=28))
