# SPDX-License-Identifier: Apache-2.0
"""ModelCompiler of gantry.onnxruntime, and what else a program says of compiling, loading and placing, against ONNX Runtime."""

import importlib
import threading

import numpy as np
import onnx
import pytest
from broken_models import add_model, make_model, value
from onnx import TensorProto, helper, numpy_helper

import gantry
import gantry.onnxruntime

CPU = ["CPUExecutionProvider"]
ONES = np.ones((2, 3), np.float32)


@pytest.fixture(params=["gantry.onnxruntime", "onnxruntime"])
def ort(request):
    return importlib.import_module(request.param)


@pytest.fixture
def file(tmp_path):
    onnx.save(add_model(), tmp_path / "add.onnx")
    return tmp_path / "add.onnx"


def sums(ort, model):
    return ort.InferenceSession(model, providers=CPU).run(None, {"x": ONES, "y": ONES})[0]


def test_compiles_to_a_file_bytes_and_a_stream(ort, file, tmp_path):
    ort.ModelCompiler(ort.SessionOptions(), str(file)).compile_to_file(str(tmp_path / "out.onnx"))
    parts = []
    compiler = ort.ModelCompiler(ort.SessionOptions(), file.read_bytes())
    compiler.compile_to_stream(parts.append)
    for model in (str(tmp_path / "out.onnx"), compiler.compile_to_bytes(), b"".join(parts)):
        np.testing.assert_array_equal(sums(ort, model), 2 * ONES)


def test_flags(ort, file, tmp_path):
    errors = ort.capi.onnxruntime_pybind11_state
    (tmp_path / "out.onnx").write_bytes(b"")
    with pytest.raises((errors.Fail, errors.InvalidArgument)):
        ort.ModelCompiler(ort.SessionOptions(), str(file), flags=ort.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS).compile_to_file(str(tmp_path / "out.onnx"))
    with pytest.raises(errors.Fail):
        ort.ModelCompiler(ort.SessionOptions(), str(file), flags=ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED).compile_to_file(str(tmp_path / "new.onnx"))
    assert not (tmp_path / "new.onnx").exists()
    for wrong, kind in [("", ValueError), (b"", ValueError), (3, TypeError)]:
        with pytest.raises(kind):
            ort.ModelCompiler(ort.SessionOptions(), wrong)


def test_large_tensors_go_to_a_file_beside_it(ort, tmp_path):
    weights = numpy_helper.from_array(np.arange(2000, dtype=np.float32), "w")
    model = make_model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", TensorProto.FLOAT, [2000])], [value("y", TensorProto.FLOAT, [2000])], [weights])
    compiler = ort.ModelCompiler(ort.SessionOptions(), model.SerializeToString(), external_initializers_file_path="weights.bin")
    compiler.compile_to_file(str(tmp_path / "out.onnx"))
    assert (tmp_path / "weights.bin").stat().st_size >= 8000
    (y,) = ort.InferenceSession(str(tmp_path / "out.onnx"), providers=CPU).run(None, {"x": np.ones(2000, np.float32)})
    np.testing.assert_array_equal(y, 1 + np.arange(2000, dtype=np.float32))


def test_errors_of_the_compiler(file, tmp_path):
    ours = gantry.onnxruntime
    ours.ModelCompiler(ours.SessionOptions(), file).compile_to_file()
    assert (tmp_path / "add_ctx.onnx").exists()
    with pytest.raises(gantry.InvalidArgumentError, match="expected a path for the model"):
        ours.ModelCompiler(ours.SessionOptions(), file.read_bytes()).compile_to_file()
    with pytest.raises(gantry.InvalidArgumentError, match="expected a file beside"):
        ours.ModelCompiler(ours.SessionOptions(), file, external_initializers_file_path=tmp_path / "deep" / "w").compile_to_file(tmp_path / "out.onnx")
    with pytest.raises(gantry.InvalidArgumentError, match="lies beside a file"):
        ours.ModelCompiler(ours.SessionOptions(), file, external_initializers_file_path="w").compile_to_bytes()
    with pytest.raises(gantry.UnsupportedError, match="get_initializer_location_func"):
        ours.ModelCompiler(ours.SessionOptions(), file, get_initializer_location_func=lambda *_: None)


def test_options_of_the_session_hold(tmp_path):
    """An initializer of the application stands in the model that is written."""
    model = make_model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])],
                       [numpy_helper.from_array(np.float32([1, 2]), "w")])
    options = gantry.onnxruntime.SessionOptions()
    options.add_initializer("w", gantry.onnxruntime.OrtValue.ortvalue_from_numpy(np.float32([10, 20])))
    written = onnx.load_from_string(gantry.onnxruntime.ModelCompiler(options, model.SerializeToString()).compile_to_bytes())
    np.testing.assert_array_equal(numpy_helper.to_array(written.graph.initializer[0]), [10, 20])


def test_loading_is_cancelled(ort, file):
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.ModelLoadCanceled):
        ort.InferenceSession(str(file), options, providers=CPU)
    options.set_load_cancellation_flag(False)
    ort.InferenceSession(str(file), options, providers=CPU)


def test_which_provider_runs_a_node(ort, file):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    rows = ort.InferenceSession(str(file), options, providers=CPU).get_provider_graph_assignment_info()
    assert [(row.ep_name, node.op_type) for row in rows for node in row.get_nodes()] == [("CPUExecutionProvider", "Add")]


def test_providers_by_device_and_policy(ort, file):
    options = ort.SessionOptions()
    options.add_provider_for_devices([device for device in ort.get_ep_devices() if device.ep_name == CPU[0]], {})
    assert options.has_providers()
    options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
    session = ort.InferenceSession(str(file), options)
    assert session.get_providers() == CPU
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument):
        ort.SessionOptions().add_provider_for_devices([], {})


def test_a_policy_that_prefers_other_devices():
    options = gantry.onnxruntime.SessionOptions()
    options.set_provider_selection_policy(gantry.onnxruntime.OrtExecutionProviderDevicePolicy.PREFER_GPU)
    others = [device.ep_name for device in gantry.onnxruntime.get_ep_devices() if device.ep_name != CPU[0]]
    assert [name for name, _ in options.providers()] == others


def test_copies_tensors():
    """ONNX Runtime does between devices only."""
    ort = gantry.onnxruntime
    sources = [ort.OrtValue.ortvalue_from_numpy(ONES * number) for number in (1, 2)]
    targets = [ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32) for _ in sources]
    ort.copy_tensors(sources, targets)
    for number, target in zip((1, 2), targets, strict=True):
        np.testing.assert_array_equal(target.numpy(), ONES * number)
    with pytest.raises(gantry.InvalidArgumentError, match="one destination for each of the 2 sources, found 1"):
        ort.copy_tensors(sources, targets[:1])


def test_debug_information(capfd):
    gantry.onnxruntime.print_debug_info()
    said = capfd.readouterr().out
    assert gantry.__version__ in said and "CPU:0" in said


def test_the_flag_ends_loading_from_another_thread(tmp_path):
    """Loading of a model whose constants take long to fold."""
    nodes = [helper.make_node("Range", ["zero", "many", "one"], ["r0"])] + [helper.make_node("Sin", [f"r{i}"], [f"r{i + 1}"]) for i in range(400)]
    nodes.append(helper.make_node("ReduceSum", ["r400"], ["sum"]))
    nodes.append(helper.make_node("Add", ["x", "sum"], ["y"]))
    numbers = [numpy_helper.from_array(np.float32(number), name) for name, number in [("zero", 0), ("many", 4e6), ("one", 1)]]
    model = make_model(nodes, [value("x", TensorProto.FLOAT, [1])], [value("y", TensorProto.FLOAT, ["n"])], numbers).SerializeToString()
    options = gantry.onnxruntime.SessionOptions()
    timer = threading.Timer(0.2, options.set_load_cancellation_flag, [True])
    timer.start()
    with pytest.raises(gantry.CancelledError):
        gantry.onnxruntime.InferenceSession(model, options, providers=CPU)
    timer.join()
