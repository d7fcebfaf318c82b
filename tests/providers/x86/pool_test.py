# SPDX-License-Identifier: Apache-2.0
"""Pools over windows and whole planes, alone and behind a convolution."""

import json

import numpy as np
import pytest

import gantry
from oracle import node_model
from pool_cases import CEILED, DILATED, WINDOWS
from small_graph import small_graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).standard_normal(shape, np.float32)


UNUSUAL = ("one_axis", "three_axes")
PLANAR = {case: window for case, window in WINDOWS.items() if case not in UNUSUAL}


def kernel_in_dense_order(shape, attributes):
    """The library has no code for dilated windows, nor in dense order for fewer than 4 channels."""
    return "x86.pool" if shape[1] > 3 and max(attributes.get("dilations", [1])) == 1 else None


def agrees_in_both_orders(agrees, op_type, version, shape, attributes, is_left=False):
    """In dense order, by whomever it suits, and behind a convolution by the provider's kernel."""
    model, feeds = node_model(op_type, [random(*shape)], [1], version, attributes)
    agrees(model, feeds, [not is_left and kernel_in_dense_order(shape, attributes) or op_type])
    pool = f"{op_type}<{', '.join(f'{name}={json.dumps(value)}' for name, value in attributes.items())}>"
    for channels in (shape[1], 20):
        model, feeds = small_graph(f"a = Conv(x, w)\n y = {pool}(a)", {"x": random(*shape)}, {"w": random(channels, shape[1], 1, 1)}, opset=version)
        agrees(model, feeds, ["x86.conv", op_type if is_left else "x86.pool"])


@pytest.mark.parametrize("case", PLANAR | CEILED | DILATED)
def test_max_pool(agrees, case):
    agrees_in_both_orders(agrees, "MaxPool", 12, *(WINDOWS | CEILED | DILATED)[case])


@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("case", PLANAR | CEILED | DILATED)
def test_average_pool(agrees, case, counts):
    shape, attributes = (WINDOWS | CEILED | DILATED)[case]
    agrees_in_both_orders(agrees, "AveragePool", 19, shape, {**attributes, "count_include_pad": counts}, counts and case in CEILED)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("case", UNUSUAL)
def test_windows_of_one_and_three_axes(agrees, case, op_type):
    """In dense order they are left to others, behind a convolution they are taken."""
    shape, attributes = WINDOWS[case]
    model, feeds = node_model(op_type, [random(*shape)], [1], 12, attributes)
    agrees(model, feeds, [op_type])
    pool = f"{op_type}<{', '.join(f'{name}={value}' for name, value in attributes.items())}>"
    model, feeds = small_graph(f"a = Conv(x, w)\n y = {pool}(a)", {"x": random(*shape)}, {"w": random(20, shape[1], *[1] * (len(shape) - 2))})
    agrees(model, feeds, ["x86.conv", "x86.pool"])


@pytest.mark.parametrize("op_type", ["GlobalMaxPool", "GlobalAveragePool"])
@pytest.mark.parametrize("shape", [(2, 5, 7, 9), (1, 33, 1, 1), (3, 4, 40), (1, 2, 3, 4, 5)])
def test_global_pool(agrees, op_type, shape):
    model, feeds = node_model(op_type, [random(*shape)], [1], 1)
    agrees(model, feeds, ["x86.pool"])


@pytest.mark.parametrize("op_type", ["GlobalMaxPool", "GlobalAveragePool"])
def test_large_planes_in_dense_order_are_left_to_others(agrees, op_type):
    model, feeds = node_model(op_type, [random(2, 5, 300)], [1], 1)
    agrees(model, feeds, [op_type])


@pytest.mark.parametrize("pool", ["MaxPool<kernel_shape=[3,3], strides=[2,2]>", "AveragePool<kernel_shape=[2,2]>", "GlobalAveragePool"])
def test_behind_a_convolution(agrees, pool):
    model, feeds = small_graph(f"a = Conv(x, w)\n b = {pool}(a)\n y = Conv(b, v)", {"x": random(2, 3, 16, 17)},
                               {"w": random(20, 3, 3, 3), "v": random(7, 20, 1, 1)})
    agrees(model, feeds, ["x86.conv", "x86.pool", "x86.conv"])


@pytest.mark.parametrize("keeps", [0, 1, 2])
@pytest.mark.parametrize("axes", [(2, 3), (-1, 2)])
@pytest.mark.parametrize("opset", [17, 21])
def test_mean_over_the_plane_behind_a_convolution(agrees, opset, axes, keeps):
    """As exporters write the pools of squeezing and exciting, and those before a classifier."""
    constants = {"w": random(20, 3, 3, 3), **({"axes": np.array(axes, np.int64)} if opset > 17 else {})}
    mean = f"ReduceMean<keepdims={keeps}>(a, axes)" if opset > 17 else f"ReduceMean<axes=[{axes[0]},{axes[1]}], keepdims={keeps}>(a)"
    model, feeds = small_graph(f"a = Conv(x, w)\n y = {mean}", {"x": random(2, 3, 16, 17)}, constants, opset=opset)
    agrees(model, feeds, ["x86.conv", "x86.pool"])


@pytest.mark.parametrize("keeps", [0, 1])
def test_largest_of_a_line_behind_a_convolution(agrees, keeps):
    """As networks of point clouds have it."""
    model, feeds = small_graph(f"a = Conv(x, w)\n y = ReduceMax<keepdims={keeps}>(a, axes)", {"x": random(2, 3, 200)},
                               {"w": random(40, 3, 1), "axes": np.array([2], np.int64)})
    agrees(model, feeds, ["x86.conv", "x86.pool"])


@pytest.mark.parametrize("axes", ["1", "3", "1,2,3", "0,2,3"])
def test_other_means_are_left_to_others(agrees, axes):
    model, feeds = small_graph(f"a = Conv(x, w)\n y = ReduceMean<axes=[{axes}]>(a)", {"x": random(2, 3, 16, 17)}, {"w": random(20, 3, 3, 3)}, opset=17)
    assert agrees(model, feeds)[-1] == "ReduceMean"


def test_means_in_dense_order_are_left_to_others(agrees):
    model, feeds = small_graph("y = ReduceMean<axes=[2,3]>(x)", {"x": random(2, 3, 16, 17)}, {}, opset=17)
    agrees(model, feeds, ["ReduceMean"])


@pytest.mark.parametrize("window", [2, 3, 9])
@pytest.mark.parametrize("channels", [3, 8, 21, 64, 84])
def test_the_largest_of_what_is_no_number(channels, window):
    """It is none, and minus infinity remains what it is; the window of 9 has more taps than are held."""
    x = np.random.default_rng(channels).standard_normal((2, channels, 15, 13)).astype(np.float32)
    x[0, channels // 2, 4, 5], x[1, :, 7, 7], x[0, 0] = np.nan, np.nan, -np.inf
    text = f"c = Conv<group={channels}>(x, w)\n y = MaxPool<kernel_shape=[{window}, {window}], strides=[2, 2], pads=[1, 1, 1, 1]>(c)"
    model, feeds = small_graph(text, {"x": x}, {"w": np.ones((channels, 1, 1, 1), np.float32)})
    session = gantry.Session(model, device="CPU")
    assert [node.kernel for node in session.placement.nodes] == ["x86.conv", "x86.pool"]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    expected = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))[:, :, ::2, ::2].max((4, 5))
    np.testing.assert_array_equal(session.run(feeds)["y"], expected)


@pytest.mark.parametrize("call", ["MaxPool<kernel_shape=[3, 3], strides=[2, 2]>", "GlobalMaxPool"])
@pytest.mark.parametrize("odd", [np.nan, -np.inf, np.finfo(np.float32).min])
def test_the_largest_in_dense_order(call, odd):
    """There the library pools what is ordinary, and only that."""
    x = np.random.default_rng(5).standard_normal((2, 20, 15, 13)).astype(np.float32)
    ordinary = x.copy()
    x[0, 3, 4, 5], x[1, 7] = odd, odd
    model, feeds = small_graph(f"y = {call}(x)", {"x": x}, {})
    session = gantry.Session(model, device="CPU")
    for given in (x, ordinary, x):
        windows = np.lib.stride_tricks.sliding_window_view(given, (3, 3), (2, 3))[:, :, ::2, ::2].max((4, 5))
        expected = windows if "kernel" in call else given.max((2, 3), keepdims=True)
        np.testing.assert_array_equal(session.run({"x": given})["y"], expected)


MEANS = {
    "global": "GlobalAveragePool(a)", "reduced": "ReduceMean<keepdims=0>(a, axes)", "window": "AveragePool<kernel_shape=[3,2], pads=[1,0,1,1]>(a)",
    "counted": "AveragePool<kernel_shape=[3,3], strides=[2,1], pads=[1,1,1,1], count_include_pad=1>(a)", "largest": "GlobalMaxPool(a)",
}


@pytest.mark.parametrize("channels", [24, 64, 100, 200])
@pytest.mark.parametrize("pooled", MEANS)
def test_images_of_open_size(agrees, pooled, channels):
    """Behind a convolution, channels-last, by loops whose code is the same for any size."""
    rng = np.random.default_rng(channels)
    x = rng.standard_normal((2, 16, 13, 14), np.float32)
    constants = {"w": rng.standard_normal((channels, 16, 1, 1), np.float32)}
    if pooled == "reduced":
        constants["axes"] = np.array([2, 3])
    agrees(*small_graph(f"a = Conv(x, w)\n y = {MEANS[pooled]}", {"x": (x, ["n", 16, "h", "w"])}, constants))
