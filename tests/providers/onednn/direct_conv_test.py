# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few channels, by the provider's own code: in groups, shuffled, and of images."""

import numpy as np
import pytest

import gantry

from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


def shuffled(channels, groups, height, width, conv, batch=2, perm="0,2,1,3,4"):
    """A grouped convolution, the exchange of its channels, and a depthwise convolution behind that."""
    each = channels // groups
    x = random(batch, channels, height, width)
    constants = {"w": random(channels, each, 1, 1, seed=1), "d": random(channels, 1, 3, 3, seed=2), "b": random(channels, seed=3),
                 "parted": np.array([batch, groups, each, height, width]), "joined": np.array([-1, channels, height, width])}
    return small_graph(f"""a = Conv<group={groups}>(x, w)
                           p = Reshape(a, parted)
                           t = Transpose<perm=[{perm}]>(p)
                           j = Reshape(t, joined)
                           c = Conv<group={channels}, {conv}>(j, d, b)
                           y = Relu(c)""", {"x": x}, constants)


@pytest.mark.parametrize("conv", ["pads=[1,1,1,1]", "strides=[2,2], pads=[1,1,1,1]", "pads=[2,2,2,2], dilations=[2,2]", "pads=[0,2,1,0]"])
@pytest.mark.parametrize("channels, groups", [(136, 4), (34, 2), (64, 4), (24, 4), (10, 2), (21, 3)])
def test_shuffled_channels(agrees, channels, groups, conv):
    model, feeds = shuffled(channels, groups, 9, 14, conv)
    kernels = agrees(model, feeds)
    assert kernels == ["onednn.conv", *["onednn.conv.shuffled+Relu"] * 5]


def test_other_exchanges_are_none(agrees):
    model, feeds = shuffled(16, 4, 5, 5, "pads=[1,1,1,1]", perm="0,2,1,4,3")
    assert "onednn.conv.shuffled+Relu" not in agrees(model, feeds)


def test_shuffled_channels_that_somebody_else_reads():
    channels = {"parted": np.array([1, 4, 5, 6, 6]), "joined": np.array([1, 20, 6, 6])}
    text = """p = Reshape(x, parted)
              t = Transpose<perm=[0,2,1,3,4]>(p)
              j = Reshape(t, joined)
              y = Conv<group=20>(j, d)
              z = Neg(j)"""
    model, feeds = small_graph(text, {"x": random(1, 20, 6, 6)}, {"d": random(20, 1, 3, 3), **channels})
    session = gantry.Session(model, device="CPU")
    assert not any("shuffled" in node.kernel for node in session.placement.nodes)
    results = session.run(feeds)
    expected = feeds["x"].reshape(1, 4, 5, 6, 6).transpose(0, 2, 1, 3, 4).reshape(1, 20, 6, 6)
    np.testing.assert_array_equal(results["z"], -expected)


@pytest.mark.parametrize("behind", ["y = Relu(a)", "y = LeakyRelu<alpha=0.3>(a)", "y = Clip(a, low, high)", "y = HardSigmoid(a)", "y = HardSwish(a)",
                                    "s = Add(a, r)\n y = Relu(s)", "s = Relu(a)\n y = Add(r, s)", "y = Sigmoid(a)"])
@pytest.mark.parametrize("inner, columns", [(6, 28), (5, 16), (17, 33), (1, 3), (40, 80)])
def test_groups_with_what_follows(agrees, inner, columns, behind):
    groups = 3
    constants = {"w": random(groups * columns, inner, 1, 1, seed=1), "b": random(groups * columns, seed=2), "low": np.float32(-0.5), "high": np.float32(1)}
    inputs = {"x": random(2, groups * inner, 7, 5)}
    if "r" in behind.replace("Relu", ""):
        inputs["r"] = random(2, groups * columns, 7, 5, seed=4)
    model, feeds = small_graph(f"a = Conv<group={groups}>(x, w, b)\n {behind}", inputs, {k: v for k, v in constants.items() if k in "wb" or k in behind})
    agrees(model, feeds)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("results", [5, 16, 24, 64, 70])
@pytest.mark.parametrize("conv", ["strides=[2,2], pads=[1,1,1,1]", "", "strides=[3,1], pads=[2,0,1,3], dilations=[1,2]"])
def test_images(agrees, channels, results, conv):
    model, feeds = small_graph(f"a = Conv<{conv}>(x, w, b)\n y = Relu(a)" if conv else "a = Conv(x, w, b)\n y = Relu(a)",
                               {"x": random(2, channels, 23, 31)}, {"w": random(results, channels, 3, 3, seed=1), "b": random(results, seed=2)})
    assert agrees(model, feeds) == ["onednn.conv+Relu"] * 2


def test_an_image_whose_channels_stand_innermost(agrees):
    constants = {"v": random(3, 8, 1, 1), "w": random(20, 3, 3, 2, seed=1)}
    model, feeds = small_graph("a = Conv(x, v)\n y = Conv<strides=[2,1]>(a, w)", {"x": random(1, 8, 12, 13)}, constants)
    assert agrees(model, feeds) == ["onednn.conv"] * 2


def test_what_is_not_a_number_stays_so(agrees):
    x = random(1, 6, 4, 4)
    x[0, 1, 2, 3] = np.nan
    for behind in ("Relu(a)", "LeakyRelu(a)"):
        model, feeds = small_graph(f"a = Conv<group=2>(x, w)\n y = {behind}", {"x": x}, {"w": random(10, 3, 1, 1, seed=1)})
        agrees(model, feeds)
