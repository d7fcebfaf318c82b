# SPDX-License-Identifier: Apache-2.0
"""gantry.onnxruntime against ONNX Runtime: the same program on both modules says the same."""

import importlib
import io
import json
import queue
import subprocess
import sys
import threading
import warnings
import weakref

import numpy as np
import onnx
import onnxruntime
import pytest
from broken_models import add_model, make_model, value
from onnx import TensorProto, helper, numpy_helper

import gantry
import gantry.onnxruntime

MODULES = ["gantry.onnxruntime", "onnxruntime"]
CPU = ["CPUExecutionProvider"]
ONES = np.ones((2, 3), np.float32)


@pytest.fixture(params=MODULES)
def ort(request):
    return importlib.import_module(request.param)


def described_model():
    model = add_model()
    model.producer_name, model.producer_version, model.domain, model.doc_string, model.model_version = "tester", "2", "org.test", "Adds.", 7
    model.graph.doc_string = "x and y"
    helper.set_model_props(model, {"author": "nobody"})
    return model


def typed_model(element_type, shape):
    return make_model([helper.make_node("Identity", ["x"], ["y"])], [value("x", element_type, shape)], [value("y", element_type, shape)])


def test_runs_a_path_bytes_and_options(ort, tmp_path):
    file = tmp_path / "add.onnx"
    onnx.save(add_model(), file)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    for model in (str(file), file, file.read_bytes()):
        session = ort.InferenceSession(model, options, providers=CPU)
        for names in (["z"], None, []):
            (z,) = session.run(names, {"x": ONES, "y": ONES})
            np.testing.assert_array_equal(z, 2 * ONES)
        assert session.get_session_options().intra_op_num_threads == 2


def test_describes_inputs_and_outputs(ort):
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU)
    rows = [(arg.name, arg.type, arg.shape) for arg in [*session.get_inputs(), *session.get_outputs()]]
    assert rows == [("x", "tensor(float)", ["n", 3]), ("y", "tensor(float)", ["n", 3]), ("z", "tensor(float)", ["n", 3])]
    assert session.get_overridable_initializers() == []
    assert session.get_providers() == CPU


def listed_model(ir_version, listed):
    """y = x + w; "w" is an initializer, and listed as an input too."""
    inputs = [value("x", shape=(2,)), *([value("w", shape=(2,))] if listed else [])]
    weight = onnx.numpy_helper.from_array(np.float32([1, 2]), "w")
    model = make_model([helper.make_node("Add", ["x", "w"], ["y"])], inputs, [value("y", shape=(2,))], [weight])
    model.ir_version = ir_version
    model.opset_import[0].version = 8
    return model


@pytest.mark.parametrize("ir_version, listed", [(3, True), (4, False), (4, True), (8, False), (8, True)])
def test_initializers_that_are_inputs(ort, ir_version, listed):
    session = ort.InferenceSession(listed_model(ir_version, listed).SerializeToString(), providers=CPU)
    x, w = np.float32([5, 5]), np.float32([10, 20])
    is_overridable = listed and ir_version >= 4
    assert [arg.name for arg in session.get_inputs()] == ["x"]
    overridable = [(arg.name, arg.type, arg.shape) for arg in session.get_overridable_initializers()]
    assert overridable == ([("w", "tensor(float)", [2])] if is_overridable else [])
    assert session.run(None, {"x": x})[0].tolist() == [6, 7]
    if not is_overridable:
        with pytest.raises(Exception, match="w"):
            session.run(None, {"x": x, "w": w})
        return
    assert session.run(None, {"x": x, "w": w})[0].tolist() == [15, 25]
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [6, 7]
    if ort is gantry.onnxruntime:  # the other one binds required inputs only
        binding.bind_cpu_input("w", w)
        session.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0].tolist() == [15, 25]


@pytest.mark.parametrize("element_type", ["FLOAT", "DOUBLE", "FLOAT16", "INT8", "INT64", "UINT16", "BOOL", "STRING"])
@pytest.mark.parametrize("shape", [(), (1,), (None, "n", 2)])
def test_types_are_named_alike(element_type, shape):
    content = typed_model(getattr(TensorProto, element_type), shape).SerializeToString()
    (ours,), (theirs,) = (module.InferenceSession(content, providers=CPU).get_inputs() for module in (gantry.onnxruntime, onnxruntime))
    assert (ours.name, ours.type, ours.shape) == (theirs.name, theirs.type, theirs.shape)


def test_sequences_are_named_alike(ort):
    model = make_model(
        [helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
        [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None), value("x", shape=("n",))],
        [helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None)],
    )
    session = ort.InferenceSession(model.SerializeToString(), providers=CPU)
    assert [arg.type for arg in session.get_inputs()] == ["seq(tensor(float))", "tensor(float)"]
    (items,) = session.run(None, {"s": [np.ones(1, np.float32)], "x": np.zeros(2, np.float32)})
    assert [item.tolist() for item in items] == [[1], [0, 0]]


def test_metadata(ort):
    meta = ort.InferenceSession(described_model().SerializeToString(), providers=CPU).get_modelmeta()
    found = (meta.producer_name, meta.graph_name, meta.domain, meta.description, meta.graph_description, meta.version)
    assert found == ("tester", described_model().graph.name, "org.test", "Adds.", "x and y", 7)
    assert meta.custom_metadata_map == {"author": "nobody"}


def test_io_binding(ort):
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU)
    binding = session.io_binding()
    x, y = ONES.copy(), ort.OrtValue.ortvalue_from_numpy(ONES.copy())
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_input("y", y)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    (z,) = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(z, 2 * ONES)
    (result,) = binding.get_outputs()
    assert (result.shape(), result.data_type(), result.device_name()) == ([2, 3], "tensor(float)", "cpu")

    # Into memory of the caller: an OrtValue, and a pointer.
    target = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.clear_binding_outputs()
    binding.bind_ortvalue_output("z", target)
    y.update_inplace(2 * ONES)
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    np.testing.assert_array_equal(target.numpy(), 3 * ONES)
    memory = np.zeros((2, 3), np.float32)
    binding.clear_binding_outputs()
    binding.bind_output("z", "cpu", 0, np.float32, [2, 3], memory.ctypes.data)
    binding.bind_input("x", "cpu", 0, np.float32, [2, 3], x.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(memory, 3 * ONES)


def test_ort_values_of_the_other_byte_order():
    values = gantry.onnxruntime.OrtValue.ortvalue_from_numpy(np.array([1.5, -2], ">f4"))
    assert values.data_type() == "tensor(float)"
    session = gantry.onnxruntime.InferenceSession(add_model().SerializeToString(), providers=CPU)
    (z,) = session.run(None, {"x": gantry.onnxruntime.OrtValue.ortvalue_from_numpy(ONES.astype(">f4")), "y": ONES})
    np.testing.assert_array_equal(z, 2 * ONES)
    np.testing.assert_array_equal(values.numpy(), [1.5, -2])


def test_ort_values(ort):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    held = ort.OrtValue.ortvalue_from_numpy(array)
    assert (held.shape(), held.data_type(), held.element_type(), held.device_name()) == ([2, 3], "tensor(float)", 1, "cpu")
    assert (held.has_value(), held.is_tensor(), held.is_tensor_sequence(), held.is_sparse_tensor()) == (True, True, False, False)
    assert (held.data_ptr(), held.tensor_size_in_bytes()) == (array.ctypes.data, 24)
    np.testing.assert_array_equal(held.numpy(), array)
    np.testing.assert_array_equal(np.from_dlpack(held), array)
    np.testing.assert_array_equal(np.asarray(held), array)
    made = ort.OrtValue.ortvalue_from_shape_and_type([2], np.int64)
    assert (made.shape(), made.data_type()) == ([2], "tensor(int64)")
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU)
    (z,) = session.run_with_ort_values(["z"], {"x": held, "y": held})
    np.testing.assert_array_equal(z.numpy(), 2 * array)


def test_errors_are_caught_alike(ort, tmp_path):
    errors = ort.capi.onnxruntime_pybind11_state
    with pytest.raises(errors.NoSuchFile):
        ort.InferenceSession(str(tmp_path / "none.onnx"), providers=CPU)
    with pytest.raises(errors.InvalidProtobuf):
        ort.InferenceSession(b"no model", providers=CPU)
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU)
    for wrong in ({"x": ONES, "y": ONES.astype(np.int64)}, {"x": ONES, "y": ONES[0]}):
        with pytest.raises(errors.InvalidArgument):
            session.run(None, wrong)
    with pytest.raises(ValueError, match="y"):
        session.run(None, {"x": ONES})
    with pytest.raises(errors.InvalidArgument):
        session.run(["nothing"], {"x": ONES, "y": ONES})


def test_module_functions(ort):
    assert "CPUExecutionProvider" in ort.get_available_providers()
    assert ort.get_available_providers()[-1] == "CPUExecutionProvider"
    assert ort.get_device() == "CPU"
    assert ort.get_version_string() == ort.__version__


def test_run_async(ort):
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU)
    told = queue.Queue()
    session.run_async(["z"], {"x": ONES, "y": ONES}, lambda *what: told.put((threading.get_ident(), *what)), "tag")
    thread, (z,), tag, error = told.get(timeout=60)
    np.testing.assert_array_equal(z, 2 * ONES)
    assert (tag, error) == ("tag", "") and thread != threading.get_ident()
    session.run_async(None, {"x": ONES, "y": ONES.astype(np.float64)}, lambda *what: told.put(what), None)
    results, tag, error = told.get(timeout=60)
    assert results == [] and tag is None and ("double" in error or "float64" in error)


def test_settings_of_the_process(ort):
    assert isinstance(ort.get_build_info(), str)
    level = gantry.log_level()
    try:
        ort.set_default_logger_severity(3)
        ort.set_default_logger_verbosity(0)
        ort.disable_telemetry_events()
        if ort is gantry.onnxruntime:
            assert gantry.log_level() == "error"
            with pytest.raises(gantry.InvalidArgumentError, match="expected 0 .verbose. to 4 .fatal., found 5"):
                ort.set_default_logger_severity(5)
            with pytest.warns(UserWarning, match="set_seed.1. has no effect"):
                ort.set_seed(1)
    finally:
        ort.set_default_logger_severity(2)
        gantry.set_log_level(level)


def test_profile(ort, tmp_path):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    session = ort.InferenceSession(add_model().SerializeToString(), options, providers=CPU)
    session.run(None, {"x": ONES, "y": ONES})
    file = session.end_profiling()
    assert file.startswith(str(tmp_path / "trace"))
    with open(file, encoding="utf-8") as opened:
        events = json.load(opened)
    assert any(event["cat"] == "Node" and event["args"].get("op_name") == "Add" for event in events)


def test_a_profile_is_written_at_the_end_of_the_session(ort, tmp_path):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    session = ort.InferenceSession(add_model().SerializeToString(), options, providers=CPU)
    session.run(None, {"x": ONES, "y": ONES})
    del session
    (file,) = tmp_path.glob("trace*.json")
    assert any(event["cat"] == "Node" for event in json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.filterwarnings("ignore:gantry.onnxruntime. end_profiling")
def test_there_is_one_profile_and_none_without_profiling(ort, tmp_path):
    assert ort.InferenceSession(add_model().SerializeToString(), providers=CPU).end_profiling() == ""
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    session = ort.InferenceSession(add_model().SerializeToString(), options, providers=CPU)
    assert session.end_profiling()
    assert session.end_profiling() == ""
    del session
    assert len(list(tmp_path.iterdir())) == 1


def test_programs_make_bindings_themselves_and_ask_for_the_models_file(ort, tmp_path):
    (tmp_path / "add.onnx").write_bytes(add_model().SerializeToString())
    session = ort.InferenceSession(tmp_path / "add.onnx", providers=CPU)
    assert session._model_path == str(tmp_path / "add.onnx")
    assert ort.InferenceSession(add_model().SerializeToString(), providers=CPU)._model_path is None
    binding = ort.IOBinding(session)
    binding.bind_cpu_input("x", ONES)
    binding.bind_cpu_input("y", ONES)
    binding.bind_output(session.get_outputs()[0].name)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], ONES + ONES)


def test_the_classes_are_where_editors_import_them_from(ort):
    module = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_inference_collection")
    for name in ("InferenceSession", "IOBinding", "OrtDevice", "OrtValue", "SparseTensor"):
        assert getattr(module, name) is getattr(ort, name)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_capsules_of_dlpack_are_taken(ort, dtype):
    """As programs use the class of ONNX Runtime's C++ module."""
    module = importlib.import_module(f"{ort.__name__}.capi._pybind_state").OrtValue
    array = np.arange(6).reshape(2, 3).astype(dtype)
    capsule = array.view(np.uint8 if dtype == np.bool_ else dtype).__dlpack__()
    value = module.from_dlpack(capsule, dtype == np.bool_)
    np.testing.assert_array_equal(ort.OrtValue(value, array).numpy(), array)
    assert value.data_type() == ("tensor(bool)" if dtype == np.bool_ else "tensor(float)")
    np.testing.assert_array_equal(module.from_dlpack(value.to_dlpack(), dtype == np.bool_).numpy(), array)


def test_what_is_no_capsule_or_was_taken_is_told():
    capsule = ONES.__dlpack__()
    gantry.onnxruntime.OrtValue.from_dlpack(capsule)
    for wrong in (capsule, 3, None):
        with pytest.raises(gantry.InvalidArgumentError, match="from_dlpack: expected an object with __dlpack__ or a capsule that nobody has taken"):
            gantry.onnxruntime.OrtValue.from_dlpack(wrong)


def test_small_habits_of_programs(ort):
    assert str(ort.GraphOptimizationLevel.ORT_ENABLE_ALL) == "GraphOptimizationLevel.ORT_ENABLE_ALL"
    assert weakref.ref(ort.SessionOptions()) is not None
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU, some_argument=1)
    assert session.run(None, {"x": ONES, "y": ONES})
    if ort is gantry.onnxruntime:
        assert ort.InferenceSession(add_model(), providers="CPUExecutionProvider").get_providers() == ["CPUExecutionProvider"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_lists_of_integers_are_of_the_declared_type(ort, dtype):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g ({dtype}[N] x) => ({dtype}[N] y) {{ y = Identity(x) }}')
    session = ort.InferenceSession(model.SerializeToString(), providers=CPU)
    (y,) = session.run(None, {"x": [1, 2]})
    assert y.dtype == dtype and y.tolist() == [1, 2]
    if ort is gantry.onnxruntime and np.iinfo(dtype).max < 2**62 and np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(gantry.InvalidArgumentError, match=f'"x": expected {dtype}, found .*out of bounds'):
            session.run(None, {"x": [1, 2**40]})


def test_a_profile_is_read_by_onnx_runtimes_reader(tmp_path):
    reader = pytest.importorskip("onnxruntime.transformers.profile_result_processor")
    options = gantry.onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    session = gantry.onnxruntime.InferenceSession(add_model().SerializeToString(), options, providers=CPU)
    for _ in range(20):
        session.run(None, {"x": ONES, "y": ONES})
    events = reader.load_profile_json(session.end_profiling())
    assert any("CPU" in line for line in reader.parse_node_results(events))
    assert any("Add" in line for line in reader.group_node_results(events))


WRONG_OPTIONS = [("intra_op_num_threads", "2"), ("intra_op_num_threads", 2.0), ("execution_mode", "x"), ("enable_profiling", "yes"), ("log_severity_level", "3"),
                 ("logid", 4), ("profile_file_prefix", 3), ("optimized_model_filepath", 3), ("graph_optimization_level", "all")]


@pytest.mark.parametrize(("name", "wrong"), WRONG_OPTIONS)
def test_an_option_of_a_wrong_kind_is_refused_where_it_is_set(ort, name, wrong):
    options = ort.SessionOptions()
    with pytest.raises(TypeError):
        setattr(options, name, wrong)
    assert getattr(options, name) == getattr(ort.SessionOptions(), name)


@pytest.mark.parametrize("wrong", [None, 3, io.BytesIO(b"x")])
def test_what_is_no_model_is_a_type_error(ort, wrong):
    with pytest.raises(TypeError):
        ort.InferenceSession(wrong, providers=CPU)


def test_options_that_do_not_exist_are_attribute_errors(ort):
    for options in (ort.SessionOptions(), ort.RunOptions()):
        with pytest.raises(AttributeError):
            options.intra_op_threads = 2
    run_options = ort.RunOptions()
    with pytest.raises(TypeError):
        run_options.log_severity_level = "3"


def test_a_wrong_option_is_told_with_its_name():
    with pytest.raises(TypeError, match=r"SessionOptions.intra_op_num_threads: expected an int, found '2'"):
        gantry.onnxruntime.SessionOptions().intra_op_num_threads = "2"
    with pytest.raises(TypeError, match="SessionOptions.execution_mode: expected an ExecutionMode, found 7"):
        gantry.onnxruntime.SessionOptions().execution_mode = 7
    with pytest.raises(gantry.InvalidArgumentError, match=r"OrtDevice: expected a device type of 0 .cpu.*found 'cpu'"):
        gantry.onnxruntime.OrtDevice("cpu")
    with pytest.raises(gantry.InvalidArgumentError, match="expected 0 .verbose. to 4 .fatal., found '3'"):
        gantry.onnxruntime.set_default_logger_severity("3")


def test_a_library_of_operators_that_is_not_there_is_told_at_once(ort, tmp_path):
    with pytest.raises(Exception, match="nothing_here.so"):
        ort.SessionOptions().register_custom_ops_library(str(tmp_path / "nothing_here.so"))


def test_terminate(ort):
    step = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("MatMul", ["before", "before"], ["after"])],
        "step",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("before", shape=(128, 128))],
        [value("go_on", TensorProto.BOOL, ()), value("after", shape=(128, 128))],
    )
    node = helper.make_node("Loop", ["count", "", "x"], ["y"], body=step)
    model = make_model([node], [value("count", TensorProto.INT64, ()), value("x", shape=(128, 128))], [value("y", shape=(128, 128))])
    session = ort.InferenceSession(model.SerializeToString(), providers=CPU)
    options = ort.RunOptions()
    feed = {"count": np.array(10**9), "x": np.zeros((128, 128), np.float32)}
    threading.Timer(0.2, lambda: setattr(options, "terminate", True)).start()
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail):
        session.run(None, feed, options)
    options.terminate = False
    session.run(None, {**feed, "count": np.array(1)}, options)


def test_missing_providers_are_warned_of(ort):
    with pytest.warns(UserWarning, match="NopeExecutionProvider"):
        session = ort.InferenceSession(add_model().SerializeToString(), providers=["NopeExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == CPU


def test_settings_are_imported_from_the_module_below(ort):
    """As onnxtr and nudenet do."""
    below = ort.capi._pybind_state
    assert below.get_available_providers() == ort.get_available_providers()
    assert below.get_device() == ort.get_device() and below.get_version_string() == ort.get_version_string()
    assert below.set_default_logger_severity and below.InvalidArgument is ort.capi.onnxruntime_pybind11_state.InvalidArgument


def test_providers_are_set_anew(ort):
    session = ort.InferenceSession(add_model().SerializeToString(), providers=CPU, disabled_optimizers=[])
    session.disable_fallback()
    session.set_providers(["CPUExecutionProvider"], provider_options=[{}])
    session.enable_fallback()
    assert session.get_providers() == CPU
    np.testing.assert_array_equal(session.run(None, {"x": ONES, "y": ONES})[0], 2 * ONES)


def test_the_providers_that_there_are_can_be_handed_on(ort, tmp_path):
    """A common way to say "the best there is", which a device for tests is not. In a process of its own: other tests of this one add devices."""
    onnx.save(add_model(), tmp_path / "add.onnx")
    program = f"""
import numpy, {ort.__name__} as ort
session = ort.InferenceSession("add.onnx", providers=ort.get_available_providers())
x = numpy.ones((2, 3), numpy.float32)
print(session.get_providers(), session.run(None, {{"x": x, "y": x}})[0].sum())
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "SIMExecutionProvider" not in done.stdout and done.stdout.endswith(" 12.0\n")


def test_numbers_of_threads_below_one_are_the_default(ort):
    options = ort.SessionOptions()
    options.intra_op_num_threads = -1
    session = ort.InferenceSession(add_model().SerializeToString(), options, providers=CPU)
    np.testing.assert_array_equal(session.run(None, {"x": ONES, "y": ONES})[0], 2 * ONES)


def test_open_dimensions_are_given_extents(ort):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("rows", 4)
    model = make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=("rows", 3))], [value("y", shape=("rows", 3))])
    session = ort.InferenceSession(model.SerializeToString(), options, providers=CPU)
    assert (session.get_inputs()[0].shape, session.get_outputs()[0].shape) == ([4, 3], [4, 3])
    assert session.run(None, {"x": np.ones((4, 3), np.float32)})[0].shape == (4, 3)
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument):
        session.run(None, {"x": np.ones((5, 3), np.float32)})


def test_open_dimensions_are_given_extents_by_denotation(ort):
    model = make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=("rows", 3))], [value("y", shape=("rows", 3))])
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 2)
    session = ort.InferenceSession(model.SerializeToString(), options, providers=CPU)
    assert session.get_inputs()[0].shape == [2, 3]


@pytest.mark.parametrize("add", ["add_initializer", "add_external_initializers"])
def test_initializers_of_the_application(ort, add, tmp_path):
    model = make_model([helper.make_node("Mul", ["x", "w"], ["y"])], [value("x", shape=(2, 3))], [value("y", shape=(2, 3))])
    model.graph.initializer.append(numpy_helper.from_array(np.full((2, 3), 2, np.float32), "w"))
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=add == "add_external_initializers", location="w.bin", size_threshold=0)
    given = ort.OrtValue.ortvalue_from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    options = ort.SessionOptions()
    if add == "add_initializer":
        options.add_initializer("w", given)
    else:
        options.add_external_initializers(["w"], [given])
    (y,) = ort.InferenceSession(path, options, providers=CPU).run(None, {"x": ONES})
    np.testing.assert_array_equal(y, given.numpy())
    (y,) = ort.InferenceSession(path, providers=CPU).run(None, {"x": ONES})
    np.testing.assert_array_equal(y, 2 * ONES)


def test_providers_may_stand_in_the_options(ort):
    options = ort.SessionOptions()
    assert not options.has_providers()
    options.add_provider("CPUExecutionProvider", {})
    assert options.has_providers()
    session = ort.InferenceSession(add_model().SerializeToString(), options)
    assert session.get_providers() == CPU


def test_devices_are_listed(ort):
    host = [row for row in ort.get_ep_devices() if row.ep_name == "CPUExecutionProvider"]
    assert len(host) == 1 and host[0].device.type == ort.OrtHardwareDeviceType.CPU
    device = ort.OrtDevice.make("cpu", 0)
    assert (device.device_type(), device.device_id(), device.device_mem_type()) == (0, 0, 0)


def test_arenas_are_described(ort):
    arena = ort.OrtArenaCfg({"max_mem": 16, "arena_extend_strategy": 1})
    assert (arena.max_mem, arena.arena_extend_strategy, arena.initial_chunk_size_bytes) == (16, 1, -1)
    assert ort.OrtArenaCfg(8, 0, 4, 2).max_dead_bytes_per_chunk == 2
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(info, None)


def test_devices_are_taken_where_their_names_are():
    device = gantry.onnxruntime.OrtDevice.make("cpu", 0)
    assert gantry.onnxruntime.OrtValue.ortvalue_from_numpy(ONES, device).device_name() == "cpu"
    binding = gantry.onnxruntime.InferenceSession(add_model()).io_binding()
    binding.bind_output("z", gantry.onnxruntime.OrtDevice(gantry.onnxruntime.OrtDevice.cpu(), 0, 0))
    with pytest.warns(UserWarning, match="create_and_register_allocator has no effect"):
        gantry.onnxruntime.create_and_register_allocator(None, gantry.onnxruntime.OrtArenaCfg(1 << 30, 0, -1, -1))


def test_threads_for_all_sessions():
    options = gantry.onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    gantry.onnxruntime.set_global_thread_pool_sizes(3, 1)
    try:
        assert options.config()["session"]["threads"] == 3
        assert "threads" not in gantry.onnxruntime.SessionOptions().config()["session"]
    finally:
        gantry.onnxruntime.set_global_thread_pool_sizes(0, 0)
    with pytest.raises(gantry.InvalidArgumentError, match="expected numbers from 0, found -1 and 0"):
        gantry.onnxruntime.set_global_thread_pool_sizes(-1, 0)


def test_objects_become_text(ort):
    """Columns of pandas hold numbers, None and NaN among text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (string[n, m] x) => (string[n, m] y) { y = Identity (x) }')
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    column = np.array([["a", 1], [None, 2.5], [float("nan"), "b"], [True, None]], object)
    column[3, 1] = ["a", "list"]
    (y,) = session.run(None, {"x": column})
    assert y.tolist() == [["a", "1"], ["None", "2.5"], ["nan", "b"], ["True", "['a', 'list']"]]


def test_raw_bytes_become_text(ort):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (string[n, m] x) => (string[n, m] y) { y = Identity (x) }')
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.array([b"must", b"have", b"same", b"size"], np.void).reshape(2, 2)})
    assert y.tolist() == [["must", "have"], ["same", "size"]]


def test_bits_of_types_that_numpy_lacks(ort):
    bits = np.array([0x3F80, 0x4000], np.uint16)
    held = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
    assert (held.shape(), held.data_type(), held.element_type()) == ([2], "tensor(bfloat16)", TensorProto.BFLOAT16)
    assert held.data_ptr() == bits.ctypes.data


def test_who_wants_to_hear_of_errors_only_hears_no_warnings():
    options = gantry.onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})]
    with pytest.warns(UserWarning, match="enable_cpu_mem_arena=False") as told:
        gantry.onnxruntime.InferenceSession(add_model(), options, providers)
    assert [row.filename for row in told] == [__file__] * 2
    level = gantry.log_level()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options.log_severity_level = 3
        gantry.onnxruntime.InferenceSession(add_model(), options, providers)
        options.log_severity_level = -1
        try:
            gantry.onnxruntime.set_default_logger_severity(4)
            gantry.onnxruntime.InferenceSession(add_model(), options, providers)
        finally:
            gantry.set_log_level(level)


def test_gantrys_devices_are_providers():
    if not gantry.supports_device("SIM:1"):
        pytest.skip("no simulated device is ready")
    session = gantry.onnxruntime.InferenceSession(add_model(), providers=[("SIMExecutionProvider", {"device_id": 1})])
    assert session.get_providers() == ["SIMExecutionProvider", "CPUExecutionProvider"]
    assert session.get_provider_options()["SIMExecutionProvider"] == {"device_id": "1"}
    np.testing.assert_array_equal(session.run(None, {"x": ONES, "y": ONES})[0], 2 * ONES)


def test_what_cannot_be_obeyed_is_said():
    options = gantry.onnxruntime.SessionOptions()
    options.inter_op_num_threads = 3
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    with pytest.warns(UserWarning, match="enable_mem_pattern=False, inter_op_num_threads=3, session.set_denormal_as_zero='1'"):
        gantry.onnxruntime.InferenceSession(add_model(), options)
    with pytest.warns(UserWarning, match="CPUExecutionProvider: no effect of the options arena"):
        gantry.onnxruntime.InferenceSession(add_model(), providers=[("CPUExecutionProvider", {"arena": 1})])
    options = gantry.onnxruntime.SessionOptions()
    with pytest.raises(gantry.NotFoundError, match="register_custom_ops_library: expected a library, found no file /nowhere/custom_ops.so"):
        options.register_custom_ops_library("/nowhere/custom_ops.so")
    libraries = gantry.onnxruntime.SessionOptions()
    libraries.register_custom_ops_library("libno_custom_ops.so")
    with pytest.raises(gantry.NotFoundError, match=r'the library of operators "libno_custom_ops.so" cannot be opened'):
        gantry.onnxruntime.InferenceSession(add_model(), libraries)
    with pytest.raises(gantry.InvalidArgumentError, match="one value for each of the 2 names, found 1"):
        options.add_external_initializers(["w", "v"], [gantry.onnxruntime.OrtValue(ONES)])
    with pytest.raises(AttributeError):
        options.intra_op_threads = 2
    with pytest.raises(gantry.InvalidArgumentError, match='"y": expected a device with memory of its own that the session uses \\(none\\), found CUDA:0'):
        gantry.onnxruntime.InferenceSession(typed_model(TensorProto.FLOAT, [2])).io_binding().bind_output("y", "cuda")
    with pytest.raises(AttributeError, match="has no OrtSyncStream; it has .*InferenceSession"):
        _ = gantry.onnxruntime.OrtSyncStream
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gantry.onnxruntime.InferenceSession(add_model(), gantry.onnxruntime.SessionOptions(), CPU)


def test_bindings_are_checked():
    session = gantry.onnxruntime.InferenceSession(add_model())
    binding = session.io_binding()
    with pytest.raises(gantry.InvalidArgumentError, match='input "w": the model has no such input; it has "x", "y"'):
        binding.bind_cpu_input("w", ONES)
    with pytest.raises(gantry.InvalidArgumentError, match="no output is bound"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", ONES)
    binding.bind_cpu_input("y", ONES)
    binding.bind_ortvalue_output("z", gantry.onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32)))
    with pytest.raises(gantry.InvalidArgumentError, match='output "z": the bound tensor is float32\\[2\\], this run makes float32\\[2,3\\]'):
        session.run_with_iobinding(binding)


def test_what_is_of_another_kind_is_said():
    options = gantry.onnxruntime.SessionOptions()
    session = gantry.onnxruntime.InferenceSession(add_model().SerializeToString(), options, providers=CPU)
    other = gantry.onnxruntime.InferenceSession(add_model().SerializeToString(), providers=CPU)
    feed = {"x": ONES, "y": ONES}
    binding = other.io_binding()
    for call, text in [(lambda: session.run_with_iobinding(binding), "expected a binding that this session's io_binding.. made"),
                       (lambda: session.run_with_iobinding(session.io_binding(), {}), "run_options: expected RunOptions, found a dict"),
                       (lambda: session.run(None, feed, {}), "run_options: expected RunOptions, found a dict"),
                       (lambda: session.run_async(None, feed, 5), "callback: expected a function, found a int"),
                       (lambda: gantry.onnxruntime.InferenceSession(add_model().SerializeToString(), {}), "sess_options: expected SessionOptions, found a dict"),
                       (lambda: gantry.onnxruntime.IOBinding("x"), "IOBinding: expected an InferenceSession, found a str"),
                       (lambda: binding.bind_ortvalue_input("x", ONES), "expected an OrtValue, found a ndarray"),
                       (lambda: binding.bind_input("x", "cpu", 0, np.float32, ONES.shape, 0), "expected the address of float32.*, found a null pointer")]:
        with pytest.raises(gantry.InvalidArgumentError, match=text):
            call()


def test_profiles_have_files_of_their_own(tmp_path):
    options = gantry.onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    sessions = [gantry.onnxruntime.InferenceSession(add_model().SerializeToString(), options, providers=CPU) for _ in range(2)]
    assert len({session.end_profiling() for session in sessions}) == 2
