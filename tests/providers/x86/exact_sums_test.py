# SPDX-License-Identifier: Apache-2.0
"""Sums of products of 8 bits are exact integers on every CPU, at the ends of the numbers' ranges too, where pairs of products need 17 bits."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gantry
from cpu_flags import CPU_FLAGS
from oracle import run_oracle
from small_graph import small_graph

U8, S8 = np.uint8, np.int8
RANGES = {U8: (0, 255), S8: (-128, 127)}


def numbers(dtype, shape, is_extreme, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    low, high = RANGES[dtype]
    return (rng.choice([low, high], shape, p=[0.1, 0.9]) if is_extreme else rng.integers(low, high + 1, shape)).astype(dtype)


def weights_of(kind, shape):
    """"small": as a trained layer has them, small but for some, of which pairs would saturate 16 bits."""
    if kind != "small":
        return numbers(S8, shape, kind == "extreme")
    rng = np.random.default_rng(sum(shape))
    small = np.clip(np.rint(rng.normal(0, 15, shape)), -128, 127)
    return np.where(rng.random(shape) < 0.01, numbers(S8, shape, True), small).astype(S8)


WEIGHTS = ["any", "extreme", "small"]


CASES = {  # results, channels of a group, groups, window, attributes, extents of the source with its batch
    "small": (16, 16, 1, (3, 3), "pads=[1, 1, 1, 1]", (2, 9, 9)),
    "one_place": (24, 64, 1, (1, 1), "", (1, 1, 1)),
    "odd_numbers": (5, 7, 1, (3, 3), "pads=[0, 2, 1, 0]", (1, 6, 8)),
    "an_image": (33, 3, 1, (7, 7), "strides=[2, 2], pads=[3, 3, 3, 3]", (1, 31, 40)),
    "many_results": (300, 20, 1, (1, 1), "", (3, 7, 11)),
    "many_channels": (40, 700, 1, (3, 3), "pads=[1, 1, 1, 1]", (1, 4, 5)),
    "part_of_a_line_of_channels": (70, 24, 1, (1, 1), "", (1, 9, 13)),
    "places_apart": (20, 64, 1, (1, 1), "strides=[2, 3]", (2, 9, 11)),
    "places_in_the_padding": (20, 33, 1, (1, 1), "strides=[1, 2], pads=[1, 2, 0, 1]", (1, 5, 6)),
    "far_apart": (18, 5, 1, (3, 3), "strides=[3, 2], dilations=[2, 3], pads=[2, 3, 1, 4]", (2, 13, 17)),
    "more_padding_than_source": (17, 4, 1, (2, 5), "pads=[1, 6, 1, 6]", (2, 3, 4)),
    "many_places": (100, 56, 1, (3, 3), "pads=[1, 1, 1, 1]", (1, 20, 20)),
    "thousands_of_places": (20, 8, 1, (3, 3), "pads=[1, 1, 1, 1]", (2, 50, 90)),
    "few_places": (300, 56, 1, (3, 3), "pads=[1, 1, 1, 1]", (1, 7, 7)),
    "three_tiles_of_places": (60, 512, 1, (1, 1), "", (1, 5, 9)),
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
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("source, zero", [(U8, 0), (U8, 131), (S8, -7)])
def test_convolution(case, weights, source, zero):
    """Scales are powers of two and results floats: nothing is rounded, whatever the order of the sums."""
    results, channels, groups, window, attributes, (batch, *extents) = CASES[case]
    constants = {"sx": np.float32(2**-7), "zx": np.array(zero, source), "sw": np.float32(2**-6),
                 "w": weights_of(weights, (results, channels, *window))}
    is_extreme = weights != "any"
    attributes = f"<group={groups}{', ' + attributes if attributes else ''}>"
    model, feeds = small_graph(f"x = DequantizeLinear(q, sx, zx)\n f = DequantizeLinear(w, sw)\n y = Conv{attributes}(x, f)",
                               {"q": numbers(source, (batch, channels * groups, *extents), is_extreme)}, constants)
    assert channels * np.prod(window) * 255 * 128 < 2**24 or not is_extreme or case == "many_channels"
    (expected,) = run_oracle(model, feeds)
    tolerance = 1e-5 * np.abs(expected).max() if case == "many_channels" else 0  # where the oracle's floats are not exact
    for threads in (1, 2, 3):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        assert {node.kernel for node in session.placement.nodes} == {"x86.conv.int8"}
        for _ in range(2):
            np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("rows, inner, columns", [(1, 1, 1), (1, 768, 300), (5, 33, 17), (50, 1000, 130), (2, 6000, 20), (100, 64, 16), (3, 40000, 20)])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("source, zero", [(U8, 0), (U8, 255), (S8, 127)])
def test_product(rows, inner, columns, weights, source, zero):
    w = weights_of(weights, (inner, columns))
    model, feeds = small_graph("y = MatMulInteger(x, w, z)", {"x": numbers(source, (rows, inner), weights != "any")},
                               {"w": w, "z": np.array(zero, source)})
    expected = (feeds["x"].astype(np.int64) - zero) @ w.astype(np.int64)
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        assert [node.kernel for node in session.placement.nodes] == ["x86.matmul_integer"]
        np.testing.assert_array_equal(session.run(feeds)["y"], expected)


AT_THE_END_OF_MEMORY = """
import ctypes, mmap, sys
import numpy as np
import onnx
import gantry
model = onnx.load(sys.argv[1])
channels = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
session = gantry.Session(model, device="CPU", config={"session": {"threads": 1}})
for rows in range(1, 38):
    x = np.frombuffer(pages, np.uint8, rows * channels, mmap.PAGESIZE - rows * channels).reshape(rows, channels, 1, 1)
    x[:] = np.arange(x.size).reshape(x.shape) % 251
    w = onnx.numpy_helper.to_array(model.graph.initializer[1]).reshape(-1, channels)
    y = session.run({"x": x})["y"].reshape(rows, -1)
    assert (y == x.reshape(rows, channels).astype(np.int64) @ w.T.astype(np.int64)).all()
"""


@pytest.mark.parametrize("channels", [2, 36, 64, 100])
def test_nothing_is_read_behind_the_end_of_a_tensor(channels, tmp_path):
    """Memory that may not be read begins there."""
    model, _ = small_graph("d = DequantizeLinear(x, one)\n f = DequantizeLinear(w, one)\n y = Conv(d, f)",
                           {"x": (numbers(U8, (37, channels, 1, 1), False), ["rows", channels, 1, 1])}, {"one": np.float32(1), "w": numbers(S8, (33, channels, 1, 1), False)})
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    done = subprocess.run([sys.executable, "-c", AT_THE_END_OF_MEMORY, path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def has_exact_library():
    flags = CPU_FLAGS
    return os.environ.get("ONEDNN_MAX_CPU_ISA", "VNNI").endswith("VNNI") and ("avx512_vnni" in flags or "avx_vnni" in flags)


def has_wide_vnni():
    """That of AVX-512."""
    return has_exact_library() and "avx512_vnni" in CPU_FLAGS


@pytest.mark.parametrize("target, zero", [(U8, 0), (U8, 255), (S8, -128), (S8, 127)])
@pytest.mark.parametrize("step", [0.97, 1e-6])
@pytest.mark.parametrize("channels, results", [(1, 34), (1024, 130), (1024, 180)])  # the last two also of the provider's own code for few pixels
def test_results_far_beyond_8_bits_are_saturated(target, zero, step, channels, results):
    """Between 15 and 16 bits, where vectors that are made narrower may lose one, and beyond 32, with a zero on top."""
    x = np.zeros((1, channels, 16, 16), U8)
    x[0, 0] = np.arange(256).reshape(16, 16)
    weights = np.zeros((results, channels, 1, 1), S8)
    weights[:, 0, 0, 0] = np.repeat([127, -127], results // 2)
    model, feeds = small_graph("y = QLinearConv(x, one, zx, w, one, zw, step, zy)", {"x": x},
                               {"one": np.float32(1), "zx": np.array(0, U8), "w": weights, "zw": np.array(0, S8), "step": np.float32(step), "zy": np.array(zero, target)})
    session = gantry.Session(model, device="CPU")
    assert [node.kernel for node in session.placement.nodes] == ["x86.conv.int8"]
    quotients = np.rint(x[:, :1].astype(np.float64) * weights[:, :1].reshape(1, results, 1, 1) / np.float32(step))
    np.testing.assert_array_equal(session.run(feeds)["y"], np.clip(quotients + zero, *RANGES[target]).astype(target))


@pytest.mark.parametrize("text", ["f = DequantizeLinear(w, s)\n y = MatMul(d, f)", "f = DequantizeLinear(w, s)\n y = Gemm(d, f)"])
@pytest.mark.parametrize("weights, code", [("any", "int16"), ("small", "int8")])
def test_whose_code_it_is(weights, code, text, tmp_path):
    """Without VNNI bytes are multiplied where few pairs of weights could saturate, else words. With it oneDNN does, or with AVX2 alone this
    provider's code of bytes."""
    model, feeds = small_graph("d = DequantizeLinear(x, s)\n" + text, {"x": numbers(U8, (9, 40), False)},
                               {"w": weights_of(weights, (40, 33)), "s": np.float32(0.01)})
    path = tmp_path / "trace.json"
    session = gantry.Session(model, device="CPU", config={"session": {"profile": str(path)}})
    session.run(feeds)
    del session
    spans = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    expected = [code] if not has_exact_library() else [] if has_wide_vnni() else ["int8"]
    assert [name for name in spans if name in ("int16", "int8")] == expected


def test_functions_that_only_the_library_has_are_left_out():
    """Behind exact sums where the library makes them; else in floats, behind a product of integers by itself."""
    model, feeds = small_graph("i = MatMulInteger(x, w)\n f = Cast<to=1>(i)\n m = Mul(f, s)\n y = Sigmoid(m)", {"x": numbers(U8, (9, 40), False)},
                               {"w": numbers(S8, (40, 33), False), "s": np.float32(1e-4)})
    session = gantry.Session(model, device="CPU")
    kernels = [node.kernel for node in session.placement.nodes]
    assert kernels[0] == "x86.matmul_integer" + ("+Cast+Mul+Sigmoid" if has_exact_library() else "")
    np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-5, atol=1e-6)
