# SPDX-License-Identifier: Apache-2.0
"""Valid models that the onnx library's inference refuses, gets wrong or does not survive."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gantry


def run(node, feeds, constants=(), shapes=None, opset=21):
    """The node's output y. shapes: of inputs whose extents are declared otherwise than they are."""
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), (shapes or {}).get(name, array.shape)) for name, array in feeds.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")], [numpy_helper.from_array(array, name) for name, array in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return gantry.Session(model.SerializeToString(), device="CPU").run(feeds)["y"]


@pytest.mark.parametrize("start, step", [(0, 2**63 - 1), (0, -(2**63 - 1)), (0, 3_000_000_000), (1, 2**31 - 1), (0, 2**32), (0, 2**40 + 1), (3, -(2**32))])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_slice_with_a_long_step(start, step, dtype):
    x = np.arange(4, dtype=dtype)
    end = 2**63 - 1 if step > 0 else -(2**63)
    constants = {name: np.array([value]) for name, value in (("s", start), ("e", end), ("a", 0), ("t", step))}
    np.testing.assert_array_equal(run(helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"]), {"x": x}, constants), x[start : start + 1])


@pytest.mark.parametrize("step", [2**31 - 1, 2**32 + 1, 2])
def test_slice_of_a_shape(step):
    x = np.zeros((2, 3, 4, 5), np.float32)
    constants = {"s": np.array([1]), "e": np.array([9]), "a": np.array([0]), "t": np.array([step])}
    nodes = [helper.make_node("Shape", ["x"], ["d"]), helper.make_node("Slice", ["d", "s", "e", "a", "t"], ["p"]), helper.make_node("ConstantOfShape", ["p"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], [onnx.ValueInfoProto(name="y")],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert gantry.Session(model.SerializeToString(), device="CPU").run({"x": x})["y"].shape == x.shape[1:9:step]


@pytest.mark.parametrize("length", [None, "L"])
def test_resize_to_sizes_whose_number_is_open(length):
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    y = run(helper.make_node("Resize", ["x", "", "", "s"], ["y"]), {"x": x, "s": np.array([1, 1, 2, 8])}, shapes={"s": [length]})
    np.testing.assert_array_equal(y, x.repeat(2, 2).repeat(2, 3))


def test_conv_transpose_to_less_than_its_input():
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)
    y = run(helper.make_node("ConvTranspose", ["x", "w"], ["y"], output_shape=[4]), {"x": x}, {"w": np.ones((1, 1, 1), np.float32)})
    np.testing.assert_array_equal(y, [[[2, 3, 4, 5]]])


@pytest.mark.parametrize("shape", [["N", "C"], [None, None], [1, None]])
def test_string_normalizer_of_rows_whose_number_is_open(shape):
    x = np.array([["monday", "tuesday"]], object)
    node = helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER", stopwords=["tuesday"], is_case_sensitive=1)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, shape)], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert gantry.Session(model.SerializeToString(), device="CPU").run({"x": x})["y"].tolist() == [["MONDAY"]]
