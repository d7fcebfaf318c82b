# SPDX-License-Identifier: Apache-2.0
"""gantry.Session from Python: models and values of every kind in and out, threads, interrupts."""

import collections
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
import weakref

import ml_dtypes
import numpy as np
import onnx
import pytest
from broken_models import add_model, make_model, value
from loop_model import loop_model
from onnx import TensorProto, helper, numpy_helper

import gantry

ONES = np.ones((2, 3), np.float32)


def identity_model(element_type, shape=("n",), op_type="Identity"):
    model = make_model([helper.make_node(op_type, ["x"], ["y"])], [value("x", element_type, shape)], [value("y", element_type, shape)])
    model.opset_import[0].version = 25  # the first in which Identity takes every type
    return model


def test_path_bytes_and_proto(tmp_path):
    file = tmp_path / "add.onnx"
    onnx.save(add_model(), file)
    content = file.read_bytes()
    for model in (file, str(file), os.fsencode(file).decode(), content, bytearray(content), memoryview(content), add_model()):
        result = gantry.Session(model).run({"x": ONES, "y": ONES})
        np.testing.assert_array_equal(result["z"], 2 * ONES)


def test_bytes_are_kept():
    session = gantry.Session(bytes(bytearray(add_model().SerializeToString())))
    gc.collect()
    np.testing.assert_array_equal(session.run({"x": ONES, "y": ONES})["z"], 2 * ONES)


def test_describes_itself():
    model = add_model()
    helper.set_model_props(model, {"author": "nobody"})
    session = gantry.Session(model, device="CPU:0")
    assert [(info.name, info.kind, info.dtype, info.shape) for info in session.inputs] == [
        ("x", "tensor", "float32", ["n", 3]),
        ("y", "tensor", "float32", ["n", 3]),
    ]
    assert [info.name for info in session.outputs] == ["z"]
    assert session.metadata == {"author": "nobody"}
    assert session.placement.compatible
    (node,) = session.placement.nodes
    assert (node.node, node.op_type, node.device, node.provider) == ("plus", "Add", "CPU:0", "cpu")
    assert "plus" in repr(node)


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
     "complex128", *(getattr(ml_dtypes, name) for name in (
         "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
         "float6_e2m3fn", "float6_e3m2fn", "int4", "uint4", "int2", "uint2"))],
)  # fmt: skip
@pytest.mark.parametrize("count", [0, 1, 7])
def test_every_element_type(dtype, count):
    dtype = np.dtype(dtype)
    is_signed_integer = dtype.kind == "i" or dtype.name in ("int4", "int2")
    numbers = [-2, 1, -1, 0, 1, -2, 0] if is_signed_integer else [1, 0, 1, 1, 0, 0, 1]
    given = np.array(numbers[:count]).astype(dtype)
    element_type = helper.np_dtype_to_tensor_dtype(dtype)
    model = identity_model(element_type)
    if dtype.name.startswith("float6"):  # which Identity does not take
        model = make_model([helper.make_node("Cast", ["x"], ["y"], to=element_type)], [value("x", element_type, ("n",))],
                           [value("y", element_type, ("n",))])
        model.opset_import[0].version = 28
    result = gantry.Session(model).run({"x": given})["y"]
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.complex128), given.astype(np.complex128))


@pytest.mark.parametrize("given", [np.array(["a", "", "ünïcödé"], object), np.array(["a", "b"]), np.array([b"a", b"bc"])])
def test_strings(given):
    result = gantry.Session(identity_model(TensorProto.STRING)).run({"x": given})["y"]
    assert result.dtype == object
    assert result.tolist() == [text if isinstance(text, str) else text.decode() for text in given.tolist()]


def test_scalars_and_lists():
    scalar = gantry.Session(identity_model(TensorProto.FLOAT, (), "Neg"))
    for given in (np.float32(3), np.array(3, np.float32), 3, 3.0):
        result = scalar.run({"x": given})["y"]
        assert (result.shape, result.item()) == ((), -3)
    whole = gantry.Session(identity_model(TensorProto.INT64, ("n",), "Neg"))
    assert whole.run({"x": [1, 2, 3]})["y"].tolist() == [-1, -2, -3]
    with pytest.raises(gantry.InvalidArgumentError, match="expected int64, found a list of float64"):
        whole.run({"x": [1.5]})


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: np.asfortranarray(a.reshape(4, 2))[:, 1],
        lambda a: a.astype(">f4"),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float32),
    ],
)
def test_awkward_arrays(view):
    given = view(np.arange(8, dtype=np.float32))
    result = gantry.Session(identity_model(TensorProto.FLOAT, ("n",), "Neg")).run({"x": given})["y"]
    np.testing.assert_array_equal(result, -given)


def test_outputs_are_their_own():
    for model in (identity_model(TensorProto.FLOAT), identity_model(TensorProto.FLOAT, ("n",), "Neg")):
        session = gantry.Session(model)
        given = np.ones(4, np.float32)
        first = session.run({"x": given})["y"]
        kept = first.copy()
        assert first.flags.writeable
        assert not np.shares_memory(first, given)
        second = session.run({"x": 5 * given})["y"]
        assert not np.shares_memory(first, second)
        np.testing.assert_array_equal(first, kept)


def test_constant_output_may_be_written():
    weight = onnx.numpy_helper.from_array(np.ones(3, np.float32), "w")
    session = gantry.Session(make_model([helper.make_node("Identity", ["w"], ["y"])], [], [value("y", shape=(3,))], [weight]))
    session.run({})["y"][:] = 7
    assert session.run({})["y"].tolist() == [1, 1, 1]


def test_inputs_are_let_go():
    session = gantry.Session(add_model())
    given = np.ones((2, 3), np.float32)
    watch = weakref.ref(given)
    result = session.run({"x": given, "y": given})
    del given
    gc.collect()
    assert watch() is None
    np.testing.assert_array_equal(result["z"], 2 * ONES)


def test_sequences():
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    model = make_model(
        [helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
        [sequence, value("x", shape=("n",))],
        [helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None)],
    )
    session = gantry.Session(model)
    assert (session.inputs[0].kind, session.inputs[0].dtype, session.inputs[0].shape) == ("sequence", "float32", None)
    one, two = np.ones(1, np.float32), np.full(2, 2, np.float32)
    result = session.run({"s": [one], "x": two})["t"]
    assert isinstance(result, list)
    assert [item.tolist() for item in result] == [[1], [2, 2]]
    assert [item.tolist() for item in session.run({"s": [], "x": one})["t"]] == [[1]]
    with pytest.raises(gantry.InvalidArgumentError, match='"s": expected a list of arrays, found a ndarray'):
        session.run({"s": one, "x": two})


def test_optionals():
    optional = helper.make_value_info("o", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"])))
    model = make_model([helper.make_node("OptionalHasElement", ["o"], ["y"])], [optional], [value("y", TensorProto.BOOL, ())])
    session = gantry.Session(model)
    assert session.inputs[0].kind == "optional"
    assert session.run({"o": None})["y"].item() is False
    assert session.run({"o": np.ones(2, np.float32)})["y"].item() is True


def ml_model(node, given, made):
    model = make_model([node], [helper.make_value_info("x", given)], [helper.make_value_info("y", made)])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    return model


def test_maps():
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 2])
    map_type = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    zip_map = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"])
    session = gantry.Session(ml_model(zip_map, numbers, helper.make_sequence_type_proto(map_type)))
    result = session.run({"x": np.array([[0.25, 0.75], [1, 0]], np.float32)})["y"]
    assert result == [{"cat": 0.25, "dog": 0.75}, {"cat": 1, "dog": 0}]

    zip_map = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[7, -2, 7])
    map_type = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    rows = helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 3])
    session = gantry.Session(ml_model(zip_map, rows, helper.make_sequence_type_proto(map_type)))
    result = session.run({"x": np.arange(6, dtype=np.float32).reshape(2, 3)})["y"]
    assert result == [{7: 2, -2: 1}, {7: 5, -2: 4}]
    result[0][7] = 9  # each is a dict of its own
    assert result[1] == {7: 5, -2: 4}
    assert session.run({"x": np.zeros((0, 3), np.float32)})["y"] == []

    vectorize = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"])
    given = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    session = gantry.Session(ml_model(vectorize, given, helper.make_tensor_type_proto(TensorProto.FLOAT, None)))
    assert session.inputs[0].kind == "map"
    assert session.run({"x": {"c": 3.0, "a": 1.0}})["y"].ravel().tolist() == [1, 0, 3]
    for wrong in ([1.0], None, np.ones(1)):
        with pytest.raises(gantry.InvalidArgumentError, match='input "x": expected a dict, found '):
            session.run({"x": wrong})


def test_errors_have_classes_and_codes():
    session = gantry.Session(add_model())
    with pytest.raises(gantry.InvalidArgumentError) as raised:
        session.run({"x": ONES})
    assert isinstance(raised.value, (gantry.Error, ValueError, RuntimeError))
    assert raised.value.code == "INVALID_ARGUMENT"
    for wrong in ([ONES], None, {1: ONES}):
        with pytest.raises(gantry.InvalidArgumentError, match="^inputs: "):
            session.run(wrong)
    for wrong in (5, None, [add_model()]):
        with pytest.raises(gantry.InvalidArgumentError, match="^model: expected a path, bytes or an onnx.ModelProto"):
            gantry.Session(wrong)
    with pytest.raises(gantry.InvalidArgumentError, match="^config: expected a dict, JSON text or the path of a JSON file"):
        gantry.Session(add_model(), config=2)
    with pytest.raises(gantry.InvalidArgumentError, match='ONNX has no element type for an array of datetime64'):
        session.run({"x": np.zeros((2, 3), "M8[s]"), "y": ONES})


def test_chosen_outputs():
    model = make_model([helper.make_node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2)], [value("x", shape=(1, 4))],
                       [value("a", shape=(1, 2)), value("b", shape=(1, 2))])
    session = gantry.Session(model)
    x = np.array([[1, 2, 3, 4]], np.float32)
    assert list(session.run({"x": x})) == ["a", "b"]
    assert list(session.run({"x": x}, ["b", "a"])) == ["b", "a"]
    assert session.run({"x": x}, ("b",))["b"].tolist() == [[3, 4]]
    assert session.run({"x": x}, []) == {}
    with pytest.raises(gantry.InvalidArgumentError, match='output "c": the model has no such output; it has "a", "b"'):
        session.run({"x": x}, ["c"])
    for wrong in ("a", 5, [5]):
        with pytest.raises(gantry.InvalidArgumentError, match="^outputs: expected"):
            session.run({"x": x}, wrong)


def test_profile_and_memory():
    session = gantry.Session(add_model(), profile=True)
    for _ in range(3):
        session.run({"x": ONES, "y": ONES})
    (row,) = session.profile()
    assert (row.node, row.op_type, row.device, row.runs) == ("plus", "Add", "CPU:0", 3)
    assert row.total_ns > 0
    session.reset_profile()
    assert sum(row.runs for row in session.profile()) == 0
    assert session.memory.weights >= 0
    with pytest.raises(gantry.InvalidArgumentError, match="make it with profile=True"):
        gantry.Session(add_model()).profile()


def test_devices_and_report():
    assert "CPU:0" in [str(device) for device in gantry.devices() if device.state == "ready"]
    assert {device.type: device.stand_in for device in gantry.devices() if device.type in ("CPU", "SIM")} == {"CPU": False, "SIM": True}
    rows = {row.name: row for row in gantry.report()}
    assert (rows["cpu"].state, rows["cpu"].code, rows["cpu"].message) == ("ready", "OK", "")
    assert gantry.supports_device("CPU")
    assert not gantry.supports_device("CPU:")


def test_log_level(capfd):
    before = gantry.log_level()
    try:
        written = {}
        for level in ("error", "info"):
            gantry.set_log_level(level)
            assert gantry.log_level() == level
            gantry.Session(listed_model()).run({"x": np.float32([1, 2]), "w": np.float32([0, 5])})
            written[level] = capfd.readouterr().err
        assert written["error"] == ""
        assert "gantry info: model in memory: a run gives inputs that have a value in the model another one" in written["info"]
        with pytest.raises(gantry.InvalidArgumentError, match='one of error, warning, info and debug, found "loud"'):
            gantry.set_log_level("loud")
    finally:
        gantry.set_log_level(before)


def test_timeout():
    session = gantry.Session(loop_model())
    x = np.zeros((512, 512), np.float32)
    start = time.monotonic()
    with pytest.raises(gantry.DeadlineExceededError) as raised:
        session.run({"x": x, "count": 10**9}, timeout=0.2)
    assert isinstance(raised.value, TimeoutError)
    assert time.monotonic() - start < 10
    session.run({"x": x, "count": 1}, timeout=100)
    with pytest.raises(gantry.InvalidArgumentError, match="timeout"):
        session.run({"x": x, "count": 1}, timeout=-1)


@pytest.fixture
def interruptible():
    """Python's own handler: a shell starts what it puts into the background with interrupts ignored."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_ends_a_run():
    session = gantry.Session(loop_model())
    x = np.zeros((512, 512), np.float32)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.run({"x": x, "count": 10**9}, timeout=60)
    assert time.monotonic() - start < 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    session.run({"x": x, "count": 1})


@pytest.mark.usefixtures("interruptible")
def test_tokens_end_runs():
    session = gantry.Session(loop_model())
    inputs = {"x": np.zeros((512, 512), np.float32), "count": 10**9}
    token = gantry.CancelToken()
    assert not token.cancelled
    threading.Timer(0.2, token.cancel).start()
    with pytest.raises(gantry.CancelledError):
        session.run(inputs, timeout=60, cancel=token)
    with pytest.raises(gantry.CancelledError):
        session.run(inputs, timeout=60, cancel=token)
    token.reset()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        session.run(inputs, timeout=60, cancel=token)
    assert not token.cancelled
    session.run({**inputs, "count": 1}, cancel=token)

    worker_said = []

    def work():
        try:
            session.run(inputs, timeout=60, cancel=token)
        except gantry.Error as error:
            worker_said.append(type(error))

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.2)
    token.cancel()
    worker.join(30)
    assert worker_said == [gantry.CancelledError]


def test_others_run_meanwhile():
    session = gantry.Session(loop_model(), config={"session": {"threads": 1}})
    x = np.zeros((512, 512), np.float32)
    worker = threading.Thread(target=lambda: session.run({"x": x, "count": 200}))
    worker.start()
    steps = 0
    while worker.is_alive():
        steps += 1
        time.sleep(0.001)
    assert steps > 5


def test_runs_at_once():
    session = gantry.Session(add_model())
    wrong = []

    def work(number):
        x = np.full((number, 3), number, np.float32)
        for _ in range(50):
            if not (session.run({"x": x, "y": x})["z"] == 2 * number).all():
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_process_ends_cleanly():
    code = (
        "import gantry, numpy as np, onnx\n"
        "from onnx import helper\n"
        "info = lambda n: helper.make_tensor_value_info(n, 1, [2])\n"
        "graph = helper.make_graph([helper.make_node('Neg', ['x'], ['y'])], 'g', [info('x')], [info('y')])\n"
        "session = gantry.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10))\n"
        "kept = session.run({'x': np.ones(2, np.float32)})\n"
        "print(kept['y'].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[-1.0, -1.0]\n", "")


def test_a_process_ends_while_threads_of_it_run():
    """Daemon threads come back from a run to an interpreter that is gone."""
    code = (
        "import atexit, gantry, numpy as np, onnx, threading, time\n"
        "from onnx import helper\n"
        "info = lambda n: helper.make_tensor_value_info(n, 1, [200, 200])\n"
        "graph = helper.make_graph([helper.make_node('MatMul', ['x', 'x'], ['y'])], 'g', [info('x')], [info('y')])\n"
        "session = gantry.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10))\n"
        "x = np.zeros((200, 200), np.float32)\n"
        "def work():\n"
        "    while True: session.run({'x': x})\n"
        "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.3)\n"
        "atexit.register(lambda: print(session.run({'x': x})['y'].shape))\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "(200, 200)\n", "")


def test_inputs_may_be_any_mapping():
    session = gantry.Session(make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=(2,))], [value("y", shape=(2,))]))
    x = np.ones(2, np.float32)
    for mapping in (collections.UserDict(x=x), types.MappingProxyType({"x": x}), collections.ChainMap({"x": x})):
        np.testing.assert_array_equal(session.run(mapping)["y"], -x)
    with pytest.raises(gantry.InvalidArgumentError, match="expected a dict from input names to arrays, found a list"):
        session.run([x])


def test_sessions_stay_in_their_process():
    session = gantry.Session(make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=(2,))], [value("y", shape=(2,))]))
    for hand_on in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied: .*; hand on the model, and make a session of it there"):
            hand_on(session)


def test_extents_that_nobody_names_have_no_names():
    """Inference makes names up where it knows nothing."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("NonZero", ["x"], ["z"])]
    outputs = [value("y", shape=(None, 2)), value("z", TensorProto.INT64, (2, None))]
    session = gantry.Session(make_model(nodes, [value("x", shape=(None, 4)), value("w", shape=(4, 2))], outputs))
    assert [info.shape for info in session.outputs] == [[None, 2], [2, None]]
    named = gantry.Session(make_model(nodes[:1], [value("x", shape=("unk__7", 4)), value("w", shape=(4, 2))], [value("y", shape=("unk__7", 2))]))
    assert named.outputs[0].shape == ["unk__7", 2]


def test_sessions_may_be_in_caches_that_let_them_go():
    session = gantry.Session(make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=(2,))], [value("y", shape=(2,))]))
    cache = weakref.WeakValueDictionary(neg=session)
    assert cache["neg"] is session
    del session
    gc.collect()
    assert "neg" not in cache


def test_types_that_numpy_lacks_are_imported_when_they_are_met(tmp_path):
    """ml_dtypes takes longer to import than a small model to load."""
    files = {}
    for name, element_type in (("floats", TensorProto.FLOAT), ("texts", TensorProto.STRING), ("halves", TensorProto.BFLOAT16)):
        files[name] = tmp_path / f"{name}.onnx"
        onnx.save(make_model([helper.make_node("Identity", ["x"], ["y"])], [value("x", element_type, (2,))], [value("y", element_type, (2,))]), files[name])
    code = (
        "import gantry, numpy as np, sys\n"
        f"gantry.Session({str(files['floats'])!r}).run({{'x': np.ones(2, np.float32)}})\n"
        f"gantry.Session({str(files['texts'])!r}).run({{'x': np.array(['a', 'b'])}})\n"
        "print('ml_dtypes' in sys.modules)\n"
        f"session = gantry.Session({str(files['halves'])!r})\n"
        "print(session.empty('x').dtype)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\nbfloat16\n", "")


def test_names_are_all_public():
    assert sorted(gantry.__all__) == gantry.__all__
    assert all(hasattr(gantry, name) for name in gantry.__all__)


def listed_model(ir_version=8, opset=13):
    """y = (x + (w + 1)) if flag else x; "w" and "flag" are initializers and inputs."""
    then = helper.make_graph([helper.make_node("Add", ["x", "v"], ["t"])], "then", [], [value("t", shape=("n",))])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "else", [], [value("e", shape=("n",))])
    nodes = [helper.make_node("Add", ["w", "one"], ["v"]), helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other)]
    initializers = [numpy_helper.from_array(np.float32([10, 20]), "w"), numpy_helper.from_array(np.array(True), "flag"),
                    numpy_helper.from_array(np.float32([1]), "one")]
    inputs = [value("w", shape=("n",)), value("x", shape=("n",)), value("flag", TensorProto.BOOL, ())]
    if ir_version < 4:  # when all of them had to be listed
        inputs.append(value("one", shape=(1,)))
    model = make_model(nodes, inputs, [value("y", shape=("n",))], initializers)
    model.ir_version = ir_version
    model.opset_import[0].version = opset
    return model


def test_inputs_that_have_a_value_in_the_model():
    session = gantry.Session(listed_model())
    assert [(info.name, info.required) for info in session.inputs] == [("w", False), ("x", True), ("flag", False)]
    x = np.float32([1, 2])
    assert session.run({"x": x})["y"].tolist() == [12, 23]
    assert session.run({"x": x, "w": np.float32([0, 5])})["y"].tolist() == [2, 8]
    assert session.run({"x": x, "flag": np.array(False)})["y"].tolist() == [1, 2]
    assert session.run({"x": x})["y"].tolist() == [12, 23]  # the other runs changed nothing
    assert session.run({"x": np.ones(3, np.float32), "w": np.float32([1, 2, 3])})["y"].tolist() == [3, 4, 5]
    with pytest.raises(gantry.InvalidArgumentError, match='input "w": expected float32.n., found int64'):
        session.run({"x": x, "w": np.int64([1, 2])})
    with pytest.raises(gantry.InvalidArgumentError, match='input "x" is missing'):
        session.run({"w": x})


def test_old_models_have_to_list_their_initializers():
    session = gantry.Session(listed_model(ir_version=3, opset=8))
    assert [info.name for info in session.inputs] == ["x"]
    assert session.run({"x": np.float32([1, 2])})["y"].tolist() == [12, 23]
    assert [row.op_type for row in session.placement.nodes] == ["Add"]  # the rest is constant
    with pytest.raises(gantry.InvalidArgumentError, match="w"):
        session.run({"x": np.float32([1, 2]), "w": np.float32([1, 2])})


@pytest.mark.parametrize("count, level", [(4, ""), (1 << 18, "warning")])
def test_weights_that_are_inputs_are_warned_of(count, level, capfd):
    model = make_model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", shape=(count,)), value("w", shape=(count,))],
                       [value("y", shape=(count,))], [numpy_helper.from_array(np.zeros(count, np.float32), "w")])
    session = gantry.Session(model)
    session.run({"x": np.zeros(count, np.float32)})
    assert "bytes" not in capfd.readouterr().err  # they are constants
    for _ in range(2):
        session.run({"x": np.zeros(count, np.float32), "w": np.ones(count, np.float32)})
    said = capfd.readouterr().err
    assert said.count("bytes") <= 1
    assert ('1 with 1048576 bytes ("w")' in said and "warning" in said) if level else "bytes" not in said
