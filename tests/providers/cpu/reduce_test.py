# SPDX-License-Identifier: Apache-2.0
"""Reductions, extremes, running sums and TopK: axes, empty sets, versions, element types."""

import numpy as np
import pytest

import gantry
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle, run_ort, run_reference

REDUCTIONS = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k),
    "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
}
FLOATS = ["float", "double", "float16", "bfloat16"]
INTEGERS = ["int32", "int64", "uint32", "uint64"]


def first_with_axes_input(op_type):
    return 13 if op_type == "ReduceSum" else 18


def reduce(op_type, x, axes, opset, **attributes):
    """Runs a reduction, the axes where its version has them."""
    if opset >= first_with_axes_input(op_type):
        inputs = [x] + ([] if axes is None else [np.array(axes, np.int64)])
    else:
        inputs = [x]
        if axes is not None:
            attributes["axes"] = axes
    model, feeds = node_model(op_type, inputs, [element_type(x)], opset, attributes)
    return run_gantry(model, feeds)[0]


def positive(*shape, name="float", high=2.0):
    return np.random.default_rng(1).uniform(0.5, high, shape).astype(NUMPY_OF[name])


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("opset", [1, 11, 18])
@pytest.mark.parametrize("axes", [None, [0], [1], [-1], [0, 2], [1, 2], [0, 1, 3], [2, 3], [3, 0]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes(op_type, opset, axes, keepdims):
    x = positive(3, 4, 5, 6)
    if axes and opset == 1 and min(axes) < 0:
        axes = [a % 4 for a in axes]
    expected = REDUCTIONS[op_type](x.astype(np.float64), axis=None if axes is None else tuple(axes), keepdims=bool(keepdims))
    compare(reduce(op_type, x, axes, opset, keepdims=keepdims), np.asarray(expected, np.float32), 1e-4, 1e-4)


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceL2", "ArgMax"])
@pytest.mark.parametrize("keepdims", [2, -1])
def test_axes_are_kept_by_1_only(op_type, keepdims):
    """As ONNX's shapes and ONNX Runtime have it; the standard knows 0 and 1."""
    x = positive(3, 4, 5)
    attributes = {"keepdims": keepdims, **({"axis": 1} if op_type == "ArgMax" else {"axes": [1]})}
    model, feeds = node_model(op_type, [x], [7 if op_type == "ArgMax" else element_type(x)], 11, attributes)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 1e-5, 1e-5)


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("shape, axes", [((7, 1000), [1]), ((1000, 7), [0]), ((5, 300, 2, 40), [1, 3]), ((1, 1, 9), [0, 1]),
                                         ((2, 1, 3, 1, 4), [1, 2]), ((4096,), [0]), ((), None), ((6, 1, 500), [2])])
def test_shapes(op_type, shape, axes):
    x = positive(*shape, high=1.1 if op_type == "ReduceProd" else 2.0)
    if op_type == "ReduceProd":
        x = x ** np.float32(0.05)
    expected = REDUCTIONS[op_type](x.astype(np.float64), axis=None if axes is None else tuple(axes), keepdims=True)
    compare(reduce(op_type, x, axes, 18), np.asarray(expected, np.float32), 1e-4, 1e-5)


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("axis", [0, 1])
def test_float_types(op_type, name, axis):
    x = positive(13, 17, name=name, high=1.2)
    expected = REDUCTIONS[op_type](x.astype(np.float64), axis=axis, keepdims=True).astype(x.dtype)
    tolerance = {"float": 1e-5, "double": 1e-9, "float16": 4e-3, "bfloat16": 2e-2}[name]
    compare(reduce(op_type, x, [axis], 18), expected, tolerance, tolerance)


@pytest.mark.parametrize("op_type", [op for op in REDUCTIONS if op != "ReduceLogSumExp"])
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("axis", [0, 1])
def test_integer_types(op_type, name, axis):
    x = np.random.default_rng(1).integers(1, 4, (6, 9)).astype(NUMPY_OF[name])
    if name.startswith("int") and op_type in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare", "ReduceMean"):
        x = x - x.dtype.type(2)
    expected = np.trunc(REDUCTIONS[op_type](x.astype(np.float64), axis=axis, keepdims=True)).astype(x.dtype)
    compare(reduce(op_type, x, [axis], 18), expected)


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("name", ["int8", "uint8", "bool"])
def test_ordered_types(op_type, name):
    x = np.random.default_rng(1).integers(0, 2 if name == "bool" else 100, (6, 9)).astype(NUMPY_OF[name])
    compare(reduce(op_type, x, [0], 20), REDUCTIONS[op_type](x, axis=0, keepdims=True))


@pytest.mark.parametrize("op_type, value", [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf), ("ReduceMin", np.inf),
                                            ("ReduceMean", np.nan), ("ReduceL1", 0), ("ReduceL2", 0), ("ReduceLogSum", -np.inf),
                                            ("ReduceLogSumExp", -np.inf), ("ReduceSumSquare", 0)])
def test_empty_sets(op_type, value):
    compare(reduce(op_type, np.zeros((2, 0, 3), np.float32), [1], 20), np.full((2, 1, 3), value, np.float32))
    assert reduce(op_type, np.zeros((2, 0, 3), np.float32), [0], 20).shape == (1, 0, 3)
    assert reduce(op_type, np.zeros((2, 0, 3), np.int32), [1], 20).shape == (2, 1, 3)


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, []])
def test_no_axes(op_type, axes):
    x = positive(3, 4)
    elementwise = REDUCTIONS[op_type](x[..., None], axis=-1)
    compare(reduce(op_type, x, axes, 18, noop_with_empty_axes=1), elementwise.astype(np.float32), 1e-5, 1e-5)
    whole = REDUCTIONS[op_type](x.astype(np.float64), axis=None, keepdims=True)
    compare(reduce(op_type, x, axes, 18), whole.astype(np.float32), 1e-4, 1e-4)


def test_log_sum_exp_of_extremes():
    x = np.array([[1000, 1000], [-np.inf, -np.inf], [np.inf, 3], [-np.inf, 5]], np.float32)
    compare(reduce("ReduceLogSumExp", x, [1], 18, keepdims=0), np.array([1000 + np.log(2), -np.inf, np.inf, 5], np.float32))


def test_not_a_number_is_the_extreme():
    x = np.ones((3, 70), np.float32)
    x[1, 33] = np.nan
    for op_type in ("ReduceMax", "ReduceMin"):
        for axis in (0, 1):
            assert np.isnan(reduce(op_type, x, [axis], 18)).sum() == 1


@pytest.mark.parametrize("axes", [[2], [-3], [-2**63], [2**62]])
def test_axis_outside(axes):
    with pytest.raises(gantry.Error, match="axis"):
        reduce("ReduceSum", np.ones((2, 3), np.float32), axes, 13)


TEN_TYPES = FLOATS + ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("name", TEN_TYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("last", [0, 1])
def test_arg_extremes(op_type, name, axis, last):
    x = np.random.default_rng(1).integers(0, 5, (7, 6, 9)).astype(NUMPY_OF[name])
    model, feeds = node_model(op_type, [x], [7], 13, {"axis": axis, "select_last_index": last, "keepdims": last})
    f = np.argmax if op_type == "ArgMax" else np.argmin
    wide = x.astype(np.float64)
    expected = x.shape[axis] - 1 - f(np.flip(wide, axis), axis=axis) if last else f(wide, axis=axis)
    compare(run_gantry(model, feeds), [np.expand_dims(expected, axis) if last else expected])


def test_arg_max_of_old_versions_and_scalars():
    for opset in (1, 11, 12):
        model, feeds = node_model("ArgMax", [np.array([[1, 5, 5]], np.float32)], [7], opset, {"axis": 1})
        compare(run_gantry(model, feeds), [np.array([[1]])])
    model, feeds = node_model("ArgMax", [np.zeros((2, 0), np.float32)], [7], 13, {"axis": 1})
    with pytest.raises(gantry.Error, match="no elements"):
        run_gantry(model, feeds)


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cumulative_sum(name, exclusive, reverse, axis):
    x = np.random.default_rng(1).integers(0, 5, (4, 5, 6)).astype(NUMPY_OF[name])
    attributes = {"exclusive": exclusive, "reverse": reverse}
    model, feeds = node_model("CumSum", [x, np.array(axis, np.int32)], [element_type(x)], 14, attributes)
    wide = np.flip(x.astype(np.float64), axis) if reverse else x.astype(np.float64)
    expected = np.cumsum(wide, axis) - (wide if exclusive else 0)
    compare(run_gantry(model, feeds), [(np.flip(expected, axis) if reverse else expected).astype(x.dtype)])


def test_cumulative_product():
    x = positive(3, 4)
    model, feeds = node_model("CumProd", [x, np.array([1], np.int64)], [1], 26)
    compare(run_gantry(model, feeds), [np.cumprod(x, 1)])


@pytest.mark.parametrize("name", TEN_TYPES)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis, k", [(0, 1), (1, 3), (-1, 40), (-1, 5), (1, 0)])
def test_top_k(name, largest, axis, k):
    x = np.random.default_rng(1).integers(0, 9, (4, 5, 40)).astype(NUMPY_OF[name])
    model, feeds = node_model("TopK", [x, np.array([k], np.int64)], [element_type(x), 7], 24, {"axis": axis, "largest": largest})
    wide = x.astype(np.float64)
    places = np.argsort(-wide if largest else wide, axis=axis, kind="stable").take(range(k), axis)
    compare(run_gantry(model, feeds), [np.take_along_axis(x, places, axis), places])


def test_top_k_of_old_versions():
    x = np.random.default_rng(1).standard_normal((3, 9), np.float32)
    for opset, inputs, attributes in ((1, [x], {"k": 4}), (10, [x, np.array([4], np.int64)], {})):
        model, feeds = node_model("TopK", inputs, [1, 7], opset, attributes)
        places = np.argsort(-x, axis=1, kind="stable")[:, :4]
        compare(run_gantry(model, feeds), [np.take_along_axis(x, places, 1), places])


def test_top_k_orders_not_a_number():
    x = np.array([3, np.nan, 1, np.nan, 2], np.float32)
    model, feeds = node_model("TopK", [x, np.array([3], np.int64)], [1, 7], 11)
    assert run_gantry(model, feeds)[1].tolist() == [1, 3, 0]


@pytest.mark.parametrize("k", [-1, 6, 2**62, -2**63])
def test_top_k_refuses(k):
    model, feeds = node_model("TopK", [np.ones(5, np.float32), np.array([k], np.int64)], [1, 7], 11)
    with pytest.raises(gantry.Error, match="TopK"):
        run_gantry(model, feeds)
