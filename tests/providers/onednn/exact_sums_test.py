# SPDX-License-Identifier: Apache-2.0
"""Sums of products of 8 bits are exact integers on every CPU, at the ends of the numbers' ranges too, where pairs of products need 17 bits."""

import json
import os
import pathlib

import numpy as np
import pytest

import gantry
from oracle import run_oracle
from small_graph import small_graph

U8, S8 = np.uint8, np.int8
RANGES = {U8: (0, 255), S8: (-128, 127)}


def numbers(dtype, shape, is_extreme, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    low, high = RANGES[dtype]
    return (rng.choice([low, high], shape, p=[0.1, 0.9]) if is_extreme else rng.integers(low, high + 1, shape)).astype(dtype)


CASES = {  # results, channels of a group, groups, window, attributes, extents of the source with its batch
    "small": (16, 16, 1, (3, 3), "pads=[1, 1, 1, 1]", (2, 9, 9)),
    "one_place": (24, 64, 1, (1, 1), "", (1, 1, 1)),
    "odd_numbers": (5, 7, 1, (3, 3), "pads=[0, 2, 1, 0]", (1, 6, 8)),
    "an_image": (33, 3, 1, (7, 7), "strides=[2, 2], pads=[3, 3, 3, 3]", (1, 31, 40)),
    "many_results": (300, 20, 1, (1, 1), "", (3, 7, 11)),
    "many_channels": (40, 700, 1, (3, 3), "pads=[1, 1, 1, 1]", (1, 4, 5)),
    "one_axis": (130, 16, 1, (5,), "strides=[2], pads=[2, 1]", (2, 61)),
    "three_axes": (9, 6, 1, (2, 3, 3), "pads=[1, 0, 1, 0, 1, 1], dilations=[1, 2, 1]", (2, 5, 8, 7)),
    "groups": (15, 7, 3, (3, 3), "pads=[1, 1, 1, 1]", (1, 9, 8)),
    "wide_groups": (40, 8, 2, (1, 3), "strides=[1, 2]", (2, 5, 30)),
    "each_channel": (48, 1, 48, (3, 3), "pads=[1, 1, 1, 1]", (2, 11, 9)),
    "each_of_odd_channels": (21, 1, 21, (5, 2), "strides=[2, 1], dilations=[1, 2], pads=[2, 2, 2, 2]", (1, 12, 7)),
    "each_channel_of_one_axis": (37, 1, 37, (4,), "pads=[3, 0]", (3, 20)),
    "two_results_of_each_channel": (32, 1, 16, (3, 3), "", (1, 8, 8)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_extreme", [False, True])
@pytest.mark.parametrize("source, zero", [(U8, 0), (U8, 131), (S8, -7)])
def test_convolution(case, is_extreme, source, zero):
    """Scales are powers of two and results floats: nothing is rounded, whatever the order of the sums."""
    results, channels, groups, window, attributes, (batch, *extents) = CASES[case]
    constants = {"sx": np.float32(2**-7), "zx": np.array(zero, source), "sw": np.float32(2**-6),
                 "w": numbers(S8, (results, channels, *window), is_extreme)}
    attributes = f"<group={groups}{', ' + attributes if attributes else ''}>"
    model, feeds = small_graph(f"x = DequantizeLinear(q, sx, zx)\n f = DequantizeLinear(w, sw)\n y = Conv{attributes}(x, f)",
                               {"q": numbers(source, (batch, channels * groups, *extents), is_extreme)}, constants)
    assert channels * np.prod(window) * 255 * 128 < 2**24 or not is_extreme or case == "many_channels"
    (expected,) = run_oracle(model, feeds)
    tolerance = 1e-5 * np.abs(expected).max() if case == "many_channels" else 0  # where the oracle's floats are not exact
    for threads in (1, 2, 3):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        assert {node.kernel for node in session.placement.nodes} == {"onednn.conv.int8"}
        for _ in range(2):
            np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("rows, inner, columns", [(1, 1, 1), (1, 768, 300), (5, 33, 17), (50, 1000, 130), (2, 6000, 20), (100, 64, 16), (3, 40000, 20)])
@pytest.mark.parametrize("is_extreme", [False, True])
@pytest.mark.parametrize("source, zero", [(U8, 0), (U8, 255), (S8, 127)])
def test_product(rows, inner, columns, is_extreme, source, zero):
    model, feeds = small_graph("y = MatMulInteger(x, w, z)", {"x": numbers(source, (rows, inner), is_extreme)},
                               {"w": numbers(S8, (inner, columns), is_extreme), "z": np.array(zero, source)})
    expected = (feeds["x"].astype(np.int64) - zero) @ numbers(S8, (inner, columns), is_extreme).astype(np.int64)
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        assert [node.kernel for node in session.placement.nodes] == ["onednn.integer_product"]
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)


def has_exact_library():
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return os.environ.get("ONEDNN_MAX_CPU_ISA", "VNNI").endswith("VNNI") and ("avx512_vnni" in flags or "avx_vnni" in flags)


@pytest.mark.parametrize("target, zero", [(U8, 0), (U8, 255), (S8, -128), (S8, 127)])
@pytest.mark.parametrize("step", [0.97, 1e-6])
def test_results_far_beyond_8_bits_are_saturated(target, zero, step):
    """Between 15 and 16 bits, where vectors that are made narrower may lose one, and beyond 32, with a zero on top."""
    x = np.arange(256, dtype=U8).reshape(1, 1, 16, 16)
    weights = np.repeat([127, -127], 17).astype(S8).reshape(34, 1, 1, 1)
    model, feeds = small_graph("y = QLinearConv(x, one, zx, w, one, zw, step, zy)", {"x": x},
                               {"one": np.float32(1), "zx": np.array(0, U8), "w": weights, "zw": np.array(0, S8), "step": np.float32(step), "zy": np.array(zero, target)})
    session = gantry.Session(model, device="CPU")
    assert [node.kernel for node in session.placement.nodes] == ["onednn.conv.int8"]
    quotients = np.rint(x.astype(np.float64) * weights.reshape(1, 34, 1, 1) / np.float32(step))
    np.testing.assert_array_equal(session.run(feeds)["y"], np.clip(quotients + zero, *RANGES[target]).astype(target))


@pytest.mark.parametrize("text", ["f = DequantizeLinear(w, s)\n y = MatMul(d, f)", "f = DequantizeLinear(w, s)\n y = Gemm(d, f)"])
def test_whose_code_it_is(text, tmp_path):
    model, feeds = small_graph("d = DequantizeLinear(x, s)\n" + text, {"x": numbers(U8, (9, 40), False)},
                               {"w": numbers(S8, (40, 33), False), "s": np.float32(0.01)})
    path = tmp_path / "trace.json"
    session = gantry.Session(model, device="CPU", config={"session": {"profile": str(path)}})
    session.run(feeds)
    del session
    spans = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    assert spans.count("words") == (0 if has_exact_library() else 1)


def test_functions_that_only_the_library_has_are_left_out():
    """Behind exact sums where the library makes them; else in floats, behind a product of integers by itself."""
    model, feeds = small_graph("i = MatMulInteger(x, w)\n f = Cast<to=1>(i)\n m = Mul(f, s)\n y = Sigmoid(m)", {"x": numbers(U8, (9, 40), False)},
                               {"w": numbers(S8, (40, 33), False), "s": np.float32(1e-4)})
    session = gantry.Session(model, device="CPU")
    kernels = [node.kernel for node in session.placement.nodes]
    assert kernels[0] == "onednn.integer_product" + ("+Cast+Mul+Sigmoid" if has_exact_library() else "")
    np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-5, atol=1e-6)
