# SPDX-License-Identifier: Apache-2.0
"""Pools over windows and whole planes: ranks, pads, strides, dilations, ceil_mode, indices, element types."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import gantry
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle
from pool_cases import CEILED, DILATED, WINDOWS

FLOATS = ["float", "double", "float16", "bfloat16"]


def random(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def check(op_type, x, attributes, opset, outputs=1, rtol=1e-5, atol=1e-6):
    types = [element_type(x), 7][:outputs]
    model, feeds = node_model(op_type, [x], types, opset, attributes)
    compare(run_gantry(model, feeds), run_oracle(model, feeds), rtol, atol)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("case", WINDOWS | CEILED | DILATED)
def test_max_pool(case, outputs):
    shape, attributes = (WINDOWS | CEILED | DILATED)[case]
    check("MaxPool", random(*shape), attributes, 12, outputs)


@pytest.mark.parametrize("storage_order", [0, 1])
def test_max_pool_storage_order(storage_order):
    check("MaxPool", random(2, 3, 9, 8), {"kernel_shape": [2, 2], "storage_order": storage_order}, 12, 2)


@pytest.mark.parametrize("name", FLOATS + ["int8", "uint8"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_max_pool_types(name, outputs):
    x = (random(1, 3, 10, 11) * 40).astype(np.int8).astype(NUMPY_OF[name])
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    model, feeds = node_model("MaxPool", [x], [element_type(x), 7][:outputs], 22, attributes)
    wide, wide_feeds = node_model("MaxPool", [x.astype(np.float32)], [1, 7][:outputs], 12, attributes)
    expected = run_oracle(wide, wide_feeds)
    expected[0] = expected[0].astype(x.dtype)
    compare(run_gantry(model, feeds), expected)


@pytest.mark.parametrize("opset", [1, 8, 10, 11])
def test_max_pool_of_old_versions(opset):
    check("MaxPool", random(1, 3, 9, 9), {"kernel_shape": [3, 3], "strides": [2, 2]}, opset)


@pytest.mark.parametrize("counts_pads", [0, 1])
@pytest.mark.parametrize("case", WINDOWS | CEILED)
def test_average_pool(case, counts_pads):
    shape, attributes = (WINDOWS | CEILED)[case]
    check("AveragePool", random(*shape), attributes | {"count_include_pad": counts_pads}, 19, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("counts_pads", [0, 1])
def test_average_pool_dilated(counts_pads):
    shape, attributes = DILATED["dilated"]
    check("AveragePool", random(*shape), attributes | {"count_include_pad": counts_pads, "pads": [2, 1, 0, 3]}, 19,
          rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("case", ["square", "strided", "padded", "one_axis", "three_axes"])
def test_lp_pool(case, p):
    shape, attributes = WINDOWS[case]
    check("LpPool", random(*shape), attributes | {"p": p}, 11, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op_type, attributes", [("AveragePool", {"kernel_shape": [3, 2]}), ("LpPool", {"kernel_shape": [3, 2]}),
                                                 ("GlobalAveragePool", {}), ("GlobalMaxPool", {}), ("GlobalLpPool", {})])
def test_float_types(op_type, attributes, name):
    x = random(2, 3, 7, 8).astype(NUMPY_OF[name])
    model, feeds = node_model(op_type, [x], [element_type(x)], 22, attributes)
    wide, wide_feeds = node_model(op_type, [x.astype(np.float32)], [1], 18, attributes)
    expected = run_oracle(wide, wide_feeds)[0].astype(x.dtype)
    tolerance = {"float": 1e-5, "double": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}[name]
    compare(run_gantry(model, feeds), [expected], tolerance, tolerance)


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(2, 3, 50), (1, 70, 7, 7), (2, 2, 3, 4, 5)])
def test_global_pool(op_type, shape):
    check(op_type, random(*shape), {}, 1, rtol=1e-4)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_lp_pool(p):
    check("GlobalLpPool", random(2, 3, 6, 7), {"p": p}, 2, rtol=1e-4)


def test_max_of_nothing_and_not_a_number():
    x = random(1, 1, 4, 4)
    x[0, 0, 1, 1] = np.nan
    model, feeds = node_model("MaxPool", [x], [1], 12, {"kernel_shape": [2, 2], "strides": [2, 2]})
    y = run_gantry(model, feeds)[0]
    assert np.isnan(y[0, 0, 0, 0]) and np.isfinite(y[0, 0, 1]).all()


@pytest.mark.parametrize("attributes", [{"kernel_shape": [3]}, {"kernel_shape": [0, 1]}, {"kernel_shape": [9, 9]},
                                        {"kernel_shape": [2**62, 1]}, {"kernel_shape": [2, 2], "strides": [0, 0]},
                                        {"kernel_shape": [2, 2], "pads": [1]}])
def test_refuses(attributes):
    model, feeds = node_model("MaxPool", [random(1, 1, 5, 5)], [1], 12, attributes)
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        dim.Clear()
    with pytest.raises(gantry.Error):
        run_gantry(model, feeds)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("taps", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
def test_rows_of_any_width(op_type, taps, stride):
    """Vectors of every length and what is left of them."""
    for width in [*range(taps, 24), 31, 33, 48, 70, 71]:
        check(op_type, random(1, 2, 3, width), {"kernel_shape": [2, taps], "strides": [1, stride], "pads": [0, taps // 2, 0, 0]}, 22 if op_type == "LpPool" else 12)


@pytest.mark.parametrize("width", [7, 40])
def test_max_pool_hands_nan_on(width):
    """To every window that has one, and to no other."""
    for at in (0, 3, width - 1):
        x = random(1, 1, 2, width)
        x[0, 0, 1, at] = np.nan
        for stride in (1, 2):
            attributes = {"kernel_shape": [2, 3], "strides": [1, stride], "pads": [0, 1, 0, 1]}
            (y,) = run_gantry(*node_model("MaxPool", [x], [1], 12, attributes))
            windows = range(-1, width - 1, stride)
            expected = [any(o + k == at for k in range(3)) for o in windows][: y.shape[3]]
            np.testing.assert_array_equal(np.isnan(y[0, 0, 0]), expected)


@pytest.mark.parametrize("extent, kernel, stride, pads", [(2, 1, 2, (0, 1)), (4, 2, 3, (0, 2)), (5, 1, 3, (0, 2)), (3, 2, 2, (1, 1)), (6, 3, 1, (2, 3)), (3, 1, 1, (0, 3))])
def test_no_window_begins_in_the_padding_behind(extent, kernel, stride, pads):
    """With ceil_mode; of a window that begins there, nothing is in the input."""
    x = random(1, 3, extent)
    starts = range(-pads[0], extent, stride)
    last = -(-(extent + sum(pads) - kernel) // stride) + 1
    expected = np.stack([x[..., max(start, 0) : max(start + kernel, 0)].max(-1, initial=-np.inf) for start in list(starts)[:last]], -1)
    model, feeds = node_model("MaxPool", [x], [1], 12, {"kernel_shape": [kernel], "strides": [stride], "pads": list(pads), "ceil_mode": 1})
    compare(run_gantry(model, feeds), [expected])


@pytest.mark.parametrize("op_type", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("is_open", [False, True])
def test_the_first_window_may_reach_behind_the_input(op_type, is_open):
    """With ceil_mode, by less than a stride."""
    x = random(1, 2, 2, 9)
    attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}
    shape = [None] * 4 if is_open else x.shape
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"], **attributes)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    compare(gantry.Session(model.SerializeToString(), device="CPU").run({"x": x})["y"], run_oracle(model, {"x": x})[0])


@pytest.mark.parametrize("op_type, opset", [("AveragePool", 11), ("AveragePool", 19), ("MaxPool", 12), ("LpPool", 18), ("AveragePool", 22), ("MaxPool", 22), ("LpPool", 22)])
@pytest.mark.parametrize("extent, kernel, stride, pads", [(6, 1, 2, (0, 0)), (5, 2, 2, (1, 1)), (4, 2, 3, (0, 1)), (7, 3, 2, (1, 1)), (8, 3, 2, (0, 0)), (6, 3, 3, (2, 2))])
def test_shapes_are_inferred_without_windows_in_the_padding(op_type, opset, extent, kernel, stride, pads):
    """So that what reads the result may know its extents: the product's weights are as ONNX Runtime would have them."""
    attributes = {"kernel_shape": [kernel], "strides": [stride], "pads": list(pads), "ceil_mode": 1}
    if op_type == "LpPool":
        attributes["p"] = 2
    x = random(1, 2, extent)
    starts = range(-pads[0], extent, stride)
    windows = min(len(starts), -(-(extent + sum(pads) - kernel) // stride) + 1)
    weights = random(windows, 3)
    nodes = [helper.make_node(op_type, ["x"], ["a"], **attributes), helper.make_node("MatMul", ["a", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("a", "y")], [numpy_helper.from_array(weights, "w")])
    session = gantry.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString(), device="CPU")
    found = session.run({"x": x})
    assert [list(output.shape) for output in session.outputs] == [[1, 2, windows], [1, 2, 3]] == [list(found[name].shape) for name in ("a", "y")]
    np.testing.assert_allclose(found["y"], found["a"] @ weights, rtol=1e-4, atol=1e-5)
