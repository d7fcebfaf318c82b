# SPDX-License-Identifier: Apache-2.0
"""Scatters, in every type and reduction: numpy's unbuffered ufuncs are the oracle."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry

MOVED = sorted(set(NUMPY_OF) - {name for name in NUMPY_OF if "float8" in name or name.endswith(("4", "2")) and "int" in name}
               - {"float4e2m1", "float6e2m3", "float6e3m2"} | {"int32", "uint32", "int64", "uint64"})
REDUCED = [name for name in MOVED if name not in ("string", "bool", "complex64", "complex128")]


def elements(type_name, shape, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, shape)
    if type_name == "string":
        return values.astype(str).astype(object)
    return values.astype(np.float32).astype(NUMPY_OF[type_name])


def apply(reduction, target, place, update):
    old = target[place]
    if reduction == "none":
        target[place] = update
    elif reduction == "add":
        target[place] = old + update
    elif reduction == "mul":
        target[place] = old * update
    else:
        target[place] = min(old, update) if reduction == "min" else max(old, update)


def scatter_elements(data, indices, updates, axis, reduction):
    result = data.copy()
    for place in np.ndindex(*indices.shape):
        target = list(place)
        target[axis] = int(indices[place])
        apply(reduction, result, tuple(target), updates[place])
    return result


def check(op_type, inputs, expected, opset, attributes):
    model, feeds = node_model(op_type, inputs, [element_type(expected)], opset, attributes)
    compare(run_gantry(model, feeds), [expected], 0, 0)


@pytest.mark.parametrize("type_name", MOVED)
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_scatter_elements_moves_every_type(type_name, index_type):
    data, updates = elements(type_name, (3, 4), 1), elements(type_name, (2, 3), 2)
    indices = np.array([[0, -1, 2], [1, 1, 3]], dtype=index_type)
    expected = scatter_elements(data, indices, updates, 1, "none")
    check("ScatterElements", [data, indices, updates], expected, 18, {"axis": 1})
    if type_name != "bfloat16":
        check("Scatter", [data, indices, updates], expected, 9, {"axis": 1})
        check("ScatterElements", [data, indices, updates], expected, 11, {"axis": -1})


@pytest.mark.parametrize("type_name", REDUCED)
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_reductions(type_name, reduction):
    data, updates = elements(type_name, (3, 4), 3), elements(type_name, (3, 4), 4)
    indices = np.random.default_rng(5).integers(-3, 3, (3, 4))
    expected = scatter_elements(data, indices, updates, 0, reduction).astype(data.dtype)
    check("ScatterElements", [data, indices, updates], expected, 18, {"reduction": reduction})
    rows = np.array([[2], [0], [2]], dtype=np.int64)
    expected = data.copy()
    for row, update in zip(rows[:, 0], updates):
        for column in range(4):
            apply(reduction, expected, (row, column), update[column])
    check("ScatterND", [data, rows, updates], expected, 18, {"reduction": reduction})


@pytest.mark.parametrize("op_type", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", ["add", "min", "max"])
def test_reductions_of_strings(op_type, reduction):
    """As Python's +, min and max: joined, or compared code point by code point."""
    data = np.array(["b", "", "\u00e9", "ab"], object)
    updates = np.array(["a", "z", "zz", "", "\U0001f600", "abc"], object)
    indices = np.array([0, 1, 2, 3, -2, 3], np.int64)
    expected = scatter_elements(data, indices, updates, 0, reduction)
    assert {"add": "ababc", "min": "", "max": "abc"}[reduction] == expected[3]
    check(op_type, [data, indices if op_type == "ScatterElements" else indices[:, None], updates], expected, 18, {"reduction": reduction})


@pytest.mark.parametrize("op_type", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_reductions_of_complex_numbers(op_type, dtype, reduction):
    """The larger is the one with the larger real part, of equal ones the one with the larger imaginary part, as in NumPy."""
    rng = np.random.default_rng(9)
    data, updates = ((rng.integers(0, 3, 12) + 1j * rng.integers(-2, 3, 12)).astype(dtype) for _ in range(2))
    data[3] = complex(np.nan, 1)
    indices = rng.permutation(12)
    expected = data.copy()
    ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduction]
    ufunc.at(expected, indices, updates)
    check(op_type, [data, indices if op_type == "ScatterElements" else indices[:, None], updates], expected, 18, {"reduction": reduction})


def test_a_product_of_strings_is_refused():
    import gantry

    text = np.array(["a"], object)
    model, feeds = node_model("ScatterElements", [text, np.zeros(1, np.int64), text], [TensorProto.STRING], 18, {"reduction": "mul"})
    with pytest.raises(gantry.UnsupportedError, match="reduction \"mul\" of strings is not defined"):
        run_gantry(model, feeds)


@pytest.mark.parametrize("type_name", MOVED)
def test_scatter_nd_moves_every_type(type_name):
    data, updates = elements(type_name, (3, 2, 4), 6), elements(type_name, (2, 4), 7)
    indices = np.array([[0, -1], [2, 0]], dtype=np.int64)
    expected = data.copy()
    expected[0, 1], expected[2, 0] = updates
    check("ScatterND", [data, indices, updates], expected, 18, {})


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(mode):
    cache, update = elements("float", (2, 3, 4, 2), 8), elements("float", (2, 3, 2, 2), 9)
    starts = np.array([1, 3 if mode == "circular" else 2], dtype=np.int64)
    expected = cache.copy()
    for sample in range(2):
        for step in range(2):
            expected[sample, :, (starts[sample] + step) % 4] = update[sample, :, step]
    check("TensorScatter", [cache, update, starts], expected, 24, {"mode": mode})


def test_one_value_as_data_indices_and_updates():
    x = np.array([2, 0, 1], np.int64)
    nodes = [
        helper.make_node("Concat", ["given"], ["x"], axis=0),
        helper.make_node("ScatterElements", ["x", "x", "x"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("given", TensorProto.INT64, [3])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    expected = np.empty(3, np.int64)
    expected[x] = x
    compare(run_gantry(model, {"given": x}), [expected], 0, 0)


@pytest.mark.parametrize("index", [3, -4, 2**40])
def test_an_index_outside_is_an_error(index):
    import gantry

    data = elements("float", (3,), 1)
    for op_type, indices in (("ScatterElements", [index]), ("ScatterND", [[index]])):
        model, feeds = node_model(op_type, [data, np.array(indices, np.int64), data[:1]], [1], 18)
        with pytest.raises(gantry.Error, match="index"):
            run_gantry(model, feeds)
