# SPDX-License-Identifier: Apache-2.0
"""The session's precision: products of numbers that are rounded to bf16."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gantry
from cpu_flags import CPU_FLAGS
from small_graph import small_graph

HAS_BF16 = "avx512_bf16" in CPU_FLAGS
needs_bf16 = pytest.mark.skipif(not HAS_BF16, reason="this CPU has no avx512_bf16")
BF16 = {"session": {"precision": "bf16"}}


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


def rounded(x):
    """To the nearest bf16, ties to even."""
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


@needs_bf16
@pytest.mark.parametrize("threads", [1, 2])
def test_few_rows_are_multiplied_in_bf16(threads):
    w, b = random(200, 96), random(96)
    model, feeds = small_graph("m = MatMul(x, w)\n a = Add(m, b)\n y = Relu(a)", {"x": random(3, 200)}, {"w": w, "b": b})
    config = {"session": {"precision": "bf16", "threads": threads}}
    session = gantry.Session(model, device="CPU", config=config)
    assert session.placement.nodes[0].kernel == "x86.matmul.bf16+Add+Relu"
    exact = np.maximum(feeds["x"].astype(np.float64) @ w + b, 0)
    wanted = np.maximum(rounded(feeds["x"]).astype(np.float64) @ rounded(w) + b, 0)
    for _ in range(2):
        result = session.run(feeds)["y"]
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-4)
        assert np.abs(result - exact).max() > 1e-3, "it was not rounded"


@needs_bf16
def test_f32_stays_what_it_is_if_nobody_asks():
    model, _ = small_graph("y = MatMul(x, w)", {"x": random(3, 64)}, {"w": random(64, 32)})
    for config in ({}, {"session": {"precision": "f32"}}):
        assert gantry.Session(model, device="CPU", config=config).placement.nodes[0].kernel == "x86.matmul"


@needs_bf16
def test_the_option_of_the_provider_goes_first():
    model, _ = small_graph("y = MatMul(x, w)", {"x": random(3, 64)}, {"w": random(64, 32)})
    config = {**BF16, "providers": {"options": {"x86": {"precision": "f32"}}}}
    assert gantry.Session(model, device="CPU", config=config).placement.nodes[0].kernel == "x86.matmul"


@needs_bf16
def test_many_rows_and_convolutions_are_close(agrees):
    """In bf16 or not, as the CPU is faster."""
    model, feeds = small_graph("c = Conv<pads=[1,1,1,1]>(x, w)\n r = Relu(c)\n y = MatMul(r, m)", {"x": random(1, 32, 20, 24)},
                               {"w": random(48, 32, 3, 3, seed=1), "m": random(24, 40, seed=2)})
    exact = gantry.Session(model, device="CPU").run(feeds)["y"]
    result = gantry.Session(model, device="CPU", config=BF16).run(feeds)["y"]
    assert np.abs(result - exact).max() < 0.02 * np.abs(exact).max()


SESSION = """
import numpy as np, gantry, onnx
from onnx import helper
value = [helper.make_tensor_value_info(n, 1, [2, 64]) for n in "xy"]
w = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", value[:1], value[1:], [w])
model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])
try:
    for node in gantry.Session(model, device="CPU", config={"session": {"precision": "bf16"}}).placement.nodes:
        print(node.provider, node.reason)
except gantry.UnsupportedError as error:
    print(error)
"""


def session_in(**environment):
    """Where the node of a session in bf16 runs and why, or why there is none, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", SESSION], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)
    return done.stdout or done.stderr


def test_a_device_that_does_not_have_it(tmp_path):
    (tmp_path / "c.json").write_text('{"providers": {"disable": ["x86"]}}')
    message = session_in(GANTRY_CONFIG=str(tmp_path / "c.json"))
    assert '/session/precision: no provider of CPU computes in "bf16". Leave the member out' in message


@pytest.mark.parametrize("precision", ["tf32", "f16"])
def test_a_precision_that_none_takes(precision):
    model, _ = small_graph("y = MatMul(x, w)", {"x": random(2, 64)}, {"w": random(64, 64)})
    with pytest.raises(gantry.UnsupportedError) as error:
        gantry.Session(model, device="CPU", config={"session": {"precision": precision}})
    assert f'/session/precision: no provider of CPU computes in "{precision}"; "x86" takes f32 and bf16. Leave' in str(error.value)


def test_a_cpu_that_does_not_have_it():
    message = session_in(ONEDNN_MAX_CPU_ISA="AVX2")
    assert message.startswith("cpu ")
    assert 'the option precision is "bf16", for which the CPU was expected to have the instructions avx512_bf16' in message
