# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors of gantry.onnxruntime against ONNX Runtime's."""

import importlib

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import gantry
import gantry.onnxruntime

CPU = ["CPUExecutionProvider"]
VALUES = np.float32([1, 2, 3])
COO = np.array([[0, 3], [1, 1], [3, 0]])
INNER, OUTER = np.array([3, 1, 0]), np.array([0, 1, 2, 2, 3])


@pytest.fixture(params=["gantry.onnxruntime", "onnxruntime"])
def ort(request):
    return importlib.import_module(request.param)


def coo(ort, values=VALUES, indices=COO, shape=(4, 5), device="cpu"):
    return ort.SparseTensor.sparse_coo_from_numpy(list(shape), values, indices, ort.OrtDevice.make(device, 0))


def csr(ort, values=VALUES, inner=INNER, outer=OUTER, shape=(4, 5)):
    return ort.SparseTensor.sparse_csr_from_numpy(list(shape), values, inner, outer, ort.OrtDevice.make("cpu", 0))


def described(tensor):
    return tensor.format().name, list(tensor.dense_shape()), tensor.data_type(), tensor.device_name(), tensor.values().tolist()


@pytest.mark.parametrize("values", [VALUES, np.arange(3), np.array(["a", "b", "c"])])
def test_keep_what_they_are_made_of(values):
    for make in (coo, csr):
        ours, theirs = make(gantry.onnxruntime, values), make(onnxruntime, values)
        assert described(ours) == described(theirs)
    linear = coo(gantry.onnxruntime, values, np.array([3, 5, 15]))
    for view, array in [(coo(gantry.onnxruntime, values).as_coo_view().indices(), COO), (linear.as_coo_view().indices(), [3, 5, 15]),
                        (csr(gantry.onnxruntime, values).as_csrc_view().inner(), INNER), (csr(gantry.onnxruntime, values).as_csrc_view().outer(), OUTER)]:
        np.testing.assert_array_equal(view, array)
        assert not view.flags.writeable


@pytest.mark.parametrize("transposes", [{}, {"transA": 1}, {"transB": 1}, {"transA": 1, "transB": 1}])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("make", [coo, csr])
def test_a_model_that_takes_one(make, alpha, transposes):
    """Of square matrices: ONNX Runtime's inference of shapes does not see the transposes."""
    node = helper.make_node("SparseToDenseMatMul", ["a", "b"], ["y"], domain="com.microsoft", alpha=alpha, **transposes)
    inputs = [helper.make_value_info("a", helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [4, 4])), helper.make_tensor_value_info("b", 1, [4, 4])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", 1, [4, 4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    b = np.random.default_rng(0).random((4, 4), np.float32)
    results = []
    for ort in (gantry.onnxruntime, onnxruntime):
        session = ort.InferenceSession(model.SerializeToString(), providers=CPU)
        feeds = {"a": ort.OrtValue.ort_value_from_sparse_tensor(make(ort, shape=(4, 4))), "b": ort.OrtValue.ortvalue_from_numpy(b)}
        (y,) = session.run_with_ort_values(["y"], feeds)
        results.append(y.numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_an_output_that_is_sparse(ort):
    sparse = helper.make_sparse_tensor(helper.make_tensor("s", 1, [3], [1, 2, 3]), helper.make_tensor("", 7, [3], [2, 3, 5]), [3, 3])
    output = helper.make_value_info("s", helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [3, 3]))
    graph = helper.make_graph([], "g", [], [output], sparse_initializer=[sparse])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (value,) = ort.InferenceSession(model.SerializeToString(), providers=CPU).run_with_ort_values(["s"], {})
    tensor = value.as_sparse_tensor()
    assert described(tensor) == ("ORT_SPARSE_COO", [3, 3], "sparse_tensor(float)", "cpu", [1, 2, 3])
    np.testing.assert_array_equal(tensor.as_coo_view().indices(), [2, 3, 5])


def test_an_ort_value_of_one(ort):
    value = ort.OrtValue.ort_value_from_sparse_tensor(coo(ort))
    assert (value.is_sparse_tensor(), value.is_tensor(), value.data_type()) == (True, False, "sparse_tensor(float)")
    assert described(value.as_sparse_tensor()) == described(coo(onnxruntime))
    with pytest.raises(RuntimeError):
        value.as_sparse_tensor().as_csrc_view()
    with pytest.raises(RuntimeError):
        value.as_sparse_tensor().to_cuda(ort.OrtDevice.make("cuda", 0))


@pytest.mark.parametrize("make, message", [
    (lambda ort: coo(ort, indices=np.array([0, 20, 1])), r"coo_indices: expected positions in \[4, 5\]"),
    (lambda ort: coo(ort, indices=np.array([[0, 5], [1, 1], [3, 0]])), "coo_indices: expected positions"),
    (lambda ort: coo(ort, indices=np.array([0, -1, 1])), "coo_indices: expected positions"),
    (lambda ort: coo(ort, indices=COO.astype(np.int32)), "coo_indices: expected a numpy array of int64, found int32"),
    (lambda ort: coo(ort, indices=np.arange(4)), r"coo_indices: expected \[3\], or \[3, 2\] for a matrix, found \[4\]"),
    (lambda ort: coo(ort, values=VALUES[None]), r"values: expected a numpy array with one axis, found \[1, 3\]"),
    (lambda ort: coo(ort, shape=(-4, 5)), "dense_shape: expected extents from 0"),
    (lambda ort: coo(ort, device="cuda"), "expected the device cpu, found OrtDevice"),
    (lambda ort: csr(ort, inner=np.array([3, 5, 0])), "inner_indices: expected columns below 5"),
    (lambda ort: csr(ort, outer=np.array([0, 1, 2, 3])), r"outer_indices: expected \[5\], found \[4\]"),
    (lambda ort: csr(ort, outer=np.array([0, 2, 1, 2, 3])), "outer_indices: expected numbers that go up from 0 to 3"),
    (lambda ort: csr(ort, outer=np.array([0, 1, 2, 2, 4])), "outer_indices: expected numbers that go up from 0 to 3"),
    (lambda ort: csr(ort, shape=(4, 5, 1)), "dense_shape: expected that of a matrix"),
])
def test_parts_that_do_not_fit_are_refused(make, message):
    with pytest.raises(gantry.Error, match=message):
        make(gantry.onnxruntime)


def test_text_and_empty_ones_become_dense():
    words = gantry.onnxruntime.OrtValue.ort_value_from_sparse_tensor(coo(gantry.onnxruntime, np.array(["a", "b", "c"])))
    assert words.value[1].tolist() == ["", "b", "", "", ""]
    nothing = coo(gantry.onnxruntime, VALUES[:0], np.zeros((0, 2), np.int64), (0, 5))
    assert nothing.dense().shape == (0, 5)
