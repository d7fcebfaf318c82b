# SPDX-License-Identifier: Apache-2.0
"""Operators that have their scales and zero points among their inputs, and products of integers with what quantizers put behind them."""

import logging

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantType, quantize_dynamic

import gantry
from oracle import run_oracle
from small_graph import small_graph

U8, S8 = np.uint8, np.int8


def random8(dtype, *shape, seed=0):
    low, high = (0, 256) if dtype == U8 else (-128, 128)
    return np.random.default_rng(seed + sum(shape)).integers(low, high, shape).astype(dtype)


def run(model, feeds, kernels):
    """Results on one and two threads, twice each, which are equal; on the kernels that are named."""
    results = []
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        assert sorted({node.kernel for node in session.placement.nodes}) == sorted(kernels), session.placement
        results += [session.run(feeds) for _ in range(2)]
    for result in results[1:]:
        for name, value in result.items():
            np.testing.assert_array_equal(value, results[0][name])
    return [results[0][output.name] for output in model.graph.output]


@pytest.mark.parametrize("source, target, groups, attributes, bias", [
    (U8, U8, 1, "", True), (S8, S8, 1, "pads=[1, 1, 1, 1]", True), (U8, U8, 4, "strides=[2, 2]", False), (U8, U8, 16, "pads=[1, 1, 1, 1]", True),
])
def test_qlinear_conv(source, target, groups, attributes, bias):
    scales = np.random.default_rng(2).uniform(0.002, 0.01, 16).astype(np.float32)
    constants = {"sx": np.float32(0.02), "zx": np.array(0 if source == S8 else 131, source), "w": random8(S8, 16, 16 // groups, 3, 3), "sw": scales,
                 "zw": np.zeros(16, S8), "sy": np.float32(0.05), "zy": np.array(7, target)}
    if bias:
        constants["b"] = np.random.default_rng(3).integers(-3000, 3000, 16).astype(np.int32)
    model, feeds = small_graph(f"y = QLinearConv<group={groups}{', ' + attributes if attributes else ''}>(x, sx, zx, w, sw, zw, sy, zy{', b' if bias else ''})",
                               {"x": random8(source, 2, 16, 9, 9)}, constants)
    (found,) = run(model, feeds, ["x86.conv.int8"])
    difference = np.abs(found.astype(int) - run_oracle(model, feeds)[0].astype(int))
    assert difference.max() <= 1 and (difference == 1).mean() < 0.02


@pytest.mark.parametrize("source", [U8, S8])
@pytest.mark.parametrize("left", [(7, 40), (2, 3, 40)])
def test_qlinear_matmul(source, left):
    constants = {"sx": np.float32(0.02), "zx": np.array(9, source), "w": random8(S8, 40, 33), "sw": np.float32(0.004), "zw": np.array(0, S8),
                 "sy": np.float32(0.06), "zy": np.array(11, source)}
    model, feeds = small_graph("y = QLinearMatMul(x, sx, zx, w, sw, zw, sy, zy)", {"x": random8(source, *left)}, constants)
    (found,) = run(model, feeds, ["x86.matmul.int8"])
    difference = np.abs(found.astype(int) - run_oracle(model, feeds)[0].astype(int))
    assert difference.max() <= 1 and (difference == 1).mean() < 0.02


@pytest.mark.parametrize("operator", ["QLinearConv(x, sx, zx, w, s, zw, sy, zy)", "QLinearConv(x, sx, zx, w, sx, zw, s, zy)"])
def test_scales_of_the_run_are_left_to_others(operator):
    constants = {"sx": np.float32(0.02), "zx": np.array(3, U8), "w": random8(S8, 4, 4, 3, 3), "zw": np.array(0, S8), "sy": np.float32(0.05),
                 "zy": np.array(7, U8)}
    model, _ = small_graph(f"y = {operator}", {"x": random8(U8, 1, 4, 5, 5), "s": np.array(0.02, np.float32)},
                           {name: value for name, value in constants.items() if name in operator})
    (node,) = gantry.Session(model, device="CPU").placement.nodes
    assert node.provider == "cpu" and "not constant" in node.reason


@pytest.mark.parametrize("left", [(7, 40), (2, 3, 40), (1, 40)])
@pytest.mark.parametrize("source, zero, weights, constant_zero", [
    (U8, None, S8, False), (U8, 131, S8, False), (U8, 131, S8, True), (S8, -5, S8, False), (S8, -5, S8, True), (S8, None, S8, False),
    (U8, 7, U8, False), (U8, 7, U8, True),
])
def test_matmul_integer(left, source, zero, weights, constant_zero):
    inputs, constants = {"x": random8(source, *left)}, {"w": random8(weights, 40, 33)}
    arguments = "x, w"
    if zero is not None or weights == U8:
        (constants if constant_zero else inputs)["zx"] = np.array(zero, source)
        arguments += ", zx"
    if weights == U8:
        constants["zw"] = np.array(128, U8)
        arguments += ", zw"
    model, feeds = small_graph(f"y = MatMulInteger({arguments})", inputs, constants)
    (found,) = run(model, feeds, ["x86.matmul_integer"])
    x = feeds["x"].astype(np.int64) - (zero or 0)
    np.testing.assert_array_equal(found, x @ (constants["w"].astype(np.int64) - (128 if weights == U8 else 0)))
    assert found.dtype == np.int32


def test_weights_that_are_not_around_zero_are_left_to_others():
    model, feeds = small_graph("y = MatMulInteger(x, w, zx, zw)", {"x": random8(U8, 5, 40)},
                               {"w": random8(U8, 40, 33), "zx": np.array(3, U8), "zw": np.array(100, U8)})
    session = gantry.Session(model, device="CPU")
    assert [node.provider for node in session.placement.nodes] == ["cpu"]
    np.testing.assert_array_equal(session.run(feeds)["y"], (feeds["x"].astype(int) - 3) @ (random8(U8, 40, 33).astype(int) - 100))


@pytest.mark.parametrize("scales", [(), (1,), (33,)])
@pytest.mark.parametrize("behind, kernel", [("y = Mul(f, s)", ""), ("m = Mul(s, f)\n y = Add(m, b)", "+Add"), ("m = Mul(f, s)\n a = Add(m, b)\n y = Relu(a)", "+Add+Relu"),
                                            ("m = Mul(f, s)\n a = Mul(m, b)\n y = Add(a, b)", None)])
def test_integers_that_become_floats(scales, behind, kernel):
    s = np.random.default_rng(1).uniform(0.001, 0.01, scales).astype(np.float32)
    b = np.random.default_rng(2).standard_normal(33).astype(np.float32)
    model, feeds = small_graph(f"i = MatMulInteger(x, w, zx)\n f = Cast<to=1>(i)\n {behind}",
                               {"x": random8(U8, 2, 7, 40), "zx": np.array(131, U8), "s": s},
                               {"w": random8(S8, 40, 33), **({"b": b} if "b)" in behind else {})})
    session = gantry.Session(model, device="CPU")
    names = [node.kernel for node in session.placement.nodes]
    if kernel is None:  # the second factor stays a node of its own
        assert names[0] == "x86.matmul_integer+Cast+Mul" and len(names) > len(set(names))
        found = [session.run(feeds)["y"]]
    else:
        found = run(model, feeds, [f"x86.matmul_integer+Cast+Mul{kernel}"])
    np.testing.assert_allclose(found[0], run_oracle(model, feeds)[0], rtol=1e-5, atol=1e-4)


def test_what_the_dynamic_quantizer_of_onnx_runtime_writes(tmp_path):
    rng = np.random.default_rng(4)
    w1, w2 = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    model, feeds = small_graph("a = MatMul(x, w1)\n c = Add(a, b)\n d = Relu(c)\n y = MatMul(d, w2)", {"x": rng.standard_normal((9, 64)).astype(np.float32)},
                               {"w1": w1, "w2": w2, "b": rng.standard_normal(64).astype(np.float32)})
    onnx.save(model, tmp_path / "plain.onnx")
    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(tmp_path / "plain.onnx", tmp_path / "int8.onnx", weight_type=QuantType.QInt8)
    quantized = onnx.load(tmp_path / "int8.onnx")
    assert "MatMulInteger" in {node.op_type for node in quantized.graph.node}
    session = gantry.Session(quantized, device="CPU")
    kernels = [node.kernel for node in session.placement.nodes]
    assert kernels.count("x86.matmul_integer+Cast+Mul+Add+Relu") == 5 and kernels.count("x86.matmul_integer+Cast+Mul") == 3, kernels
    np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(quantized, feeds)[0], rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("source", [U8, S8])
def test_a_matrix_that_products_with_and_without_a_zero_point_share(source):
    """What the library keeps beside the matrix differs, and it is packed once for equal layouts only."""
    a, b = random8(source, 5, 70), random8(S8, 70, 9)
    text = "plain = MatMulInteger(a, b)\n moved = MatMulInteger(a, b, zero)\n other = MatMulInteger(o, b)"
    model, feeds = small_graph(text, {"a": a, "o": random8(S8 if source == U8 else U8, 5, 70)}, {"b": b, "zero": source(3)})
    plain, moved, other = run(model, feeds, ["x86.matmul_integer"])
    matrix = b.astype(np.int32)
    np.testing.assert_array_equal(plain, a.astype(np.int32) @ matrix)
    np.testing.assert_array_equal(moved, (a.astype(np.int32) - 3) @ matrix)
    np.testing.assert_array_equal(other, feeds["o"].astype(np.int32) @ matrix)
