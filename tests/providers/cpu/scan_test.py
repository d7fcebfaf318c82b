# SPDX-License-Identifier: Apache-2.0
"""Scan of every element type, in every version, along every axis and in both directions; and Loop's outputs, which are stacked in the same way.

What it computes is written down here in NumPy. ONNX Runtime has to agree where it runs; the reference evaluator knows neither directions nor axes.
"""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from oracle import element_type, run_ort, run_reference

import gantry

TYPES = ["string", "int64", "float32", "float16", "complex64", "bool", "int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float8_e4m3fn", "bfloat16"]
OF_ORT = ["string", "int64", "float32", "float16", "bool"]
FIRST_OPSET = {"bfloat16": 16, "float8_e4m3fn": 21, "int4": 21, "uint4": 21, "float4_e2m1fn": 23, "int2": 25, "uint2": 25}


def numbers(name, shape, start=0):
    """Values that differ as far as the type has so many."""
    counted = (np.arange(start, start + np.prod(shape, dtype=int)) * 5 + 1).reshape(shape)
    if name == "string":
        return np.array([f"text {i}" for i in counted.ravel()], object).reshape(shape)
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 3}.get(name)
    if bits:
        low = -(1 << bits - 1) if name.startswith("int") else 0
        counted = counted % (1 << bits) + low
        if name.startswith("float"):
            return counted.astype(np.uint8).view(dtype)  # by their codes
    return counted.astype(dtype) if dtype != bool else counted % 3 == 0


def value_info(name, like, shape=None):
    return helper.make_tensor_value_info(name, element_type(like), [None] * like.ndim if shape is None else shape)


def body(state, first, second, like):
    """The next state is what the first input has, turned around; the outputs are what the state was and the second input."""
    nodes = [helper.make_node("Transpose", ["first"], ["next"]), helper.make_node("Identity", ["state"], ["was"]), helper.make_node("Identity", ["second"], ["same"])]
    return helper.make_graph(nodes, "body", [value_info("state", like, state), value_info("first", like, first), value_info("second", like, second)],
                             [value_info("next", like, state), value_info("was", like, state), value_info("same", like, second)])


def model_of(state, x, z, opset, axes=(0, 0), lengths=None, **attributes):
    is_batched = opset == 8
    without = lambda whole, axis: tuple(np.delete(whole.shape, [0, 1] if is_batched else axis).tolist())  # noqa: E731
    feeds = {"s": state, "x": x, "z": z}
    names = ["", *feeds] if is_batched else list(feeds)
    if lengths:
        names[0], feeds = "lengths", {"lengths": np.array(lengths, np.int64), **feeds}
    if not is_batched:
        attributes["scan_input_axes"] = axes
    step = body(state.shape[is_batched:], without(x, axes[0]), without(z, axes[1]), x)
    node = helper.make_node("Scan", names, ["t", "y", "w"], name="scan", body=step, num_scan_inputs=2, **attributes)
    graph = helper.make_graph([node], "g", [value_info(name, array) for name, array in feeds.items()], [value_info("t", state), value_info("y", x), value_info("w", z)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13 if opset > 21 else 10), feeds


def scanned(state, x, z, axes=(0, 0), directions=(0, 0), output_axes=(0, 0), output_directions=(0, 0)):
    count = x.shape[axes[0]]
    order = [range(count)[::-1] if direction else range(count) for direction in directions]
    rows = ([], [])
    for t in range(count):
        first, second = np.take(x, order[0][t], axes[0]), np.take(z, order[1][t], axes[1])
        rows[0].append(state)
        rows[1].append(second)
        state = first.T
    return [state, *(np.stack(made[::-1] if direction else made, axis) for made, axis, direction in zip(rows, output_axes, output_directions, strict=True))]


def check(model, feeds, expected, oracle=None):
    session = gantry.Session(model, device="CPU")
    for _ in range(2):  # the second run finds the memory of the first
        for ours, wanted in zip(session.run(feeds).values(), expected, strict=True):
            assert ours.dtype == wanted.dtype and ours.shape == wanted.shape
            np.testing.assert_array_equal(ours, wanted)
    for wanted, other in zip(expected, oracle(model, feeds) if oracle else expected, strict=True):
        np.testing.assert_array_equal(wanted, other)


@pytest.mark.parametrize("directions", [(0, 0), (1, 0), (1, 1)])
@pytest.mark.parametrize("axes", [(0, 0), (1, 0), (2, 2), (-1, -2)])
@pytest.mark.parametrize("name", TYPES)
def test_axes_and_directions(name, axes, directions):
    """Slices of an odd number of elements, so that packed ones begin within a byte."""
    x = np.moveaxis(numbers(name, (4, 3, 5)), 0, axes[0])
    z = np.moveaxis(numbers(name, (4, 3, 1), 7), 0, axes[1])
    state = numbers(name, (5, 3), 2)
    attributes = {"scan_input_directions": directions, "scan_output_axes": axes[::-1], "scan_output_directions": directions[::-1]}
    model, feeds = model_of(state, x, z, FIRST_OPSET.get(name, 9), axes, **attributes)
    expected = scanned(state, x, z, axes, directions, axes[::-1], directions[::-1])
    check(model, feeds, expected, run_ort if name in OF_ORT else None)


@pytest.mark.parametrize("opset", [9, 11, 16, 19, 21, 23, 24, 25])
@pytest.mark.parametrize("name", ["string", "int4", "uint2"])
def test_versions(name, opset):
    if FIRST_OPSET.get(name, 0) > opset:
        opset = FIRST_OPSET[name]
    x, z, state = numbers(name, (4, 3, 5)), numbers(name, (4, 3, 1), 7), numbers(name, (5, 3), 2)
    model, feeds = model_of(state, x, z, opset)
    expected = scanned(state, x, z)
    check(model, feeds, expected, run_reference)


@pytest.mark.parametrize("lengths", [None, (4, 2, 3), (0, 4, 1), (0, 0, 0)])
@pytest.mark.parametrize("directions", [(0, 0), (1, 0)])
@pytest.mark.parametrize("name", ["string", "int64", "complex64", "bool"])
def test_batches(name, directions, lengths):
    """Version 8: a batch that is shorter than others is filled with zeros, or with empty strings."""
    x, z, state = numbers(name, (3, 4, 3, 5)), numbers(name, (3, 4, 3, 1), 7), numbers(name, (3, 5, 3), 2)
    model, feeds = model_of(state, x, z, 8, lengths=lengths, directions=directions)
    expected = [np.zeros(shape, x.dtype) for shape in ((3, 5, 3), (3, 4, 5, 3), (3, 4, 3, 1))]
    if name == "string":
        for array in expected:
            array[...] = ""
    for batch, count in enumerate(lengths or (4, 4, 4)):
        expected[0][batch] = state[batch]
        if count:
            made = scanned(state[batch], x[batch, :count], z[batch, :count], directions=directions)
            expected[0][batch], expected[1][batch, :count], expected[2][batch, :count] = made
    # ONNX Runtime takes no length of 0.
    check(model, feeds, expected, run_ort if name in OF_ORT and min(lengths or [1]) else None)


def test_no_batches():
    x, z, state = numbers("float32", (0, 4, 3, 5)), numbers("float32", (0, 4, 3, 1)), numbers("float32", (0, 5, 3))
    model, feeds = model_of(state, x, z, 8)
    found = gantry.Session(model, device="CPU").run(feeds)
    assert [found[name].shape for name in "tyw"] == [(0, 5, 3), (0, 4, 5, 3), (0, 4, 3, 1)]


@pytest.mark.parametrize("name", ["string", "int4", "float32"])
def test_over_nothing(name):
    x, z, state = numbers(name, (0, 3, 5)), numbers(name, (0, 3, 1)), numbers(name, (5, 3), 2)
    model, feeds = model_of(state, x, z, FIRST_OPSET.get(name, 11))
    found = gantry.Session(model, device="CPU").run(feeds)
    np.testing.assert_array_equal(found["t"], state)
    assert [found[name].shape for name in "yw"] == [(0, 5, 3), (0, 3, 1)]


def test_states_of_batches_that_grow_apart():
    """A state has one shape at the end, whatever the length of its batch."""
    step = helper.make_graph([helper.make_node("Concat", ["s", "r"], ["t"], axis=0)], "body", [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in "sr"],
                             [helper.make_tensor_value_info("t", TensorProto.FLOAT, [None])])
    node = helper.make_node("Scan", ["lengths", "s", "x"], ["t"], name="scan", body=step, num_scan_inputs=1)
    values = [helper.make_tensor_value_info("lengths", TensorProto.INT64, [None]), helper.make_tensor_value_info("s", TensorProto.FLOAT, [None, None]),
              helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, None, None])]
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("t", TensorProto.FLOAT, [None, None])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=10)
    session = gantry.Session(model, device="CPU")
    given = {"s": np.zeros((2, 1), np.float32), "x": np.ones((2, 3, 1), np.float32)}
    assert session.run({"lengths": np.int64([2, 2]), **given})["t"].shape == (2, 3)
    with pytest.raises(gantry.InvalidModelError, match=r"state 0 of batch 1 is float32\[4\], others have another shape"):
        session.run({"lengths": np.int64([2, 3]), **given})


@pytest.mark.parametrize("count", [0, 1, 2, 17, 40])
@pytest.mark.parametrize("name", TYPES)
def test_what_a_loop_stacks(name, count):
    """Elements of an odd number, more of them than memory is made for at first."""
    x, state = numbers(name, (3,), 4), numbers(name, (3,))
    nodes = [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["x"], ["u"]), helper.make_node("Identity", ["s"], ["y"])]
    step = helper.make_graph(nodes, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []), value_info("s", state)],
                             [helper.make_tensor_value_info("d", TensorProto.BOOL, []), value_info("u", state), helper.make_tensor_value_info("y", element_type(state), [3])])
    node = helper.make_node("Loop", ["n", "", "s"], ["t", "ys"], name="loop", body=step)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("n", TensorProto.INT64, []), value_info("s", state), value_info("x", x)], [value_info("t", x), value_info("ys", x, [None, None])])
    opset = FIRST_OPSET.get(name, 13)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13 if opset > 21 else 10)
    expected = [x if count else state, np.stack([state, *[x] * (count - 1)]) if count else np.empty((0, 3), x.dtype)]
    # ONNX Runtime 1.31 loses texts behind the first few.
    check(model, {"n": np.array(count), "s": state, "x": x}, expected, run_ort if name in OF_ORT and name != "string" else None)
