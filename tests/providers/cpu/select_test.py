# SPDX-License-Identifier: Apache-2.0
"""Operators that keep, order or place elements: numpy or ONNX Runtime is the oracle."""

import numpy as np
import onnx.defs
import pytest
from onnx import TensorProto
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_ort

NEWEST = 25


def types_of(op_type, slot=0):
    allowed = onnx.defs.get_schema(op_type, NEWEST).inputs[slot].types
    return pytest.mark.parametrize("type_name", [name for name in sorted(NUMPY_OF) if f"tensor({name})" in allowed])


def elements(type_name, shape, seed=0):
    values = np.random.default_rng(seed).integers(0, 3, shape)
    if type_name == "string":
        return np.array(["", "b", "\u00e9a"], dtype=object)[values]
    return values.astype(NUMPY_OF[type_name])


def check(op_type, inputs, expected, opset=NEWEST, attributes=None):
    expected = expected if isinstance(expected, list) else [expected]
    model, feeds = node_model(op_type, inputs, [element_type(e) for e in expected], opset, attributes)
    compare(run_gantry(model, feeds), expected, 0, 0)


@types_of("Compress")
def test_compress(type_name):
    x = elements(type_name, (3, 4, 2))
    keeps = np.array([True, False, True])
    check("Compress", [x, keeps], x[:, [0, 2]], attributes={"axis": 1})
    check("Compress", [x, keeps], x.reshape(-1)[[0, 2]])
    check("Compress", [x, np.zeros(2, bool)], x[:0], attributes={"axis": -3})


@types_of("NonZero")
def test_non_zero(type_name):
    x = elements(type_name, (3, 4, 2))
    expected = np.array(np.nonzero(x != "" if type_name == "string" else x), dtype=np.int64)
    check("NonZero", [x], expected)


def test_non_zero_of_special_floats():
    x = np.array([0.0, -0.0, np.nan, 1e-45], np.float32)
    check("NonZero", [x], np.array([[2, 3]], np.int64))
    check("NonZero", [np.array(3.0, np.float32)], np.array([[0]], np.int64))
    check("NonZero", [np.zeros((2, 0), np.float32)], np.zeros((2, 0), np.int64))


@types_of("OneHot", 2)
def test_one_hot_values(type_name):
    values = elements(type_name, (2,), 1)
    if type_name == "string":
        values = np.array(["off", "on"], dtype=object)
    indices = np.array([[1, -1], [5, 0]], np.int64)
    place = np.array([[1, 2], [-1, 0]])[..., None] == np.arange(3)
    expected = values[place.astype(int)]
    check("OneHot", [indices, np.array(3, np.int64), values], expected)
    check("OneHot", [indices, np.array([3], np.float32), values], np.moveaxis(expected, -1, 0), attributes={"axis": 0})
    check("OneHot", [indices, np.array(3, np.uint8), values], np.moveaxis(expected, -1, 1), 9, {"axis": -2})


@pytest.mark.parametrize("type_name", ["float", "double", "float16", "int8", "uint64", "int32"])
def test_one_hot_indices(type_name):
    indices = np.array([0, 2, 7], dtype=NUMPY_OF[type_name])
    expected = (np.array([0, 2, 7])[:, None] == np.arange(4)).astype(np.float32)
    check("OneHot", [indices, np.array(4, np.int64), np.array([0, 1], np.float32)], expected)


@types_of("ReverseSequence")
def test_reverse_sequence(type_name):
    x = elements(type_name, (4, 3, 2))
    lengths = np.array([4, 0, 2], np.int64)
    expected = x.copy()
    for batch, length in enumerate(lengths):
        expected[:length, batch] = expected[:length, batch][::-1]
    check("ReverseSequence", [x, lengths], expected)
    swapped = {"batch_axis": 0, "time_axis": 1}
    check("ReverseSequence", [np.ascontiguousarray(x.swapaxes(0, 1)), lengths], expected.swapaxes(0, 1), attributes=swapped)


@types_of("Trilu")
@pytest.mark.parametrize("diagonal", [None, -2, 0, 1, 2**62, -(2**63)])
def test_trilu(type_name, diagonal):
    x = elements(type_name, (2, 3, 4), 7)
    k = 0 if diagonal is None else max(-9, min(9, diagonal))
    rows, columns = np.arange(3)[:, None], np.arange(4)[None]
    zero = "" if type_name == "string" else np.zeros((), x.dtype)
    inputs = [x] if diagonal is None else [x, np.array(diagonal, np.int64)]
    check("Trilu", inputs, np.where(columns - rows >= k, x, zero).astype(x.dtype))
    check("Trilu", inputs, np.where(columns - rows <= k, x, zero).astype(x.dtype), attributes={"upper": 0})


@types_of("Unique")
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(type_name, is_sorted):
    x = elements(type_name, (4, 3), 2)
    for axis in (None, 0, 1):
        rows = [tuple(row) for row in (x.reshape(-1, 1) if axis is None else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1))]
        key = lambda row: [(v.real, v.imag) if "complex" in type_name else v for v in row]
        distinct = list(dict.fromkeys(rows))
        if is_sorted:
            distinct.sort(key=key)
        firsts = [rows.index(row) for row in distinct]
        inverse = [distinct.index(row) for row in rows]
        counts = [rows.count(row) for row in distinct]
        values = x.reshape(-1)[firsts] if axis is None else np.take(x, firsts, axis)
        expected = [values] + [np.array(v, np.int64) for v in (firsts, inverse, counts)]
        attributes = {"sorted": is_sorted, **({} if axis is None else {"axis": axis})}
        check("Unique", [x], expected, attributes=attributes)


def test_unique_has_one_nan():
    x = np.array([np.nan, 1, np.nan, -1], np.float32)
    model, feeds = node_model("Unique", [x], [TensorProto.FLOAT], 11)
    compare(run_gantry(model, feeds), [np.array([-1, 1, np.nan], np.float32)])


@pytest.mark.parametrize("is_center", [0, 1])
@pytest.mark.parametrize("limits", [(3, 0.5, 0.3), (100, 0.2, None), (0, 0.5, 0.0), (2, 0.0, -1.0), (5, None, None)])
def test_non_max_suppression(is_center, limits):
    rng = np.random.default_rng(11)
    boxes = rng.random((2, 40, 4)).astype(np.float32)
    scores = np.round(rng.random((2, 3, 40)), 1).astype(np.float32)
    most, overlap, minimum = limits
    inputs = [boxes, scores, np.array([most], np.int64)]
    if overlap is not None:
        inputs.append(np.array([overlap], np.float32))
    if minimum is not None:
        inputs.append(np.array([minimum], np.float32))
    model, feeds = node_model("NonMaxSuppression", inputs, [TensorProto.INT64], 11, {"center_point_box": is_center})
    compare(run_gantry(model, feeds), run_ort(model, feeds), 0, 0)
