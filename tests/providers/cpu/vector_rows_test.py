# SPDX-License-Identifier: Apache-2.0
"""What vectors make of rows of any length: extremes and their places, the first few, functions of angles, elements by index."""

import numpy as np
import pytest
from oracle import compare, element_type, node_model, run_gantry

import gantry

WIDTHS = [*range(1, 20), 31, 32, 33, 47, 48, 64, 100, 513]


def run(op_type, inputs, opset, attributes=None, types=None):
    return run_gantry(*node_model(op_type, inputs, types or [element_type(inputs[0])], opset, attributes))


def with_nan(x, at):
    x = x.copy()
    x[..., at] = np.nan
    return x


@pytest.mark.parametrize("op_type, function", [("ReduceMin", np.min), ("ReduceMax", np.max)])
def test_extremes(op_type, function):
    rng = np.random.default_rng(0)
    for width in WIDTHS:
        x = rng.normal(size=(2, width)).astype(np.float32)
        for data in (x, with_nan(x, width // 2), with_nan(x, width - 1), np.full_like(x, np.inf), np.full_like(x, -np.inf)):
            (y,) = run(op_type, [data, np.array([1])], 20, {"keepdims": 0}, [1])
            np.testing.assert_array_equal(y, function(data, axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_extremes(dtype, op_type, last):
    """Few different values, so that there are many equals."""
    rng = np.random.default_rng(1)
    function = np.argmax if op_type == "ArgMax" else np.argmin
    for width in WIDTHS:
        x = rng.integers(0, 4, (3, width)).astype(dtype)
        for axis, data in ((1, x), (0, np.ascontiguousarray(x.T))):
            expected = function(x, axis=1) if not last else width - 1 - function(x[:, ::-1], axis=1)
            (y,) = run(op_type, [data], 13, {"axis": axis, "keepdims": 0, "select_last_index": last}, [7])
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
def test_nan_is_extreme(op_type):
    x = np.random.default_rng(2).normal(size=(1, 70)).astype(np.float32)
    x[0, [20, 41, 66]] = np.nan
    for last, place in ((0, 20), (1, 66)):
        for axis, data in ((1, x), (0, np.repeat(x.T, 3, axis=1))):
            (y,) = run(op_type, [data], 13, {"axis": axis, "keepdims": 0, "select_last_index": last}, [7])
            np.testing.assert_array_equal(y, place)


@pytest.mark.parametrize("largest", [0, 1])
def test_first_few(largest):
    rng = np.random.default_rng(3)
    for width, k in ((4, 1), (5, 1), (40, 3), (40, 10), (40, 11), (40, 40), (1000, 7)):
        x = rng.integers(0, 12, (4, width)).astype(np.float32)
        x[1, width // 2] = np.nan
        key = np.where(np.isnan(x), np.inf, x)
        order = np.argsort(-key if largest else key, axis=1, kind="stable")[:, :k]
        values, places = run("TopK", [x, np.array([k])], 11, {"largest": largest}, [1, 7])
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("op_type, function", [("Sin", np.sin), ("Cos", np.cos), ("Asin", np.arcsin), ("Acos", np.arccos), ("Atan", np.arctan)])
def test_angles(op_type, function):
    wide = np.concatenate([np.linspace(-50, 50, 4001), np.linspace(-4e4, 4e4, 1001), [0, -0.0, 1e6, 3e12, 1e30, np.inf, -np.inf, np.nan]])
    narrow = np.concatenate([np.linspace(-1, 1, 4001), [0, -0.0, 1, -1, 1e-20, 1.5, -7, np.nan]])
    x = (narrow if op_type in ("Asin", "Acos") else wide).astype(np.float32)
    with np.errstate(invalid="ignore"):
        expected = function(x.astype(np.float64)).astype(np.float32)
    (y,) = run(op_type, [x], 22)
    compare(y, expected, 1e-6, 1e-6)


def test_hardmax_takes_the_first():
    for width in WIDTHS:
        x = np.random.default_rng(width).integers(0, 3, (5, width)).astype(np.float32)
        (y,) = run("Hardmax", [x], 13, {"axis": 1})
        np.testing.assert_array_equal(y.argmax(axis=1), x.argmax(axis=1))
        np.testing.assert_array_equal(y.sum(axis=1), 1)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_by_index(dtype, axis):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(6, 7, 8)).astype(np.float32)
    indices = rng.integers(-x.shape[axis], x.shape[axis], (5, 4, 3)).astype(dtype)
    (y,) = run("GatherElements", [x, indices], 13, {"axis": axis})
    cut = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(indices.shape))
    np.testing.assert_array_equal(y, np.take_along_axis(x[cut], indices.astype(np.int64) % x.shape[axis], axis))


@pytest.mark.parametrize("op_type, function", [("CumSum", np.cumsum), ("CumProd", np.cumprod)])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_totals(op_type, function, exclusive, reverse):
    x = np.random.default_rng(5).integers(1, 4, (5, 3, 1500)).astype(np.float32)
    for axis in (0, 1):
        (y,) = run(op_type, [x, np.array(axis)], 26 if op_type == "CumProd" else 14, {"exclusive": exclusive, "reverse": reverse}, [1])
        data = np.flip(x, axis) if reverse else x
        total = function(data, axis=axis)
        if exclusive:
            first = np.full_like(np.take(x, [0], axis), 0 if op_type == "CumSum" else 1)
            total = np.concatenate([first, np.delete(total, -1, axis)], axis)
        np.testing.assert_array_equal(y, np.flip(total, axis) if reverse else total)


@pytest.mark.parametrize("equation, shapes", [
    ("ijk->ik", [(4, 5, 6)]), ("ijk->jk", [(4, 5, 6)]), ("ijk->ki", [(4, 5, 6)]), ("ijkl->il", [(2, 3, 4, 5)]), ("i,j->ij", [(40,), (50,)]), ("i,j->ji", [(40,), (50,)]),
    ("bi,bj->bij", [(3, 4), (3, 5)]), ("bi,j->bij", [(3, 4), (5,)]), ("ij,jk->ik", [(7, 8), (8, 9)]), ("ij,jk->ki", [(7, 8), (8, 9)]), ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)]),
])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.float16])
def test_einsum_results_land_in_order(equation, shapes, dtype):
    arrays = [np.random.default_rng(i).integers(-3, 4, shape).astype(dtype) for i, shape in enumerate(shapes)]
    (y,) = run("Einsum", arrays, 12, {"equation": equation})
    np.testing.assert_array_equal(y, np.einsum(equation, *[a.astype(np.float64) for a in arrays]).astype(dtype))


def test_remainders_are_exact():
    """Quotients near whole numbers, up to and beyond those that f64 divides exactly; signs, zeros, infinities, NaN."""
    rng = np.random.default_rng(6)
    b = rng.uniform(-3, 3, 20000).astype(np.float32)
    whole = rng.integers(-(1 << 20), 1 << 20, b.size)
    a = np.concatenate([(b.astype(np.float64) * whole).astype(np.float32), rng.uniform(-1e10, 1e10, b.size).astype(np.float32)])
    b = np.concatenate([b, b])
    odd = np.float32([0, -0.0, 1, -1, 3.5, np.inf, -np.inf, np.nan, 1e-45, 3e38])
    a, b = np.concatenate([a, np.repeat(odd, odd.size)]), np.concatenate([b, np.tile(odd, odd.size)])
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    (y,) = run("Mod", [a, b], 13, {"fmod": 1})
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(expected[~np.isnan(expected)]))


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [0, 17, 99, 2050, 3999])
def test_an_index_outside_among_many(index_type, axis, place):
    x = np.arange(4000, dtype=np.float32).reshape(50, 80)
    extent = x.shape[axis]
    indices = np.random.default_rng(1).integers(-extent, extent, x.shape).astype(index_type)
    (y,) = run("GatherElements", [x, indices], 13, {"axis": axis})
    np.testing.assert_array_equal(y, np.take_along_axis(x, indices.astype(np.int64), axis))
    for outside in (extent, -extent - 1, np.iinfo(index_type).min, np.iinfo(index_type).max):
        indices.flat[place] = outside
        with pytest.raises(gantry.Error, match=f"index {outside} is outside axis {axis}, whose extent is {extent}"):
            run("GatherElements", [x, indices], 13, {"axis": axis})
