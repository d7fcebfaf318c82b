# SPDX-License-Identifier: Apache-2.0
"""gantry.register_backend: classes with ONNX's Backend interface as devices, alone and beside others."""

import concurrent.futures
import gc
import threading

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.backend.base import Backend, BackendRep
from onnx.reference import ReferenceEvaluator

import gantry

TEXT = """<ir_version: 10, opset_import: ["" : 18]>
g (float[n, 4] x) => (float[n, 4] y, int64[m] wide)
<float[4, 4] w = {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4}, float zero = {0.0}> {
  [product] a = MatMul(x, w)
  [rest] b = Relu(a)
  [sum] y = Add(b, x)
  [greater] c = Greater(y, zero)
  [shape] s = Shape(y)
  [wider] wide = Concat <axis = 0> (s, s)
}"""
X = np.array([[1, -2, 3, -4], [0.5, 0, -0.5, 9]], np.float32)
Y = np.maximum(X * [1, 2, 3, 4], 0) + X


class Evaluator(BackendRep):
    def __init__(self, model, owner):
        self.evaluator = ReferenceEvaluator(model)
        self.names = [value.name for value in model.graph.input]
        self.owner = owner

    def run(self, inputs, **kwargs):
        self.owner.runs.append([array.__array_interface__["data"][0] for array in inputs])
        return tuple(self.evaluator.run(None, dict(zip(self.names, inputs))))


def backend(takes=lambda model: True, evaluator=Evaluator):
    """A class of its own, which notes what it is asked and given."""

    class MyBackend(Backend):
        asked, prepared, runs = [], [], []

        @classmethod
        def is_compatible(cls, model, device="CPU", **kwargs):
            onnx.checker.check_model(model)
            cls.asked.append([node.op_type for node in model.graph.node])
            return takes(model)

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            onnx.checker.check_model(model)
            cls.prepared.append(([node.op_type for node in model.graph.node], device))
            return evaluator(model, cls)

    return MyBackend


@pytest.fixture(name="register")
def _register(request):
    """Registers a class as a device of its own; gives the device's name."""
    count = 0

    def register(cls, **options):
        nonlocal count
        count += 1
        name = f"T{abs(hash(request.node.nodeid)) % 10**9}_{count}"
        gantry.register_backend(name, cls, **options)
        return name

    return register


def model(text=TEXT):
    return onnx.parser.parse_model(text).SerializeToString()


def test_a_class_that_takes_the_whole_graph_is_given_all_of_it(register):
    cls = backend()
    device = register(cls, device="MY:1")
    session = gantry.Session(model(), device=device, config={"placement": {"fallback": "error"}})
    np.testing.assert_allclose(session.run({"x": X})["y"], Y)
    np.testing.assert_array_equal(session.run({"x": X})["wide"], [2, 4, 2, 4])
    assert len(cls.prepared) == 1 and cls.prepared[0][1] == "MY:1"
    assert {"MatMul", "Relu", "Add"} <= set(cls.prepared[0][0])
    assert device in [str(row.type) for row in gantry.devices()]
    assert gantry.supports_device(device)


def test_a_class_takes_nodes_one_by_one_and_leaves_the_others(register):
    cls = backend(lambda model: [node.op_type for node in model.graph.node] in (["Relu"], ["Add"]))
    device = register(cls)
    session = gantry.Session(model(), device=device, config={"placement": {"fallback": "allow"}})
    np.testing.assert_allclose(session.run({"x": X})["y"], Y)
    assert sorted(cls.prepared) == [(["Add"], "CPU"), (["Relu"], "CPU")]
    assert ["MatMul"] in cls.asked
    with pytest.raises(gantry.UnsupportedError, match="MyBackend.is_compatible refuses MatMul as a model of its own"):
        gantry.Session(model(), device=device)


def test_the_reference_evaluator_agrees_on_bodies_and_constants(register):
    text = """<ir_version: 10, opset_import: ["" : 18]>
    g (float[n] x, bool c, int64 rounds) => (float[n] y, float[n] z) <float[1] bias = {0.5}> {
      y = If (c) <then_branch = t () => (float[n] p) { p = Add(x, bias) }, else_branch = e () => (float[n] q) { q = Mul(x, bias) }>
      z = Loop (rounds, c, x) <body = b (int64 i, bool go, float[n] v) => (bool on, float[n] w) { on = Identity(go) w = Add(v, bias) }>
    }"""
    device = register(backend())
    session = gantry.Session(model(text), device=device, config={"placement": {"fallback": "error"}})
    alone = gantry.Session(model(text))
    for c in (True, False):
        feeds = {"x": X[0], "c": np.bool_(c), "rounds": np.int64(3)}
        for name, value in session.run(feeds).items():
            np.testing.assert_allclose(value, alone.run(feeds)[name])


def test_large_weights_reach_prepare_and_not_the_question(register):
    weights = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    proto = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 18]> g (float[n, 64] x) => (float[n, 64] y) { y = MatMul(x, w) }')
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    asked = []
    device = register(backend(lambda model: asked.append(len(model.graph.initializer)) or True))
    x = np.ones((3, 64), np.float32)
    np.testing.assert_allclose(gantry.Session(proto.SerializeToString(), device=device).run({"x": x})["y"], x @ weights, rtol=1e-5)
    assert set(asked) == {0}


def test_inputs_are_the_sessions_memory(register):
    cls = backend(lambda model: [node.op_type for node in model.graph.node] == ["Relu"])
    device = register(cls)
    session = gantry.Session(model('<ir_version: 10, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) { y = Relu(x) }'), device=device)
    x = np.linspace(-1, 1, 10000, dtype=np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(session.run({"x": x})["y"], np.maximum(x, 0))
    assert cls.runs[-1] == [x.__array_interface__["data"][0]]


def test_a_class_that_keeps_its_inputs_is_given_copies(register):
    class Keeper(Evaluator):
        kept = []

        def run(self, inputs, **kwargs):
            Keeper.kept += inputs
            return super().run(inputs)

    cls = backend(evaluator=Keeper)
    device = register(cls)
    session = gantry.Session(model('<ir_version: 10, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) { y = Relu(x) }'), device=device)
    x = np.linspace(-1, 1, 10000, dtype=np.float32)
    with pytest.warns(RuntimeWarning, match='MyBackend.run, Relu "[^"]*": it keeps inputs'):
        session.run({"x": x})
    for number in range(1, 4):
        session.run({"x": x * number})
        gc.collect()
        assert cls.runs[-1] != [x.__array_interface__["data"][0]]
    for number, kept in enumerate(Keeper.kept[1:], 1):
        np.testing.assert_array_equal(kept, x * number)


def test_strings_and_empty_tensors(register):
    text = '<ir_version: 10, opset_import: ["" : 20]> g (string[n] x) => (string[n] y) { y = StringConcat(x, x) }'
    device = register(backend())
    session = gantry.Session(model(text), device=device, config={"placement": {"fallback": "error"}})
    np.testing.assert_array_equal(session.run({"x": np.array(["a", "ä€"], object)})["y"], ["aa", "ä€ä€"])
    assert session.run({"x": np.array([], object)})["y"].shape == (0,)


def failing(what):
    class Failing(Evaluator):
        def run(self, inputs, **kwargs):
            return what(super().run(inputs))

    return Failing


def raise_it(error):
    raise error


@pytest.mark.parametrize("what, error, text", [
    (lambda outputs: raise_it(ValueError("no luck")), gantry.DeviceError, r"ValueError: no luck \(backend_devices_test.py:\d+\)"),
    (lambda outputs: raise_it(NotImplementedError("later")), gantry.UnsupportedError, "NotImplementedError: later"),
    (lambda outputs: raise_it(MemoryError()), gantry.OutOfMemoryError, "MemoryError"),
    (lambda outputs: (), gantry.DeviceError, r"ValueError: expected 1 outputs \(y\), found 0"),
    (lambda outputs: outputs[0], gantry.DeviceError, "TypeError: expected a tuple or list of 1 outputs, found ndarray"),
    (lambda outputs: (outputs[0].astype(np.float64),), gantry.DeviceError, 'TypeError: output "y": expected elements of type float32, found float64'),
    (lambda outputs: (outputs[0][None],), gantry.InvalidArgumentError, "rank"),
])
def test_what_goes_wrong_in_a_run_names_class_and_node(register, what, error, text):
    device = register(backend(evaluator=failing(what)))
    session = gantry.Session(model('<ir_version: 10, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) { [r] y = Relu(x) }'), device=device)
    with pytest.raises(error, match=text) as raised:
        session.run({"x": X[0]})
    assert '"r"' in str(raised.value) or error is gantry.InvalidArgumentError
    if error is not gantry.InvalidArgumentError:
        assert 'MyBackend.run, Relu "r": ' in str(raised.value)


def test_what_goes_wrong_while_a_session_is_made_names_class_and_node(register):
    text = '<ir_version: 10, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) { [r] y = Relu(x) }'
    unprepared = register(backend(evaluator=lambda model, owner: raise_it(KeyError("k"))))
    with pytest.raises(gantry.DeviceError, match=r"MyBackend.prepare, Relu \"r\": KeyError: 'k'"):
        gantry.Session(model(text), device=unprepared)
    shapeless = register(backend(evaluator=lambda model, owner: 7))
    with pytest.raises(gantry.DeviceError, match=r"MyBackend.prepare, Relu \"r\": TypeError: expected an object with run\(inputs\), found 7"):
        gantry.Session(model(text), device=shapeless)
    unasked = register(backend(lambda model: raise_it(ValueError("what?"))))
    with pytest.raises(gantry.Error, match="MyBackend.is_compatible, the graph: ValueError: what?"):
        gantry.Session(model(text), device=unasked, config={"placement": {"fallback": "error"}})


def test_wrong_registrations_are_refused(register):
    for wrong in ("", "a b", "CPU:0", None, 3):
        with pytest.raises(gantry.InvalidArgumentError, match='device_type: expected 1 to 64 letters, digits and "_"'):
            gantry.register_backend(wrong, backend())
    with pytest.raises(gantry.InvalidArgumentError, match="backend: expected a class with prepare"):
        gantry.register_backend("NOTHING", object())
    device = register(backend())
    with pytest.raises(gantry.InvalidArgumentError, match=f'provider "backend-{device.lower()}" is there already'):
        gantry.register_backend(device, backend())


def test_sessions_with_a_runtime_of_their_own_see_the_class(register):
    device = register(backend())
    session = gantry.Session(model(), device=device, config={"providers": {"isolation": {}}})
    np.testing.assert_allclose(session.run({"x": X})["y"], Y)
    assert device in [row.type for row in gantry.devices(config={"providers": {"isolation": {}}})]


def test_classes_registered_at_the_same_time_are_all_there():
    names = [f"SAMETIME{i}" for i in range(6)]
    classes, start = [backend() for _ in names], threading.Barrier(len(names))

    def register(name, of):
        start.wait()
        gantry.register_backend(name, of)

    with concurrent.futures.ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(register, names, classes))
    model = onnx.parser.parse_model(TEXT)
    for name, of in zip(names, classes):
        gantry.Session(model, device=name).run({"x": X})
        assert of.runs, name
