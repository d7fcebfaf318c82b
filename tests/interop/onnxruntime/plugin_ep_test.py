# SPDX-License-Identifier: Apache-2.0
"""gantry as an execution provider of ONNX Runtime, which loads it: the results are those of ONNX Runtime's own provider, and each node is where it should be."""

import collections
import concurrent.futures
import ctypes
import json
import pathlib
import subprocess
import sys

import gantry.onnxruntime_ep
import numpy as np
import onnx
import onnxruntime
import pytest
from branching_model import X, network
from onnx import TensorProto, helper, numpy_helper

from random_models.compare import Expected
from random_models.generate import generate
from small_graph import small_graph

NAME = gantry.onnxruntime_ep.get_ep_name()
CPU = "CPUExecutionProvider"
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
value = helper.make_tensor_value_info


@pytest.fixture(scope="module", autouse=True)
def registered():
    onnxruntime.register_execution_provider_library("gantry", gantry.onnxruntime_ep.get_library_path())
    yield
    onnxruntime.unregister_execution_provider_library("gantry")


def session_of(model, options=None, severity=4, level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, entries=()):
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = level
    for entry in entries:
        settings.add_session_config_entry(*entry)
    settings.log_severity_level = severity
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    settings.add_provider_for_devices([device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME], options or {})
    return onnxruntime.InferenceSession(model if isinstance(model, (bytes, str)) else model.SerializeToString(), settings)


def places(session):
    """Operators by provider, as ONNX Runtime has assigned them."""
    found = collections.defaultdict(list)
    for part in session.get_provider_graph_assignment_info():
        found[part.ep_name] += [node.op_type for node in part.get_nodes()]
    return {provider: sorted(nodes) for provider, nodes in found.items()}


def parts(session):
    return sum(part.ep_name == NAME for part in session.get_provider_graph_assignment_info())


def expect_same(model, feeds, session=None):
    """Returns ONNX Runtime's own results."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    expected = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=[CPU]).run(None, feeds)
    found = (session or session_of(model)).run(None, feeds)
    for want, have in zip(expected, found, strict=True):
        if isinstance(want, list):
            assert len(want) == len(have)
        for one, other in zip(want, have, strict=True) if isinstance(want, list) else [(want, have)]:
            assert (other.dtype, other.shape) == (one.dtype, one.shape)
            if one.dtype.kind in "fc":
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(other, one)
    return expected


def model_of(nodes, inputs, outputs, initializers=(), **versions):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain.replace("_", "."), version) for domain, version in versions.items())]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_a_whole_graph_becomes_one_part():
    weights = numpy_helper.from_array(floats(16, 8), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Softmax", ["b"], ["y"], axis=-1)]
    model = model_of(nodes, [value("x", FLOAT, ["n", 16])], [value("y", FLOAT, ["n", 8])], [weights])
    session = session_of(model)
    assert session.get_providers()[0] == NAME
    for rows in (3, 1, 300, 3):
        expect_same(model, {"x": floats(rows, 16)}, session)
    assert places(session) == {NAME: ["MatMul", "Relu", "Softmax"]}
    assert parts(session) == 1


def test_random_models():
    judged = 0
    for number in range(0, 240, 8):
        model, feeds, _ = generate(number)
        try:
            expected = Expected(model, feeds)
        except Exception:  # the oracle has not the operator in that version
            continue
        found = session_of(model).run(None, feeds)
        expected.check(dict(zip(expected.names, found, strict=True)))
        judged += 1
    assert judged >= 25


def scan_model():
    """A body with a constant of its own, one of the graph and a value of the graph."""
    own = numpy_helper.from_array(np.array([2], np.float32), "own")
    body = helper.make_graph([helper.make_node("Mul", ["state", "own"], ["a"]), helper.make_node("Add", ["a", "outer"], ["b"]), helper.make_node("Mul", ["b", "w"], ["next"]),
                              helper.make_node("Identity", ["next"], ["row"])],
                             "body", [value("i", INT64, []), value("go", TensorProto.BOOL, []), value("state", FLOAT, [4])],
                             [value("go", TensorProto.BOOL, []), value("next", FLOAT, [4]), value("row", FLOAT, [4])], [own])
    nodes = [helper.make_node("Neg", ["x"], ["outer"]), helper.make_node("Loop", ["n", "", "x"], ["last", "rows"], body=body)]
    return model_of(nodes, [value("x", FLOAT, [4]), value("n", INT64, [])], [value("last", FLOAT, [4]), value("rows", FLOAT, None)],
                    [numpy_helper.from_array(np.array([1, 0.5, 2, 1], np.float32), "w")])


@pytest.mark.parametrize("model, feeds", [
    (network(), [{"x": X, "flag": np.array(flag)} for flag in (True, False)]),
    (scan_model(), [{"x": floats(4), "n": np.array(count)} for count in (3, 0, 5)]),
])
def test_bodies_go_with_their_node(model, feeds):
    session = session_of(model)
    for feed in feeds:
        expect_same(model, feed, session)
    assert CPU not in places(session)


def masked_pool(source, mask, target):
    """An operator that ONNX Runtime has and gantry refuses."""
    return helper.make_node("MaxpoolWithMask", [source, mask], [target], domain="com.microsoft", kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def test_what_gantry_refuses_stays_with_onnxruntime(capfd):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), masked_pool("a", "m", "b"), helper.make_node("Neg", ["a"], ["c"]), helper.make_node("Add", ["b", "c"], ["y"])]
    model = model_of(nodes, [value("x", FLOAT, [1, 2, 6, 6]), value("m", TensorProto.INT32, [1, 2, 6, 6])], [value("y", FLOAT, [1, 2, 6, 6])], com_microsoft=1)
    session = session_of(model, severity=1)
    expect_same(model, {"x": floats(1, 2, 6, 6), "m": np.ones((1, 2, 6, 6), np.int32)}, session)
    assert places(session) == {NAME: ["Add", "Neg", "Relu"], CPU: ["MaxpoolWithMask"]}
    assert parts(session) == 2
    assert f"{NAME} does not take MaxpoolWithMask" in capfd.readouterr().err


def test_a_refused_node_in_a_body_keeps_its_node_out():
    body = helper.make_graph([masked_pool("x", "m", "t")], "then", [], [value("t", FLOAT, [1, 2, 6, 6])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", FLOAT, [1, 2, 6, 6])])
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other), helper.make_node("Relu", ["y"], ["z"])]
    model = model_of(nodes, [value("x", FLOAT, [1, 2, 6, 6]), value("m", TensorProto.INT32, [1, 2, 6, 6]), value("c", TensorProto.BOOL, [])],
                     [value("z", FLOAT, [1, 2, 6, 6])], com_microsoft=1)
    session = session_of(model)
    for flag in (True, False):
        expect_same(model, {"x": floats(1, 2, 6, 6), "m": np.ones((1, 2, 6, 6), np.int32), "c": np.array(flag)}, session)
    assert places(session)[NAME] == ["Relu"]


def test_sequences_stay_inside_a_part():
    nodes = [helper.make_node("SplitToSequence", ["x"], ["s"], axis=0), helper.make_node("SequenceAt", ["s", "i"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    inputs = [value("x", FLOAT, [4, 3]), value("i", INT64, [])]
    inside = model_of(nodes, inputs, [value("y", FLOAT, None)])
    session = session_of(inside)
    expect_same(inside, {"x": floats(4, 3), "i": np.array(2)}, session)
    assert places(session) == {NAME: ["Relu", "SequenceAt", "SplitToSequence"]}
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    leaving = model_of(nodes, inputs, [value("y", FLOAT, None), helper.make_value_info("s", kind)])
    session = session_of(leaving)
    expect_same(leaving, {"x": floats(4, 3), "i": np.array(2)}, session)
    assert places(session) == {NAME: ["Relu"], CPU: ["SequenceAt", "SplitToSequence"]}


def test_strings():
    model, feeds = small_graph("a = StringConcat(x, k)\n y = Identity(a)", {"x": np.array(["yes", "", "grün"], object)}, {"k": np.array([" and no"], object)})
    session = session_of(model)
    assert expect_same(model, feeds, session)[0].tolist() == ["yes and no", " and no", "grün and no"]
    assert CPU not in places(session)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint16, np.int64, np.bool_])
def test_types(dtype):
    constant = np.array([1, 0, 1], dtype)
    model, feeds = small_graph("a = Concat<axis = 0>(x, k)\n y = Gather(a, i)", {"x": np.array([0, 1, 1, 0], dtype), "i": np.array([6, 0, 2])}, {"k": constant})
    session = session_of(model)
    expect_same(model, feeds, session)
    assert CPU not in places(session)


@pytest.mark.parametrize("dtype", [TensorProto.UINT4, TensorProto.INT4, TensorProto.UINT2, TensorProto.INT2, TensorProto.FLOAT8E4M3FN])
def test_small_types(dtype):
    """Of the newest the API has other numbers than ONNX."""
    numbers = [1, 0, 1, 0] if dtype in (TensorProto.UINT2, TensorProto.UINT4) else [-1, 1, -2, 0]
    nodes = [helper.make_node("Cast", ["k"], ["a"], to=FLOAT), helper.make_node("Add", ["a", "x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, [4])], [value("y", FLOAT, [4])], [helper.make_tensor("k", dtype, [4], numbers)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    session = session_of(model, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    np.testing.assert_array_equal(session.run(None, {"x": np.zeros(4, np.float32)})[0], numbers)
    assert CPU not in places(session)


def test_a_node_that_was_not_asked_about_is_not_taken():
    """Inference leaves Dropout's ratio unread, and what makes it, until another node comes between."""
    shape = [1, 2, 6, 6]
    nodes = [masked_pool("x", "m", "dead"), helper.make_node("ReduceMax", ["dead"], ["ratio"], keepdims=0), masked_pool("x", "m", "live"),
             helper.make_node("Dropout", ["live", "ratio"], ["y"])]
    model = model_of(nodes, [value("x", FLOAT, shape), value("m", TensorProto.INT32, shape)], [value("y", FLOAT, shape)], com_microsoft=1)
    session = session_of(model)
    expect_same(model, {"x": np.clip(floats(*shape), 0, 0.9), "m": np.ones(shape, np.int32)}, session)
    assert sorted(places(session)[CPU]) == ["MaxpoolWithMask", "MaxpoolWithMask"]


def test_shapes_that_inference_has_wrong():
    """The last window would begin in the padding, so it is none."""
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1)
    graph = helper.make_graph([node], "g", [value("x", FLOAT, [1, 1, 6, 6])], [value("y", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = session_of(model)
    for _ in range(3):
        expect_same(model, {"x": floats(1, 1, 6, 6)}, session)


def test_shapes_that_a_model_has_wrong():
    """Of a value that goes from ONNX Runtime's node to gantry's."""
    nodes = [masked_pool("x", "m", "b"), helper.make_node("Relu", ["b"], ["y"])]
    model = model_of(nodes, [value("x", FLOAT, [1, 2, 6, 6]), value("m", TensorProto.INT32, [1, 2, 6, 6])], [value("y", FLOAT, None)], com_microsoft=1)
    model.graph.value_info.append(value("b", FLOAT, [1, 2, 5, 5]))
    expect_same(model, {"x": floats(1, 2, 6, 6), "m": np.ones((1, 2, 6, 6), np.int32)})


def test_strings_with_nulls():
    model, feeds = small_graph("y = StringConcat(x, k)", {"x": np.array(["a\0b", "c\0"], object)}, {"k": np.array(["d\0e"], object)})
    assert expect_same(model, feeds)[0].tolist() == ["a\0bd\0e", "c\0d\0e"]


def test_an_input_with_a_default():
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [3]), value("w", FLOAT, [3])], [value("y", FLOAT, [3])],
                     [numpy_helper.from_array(floats(3), "w")])
    session = session_of(model)
    expect_same(model, {"x": floats(3)}, session)
    expect_same(model, {"x": floats(3), "w": np.array([7, 8, 9], np.float32)}, session)
    expect_same(model, {"x": floats(3)}, session)


def test_empty_tensors_and_unread_outputs():
    nodes = [helper.make_node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2), helper.make_node("Neg", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, ["n", 4])], [value("y", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = session_of(model)
    for rows in (0, 2):
        expect_same(model, {"x": floats(rows, 4)}, session)


def test_weights_in_a_file(tmp_path):
    """ONNX Runtime gives them as tensors in its own memory."""
    weights = numpy_helper.from_array(floats(64, 64), "w")
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", FLOAT, [2, 64])], [value("y", FLOAT, [2, 64])], [weights])
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, size_threshold=0, convert_attribute=False)
    session = session_of(str(tmp_path / "model.onnx"))
    expect_same(model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", FLOAT, [2, 64])], [value("y", FLOAT, [2, 64])], [weights]), {"x": floats(2, 64)}, session)


def test_bound_outputs():
    model, feeds = small_graph("y = Neg(x)", {"x": floats(2, 5)})
    session = session_of(model)
    target = np.zeros((2, 5), np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", feeds["x"])
    binding.bind_output("y", "cpu", 0, np.float32, target.shape, target.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target, -feeds["x"])


def test_outputs_of_earlier_runs_are_not_written():
    """Even where the later ones cannot be written in place, as memory that is not aligned."""
    model, feeds = small_graph("y = Neg(x)", {"x": floats(2, 5)})
    session = session_of(model)
    bytes_of_second = np.zeros(2 * 5 * 4 + 1, np.uint8)
    first, second = np.zeros((2, 5), np.float32), bytes_of_second[1:]
    for turn, target in enumerate((first, first, second)):
        first[:] = 777
        binding = session.io_binding()
        binding.bind_cpu_input("x", feeds["x"] * turn)
        binding.bind_output("y", "cpu", 0, np.float32, (2, 5), target.ctypes.data)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(target.view(np.float32).reshape(2, 5) if target is first else np.frombuffer(second.tobytes(), np.float32).reshape(2, 5), -feeds["x"] * turn)
    np.testing.assert_array_equal(first, np.full((2, 5), 777, np.float32))


def test_threads_share_a_session():
    weights = {"w": floats(32, 32)}
    model, _ = small_graph("a = MatMul(x, w)\n y = Tanh(a)", {"x": (floats(1, 32), ["n", 32])}, weights)
    session = session_of(model)

    def many(rows):
        feed = {"x": floats(rows, 32)}
        wanted = np.tanh(feed["x"] @ weights["w"])
        for _ in range(50):
            np.testing.assert_allclose(session.run(None, feed)[0], wanted, rtol=1e-3, atol=1e-4)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(1, 9)))


def test_options():
    model, feeds = small_graph("y = Neg(x)", {"x": floats(2, 5)})
    session = session_of(model, {"device": "CPU:0", "config": json.dumps({"session": {"threads": 1}})})
    expect_same(model, feeds, session)
    assert places(session) == {NAME: ["Neg"]}


@pytest.mark.parametrize("options, message", [
    ({"device": "TPU"}, "TPU:0"), ({"devise": "CPU"}, 'there is no option "devise"; its options are "device"'), ({"config": '{"session": {"thread": 1}}'}, "/session/thread: unknown member"),
])
def test_wrong_options_are_an_error_of_the_session(options, message, capsys):
    """Of which ONNX Runtime's Python class writes, before it makes one without the provider."""
    session = session_of(small_graph("y = Neg(x)", {"x": floats(2, 5)})[0], options)
    assert session.get_providers() == [CPU]
    assert message in capsys.readouterr().out


def test_compiled_models_are_refused(capsys):
    with pytest.raises(Exception, match="ep_context_path"):  # of the class's second try
        session_of(small_graph("y = Neg(x)", {"x": floats(2, 5)})[0], entries=[("ep.context_enable", "1"), ("ep.context_embed_mode", "1")])
    assert "(ep.context_enable), which gantry makes none of; leave that option out" in capsys.readouterr().out


def test_an_error_of_a_run_is_told():
    model, _ = small_graph("y = Gather(x, i)", {"x": floats(3), "i": (np.array([0]), ["n"])})
    session = session_of(model)
    with pytest.raises(Exception, match="Gather.*index 7"):
        session.run(None, {"x": floats(3), "i": np.array([7])})
    np.testing.assert_array_equal(session.run(None, {"x": floats(3), "i": np.array([2])})[0], floats(3)[2:])


class ApiBase(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)), ("get_version", ctypes.CFUNCTYPE(ctypes.c_void_p))]


def test_an_older_onnxruntime_is_told():
    (library,) = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.1.*")
    get_base = ctypes.CDLL(str(library)).OrtGetApiBase
    get_base.restype = ctypes.POINTER(ApiBase)
    whole = get_base().contents
    name = ctypes.create_string_buffer(b"1.23.2")
    get_api, get_version = (kind for _, kind in ApiBase._fields_)
    old = ApiBase(get_api(lambda version: whole.get_api(version) if version < 24 else None), get_version(lambda: ctypes.addressof(name)))
    create = ctypes.CDLL(gantry.onnxruntime_ep.get_library_path()).CreateEpFactories
    create.restype = ctypes.c_void_p
    factories, count = (ctypes.c_void_p * 1)(), ctypes.c_size_t()
    status = create(b"gantry", ctypes.byref(old), None, factories, ctypes.c_size_t(1), ctypes.byref(count))
    table = ctypes.cast(whole.get_api(1), ctypes.POINTER(ctypes.c_void_p))
    message = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(table[2])(status)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[93])(status)
    assert message == b"gantry needs ONNX Runtime 1.24 or newer, and this is 1.23.2"
    assert count.value == 0


AGAIN = """
import gantry.onnxruntime_ep as ep, numpy, onnxruntime, sys
for turn in range(3):
    onnxruntime.register_execution_provider_library("gantry", ep.get_library_path())
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices([each for each in onnxruntime.get_ep_devices() if each.ep_name == ep.get_ep_name()], {})
    session = onnxruntime.InferenceSession(sys.argv[1], options)
    print(session.run(None, {"x": numpy.full(3, turn, numpy.float32)})[0].tolist())
    del session
    onnxruntime.unregister_execution_provider_library("gantry")
"""


def test_it_can_be_registered_again(tmp_path):
    onnx.save(small_graph("y = Neg(x)", {"x": floats(3)})[0], tmp_path / "model.onnx")
    done = subprocess.run([sys.executable, "-c", AGAIN, tmp_path / "model.onnx"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert done.stdout == "[-0.0, -0.0, -0.0]\n[-1.0, -1.0, -1.0]\n[-2.0, -2.0, -2.0]\n"
