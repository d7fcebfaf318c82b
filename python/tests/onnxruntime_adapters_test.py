# SPDX-License-Identifier: Apache-2.0
"""Adapters (LoRA) of gantry.onnxruntime: files that ONNX Runtime reads and writes, and runs with them."""

import importlib

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gantry
import gantry.onnxruntime

CPU = ["CPUExecutionProvider"]
MODULES = [gantry.onnxruntime, onnxruntime]
X = np.ones((4, 4), np.float32)
A, B = np.float32([[3], [4], [5], [6]]), np.float32([[7, 8, 9, 10]])


@pytest.fixture(params=["gantry.onnxruntime", "onnxruntime"])
def ort(request):
    return importlib.import_module(request.param)


def export(ort, file, **arrays):
    adapter = ort.AdapterFormat()
    adapter.set_adapter_version(3)
    adapter.set_model_version(7)
    adapter.set_parameters({name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
    adapter.export_adapter(str(file))


def model():
    """y = x w + x a b, where a and b are empty if a run gives none."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("MatMul", ["x", "a"], ["xa"]),
             helper.make_node("MatMul", ["xa", "b"], ["xab"]), helper.make_node("Add", ["xw", "xab"], ["y"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in [("x", [4, 4]), ("a", [4, "rank"]), ("b", ["rank", 4])]]
    weights = {"w": np.arange(16, dtype=np.float32).reshape(4, 4), "a": np.zeros((4, 0), np.float32), "b": np.zeros((0, 4), np.float32)}
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def run_with(ort, file, feed):
    adapter = ort.LoraAdapter()
    adapter.Load(str(file))
    options = ort.RunOptions()
    options.add_active_adapter(adapter)
    return ort.InferenceSession(model(), providers=CPU).run(None, feed, options)[0]


@pytest.mark.parametrize("writer", MODULES)
@pytest.mark.parametrize("reader", MODULES)
def test_what_one_writes_the_other_reads(tmp_path, writer, reader):
    arrays = {"f": A, "i": np.arange(10).reshape(2, 5), "h": A.astype(np.float16), "none": np.zeros((0, 3), np.int8)}
    export(writer, tmp_path / "adapter", **arrays)
    adapter = reader.AdapterFormat.read_adapter(str(tmp_path / "adapter"))
    assert (adapter.get_format_version(), adapter.get_adapter_version(), adapter.get_model_version()) == (1, 3, 7)
    found = adapter.get_parameters()
    assert sorted(found) == sorted(arrays)
    for name, array in arrays.items():
        assert found[name].data_type() == onnxruntime.OrtValue.ortvalue_from_numpy(array).data_type()
        np.testing.assert_array_equal(found[name].numpy(), array)


def test_runs_take_its_tensors(ort, tmp_path):
    export(ort, tmp_path / "adapter", a=A, b=B)
    np.testing.assert_array_equal(run_with(ort, tmp_path / "adapter", {"x": X}), X @ np.arange(16, dtype=np.float32).reshape(4, 4) + X @ A @ B)


def test_they_come_before_what_the_run_gives(ort, tmp_path):
    export(ort, tmp_path / "adapter", a=A, b=B)
    np.testing.assert_array_equal(run_with(ort, tmp_path / "adapter", {"x": X, "b": 2 * B}), X @ np.arange(16, dtype=np.float32).reshape(4, 4) + X @ A @ B)


def test_a_bound_run_warns(tmp_path):
    export(gantry.onnxruntime, tmp_path / "adapter", a=A, b=B)
    adapter, options = gantry.onnxruntime.LoraAdapter(), gantry.onnxruntime.RunOptions()
    adapter.Load(tmp_path / "adapter")
    options.add_active_adapter(adapter)
    session = gantry.onnxruntime.InferenceSession(model(), providers=CPU)
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    with pytest.warns(UserWarning, match="no effect of the active adapters"):
        session.run_with_iobinding(binding, options)


def test_broken_files_are_refused(tmp_path):
    file = tmp_path / "adapter"
    with pytest.raises(gantry.NotFoundError, match="adapter"):
        gantry.onnxruntime.AdapterFormat.read_adapter(file)
    export(gantry.onnxruntime, file, a=A, b=B)
    whole = file.read_bytes()
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(gantry.InvalidModelError, match="expected an adapter"):
        gantry.onnxruntime.AdapterFormat.read_adapter(file)
    for length in range(8, len(whole) - 8, 4):
        file.write_bytes(whole[:length])
        with pytest.raises(gantry.InvalidModelError, match="not a whole one"):
            gantry.onnxruntime.AdapterFormat.read_adapter(file)
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            gantry.onnxruntime.AdapterFormat.read_adapter(file)
        except gantry.InvalidModelError as error:
            assert str(file) in str(error)


def test_elements_are_aligned_in_the_file(tmp_path):
    """To 8 bytes, wherever names and other elements end: who maps the file reads them in place."""
    for length in range(1, 9):
        export(gantry.onnxruntime, tmp_path / "adapter", **{"n" * length: np.arange(length, dtype=np.uint8), "b": B})
        assert (tmp_path / "adapter").read_bytes().index(B.tobytes()) % 8 == 0


def test_text_is_refused(tmp_path):
    with pytest.raises(gantry.UnsupportedError, match="parameter words: expected numbers, found text"):
        export(gantry.onnxruntime, tmp_path / "adapter", words=np.array(["a"]))
