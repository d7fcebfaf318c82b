# SPDX-License-Identifier: Apache-2.0
"""Operators that sort or select elements: NaN, equal elements, rows of every length; and axes without elements."""

import numpy as np
import pytest
from small_graph import small_graph

FLOATS = [np.float32, np.float16, np.float64]


def with_nan(*shape, dtype):
    """Numbers with equal ones among them, and NaN in most rows, also where a thread begins and behind that."""
    rng = np.random.default_rng(sum(shape))
    x = np.round(rng.standard_normal(shape) * 4)
    x[rng.random(shape) < 2 / shape[-1]] = np.nan
    x[..., 0, 5] = np.nan
    x[..., 1, :] = np.abs(np.nan_to_num(x[..., 1, :]))  # none here
    return x.astype(dtype)


@pytest.mark.parametrize("length", [9, 31, 300, 700])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("last", [0, 1])
def test_nan_is_the_most_extreme(agrees, length, dtype, last):
    x = with_nan(6, length, dtype=dtype)
    agrees(*small_graph(f"y = ArgMax<axis=-1, select_last_index={last}>(x)\n z = ArgMin<axis=-1, select_last_index={last}>(x)", {"x": x}))


@pytest.mark.parametrize("shape, k", [((6, 9), 4), ((6, 9), 9), ((4, 300), 10), ((3, 5000), 7)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("largest", [0, 1])
def test_nan_is_larger_than_every_number(agrees, shape, k, dtype, largest):
    x = with_nan(*shape, dtype=dtype)
    agrees(*small_graph(f"v, n = TopK<largest={largest}>(x, k)", {"x": x}, {"k": np.array([k])}))


# Of lengths that a block sorts at once, in parts, and that leave no room for the first k.
@pytest.mark.parametrize("length, k", [(1, 1), (128, 128), (2049, 2049), (6000, 6000), (9000, 2000), (9000, 1), (20000, 300)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_the_first_of_long_rows(agrees, length, k, dtype):
    rng = np.random.default_rng(length)
    for x in (rng.integers(0, 200, (2, length)).astype(dtype), np.sort(rng.integers(0, 200, (length, 1)).astype(dtype), axis=0)):
        agrees(*small_graph(f"v, n = TopK<axis={x.shape.index(length)}>(x, k)", {"x": x}, {"k": np.array([k])}))


@pytest.mark.parametrize("shape, axis", [((3, 700), 1), ((2, 300, 3), 1), ((40, 5), 0), ((5, 7), 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_sums_along_lines(agrees, shape, axis, dtype, exclusive, reverse):
    x = np.random.default_rng(1).integers(-3, 4, shape).astype(dtype)
    agrees(*small_graph(f"y = CumSum<exclusive={exclusive}, reverse={reverse}>(x, a)", {"x": x}, {"a": np.array(axis)}))


def test_an_empty_axis_stays_empty_backwards(agrees):
    constants = {"s": np.array([-1]), "e": np.array([-(2**62)]), "a": np.array([0]), "t": np.array([-1])}
    agrees(*small_graph("y = Slice(x, s, e, a, t)", {"x": (np.zeros((0, 3), np.float32), ["n", 3])}, constants))


@pytest.mark.parametrize("text", ["y = Gather(x, i)", "y = GatherElements(x, i)", "y = GatherND(x, i)"])
def test_nothing_is_read_of_an_empty_axis(cuda, text):
    model, feeds = small_graph(text, {"x": (np.zeros((0, 2), np.float32), ["n", 2]), "i": np.zeros((1, 1), np.int64)})
    with pytest.raises(RuntimeError, match="elements are to be read along an axis of the data that has none"):
        cuda.run(model, feeds)
