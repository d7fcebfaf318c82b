# SPDX-License-Identifier: Apache-2.0
"""Paths in vectors and integers that kernels take for some types and shapes: their tails, edges, equals, NaN and extremes."""

import numpy as np
import pytest
from onnx import TensorProto
from oracle import compare, element_type, node_model, run_gantry, run_oracle

import gantry

LENGTHS = [*range(1, 20), 31, 32, 33, 63, 64, 65, 100, 1000]
ODD = np.float32([0, -0.0, 1.5, -1.5, 127.9, 128, 255.99, 256, -1, -128.5, 2.0**31, -(2.0**31), 2.0**31 - 128, 2.0**40, -(2.0**40), 2.0**63, 1e30, -1e30, np.inf, -np.inf, np.nan])


def run(op_type, inputs, opset, attributes=None, types=None):
    return run_gantry(*node_model(op_type, inputs, types or [element_type(inputs[0])], opset, attributes))


def against_oracle(op_type, inputs, opset, attributes=None, types=None, rtol=0.0, atol=0.0):
    model, feeds = node_model(op_type, inputs, types or [element_type(inputs[0])], opset, attributes)
    compare(run_gantry(model, feeds), run_oracle(model, feeds), rtol, atol)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
def test_pools_of_all_sizes(op_type):
    """Planes below and above a vector, lines that end with the tensor, padding on each side, strides that vectors gather."""
    rng = np.random.default_rng(0)
    opset = 22 if op_type == "LpPool" else 19
    for _ in range(120):
        extents = rng.integers(1, 40, 2)
        kernel = [int(rng.integers(1, min(extent, 9) + 1)) for extent in extents]
        pads = [int(rng.integers(0, k)) for k in kernel * 2]
        attributes = {"kernel_shape": kernel, "strides": rng.integers(1, 6, 2).tolist(), "pads": pads}
        if op_type == "AveragePool":
            attributes["count_include_pad"] = int(rng.integers(0, 2))
        x = rng.standard_normal((int(rng.integers(1, 3)), int(rng.integers(1, 4)), *extents), np.float32)
        against_oracle(op_type, [x], opset, attributes, rtol=1e-5, atol=1e-6)


def test_pools_with_much_padding():
    """More padding than vectors are worth: the same windows as if the padding were in the input."""
    x = np.random.default_rng(1).standard_normal((1, 2, 3, 5), np.float32)
    padded = np.full((1, 2, 203, 205), -np.inf, np.float32)
    padded[..., 100:103, 100:105] = x
    (y,) = run("MaxPool", [x], 12, {"kernel_shape": [101, 101], "pads": [100] * 4, "strides": [7, 40]})
    (expected,) = run("MaxPool", [padded], 12, {"kernel_shape": [101, 101], "strides": [7, 40]})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("storage_order", [0, 1])
def test_places_of_maxima(storage_order):
    """Few different values, so that there are many equals: the first counts."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        extents = rng.integers(1, 24, 2)
        kernel = [int(rng.integers(1, min(extent, 5) + 1)) for extent in extents]
        attributes = {"kernel_shape": kernel, "strides": rng.integers(1, 4, 2).tolist(), "pads": [int(rng.integers(0, k)) for k in kernel * 2], "storage_order": storage_order}
        x = rng.integers(0, 3, (2, 2, *extents)).astype(np.float32)
        against_oracle("MaxPool", [x], 12, attributes, [1, 7])


def test_places_of_nan():
    x = np.random.default_rng(3).standard_normal((1, 1, 6, 20), np.float32)
    x[0, 0, 1, 3] = x[0, 0, 2, 2] = x[0, 0, 5, 19] = np.nan
    values, places = run("MaxPool", [x], 12, {"kernel_shape": [3, 3]}, [1, 7])
    assert np.isnan(values[0, 0, 0, 1]) and places[0, 0, 0, 1] == 23  # above 2, 2
    assert np.isnan(values[0, 0, 2, 0]) and places[0, 0, 2, 0] == 42
    assert np.isnan(values[0, 0, 3, 17]) and places[0, 0, 3, 17] == 119
    assert np.isnan(values).sum() == len({(r, c) for y, z in ((1, 3), (2, 2), (5, 19)) for r in range(y - 2, y + 1) for c in range(z - 2, z + 1) if 0 <= r < 4 and 0 <= c < 18})


@pytest.mark.parametrize("target", [TensorProto.UINT8, TensorProto.INT8, TensorProto.INT64, TensorProto.INT32])
def test_floats_become_integers(target):
    """In vectors as one by one, whatever the neighbours are; beyond the range as it has always been."""
    rng = np.random.default_rng(4)
    alone = np.concatenate([run("Cast", [ODD[i : i + 1]], 13, {"to": target}, [target])[0] for i in range(ODD.size)])
    for length in LENGTHS:
        places = rng.integers(0, ODD.size, length)
        (y,) = run("Cast", [ODD[places]], 13, {"to": target}, [target])
        np.testing.assert_array_equal(y, alone[places])
    small = rng.uniform(0, 127, 5000).astype(np.float32)
    np.testing.assert_array_equal(run("Cast", [small], 13, {"to": target}, [target])[0].astype(np.int64), small.astype(np.int64))


def test_infinities_are_found():
    for positive, negative in ((1, 1), (1, 0), (0, 1), (0, 0)):
        x = np.tile(ODD, 40)
        (y,) = run("IsInf", [x], 20, {"detect_positive": positive, "detect_negative": negative}, [9])
        np.testing.assert_array_equal(y, (np.isposinf(x) & bool(positive)) | (np.isneginf(x) & bool(negative)))


def test_quotients_of_integers():
    edges = np.int32([0, 1, -1, 2, -2, 3, 7, -7, 2**31 - 1, -(2**31), -(2**31) + 1, 12345678, -99])
    a, b = (x.ravel() for x in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        wide = np.where(b == 0, 0, np.trunc(a.astype(np.float64) / np.where(b == 0, 1, b)))
    expected = wide.astype(np.int64).astype(np.uint32).view(np.int32)
    np.testing.assert_array_equal(run("Div", [a, b], 14)[0], expected)
    for divisor in edges:
        np.testing.assert_array_equal(run("Div", [a, np.int32([divisor])], 14)[0], expected_quotients(a, divisor))
        np.testing.assert_array_equal(run("Div", [np.int32([divisor]), a], 14)[0], expected_quotients(divisor, a))


def expected_quotients(a, b):
    a, b = np.broadcast_arrays(a, b)
    wide = np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b).astype(np.float64)))
    return wide.astype(np.int64).astype(np.uint32).view(np.int32)


@pytest.mark.parametrize("op_type, function, ulps", [("Floor", np.floor, 0), ("Ceil", np.ceil, 0), ("Round", np.round, 0), ("Sqrt", np.sqrt, 0), ("Tanh", np.tanh, 5)])
def test_functions_of_doubles(op_type, function, ulps):
    rng = np.random.default_rng(5)
    odd = [0, -0.0, 0.5, 1.5, -2.5, 1e-300, -1e-310, 18.7, 19, 400, -800, 4503599627370497.5, 1e300, np.inf, -np.inf, np.nan]
    x = np.concatenate([odd, rng.normal(size=3000), rng.normal(size=3000) * 10.0 ** rng.integers(-12, 3, 3000)])
    with np.errstate(invalid="ignore"):
        expected = function(x)
    for length in (*LENGTHS, x.size):
        (y,) = run(op_type, [x[:length]], 13)
        if ulps:
            np.testing.assert_allclose(y, expected[:length], rtol=ulps * 2.3e-16, atol=0)
        else:
            np.testing.assert_array_equal(y, expected[:length])
        signed = ~np.isnan(expected[:length])
        np.testing.assert_array_equal(np.signbit(y)[signed], np.signbit(expected[:length])[signed])


def test_hyperbolic_tangent():
    rng = np.random.default_rng(6)
    odd = [0, -0.0, 1e-40, -1e-45, 0.17, 0.174, 0.35, 9, 9.02, 10, 88, -200, 3e38, np.inf, -np.inf, np.nan]
    x = np.concatenate([odd, rng.normal(size=20000) * 3, rng.normal(size=20000) * 10.0 ** rng.integers(-30, 2, 20000)]).astype(np.float32)
    (y,) = run("Tanh", [x], 13)
    expected = np.tanh(x.astype(np.float64))
    normal = np.abs(expected) > 1.2e-38
    error = np.abs(y[normal] - expected[normal]) / np.abs(expected[normal])
    assert error.max() < 3 * 2.0**-24
    np.testing.assert_allclose(y[~normal], expected[~normal].astype(np.float32), rtol=0, atol=3e-45)
    np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(x[~np.isnan(x)]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("op_type, function", [("ReduceMax", np.max), ("ReduceMin", np.min)])
def test_extremes_of_bytes(op_type, function, dtype):
    rng = np.random.default_rng(7)
    for length in (*LENGTHS, 127, 128, 129, 257):
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (3, length)).astype(dtype)
        x[1] = x[1, 0]
        x[2, -1] = np.iinfo(dtype).max if op_type == "ReduceMax" else np.iinfo(dtype).min
        np.testing.assert_array_equal(run(op_type, [x, np.int64([1])], 18, {"keepdims": 0})[0], function(x, axis=1))


TOP_TYPES = [np.float32, np.float16, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", TOP_TYPES)
def test_first_few_of_each_type(dtype, largest):
    """k of one, a few in order, more in a heap, and most; the ends of the type; equals in the order in which they stand."""
    rng = np.random.default_rng(8)
    is_float = np.issubdtype(dtype, np.floating)
    ends = [-np.inf, np.inf, -0.0, 0.0, np.nan] if is_float else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    for width, k in ((9, 1), (9, 2), (40, 10), (300, 1), (300, 20), (300, 70), (300, 200), (300, 300)):
        x = rng.integers(0, 60, (3, width)).astype(dtype)
        x[:, rng.integers(0, width, 8)] = np.array(ends, dtype)[rng.integers(0, len(ends), 8)]
        for axis, data in ((1, x), (0, np.ascontiguousarray(x.T))):
            values, places = run("TopK", [data, np.array([k])], 11, {"largest": largest, "axis": axis}, [element_type(x), 7])
            expected = np.stack([first_places(row, k, largest) for row in x])
            np.testing.assert_array_equal(places if axis == 1 else places.T, expected)
            np.testing.assert_array_equal(values if axis == 1 else values.T, np.take_along_axis(x, expected, 1))


def first_places(row, k, largest):
    numbers = [(1, 0.0) if x != x else (0, x.item()) for x in row]
    return sorted(range(row.size), key=lambda i: numbers[i], reverse=False)[:k] if not largest else sorted(range(row.size), key=lambda i: numbers[i], reverse=True)[:k]


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("dtype", TOP_TYPES)
def test_distinct_numbers(dtype, is_sorted):
    rng = np.random.default_rng(9)
    x = rng.integers(0, 100, 700).astype(dtype)
    if not np.issubdtype(dtype, np.floating):
        x[rng.integers(0, 700, 20)] = np.iinfo(dtype).max
        x[rng.integers(0, 700, 20)] = np.iinfo(dtype).min
    else:
        x[rng.integers(0, 700, 20)] = -x[3] - dtype(0.5)
        x[rng.integers(0, 700, 9)] = -np.inf
    values, firsts, inverse, counts = run("Unique", [x], 11, {"sorted": is_sorted}, [element_type(x), 7, 7, 7])
    expected, places, number, count = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.arange(expected.size) if is_sorted else np.argsort(places)
    np.testing.assert_array_equal(values, expected[order])
    np.testing.assert_array_equal(firsts, places[order])
    np.testing.assert_array_equal(counts, count[order])
    np.testing.assert_array_equal(values[inverse], x)


def test_distinct_zeros_and_nan():
    values, firsts, inverse, counts = run("Unique", [np.float32([np.nan, -0.0, 0.0, 1, np.nan, -1])], 11, {}, [1, 7, 7, 7])
    np.testing.assert_array_equal(values, [-1, 0, 1, np.nan])
    assert np.signbit(values[1])  # that of the first
    assert firsts.tolist() == [5, 1, 3, 0] and counts.tolist() == [1, 2, 1, 2] and inverse.tolist() == [3, 1, 1, 2, 3, 0]


def test_dropout_draws_what_numpy_draws():
    """More than one block of the generator, and a count that divides none."""
    x = np.ones(5003, np.float32)
    for ratio in (0.1, 0.5, 0.99):
        y, mask = run("Dropout", [x, np.float32(ratio), np.array(True)], 13, {"seed": 7}, [1, 9])
        expected = np.random.RandomState(7).uniform(0, 1, x.shape) >= np.float64(np.float32(ratio))
        np.testing.assert_array_equal(mask, expected)
        np.testing.assert_allclose(y, np.where(expected, 1 / (1 - ratio), 0), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, np.float16])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_totals_of_rows(dtype, exclusive, reverse):
    for length in (1, 2, 17, 300):
        x = np.random.default_rng(10).integers(-3, 4, (3, length)).astype(dtype)
        for axis, data in ((1, x), (0, np.ascontiguousarray(x.T))):
            (y,) = run("CumSum", [data, np.array(axis)], 14, {"exclusive": exclusive, "reverse": reverse})
            flipped = np.flip(data, axis) if reverse else data
            total = np.cumsum(flipped, axis, dtype=dtype) - (flipped if exclusive else 0)
            np.testing.assert_array_equal(y, np.flip(total, axis) if reverse else total)


def test_unpooled_indices_are_checked_first():
    x = np.ones((1, 1, 2, 2), np.float32)
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    for bad in (16, -1, 1 << 60):
        with pytest.raises(gantry.Error, match=f"index {bad} is outside an output of shape \\[1, 1, 4, 4\\]"):
            run("MaxUnpool", [x, np.array([[[[0, 5], [bad, 3]]]])], 11, attributes)
    (y,) = run("MaxUnpool", [x, np.array([[[[0, 5], [8, 15]]]])], 11, attributes)
    assert np.flatnonzero(y).tolist() == [0, 5, 8, 15]


@pytest.mark.parametrize("is_sorted", [True, False])
def test_unpooled_elements_of_many_planes(is_sorted):
    """More than are placed together, in the order of their places and in none."""
    rng = np.random.default_rng(14)
    x = rng.standard_normal((2, 7, 30, 20), np.float32)
    places = rng.permutation(4 * x.size)[: x.size]
    indices = (np.sort(places) if is_sorted else places).reshape(x.shape)
    (y,) = run("MaxUnpool", [x, indices], 11, {"kernel_shape": [2, 2], "strides": [2, 2]})
    expected = np.zeros(4 * x.size, np.float32)
    expected[indices.ravel()] = x.ravel()
    np.testing.assert_array_equal(y, expected.reshape(2, 7, 60, 40))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("count", [1, 3, 8, 16, 37])
def test_features_by_their_columns(dtype, count):
    rng = np.random.default_rng(15)
    x = rng.integers(-99, 99, (7, 40)).astype(dtype)
    columns = rng.integers(0, 40, (1, count))
    model, feeds = node_model("ArrayFeatureExtractor", [x, columns], [element_type(x)], 21, {}, "ai.onnx.ml", domain_version=1)
    np.testing.assert_array_equal(run_gantry(model, feeds)[0], x[:, columns[0]])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16])
@pytest.mark.parametrize("ways", [2, 3, 4, 5])
def test_channels_that_stand_in_turns(ways, dtype):
    rng = np.random.default_rng(11)
    for height, width in ((1, 1), (3, 5), (7, 33), (40, 70), (1, 300)):
        x = rng.integers(0, 250, (2, height, width, ways)).astype(dtype)
        np.testing.assert_array_equal(run("Transpose", [x], 21, {"perm": [0, 3, 1, 2]})[0], x.transpose(0, 3, 1, 2))
        back = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
        np.testing.assert_array_equal(run("Transpose", [back], 21, {"perm": [0, 2, 3, 1]})[0], x)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
def test_softmax_of_rows_of_any_length(op_type):
    rng = np.random.default_rng(12)
    for length in LENGTHS:
        x = (rng.standard_normal((5, length)) * 10).astype(np.float32)
        x[1, 0] = -np.inf if length > 1 else 0
        x[2] -= 1e4
        x[3, :: max(length // 3, 2)] += 200
        against_oracle(op_type, [x], 13, {"axis": 1}, rtol=3e-5, atol=1e-6)
        for at, bad in ((0, np.nan), (length // 2, np.inf), (length - 1, np.nan)):
            y = x.copy()
            y[3, at] = bad
            (found,) = run(op_type, [y], 13, {"axis": 1})
            assert np.isnan(found[3]).any() and np.isfinite(found[[0, 2, 4]]).all()
            np.testing.assert_array_equal(found[4], run(op_type, [x], 13, {"axis": 1})[0][4])


def test_softmax_hides_what_is_masked():
    """Nothing is left of masked elements, however they are masked."""
    x = np.zeros((2, 40), np.float32)
    x[0, 20:] = -np.inf
    x[1, 20:] = -1e4
    (y,) = run("Softmax", [x], 13, {"axis": 1})
    np.testing.assert_array_equal(y[:, 20:], 0)
    np.testing.assert_allclose(y[:, :20], 0.05, rtol=1e-6)


def test_suppression_keeps_the_order_of_equals():
    """Scores of few values, NaN and infinities among them: the better, then the earlier box first."""
    rng = np.random.default_rng(13)
    corner = np.arange(60, dtype=np.float32)[:, None] * 10
    boxes = np.concatenate([corner, corner, corner + 5, corner + 5], 1)[np.newaxis]
    scores = rng.choice(np.float32([0.1, 0.2, 0.3, -0.0, 0.0, np.inf]), (1, 1, 60)).astype(np.float32)
    scores[0, 0, [4, 30]] = np.nan
    (y,) = run("NonMaxSuppression", [boxes, scores, np.array(60), np.float32(0.5)], 11, types=[7])
    key = np.where(np.isnan(scores[0, 0]), -np.inf, scores[0, 0])
    np.testing.assert_array_equal(y[:, 2], np.argsort(-key, kind="stable"))
    (y,) = run("NonMaxSuppression", [boxes, scores, np.array(7), np.float32(0.5), np.float32(0.15)], 11, types=[7])
    assert y[:, 2].tolist() == [i for i in np.argsort(-key, kind="stable") if key[i] > 0.15][:7]


@pytest.mark.parametrize("hidden", [1, 3, 4, 16, 17, 35])
@pytest.mark.parametrize("batch", [1, 3, 4, 6])
def test_steps_of_any_width(hidden, batch):
    """Recurrent products of rows and columns that fill no vector or block."""
    rng = np.random.default_rng(14)
    x, w, r = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((4, batch, 5), (1, 4 * hidden, 5), (1, 4 * hidden, hidden)))
    against_oracle("LSTM", [x, w, r], 14, {"hidden_size": hidden}, [1, 1, 1], rtol=1e-5, atol=1e-6)


def test_large_outputs_are_whole():
    """Arrays so large that they are written by blocks, with a last one that is not full."""
    rng = np.random.default_rng(15)
    for count in ((1 << 16) - 1, (1 << 17) + 77, (1 << 19) + 5):
        a, b = (rng.integers(-99, 99, count) for _ in range(2))
        np.testing.assert_array_equal(run("Abs", [a], 13)[0], np.abs(a))
        np.testing.assert_array_equal(run("Add", [a, b], 14)[0], a + b)
        np.testing.assert_array_equal(run("Not", [a > 0], 1, types=[9])[0], a <= 0)


def test_means_of_inputs():
    rng = np.random.default_rng(16)
    for count in (1, 7, 513, 2000):
        x = [rng.standard_normal(count).astype(np.float32) for _ in range(3)]
        against_oracle("Mean", x, 13, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("reduction", ["max", "min", "mul", "add"])
def test_reductions_keep_nan(reduction):
    x = np.float32([1, np.nan, 3, -np.inf, 5])
    updates = np.float32([np.nan, 2, np.inf, 4, -5])
    (y,) = run("ScatterElements", [x, np.arange(5), updates], 18, {"reduction": reduction, "axis": 0})
    function = {"max": np.maximum, "min": np.minimum, "mul": np.multiply, "add": np.add}[reduction]
    np.testing.assert_array_equal(y, function(x, updates))


@pytest.mark.parametrize("numbers", [[5, -3, 7], [1 << 62, -(1 << 62), 0]])
def test_tokens_near_and_far(numbers):
    """Pools whose numbers fit a table and such whose do not; numbers beyond both ends."""
    rng = np.random.default_rng(17)
    x = rng.choice(np.array([*numbers, min(numbers) - 1, max(numbers) + 1, 1 << 61, -(1 << 63)]), (4, 50))
    attributes = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1, "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4],
                  "pool_int64s": [*numbers, numbers[0], numbers[1], numbers[2], numbers[2]]}
    against_oracle("TfIdfVectorizer", [x], 9, attributes, [1])
