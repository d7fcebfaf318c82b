# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions with those of single pixels around them, in one kernel: the tensors between them are never whole."""

import numpy as np
import pytest

import gantry
from small_graph import small_graph

BLOCK = "x86.depthwise_block"


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


def block(parts=("expansion", "projection"), middle=76, depthwise="pads=[1,1,1,1]", taps=3, activation="Clip({}, low, high)", end="y = Neg({})",
          batch=2, size=(100, 72), shape=None):
    """A model of an `expansion` of 24 channels to `middle` ones, a depthwise convolution and a `projection` back to 24, or of some of these."""
    channels = 24 if "expansion" in parts else middle
    constants = {"d": random(middle, 1, taps, taps, seed=2), "e": random(middle, seed=3), "low": np.float32(0), "high": np.float32(6)}
    lines, value = [], "x"
    if "expansion" in parts:
        constants |= {"v": random(middle, 24, 1, 1, seed=1) * 0.3, "b": random(middle, seed=4)}
        lines += ["p = Conv(x, v, b)", f"q = {activation.format('p')}"]
        value = "q"
    lines += [f"c = Conv<group={middle}, {depthwise}>({value}, d, e)".replace(", >", ">"), f"r = {activation.format('c')}"]
    value = "r"
    if "projection" in parts:
        constants |= {"w": random(24, middle, 1, 1, seed=5) * 0.3, "f": random(24, seed=6)}
        lines.append("s = Conv(r, w, f)")
        value = "s"
    lines.append(end.format(value))
    if "Clip" not in activation:
        del constants["low"], constants["high"]
    x = random(batch, channels, *size)
    return small_graph("\n".join(lines), {"x": (x, shape) if shape else x}, constants)


def kernels_of(session):
    return [node.kernel for node in session.placement.nodes]


@pytest.mark.parametrize("parts", [("expansion",), ("projection",), ("expansion", "projection")])
@pytest.mark.parametrize("middle", [96, 76, 83])
@pytest.mark.parametrize("depthwise, taps", [
    ("pads=[1,1,1,1]", 3), ("strides=[2,2], pads=[1,1,1,1]", 3), ("strides=[3,1], pads=[0,2,1,3]", 4), ("pads=[4,4,4,4], dilations=[2,2]", 5),
    ("auto_pad=\"SAME_UPPER\", strides=[2,2]", 3), ("", 1),
])
def test_blocks(agrees, parts, middle, depthwise, taps):
    model, feeds = block(parts, middle, depthwise, taps)
    kernels = agrees(model, feeds)
    assert kernels[:-1] == [BLOCK] * (len(kernels) - 1)


@pytest.mark.parametrize("activation", ["Relu({})", "HardSwish({})", "Sigmoid({})", "LeakyRelu<alpha=0.2>({})", "Clip({}, low, high)"])
def test_blocks_with_functions(agrees, activation):
    model, feeds = block(activation=activation)
    assert agrees(model, feeds)[:5] == [BLOCK] * 5


@pytest.mark.parametrize("end", ["y = Add({}, x)", "a = Add(x, {})\n y = Relu(a)"])
@pytest.mark.parametrize("batch", [1, 3])
def test_blocks_that_add_their_source(agrees, end, batch):
    model, feeds = block(middle=144, end=end, batch=batch)
    assert set(agrees(model, feeds)) == {BLOCK}


def test_what_is_no_number_stays_none(agrees):
    model, feeds = block()
    feeds["x"][0, 3, 10, 20] = np.nan
    feeds["x"][1, 0, 0, 0] = np.inf
    assert BLOCK in agrees(model, feeds)


def test_batches_that_change_from_run_to_run():
    model, feeds = block(middle=144, batch=3, shape=["batch", 24, 100, 72])
    session = gantry.Session(model, device="CPU")
    assert BLOCK in kernels_of(session)
    x = feeds["x"]
    whole = session.run({"x": x})["y"]
    for n in range(3):
        np.testing.assert_array_equal(session.run({"x": x[n:n + 1]})["y"], whole[n:n + 1])
    assert session.run({"x": x[:0]})["y"].shape == (0, 24, 100, 72)


def test_another_number_of_channels_than_the_weights_have():
    model, _ = block(middle=144, shape=[2, "channels", 100, 72])
    with pytest.raises(gantry.InvalidArgumentError, match='Conv "n0": the input was expected to have 24 channels on axis 1 .* has 23'):
        gantry.Session(model, device="CPU").run({"x": random(2, 23, 100, 72)})


@pytest.mark.parametrize("change", [{"size": (14, 14)}, {"shape": [2, 24, "height", "width"]}, {"end": "z = ReduceMax(q)\n y = Neg({})", "parts": ("expansion",)}])
def test_what_makes_no_block(agrees, change):
    """Small tensors, tensors whose size is not known, and what somebody else reads."""
    assert BLOCK not in agrees(*block(**change))
