# SPDX-License-Identifier: Apache-2.0
"""int8 matmuls: exact sums, fused with the quantisation around them."""

import numpy as np
import pytest
from cuda_bytes import S8, U8, compare_steps, microsoft_graph, numbers
from cuda_worker import compare_all
from small_graph import small_graph

SHAPES = {
    "odd": ((5, 70), (70, 9)),
    "one": ((1, 1), (1, 1)),
    "strips": ((33, 200), (200, 47)),
    "vectors_of_16": ((20, 64), (64, 48)),
    "large_tiles": ((270, 48), (48, 150)),
    "few_rows": ((3, 96), (96, 600)),
    "shared_sums": ((5, 1000), (1000, 9)),
    "shared_sums_of_a_batch": ((2, 3, 800), (800, 40)),
    "row": ((70,), (70, 9)),
    "column": ((5, 70), (70,)),
    "batch": ((3, 5, 32), (3, 32, 9)),
    "right_for_all": ((3, 5, 33), (33, 9)),
    "left_for_all": ((5, 33), (3, 33, 9)),
    "two_batches": ((2, 1, 5, 17), (1, 3, 17, 9)),
    "nothing_to_add": ((4, 0), (0, 3)),
    "empty": ((0, 4), (4, 3)),
}
TYPES = [(U8, S8), (S8, S8), (U8, U8), (S8, U8)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("constant", [False, True])
def test_sums(cuda, shape, types, constant):
    """Without zero points, with one per tensor, and with one per row and column."""
    a, b = (numbers(dtype, *extents, seed=seed) for seed, (dtype, extents) in enumerate(zip(types, SHAPES[shape])))
    rows, columns = (a.shape[-2] if a.ndim > 1 else 1), (b.shape[-1] if b.ndim > 1 else 1)
    zeros = {"p": np.array(3, types[0]), "q": np.array(100, types[1]), "r": numbers(types[0], rows, seed=2), "s": numbers(types[1], columns, seed=3)}
    text = "v = MatMulInteger(a, b)\n x = MatMulInteger(a, b, p)\n y = MatMulInteger(a, b, , q)\n z = MatMulInteger(a, b, r, s)"
    feeds = {"a": a} | ({} if constant else {"b": b})
    kernels, outputs = cuda.run(*small_graph(text, feeds, zeros | ({"b": b} if constant else {})), runs=3)
    assert set(kernels) == {"MatMulInteger"}
    a, b, zeros = a.astype(np.int64), b.astype(np.int64), {name: value.astype(np.int64) for name, value in zeros.items()}
    by_row = zeros["r"][:, None] if a.ndim > 1 else zeros["r"]
    by_column = zeros["s"] if b.ndim > 1 else zeros["s"].reshape(-1)
    expected = {"v": a @ b, "x": (a - zeros["p"]) @ b, "y": a @ (b - zeros["q"]), "z": (a - by_row) @ (b - by_column)}
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value)
        assert outputs[name].dtype == np.int32


def test_sums_beyond_32_bits_wrap_around(cuda):
    a, b = np.full((1, 70000), 255, U8), np.full((70000, 2), 255, U8)
    _, outputs = cuda.run(*small_graph("y = MatMulInteger(a, b)", {"a": a, "b": b}))
    np.testing.assert_array_equal(outputs["y"], np.full((1, 2), 255 * 255 * 70000, np.uint64).astype(np.uint32).view(np.int32))


def test_zero_points_by_row_of_a_batch_are_refused(cuda):
    feeds = {"a": numbers(U8, 2, 3, 4), "b": numbers(U8, 4, 5)}
    with pytest.raises(RuntimeError, match="by row or column of each of a batch"):
        cuda.run(*small_graph("y = MatMulInteger(a, b, p)", feeds, {"p": numbers(U8, 2, 3, 1)}))


def linear_constants(types, result, scales):
    rng = np.random.default_rng(5)
    by_row, by_column = scales in ("rows", "both"), scales in ("columns", "both")
    return {
        "as": rng.uniform(0.01, 0.02, 33 if by_row else ()).astype(np.float32), "az": numbers(types[0], *([33] if by_row else [])),
        "bs": rng.uniform(0.01, 0.02, 21 if by_column else ()).astype(np.float32), "bz": numbers(types[1], *([21] if by_column else [])),
        "ys": np.float32(3), "yz": np.array(7, result),
    }


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("result", [U8, S8])
@pytest.mark.parametrize("scales", ["one", "rows", "columns", "both"])
def test_qlinear_matmul(cuda, types, result, scales):
    feeds = {"a": numbers(types[0], 33, 70), "b": numbers(types[1], 70, 21, seed=1)}
    compare_all(cuda, *small_graph("y = QLinearMatMul(a, as, az, b, bs, bz, ys, yz)", feeds, linear_constants(types, result, scales)))


QUANTISED = {
    "product": ("x = DequantizeLinear(a, as, az)\n w = DequantizeLinear(b, bs, bz)\n m = MatMul(x, w)\n y = QuantizeLinear(m, ys, yz)", "MatMul+QuantizeLinear"),
    "columns": ("x = DequantizeLinear(a, as, az)\n w = DequantizeLinear<axis=1>(b, bv, bw)\n m = MatMul(x, w)\n y = QuantizeLinear(m, ys, yz)", "MatMul+QuantizeLinear"),
    "relu": ("x = DequantizeLinear(a, as, az)\n w = DequantizeLinear<axis=-1>(b, bv, bw)\n m = MatMul(x, w)\n r = Relu(m)\n y = QuantizeLinear(r, ys, yz)",
             "MatMul+Relu+QuantizeLinear"),
    "bias": ("x = DequantizeLinear(a, as, az)\n w = DequantizeLinear(b, bs, bz)\n m = MatMul(x, w)\n n = Add(f, m)\n y = QuantizeLinear(n, ys, yz)", "MatMul+Add+QuantizeLinear"),
    "floats": ("x = DequantizeLinear(a, as, az)\n w = DequantizeLinear<axis=1>(b, bv, bw)\n m = MatMul(x, w)\n y = Add(m, f)", "MatMul+Add"),
    "gemm": ("x = DequantizeLinear(a, as, az)\n w = DequantizeLinear<axis=1>(b, bv, bw)\n c = DequantizeLinear<axis=0>(i, is)\n m = Gemm(x, w, c)\n"
             " y = QuantizeLinear(m, ys, yz)", "DequantizeLinear+Gemm+QuantizeLinear"),
    "transposed": ("x = DequantizeLinear(t, as, az)\n w = DequantizeLinear<axis=0>(u, bv, bw)\n m = Gemm<transA=1, transB=1>(x, w, f)\n l = Clip(m, low, high)\n"
                   " y = QuantizeLinear(l, ys, yz)", "Gemm+Clip+QuantizeLinear"),
}


@pytest.mark.parametrize("case", QUANTISED)
@pytest.mark.parametrize("types", [(U8, S8), (S8, S8), (U8, U8)])
@pytest.mark.parametrize("constant", [True, False])
def test_quantised_floats(cuda, case, types, constant):
    """A float operator between DequantizeLinear and QuantizeLinear is one int8 kernel."""
    text, kernel = QUANTISED[case]
    rng = np.random.default_rng(6)
    a, b = numbers(types[0], 33, 70), numbers(types[1], 70, 21, seed=1)
    constants = linear_constants(types, U8, "one") | {
        "bv": rng.uniform(0.01, 0.02, 21).astype(np.float32), "bw": numbers(types[1], 21), "f": rng.standard_normal(21).astype(np.float32) * 50,
        "i": rng.integers(-90000, 90000, 21).astype(np.int32), "is": rng.uniform(1e-4, 3e-4, 21).astype(np.float32), "low": np.float32(-100), "high": np.float32(300)}
    weights = {"u": np.ascontiguousarray(b.T)} if "(u," in text else {"b": b}
    feeds = {"t": np.ascontiguousarray(a.T)} if "(t," in text else {"a": a}
    (constants if constant else feeds).update(weights)
    used = {name: value for name, value in constants.items() if name in text.replace(",", " ").replace(")", " ").replace("(", " ").split()}
    kernels = compare_steps(cuda, *small_graph(text, feeds, used))
    assert set(kernels) == {f"cuda.DequantizeLinear+DequantizeLinear+{kernel}"}


@pytest.mark.parametrize("depth", [70, 1000])
def test_one_rounding_at_the_end(cuda, depth):
    """The result of a fusion equals its definition in f32, step by step, also with split-K."""
    a, b = numbers(U8, 33, depth), numbers(S8, depth, 21, seed=1)
    constants = {name: value for name, value in linear_constants((U8, S8), U8, "one").items()} | {"f": np.arange(21, dtype=np.float32), "b": b}
    text = QUANTISED["bias"][0]
    _, outputs = cuda.run(*small_graph(text, {"a": a}, constants))
    sums = (a.astype(np.int64) - int(constants["az"])) @ (b.astype(np.int64) - int(constants["bz"]))
    floats = sums.astype(np.float32) * (constants["as"] * constants["bs"]) + constants["f"]
    np.testing.assert_array_equal(outputs["y"], np.clip(np.rint(floats / constants["ys"]) + 7, 0, 255).astype(U8))


NO_UNIT = {
    "read_twice": "x = DequantizeLinear(a, as, az)\n w = DequantizeLinear(b, bs, bz)\n m = MatMul(x, w)\n y = QuantizeLinear(m, ys, yz)\n z = Relu(m)",
    "inner_scales": "x = DequantizeLinear(a, as, az)\n w = DequantizeLinear<axis=0>(b, bv, bw)\n m = MatMul(x, w)\n y = QuantizeLinear(m, ys, yz)",
    "scales_by_row": "x = DequantizeLinear<axis=0>(a, av, aw)\n w = DequantizeLinear(b, bs, bz)\n m = MatMul(x, w)\n y = QuantizeLinear(m, ys, yz)",
    "one_factor_alone": "w = DequantizeLinear(b, bs, bz)\n x = Relu(f)\n m = MatMul(x, w)\n y = QuantizeLinear(m, ys, yz)",
}


@pytest.mark.parametrize("case", NO_UNIT)
def test_what_is_no_fusion(cuda, case):
    text = NO_UNIT[case]
    rng = np.random.default_rng(6)
    constants = linear_constants((U8, S8), U8, "one") | {"bv": rng.uniform(0.01, 0.02, 70).astype(np.float32), "bw": numbers(S8, 70), "b": numbers(S8, 70, 21, seed=1),
                                                         "av": rng.uniform(0.01, 0.02, 33).astype(np.float32), "aw": numbers(U8, 33)}
    feeds = {"a": numbers(U8, 33, 70)} if "(a," in text else {"f": rng.standard_normal((33, 70)).astype(np.float32)}
    used = {name: value for name, value in constants.items() if f"{name}," in text or f"{name})" in text}
    kernels = compare_steps(cuda, *small_graph(text, feeds, used))
    assert not any("DequantizeLinear+DequantizeLinear+MatMul+QuantizeLinear" in name for name in kernels)


@pytest.mark.parametrize("extents", [(7,), (3, 5, 11), (70000,), (0,)])
@pytest.mark.parametrize("span", [(-1, 2), (0, 3), (-4, -1), (0, 0)])
def test_dynamic_quantisation(cuda, extents, span):
    x = np.random.default_rng(1).uniform(*span, extents).astype(np.float32)
    compare_all(cuda, *small_graph("q, s, z = DynamicQuantizeLinear(x)", {"x": x}))


SCALES = {"one": (np.float32(0.01), np.array(7, S8)), "columns": (np.random.default_rng(2).uniform(0.01, 0.02, 21).astype(np.float32), numbers(S8, 21))}


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("bias", [False, True])
def test_float_matmuls_as_int8(cuda, scales, bias):
    """The pattern of ONNX Runtime's dynamic quantisation is one kernel."""
    scale, zero = SCALES[scales]
    constants = {"b": numbers(S8, 70, 21, seed=1), "s": scale, "z": zero, "c": np.arange(21, dtype=np.float32), "as": np.float32(0.02), "az": np.array(5, U8)}
    feeds = {"x": np.random.default_rng(3).standard_normal((3, 5, 70)).astype(np.float32)}
    tail = ", c" if bias else ""
    used = {name: constants[name] for name in ("b", "s", "z", *(["c"] if bias else []))}
    kernels = compare_all(cuda, *microsoft_graph(f"y = com.microsoft.DynamicQuantizeMatMul(x, b, s, z{tail})", feeds, used, np.float32), rtol=1e-4, atol=1e-4)
    assert f"cuda.MatMulInteger+Cast+Mul{'+Add' if bias else ''}" in kernels and "DynamicQuantizeLinear" in kernels
    feeds = {"a": numbers(U8, 33, 70)}
    used |= {name: constants[name] for name in ("as", "az")}
    kernels = compare_all(cuda, *microsoft_graph(f"y = com.microsoft.MatMulIntegerToFloat(a, b, as, s, az, z{tail})", feeds, used, np.float32), rtol=1e-4, atol=1e-4)
    assert set(kernels) == {f"cuda.MatMulInteger+Cast+Mul{'+Add' if bias else ''}"}


@pytest.mark.parametrize("text", [
    "y = com.microsoft.QGemm<transB=1>(a, as, az, u, bs, bz, i, ys, yz)",
    "y = com.microsoft.QGemm(a, as, az, b, bs, bz, , ys, yz)",
    "y = com.microsoft.QLinearAdd(a, as, az, d, as, az, ys, yz)",
    "y = com.microsoft.QLinearMul(a, as, az, d, as, az, ys, yz)",
    "y = com.microsoft.QLinearSigmoid(a, as, az, as, az)",
    "y = com.microsoft.QLinearLeakyRelu<alpha=0.2>(a, as, az, as, az)",
    "y = com.microsoft.QLinearSoftmax<axis=-1, opset=13>(a, as, az, as, az)",
    "y = com.microsoft.QLinearConcat<axis=1>(ys, yz, a, as, az, d, as, az)",
    "y = com.microsoft.QLinearGlobalAveragePool(e, as, az, as, az)",
    "y = com.microsoft.QLinearAveragePool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(e, as, az, bs, yz)",
])
def test_operators_of_quantisers(cuda, text):
    """All of them run on the device."""
    b = numbers(S8, 70, 21, seed=1)
    constants = linear_constants((U8, S8), U8, "one") | {"b": b, "u": np.ascontiguousarray(b.T), "i": np.arange(-10, 11, dtype=np.int32) * 1000}
    arrays = {"a": numbers(U8, 33, 70), "d": numbers(U8, 33, 70, seed=9), "e": numbers(U8, 2, 5, 9, 8)}
    words = text.replace(",", " ").replace(")", " ").replace("(", " ").split()
    compare_steps(cuda, *microsoft_graph(text, {name: value for name, value in arrays.items() if name in words},
                                         {name: value for name, value in constants.items() if name in words}, U8))
