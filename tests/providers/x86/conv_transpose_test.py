# SPDX-License-Identifier: Apache-2.0
"""ConvTranspose with constant weights, by the library and over one axis by an implicit GEMM, with what they take along."""

import os

import numpy as np
import pytest

import gantry
from cpu_flags import CPU_FLAGS
from oracle import run_oracle
from small_graph import small_graph

pytestmark = pytest.mark.skipif("avx2" not in CPU_FLAGS or os.environ.get("ONEDNN_MAX_CPU_ISA") == "SSE41",
                                reason="the library has no code for it without AVX2")


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


CASES = {  # batch, channels, results, window, extents, attributes
    "upsampling": (1, 32, 24, (2, 2), (9, 11), "strides=[2, 2]"),
    "overlapping": (2, 16, 40, (4, 4), (7, 6), "strides=[2, 2], pads=[1, 1, 1, 1]"),
    "stride_one": (1, 20, 17, (3, 3), (8, 9), "pads=[1, 1, 1, 1]"),
    "padding_of_the_output": (1, 16, 16, (3, 3), (5, 6), "strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]"),
    "one_side": (1, 16, 16, (3, 4), (6, 5), "strides=[2, 3], pads=[0, 1, 2, 0]"),
    "dilations": (1, 16, 18, (3, 2), (6, 5), "dilations=[2, 3], pads=[1, 0, 1, 2]"),
    "gaps": (1, 16, 16, (1, 2), (4, 5), "strides=[3, 4]"),
    "one_axis": (2, 24, 16, (5,), (30,), "strides=[2], pads=[2, 2]"),
    "three_axes": (1, 16, 16, (2, 2, 3), (3, 4, 5), "strides=[2, 2, 1]"),
    "one_place": (1, 32, 16, (2, 2), (1, 1), "strides=[2, 2]"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("behind", ["y = Relu(a)", "s = Add(a, r)\n y = Clip(s, low, high)"])
def test_deconvolution(agrees, case, behind):
    batch, channels, results, window, extents, attributes = CASES[case]
    constants = {"w": random(channels, results, *window, seed=1), "b": random(results, seed=2)}
    constants |= {"low": np.float32(-1), "high": np.float32(2)} if "Clip" in behind else {}
    inputs = {"x": random(batch, channels, *extents)}
    text = f"a = ConvTranspose<{attributes}>(x, w, b)"
    if "Add" in behind:
        model, _ = small_graph(text.replace("a =", "y ="), inputs, {"w": constants["w"], "b": constants["b"]})
        inputs["r"] = random(*[d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim], seed=4)
    kernels = agrees(*small_graph(f"{text}\n {behind}", inputs, constants))
    assert set(kernels) == {"x86.conv_transpose" + ("+Add+Clip" if "Add" in behind else "+Relu")}


def test_between_convolutions(agrees):
    text = """a = Conv<pads=[1, 1, 1, 1]>(x, v)
              b = ConvTranspose<strides=[2, 2]>(a, w)
              n = BatchNormalization(b, scale, shift, mean, variance)
              r = Relu(n)
              y = Conv(r, u)"""
    constants = {"v": random(32, 16, 3, 3), "w": random(32, 24, 2, 2), "u": random(16, 24, 1, 1), "scale": random(24, seed=1), "shift": random(24, seed=2),
                 "mean": random(24, seed=3), "variance": np.abs(random(24, seed=4)) + 1}
    kernels = agrees(*small_graph(text, {"x": random(2, 16, 8, 9)}, constants))
    assert kernels == ["x86.conv", *["x86.conv_transpose+BatchNormalization+Relu"] * 3, "x86.conv"]


def test_extents_that_are_not_known_before(agrees):
    model, feeds = small_graph("y = ConvTranspose<strides=[2, 2]>(x, w)", {"x": (random(2, 16, 5, 7), ["n", 16, "h", "w"])}, {"w": random(16, 20, 3, 3)})
    assert agrees(model, feeds) == ["x86.conv_transpose"]
    session = gantry.Session(model, device="CPU")
    assert session.run({"x": np.zeros((0, 16, 3, 3), np.float32)})["y"].shape == (0, 20, 7, 7)
    assert session.run({"x": random(1, 16, 2, 2)})["y"].shape == (1, 20, 5, 5)


LINES = {  # channels, results, window, attributes
    "phases": (32, 24, 16, "strides=[8], pads=[4, 4]"),
    "uneven_phases": (17, 33, 7, "strides=[3], pads=[1, 0]"),
    "gaps": (16, 40, 2, "strides=[3]"),
    "stride_one": (24, 32, 5, "pads=[2, 2]"),
    "one_tap": (16, 16, 1, ""),
    "all_but_one_cut": (20, 16, 4, "strides=[2], pads=[3, 3]"),
    "padding_of_the_output": (16, 16, 4, "strides=[4], pads=[0, 2], output_padding=[2]"),
}


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("behind", ["", "y = Relu(a)", "y = Tanh(a)", "y = Add(a, r)", "s = Add(r, a)\n y = Clip(s, low, high)"])
@pytest.mark.parametrize("case", LINES)
def test_over_one_axis(agrees, case, behind, is_open):
    channels, results, window, attributes = LINES[case]
    constants = {"w": random(channels, results, window, seed=1), "b": random(results, seed=2)}
    constants |= {"low": np.float32(-1), "high": np.float32(2)} if "Clip" in behind else {}
    text = f"{'a' if behind else 'y'} = ConvTranspose{f'<{attributes}>' if attributes else ''}(x, w, b)"
    session = None
    for batch, length in ((2, 9),) if not is_open else ((1, 4), (2, 9), (1, 300), (3, 50), (2, 9)):
        x = random(batch, channels, length)
        inputs = {"x": (x, ["n", channels, "t"]) if is_open else x}
        if "Add" in behind:
            alone, _ = small_graph(text.replace("a =", "y ="), {"x": x}, {name: constants[name] for name in "wb"})
            r = random(*[d.dim_value for d in alone.graph.output[0].type.tensor_type.shape.dim], seed=4)
            inputs["r"] = (r, ["n", results, "u"]) if is_open else r
        model, feeds = small_graph(f"{text}\n {behind}", inputs, constants)
        if session is None:
            assert len(agrees(model, feeds)) == len(behind.splitlines()) + 1
            session = gantry.Session(model, device="CPU")
            assert session.placement.nodes[0].implementation == "implicit gemm"
        expected = run_oracle(model, feeds)[0]
        np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=1e-4, atol=1e-4)


IMAGES = {  # channels, results, window, attributes
    "upsampling": (32, 24, (2, 2), "strides=[2, 2]"),
    "overlapping": (16, 40, (4, 4), "strides=[2, 2], pads=[1, 1, 1, 1]"),
    "uneven": (17, 33, (5, 3), "strides=[2, 3], pads=[2, 0, 1, 1]"),
    "gaps": (16, 32, (1, 2), "strides=[3, 4]"),
    "rows_alone": (16, 32, (3, 1), "strides=[2, 1], pads=[1, 0, 1, 0], output_padding=[1, 0]"),
    "all_but_one_cut": (16, 32, (3, 3), "pads=[2, 2, 2, 2]"),
}


@pytest.mark.parametrize("behind", ["", "y = Relu(a)", "y = Tanh(a)", "s = Add(r, a)\n y = Clip(s, low, high)"])
@pytest.mark.parametrize("case", IMAGES)
def test_over_two_axes_of_any_extent(agrees, case, behind):
    channels, results, window, attributes = IMAGES[case]
    constants = {"w": random(channels, results, *window, seed=1), "b": random(results, seed=2)}
    constants |= {"low": np.float32(-1), "high": np.float32(2)} if "Clip" in behind else {}
    text = f"{'a' if behind else 'y'} = ConvTranspose<{attributes}>(x, w, b)"
    session = None
    for batch, height, width in ((2, 5, 7), (1, 3, 60), (1, 40, 3), (2, 5, 7)):
        x = random(batch, channels, height, width)
        inputs = {"x": (x, ["n", channels, "h", "w"])}
        if "Add" in behind:
            alone, _ = small_graph(text.replace("a =", "y ="), {"x": x}, {name: constants[name] for name in "wb"})
            inputs["r"] = (random(*[d.dim_value for d in alone.graph.output[0].type.tensor_type.shape.dim], seed=4), ["n", results, "p", "q"])
        model, feeds = small_graph(f"{text}\n {behind}", inputs, constants)
        if session is None:
            assert len(agrees(model, feeds)) == len(behind.splitlines()) + 1
            session = gantry.Session(model, device="CPU")
            assert session.placement.nodes[0].implementation == "implicit gemm"
        np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reason, attributes, options", [("it is dilated", "dilations=[2]", {}), ("the options skip it", "", {"skip_implementations": ["implicit gemm"]})])
def test_over_one_axis_by_the_library(reason, attributes, options):
    model, feeds = small_graph(f"y = ConvTranspose{f'<{attributes}>' if attributes else ''}(x, w)", {"x": random(1, 16, 30)}, {"w": random(16, 24, 5)})
    session = gantry.Session(model, device="CPU", config={"providers": {"options": {"x86": options}}} if options else None)
    (node,) = session.placement.nodes
    assert node.implementation.startswith("oneDNN") and reason in node.implementation
    np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels, results, attributes, reason", [
    (16, 8, "", "few channels"), (32, 32, "group=2", "one group"), (16, 16, 'auto_pad="SAME_UPPER", strides=[2, 2]', "output's shape"),
    (16, 16, "strides=[2, 2], output_padding=[1, 0]", "more is added"), (16, 16, "strides=[2, 2], output_shape=[12, 12]", "output's shape"),
])
def test_what_is_left_to_others(channels, results, attributes, reason):
    groups = 2 if "group" in attributes else 1
    model, _ = small_graph(f"y = ConvTranspose{f'<{attributes}>' if attributes else ''}(x, w)", {"x": random(1, channels, 5, 5)},
                           {"w": random(channels, results // groups, 3, 3)})
    (node,) = gantry.Session(model, device="CPU").placement.nodes
    assert node.provider == "cpu" and reason in node.reason
