# SPDX-License-Identifier: Apache-2.0
"""Conv with constant weights, alone."""

import numpy as np
import pytest

import gantry
from conv_cases import CONVOLUTIONS
from oracle import compare, node_model, run_oracle
from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("case", [case for case in CONVOLUTIONS if case != "four_axes"])
def test_conv(agrees, case, with_bias):
    x, w, attributes = CONVOLUTIONS[case]
    inputs = [random(*x), random(*w, seed=1), *([random(w[0], seed=2)] if with_bias else [])]
    for opset in (1, 11, 22):
        model, feeds = node_model("Conv", inputs, [1], opset, attributes, constants=(1, 2))
        agrees(model, feeds, ["x86.conv"])


@pytest.mark.parametrize("channels, groups", [(3, 1), (4, 2), (12, 3), (24, 8), (17, 17), (64, 4), (40, 40)])
def test_channels_of_all_kinds(agrees, channels, groups):
    model, feeds = node_model("Conv", [random(2, channels, 13, 12), random(channels * 2, channels // groups, 3, 3, seed=1)], [1], 11,
                              {"group": groups, "pads": [1, 1, 1, 1]}, constants=(1,))
    agrees(model, feeds, ["x86.conv"])


@pytest.mark.parametrize("channels", [1, 3, 4, 5, 15, 16, 17, 39])
def test_orders_of_all_extents_on_the_way_in_and_out(agrees, channels):
    # A product of pixels and channels, whose tensors are transposed before and after it.
    for pixels in (1, 2, 4, 7, 16, 19, 2100):
        model, feeds = node_model("Conv", [random(2, channels, pixels), random(channels + 2, channels, 1, seed=1)], [1], 11, {}, constants=(1,))
        agrees(model, feeds, ["x86.conv"])


@pytest.mark.parametrize("behind", ["y = Relu(a)", "s = Add(a, r)\n y = Relu(s)", "s = Sigmoid(a)\n y = Mul(a, s)", "c = Relu(a)\n y = Add(r, c)"])
@pytest.mark.parametrize("results", [16, 41, 96, 200])
@pytest.mark.parametrize("channels", [1, 24, 161])
@pytest.mark.parametrize("place", [(1, 1), (7, 7), (3, 5)])
def test_windows_of_one_pixel(agrees, behind, results, channels, place):
    constants = {"w": random(results, channels, 1, 1, seed=1), "b": random(results, seed=2)}
    inputs = {"x": random(3, channels, *place), **({"r": random(3, results, *place, seed=3)} if "r" in behind.replace("Relu", "") else {})}
    model, feeds = small_graph(f"a = Conv(x, w, b)\n {behind}", inputs, constants)
    assert all(kernel.startswith("x86.conv+") for kernel in agrees(model, feeds))


def test_shapes_that_change_from_run_to_run():
    x = random(1, 5, 20, 30)
    model, _ = small_graph("a = Conv<pads=[1,1,1,1]>(x, w)\n y = Relu(a)", {"x": (x, ["n", 5, "h", "w"])}, {"w": random(6, 5, 3, 3)})
    session = gantry.Session(model, device="CPU")
    for n, h, w in [(1, 20, 30), (2, 9, 31), (1, 20, 30), (3, 64, 5), (1, 3, 3), (2, 9, 31)]:
        x = random(n, 5, h, w, seed=h)
        compare(session.run({"x": x})["y"], run_oracle(model, {"x": x})[0], 1e-4, 1e-4)


def test_more_shapes_than_plans_are_kept():
    model, _ = small_graph("y = Conv(x, w)", {"x": (random(1, 2, 8, 8), [1, 2, "h", 8])}, {"w": random(3, 2, 3, 3)})
    session = gantry.Session(model, device="CPU")
    for h in [*range(3, 43), *range(3, 43)]:
        x = random(1, 2, h, 8, seed=h)
        compare(session.run({"x": x})["y"], run_oracle(model, {"x": x})[0], 1e-4, 1e-4)


def test_an_empty_batch():
    model, feeds = node_model("Conv", [np.zeros((0, 3, 8, 8), np.float32), random(4, 3, 3, 3)], [1], 11, {}, constants=(1,))
    assert gantry.Session(model, device="CPU").run(feeds)["y0"].shape == (0, 4, 6, 6)


def test_another_number_of_channels_than_the_weights_have():
    model, _ = small_graph("y = Conv(x, w)", {"x": (random(1, 5, 9, 9), [1, "c", 9, 9])}, {"w": random(6, 5, 3, 3)})
    session = gantry.Session(model, device="CPU")
    with pytest.raises(gantry.InvalidArgumentError, match='Conv "n0": the input was expected to have 5 channels on axis 1 .* has 4'):
        session.run({"x": random(1, 4, 9, 9)})


@pytest.mark.parametrize("reason, inputs, constants", [
    ("the weights are not constant", [random(1, 3, 8, 8), random(4, 3, 3, 3)], ()),
    ("only float32 is taken", [random(1, 3, 8, 8).astype(np.float64), random(4, 3, 3, 3).astype(np.float64)], (1,)),
])
def test_what_it_leaves_to_others(reason, inputs, constants):
    model, _ = node_model("Conv", inputs, [1 if inputs[0].dtype == np.float32 else 11], 11, {}, constants=constants)
    (node,) = gantry.Session(model, device="CPU").placement.nodes
    assert node.provider == "cpu"
    assert reason in node.reason
