# SPDX-License-Identifier: Apache-2.0
"""Models of f16 and bf16: computed in f32 between their inputs and outputs, by the kernels of f32."""

import ml_dtypes
import numpy as np
import pytest

import gantry
from small_graph import small_graph

NARROW = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
STEP = {"float16": 2**-10, "bfloat16": 2**-7}
NODES = "c = Conv(x, w)\n r = Relu(c)\n p = GlobalAveragePool(r)\n f = Flatten(p)\n y = MatMul(f, m)"
STAY = {"session": {"disable_passes": ["wider_floats"]}}


def narrow_model(dtype, big=1.0):
    generator = np.random.default_rng(3)
    random = lambda *shape: generator.standard_normal(shape).astype(dtype)  # noqa: E731
    x, w, m = big * random(1, 8, 12, 12), random(16, 8, 3, 3), random(16, 8)
    model, feeds = small_graph(NODES, {"x": x.astype(dtype)}, {"w": w, "m": m}, opset=22)  # from which Conv takes bf16
    wide = [array.astype(np.float64) for array in (feeds["x"], w, m)]
    return model, feeds, exact_result(*wide)


def exact_result(x, w, m):
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    convolved = np.einsum("nchwij,ocij->nohw", windows, w)
    return np.maximum(convolved, 0).mean(axis=(2, 3)) @ m


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("threads", [1, 2])
def test_are_rounded_at_the_edges_only(name, threads):
    model, feeds, exact = narrow_model(NARROW[name])
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
    kernels = [node.kernel for node in session.placement.nodes]
    assert "x86.conv+Relu" in kernels and "x86.matmul" in kernels and kernels.count("Cast") == 2, kernels
    for _ in range(2):
        result = session.run(feeds)["y"]
        assert result.dtype == NARROW[name]
        np.testing.assert_allclose(result.astype(np.float64), exact, rtol=STEP[name] / 2, atol=1e-5)


@pytest.mark.parametrize("name", NARROW)
def test_are_computed_node_by_node_if_the_pass_is_left_out(name):
    model, feeds, exact = narrow_model(NARROW[name])
    session = gantry.Session(model, device="CPU", config=STAY)
    assert all(node.provider == "cpu" for node in session.placement.nodes)
    result = session.run(feeds)["y"].astype(np.float64)
    np.testing.assert_allclose(result, exact, rtol=0, atol=8 * STEP[name] * np.abs(exact).max())


def test_what_f16_cannot_hold_may_stand_between_the_nodes():
    nodes = "a = MatMul(x, w)\n b = Mul(a, small)\n y = Relu(b)"
    x, w = np.full((2, 64), 100, np.float16), np.full((64, 32), 100, np.float16)  # sums of 640,000
    model, feeds = small_graph(nodes, {"x": x}, {"w": w, "small": np.array(0.01, np.float16)})
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], np.full((2, 32), 6400), rtol=1e-3)
    assert np.isinf(gantry.Session(model, device="CPU", config=STAY).run(feeds)["y"]).all()


def test_quantized_weights_with_scales_of_f16_are_still_taken_along():
    generator = np.random.default_rng(5)
    q, scale = generator.integers(-128, 128, (64, 32)).astype(np.int8), np.array(0.01, np.float16)
    model, feeds = small_graph("w = DequantizeLinear(q, scale)\n y = MatMul(x, w)", {"x": generator.standard_normal((5, 64)).astype(np.float16)},
                               {"q": q, "scale": scale}, opset=21)
    result = gantry.Session(model, device="CPU").run(feeds)["y"]
    exact = feeds["x"].astype(np.float64) @ (q * np.float64(scale))
    np.testing.assert_allclose(result.astype(np.float64), exact, rtol=0, atol=2**-9 * np.abs(exact).max())
