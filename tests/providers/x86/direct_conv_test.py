# SPDX-License-Identifier: Apache-2.0
"""Convolutions of few channels, by the provider's own code: in groups, shuffled, and of images."""

import json

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
    assert kernels == ["x86.conv", *["x86.conv.shuffled+Relu"] * 5]


def test_other_exchanges_are_none(agrees):
    model, feeds = shuffled(16, 4, 5, 5, "pads=[1,1,1,1]", perm="0,2,1,4,3")
    assert "x86.conv.shuffled+Relu" not in agrees(model, feeds)


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


@pytest.mark.parametrize("conv, taps", [("pads=[1,1]", 3), ("pads=[16,16], dilations=[16]", 3), ("pads=[15,15]", 31), ("strides=[2], pads=[2,0]", 4),
                                        ("strides=[3], dilations=[2]", 2), ("auto_pad=\"SAME_UPPER\", strides=[2]", 5), ("", 1)])
@pytest.mark.parametrize("channels", [1, 7, 16, 144])
@pytest.mark.parametrize("batch, length", [(1, 90), (3, 47)])
@pytest.mark.parametrize("behind", ["y = PRelu(a, slope)", "s = Add(a, r)\n y = Relu(s)", "s = Sigmoid(a)\n y = Mul(a, s)"])
def test_lines_of_one_channel_for_each_group(agrees, channels, batch, length, conv, taps, behind):
    """Of one spatial axis; two threads part a line."""
    constants = {"w": random(channels, 1, taps, seed=1), "b": random(channels, seed=2), "slope": np.full((1, 1), 0.3, np.float32)}
    inputs = {"x": random(batch, channels, length)}
    text = f"a = Conv<group={channels}, {conv}>(x, w, b)\n {behind}".replace(", >", ">")
    if "r" in behind.replace("Relu", "").replace("slope", ""):
        shape = small_graph(text.split("\n")[0], inputs, constants)[0].graph.output[0].type.tensor_type.shape
        inputs["r"] = random(*[dim.dim_value for dim in shape.dim], seed=5) if shape.dim else None
    model, feeds = small_graph(text, inputs, {name: value for name, value in constants.items() if name != "slope" or "slope" in behind})
    assert all(kernel.startswith("x86.conv+") for kernel in agrees(model, feeds))


@pytest.mark.parametrize("gap", [2, 6])
@pytest.mark.parametrize("channels", [32, 21])
def test_depthwise_windows_with_gaps(agrees, channels, gap):
    text = f"a = Conv<group={channels}, dilations=[{gap},{gap}], pads=[{gap},{gap},{gap},{gap}]>(x, w)\n y = Relu(a)"
    model, feeds = small_graph(text, {"x": random(2, channels, 9, 30)}, {"w": random(channels, 1, 3, 3, seed=1)})
    assert agrees(model, feeds) == ["x86.conv+Relu"] * 2


@pytest.mark.parametrize("behind", ["y = Sigmoid(a)", "s = Sigmoid(a)\n y = Mul(a, s)", "k = Mul(a, one)\n s = Sigmoid(k)\n y = Mul(a, s)"])
@pytest.mark.parametrize("channels, taps", [(32, 3), (21, 3), (48, 5)])
def test_sigmoids_behind_depthwise_windows(agrees, channels, taps, behind):
    x = random(2, channels, 9, 12)
    x[0, 0, 0, :3] = 1e4, -1e4, 200  # far beyond where powers are floats
    constants = {"w": random(channels, 1, taps, taps, seed=1), "b": random(channels, seed=2), "one": np.float32(1.702)}
    model, feeds = small_graph(f"a = Conv<group={channels}, pads=[1,1,1,1]>(x, w, b)\n {behind}", {"x": x},
                               {name: value for name, value in constants.items() if name != "one" or "one" in behind})
    assert all(kernel.startswith("x86.conv+") for kernel in agrees(model, feeds))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("results", [5, 16, 24, 64, 70])
@pytest.mark.parametrize("conv", ["strides=[2,2], pads=[1,1,1,1]", "", "strides=[3,1], pads=[2,0,1,3], dilations=[1,2]"])
@pytest.mark.parametrize("is_followed", [False, True])  # then the result is wanted with its channels innermost
def test_images(agrees, channels, results, conv, is_followed, tmp_path):
    behind = "s = Relu(a)\n y = Conv(s, v)" if is_followed else "y = Relu(a)"
    constants = {"w": random(results, channels, 3, 3, seed=1), "b": random(results, seed=2)}
    constants |= {"v": random(9, results, 1, 1, seed=3)} if is_followed else {}
    model, feeds = small_graph(f"a = Conv{f'<{conv}>' if conv else ''}(x, w, b)\n {behind}", {"x": random(2, channels, 23, 31)}, constants)
    assert agrees(model, feeds)[:2] == ["x86.conv+Relu"] * 2
    assert nchw_parts(model, feeds, tmp_path) == (0 if is_followed else 1)


def nchw_parts(model, feeds, folder):
    """How many convolutions of a run were done channel by channel."""
    path = folder / "trace.json"
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 1, "profile": str(path)}})
    session.run(feeds)
    del session
    return sum(event["name"] == "nchw" for event in json.loads(path.read_text())["traceEvents"])


NCHW = {  # batch, channels, results, window, extents, attributes
    "one_axis": (2, 1, 40, (10,), (161,), "strides=[5], pads=[5, 5]"),
    "one_axis_of_four_channels": (1, 4, 17, (7,), (50,), "dilations=[3], pads=[9, 0]"),
    "a_stride_beyond_the_window": (1, 2, 3, (2,), (100,), "strides=[7], pads=[0, 13]"),
    "padding_beyond_the_row": (1, 3, 6, (3, 5), (4, 2), "pads=[2, 6, 3, 7]"),
    "strips": (2, 8, 20, (3, 3), (61, 130), "pads=[1, 1, 1, 1]"),
    "strips_of_strides": (1, 3, 33, (7, 7), (130, 95), "strides=[2, 2], pads=[3, 3, 3, 3]"),
    "strips_of_dilations": (1, 2, 4, (3, 2), (90, 200), "strides=[3, 2], dilations=[4, 3], pads=[4, 0, 4, 2]"),
    "one_result": (1, 1, 1, (3, 3), (20, 70), "pads=[1, 1, 1, 1]"),
    "one_place": (3, 5, 13, (1, 1), (1, 1), ""),
    "rows_of_every_vector": (1, 1, 9, (1, 2), (3, 4 * 16 + 2), ""),
}


@pytest.mark.parametrize("case", NCHW)
@pytest.mark.parametrize("behind", ["y = Clip(a, low, high)", "s = Add(a, r)\n y = Relu(s)"])
def test_channel_by_channel(agrees, case, behind, tmp_path):
    batch, channels, results, window, extents, attributes = NCHW[case]
    constants = {"w": random(results, channels, *window, seed=1), "b": random(results, seed=2)}
    constants |= {"low": np.float32(-1), "high": np.float32(2)} if "Clip" in behind else {}
    inputs = {"x": random(batch, channels, *extents)}
    text = f"a = Conv<{attributes}>(x, w, b)" if attributes else "a = Conv(x, w, b)"
    if "Add" in behind:
        model, _ = small_graph(text.replace("a =", "y ="), inputs, constants)
        shape = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
        inputs["r"] = random(*shape, seed=4)
    model, feeds = small_graph(f"{text}\n {behind}", inputs, constants)
    assert set(agrees(model, feeds)) == {"x86.conv+Clip" if "Clip" in behind else "x86.conv+Add+Relu"}
    assert nchw_parts(model, feeds, tmp_path) == 1


def test_rows_of_every_length(agrees):
    for width in range(1, 120, 3):
        model, feeds = small_graph("y = Conv<pads=[1, 1, 1, 1]>(x, w)", {"x": random(1, 2, 3, width)}, {"w": random(6, 2, 3, 3)})
        agrees(model, feeds, ["x86.conv"])


def test_an_image_whose_channels_stand_innermost(agrees):
    constants = {"v": random(3, 8, 1, 1), "w": random(20, 3, 3, 2, seed=1)}
    model, feeds = small_graph("a = Conv(x, v)\n y = Conv<strides=[2,1]>(a, w)", {"x": random(1, 8, 12, 13)}, constants)
    assert agrees(model, feeds) == ["x86.conv"] * 2


def test_what_is_not_a_number_stays_so(agrees):
    x = random(1, 6, 4, 4)
    x[0, 1, 2, 3] = np.nan
    for behind in ("Relu(a)", "LeakyRelu(a)"):
        model, feeds = small_graph(f"a = Conv<group=2>(x, w)\n y = {behind}", {"x": x}, {"w": random(10, 3, 1, 1, seed=1)})
        agrees(model, feeds)
