# SPDX-License-Identifier: Apache-2.0
"""gantry.backend: the ONNX Backend interface, its devices, its forms of inputs and outputs, its errors."""

import inspect

import ml_dtypes
import numpy as np
import onnx.backend.base
import pytest
from broken_models import add_model, make_model, value
from onnx import TensorProto, helper, numpy_helper

import gantry
from gantry import backend

ONES = np.ones((2, 3), np.float32)


def neg_model(output="y"):
    return make_model([helper.make_node("Neg", ["x"], [output])], [value("x", shape=("n",))], [value(output, shape=("n",))])


def unclaimed_model():
    model = make_model([helper.make_node("Nothing", ["x"], ["y"], domain="test")], [value("x")], [value("y")])
    model.opset_import.append(helper.make_opsetid("test", 1))
    return model


def test_has_the_standards_names_and_signatures():
    for name in ("is_compatible", "prepare", "run_model", "run_node", "supports_device"):
        ours = inspect.signature(getattr(backend, name)).parameters
        theirs = inspect.signature(getattr(onnx.backend.base.Backend, name)).parameters
        assert [(p.name, p.kind, p.default) for p in ours.values()] == [(p.name, p.kind, p.default) for p in theirs.values()]
    assert issubclass(backend.Backend, onnx.backend.base.Backend)
    assert issubclass(backend.BackendRep, onnx.backend.base.BackendRep)


def test_device():
    device = backend.Device("SIM:1")
    assert (device.type, device.device_id, str(device)) == ("SIM", 1, "SIM:1")
    assert backend.Device("CPU").type == backend.DeviceType.CPU
    assert backend.Device("CUDA:0").type == backend.DeviceType.CUDA
    assert backend.Device("CPU") == backend.Device("CPU:0") != device
    assert len({backend.Device("CPU"), backend.Device("CPU:0")}) == 1
    for wrong in ("", "CPU:", "CPU:-1", "CPU:1 ", ":1", "CPU:1:2", "a b"):
        with pytest.raises(gantry.InvalidArgumentError, match="device"):
            backend.Device(wrong)
    with pytest.raises(gantry.InvalidArgumentError, match='device: expected text like "CPU" or "CUDA:1", found None'):
        backend.prepare(add_model(), None)
    with pytest.raises(gantry.InvalidArgumentError, match="found a value of type int"):
        backend.Device(3)


def test_wrong_nodes_are_said():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(gantry.InvalidArgumentError, match="node: expected an onnx.NodeProto, found None"):
        backend.run_node(None, [x])
    with pytest.raises(gantry.InvalidModelError) as raised:
        backend.run_node(helper.make_node("Add", ["a", "b"], ["c"], name="plus"), [x, np.ones((2, 4), np.float32)])
    assert str(raised.value) == 'Add "plus" does not fit its inputs: Incompatible dimensions'


def test_supports_device():
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:0")
    for wrong in ("CPU:99", "NOPE", "", "CPU:x", None):
        assert not backend.supports_device(wrong)


def test_is_compatible():
    assert backend.is_compatible(add_model()) is True
    assert backend.is_compatible(add_model(), "CPU:0", config={"session": {"threads": 1}})
    assert not backend.is_compatible(add_model(), "NOPE")
    assert not backend.is_compatible(unclaimed_model())
    broken = add_model()
    broken.graph.node[0].input[0] = "nowhere"
    assert not backend.is_compatible(broken)
    with pytest.raises(gantry.InvalidArgumentError, match="device"):
        backend.is_compatible(add_model(), "CPU:x")
    with pytest.raises(gantry.NotFoundError):
        backend.is_compatible("/no/such/model.onnx")


def test_prepare_refuses():
    with pytest.raises(gantry.UnsupportedError, match="Nothing"):
        backend.prepare(unclaimed_model())
    with pytest.raises(gantry.NotFoundError, match="NOPE"):
        backend.prepare(add_model(), "NOPE")
    with pytest.raises(gantry.InvalidArgumentError, match='prepare: there is no option "threads"; expected "config", "profile"'):
        backend.prepare(add_model(), threads=1)
    backend.prepare(add_model(), rtol=1e-3, atol=1e-7)  # the standard's runner passes its tolerances


@pytest.mark.parametrize("inputs", [[ONES, ONES], (ONES, ONES), {"y": ONES, "x": ONES}])
def test_run_takes(inputs):
    outputs = backend.prepare(add_model()).run(inputs)
    assert isinstance(outputs, tuple)
    np.testing.assert_array_equal(outputs.z, 2 * ONES)
    np.testing.assert_array_equal(outputs["z"], outputs[0])
    np.testing.assert_array_equal(backend.run_model(add_model(), inputs).z, 2 * ONES)


def test_single_array():
    rep = backend.prepare(neg_model())
    assert rep.run(np.ones(2, np.float32)).y.tolist() == [-1, -1]
    assert rep.run([[1, 2]]).y.tolist() == [-1, -2]
    with pytest.raises(gantry.InvalidArgumentError, match='found a single array, and the model has 2 inputs \\("x", "y"\\)'):
        backend.prepare(add_model()).run(ONES)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([ONES], 'expected 2 values, one for each input of the model \\("x", "y"\\), found 1'),
        ([ONES, ONES, ONES], "expected 2 values.*found 3"),
        ({"x": ONES}, 'input "y" is missing; expected float32\\[n,3\\]'),
        ({"x": ONES, "y": ONES, "w": ONES}, 'input "w": the model has no such input; it has "x", "y"'),
        ([ONES, ONES[0]], 'input "y": expected float32\\[n,3\\], found .*\\[3\\]'),
        ([ONES, ONES.astype(int)], 'input "y": expected float32\\[n,3\\], found .*int64'),
        ([ONES, None], 'input "y": expected an array, found None'),
        (None, "inputs: expected a list, a tuple, a dict or an array, found a NoneType"),
        ("xy", "found a str"),
    ],
)  # fmt: skip
def test_wrong_inputs(inputs, said):
    rep = backend.prepare(add_model())
    with pytest.raises(gantry.InvalidArgumentError, match=said):
        rep.run(inputs)


def test_inputs_with_a_value_in_the_model():
    """They may be left out of the list, as the standard's runner does, or be given at their places."""
    weight = numpy_helper.from_array(np.float32([1, 2]), "w")
    inputs = [value("w", shape=(2,)), value("x", shape=(2,))]
    rep = backend.prepare(make_model([helper.make_node("Sub", ["x", "w"], ["y"])], inputs, [value("y", shape=(2,))], [weight]))
    x, w = np.float32([5, 5]), np.float32([3, 4])
    assert rep.run([x])[0].tolist() == rep.run(x)[0].tolist() == [4, 3]
    assert rep.run([w, x])[0].tolist() == rep.run({"x": x, "w": w})[0].tolist() == [2, 1]
    with pytest.raises(gantry.InvalidArgumentError, match="expected 1 value.*found 0"):
        rep.run([])


def test_names_that_are_no_identifiers():
    outputs = backend.prepare(neg_model("2:0")).run(np.ones(1, np.float32))
    assert outputs["2:0"] is outputs[0]
    assert outputs._0 is outputs[0]  # the attribute of a name that is no identifier


def test_run_options():
    rep = backend.prepare(neg_model(), profile=True)
    rep.run(np.ones(1, np.float32), timeout=60)
    assert rep.session.profile()[0].runs == 1
    with pytest.raises(gantry.InvalidArgumentError, match='run: there is no option "time"; expected "timeout"'):
        rep.run(np.ones(1, np.float32), time=1)


def test_run_node():
    add = helper.make_node("Add", ["a", "b"], ["c"])
    for inputs in ([ONES, ONES], {"a": ONES, "b": ONES}):
        np.testing.assert_array_equal(backend.run_node(add, inputs).c, 2 * ONES)
    np.testing.assert_array_equal(backend.run_node(add, [ONES, ONES], "CPU", [(np.float32, (2, 3))]).c, 2 * ONES)
    assert backend.run_node(helper.make_node("Neg", ["x"], ["y"]), np.ones(2)).y.dtype == np.float64
    assert backend.run_node(helper.make_node("Neg", ["x"], ["y"]), [3]).y == -3
    square = helper.make_node("Mul", ["x", "x"], ["y"])
    assert backend.run_node(square, {"x": np.full(1, 3.0)}).y.tolist() == [9]
    bf16 = backend.run_node(helper.make_node("Identity", ["x"], ["y"]), np.ones(2, ml_dtypes.bfloat16)).y
    assert bf16.dtype == ml_dtypes.bfloat16


def test_run_node_with_attributes_optional_inputs_and_several_outputs():
    x = np.array([-3, 0.5, 9], np.float32)
    clip = helper.make_node("Clip", ["x", "", "most"], ["y"])
    for inputs in ([x, np.float32(1)], [x, None, np.float32(1)]):
        assert backend.run_node(clip, inputs).y.tolist() == [-3, 0.5, 1]
    top = backend.run_node(helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=0, largest=0), [x, np.array([2])])
    assert (top.v.tolist(), top.i.tolist(), top._fields) == ([-3, 0.5], [0, 1], ("v", "i"))
    norm = backend.run_node(helper.make_node("LayerNormalization", ["x", "scale"], ["y", "", "deviation"]), [x, np.ones(3, np.float32)])
    assert norm._fields == ("y", "deviation")


def test_run_node_with_sequences_strings_and_bodies():
    node = helper.make_node("SequenceAt", ["s", "i"], ["x"])
    assert backend.run_node(node, [[np.zeros(1), np.ones(2)], np.array(1)]).x.tolist() == [1, 1]
    equal = backend.run_node(helper.make_node("Equal", ["a", "b"], ["c"]), [np.array(["a", "b"]), np.array(["a", "c"], object)])
    assert equal.c.tolist() == [True, False]
    branches = [helper.make_graph([helper.make_node("Constant", [], ["r"], value_float=number)], "g", [], [value("r", shape=())])
                for number in (1.0, 2.0)]
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    assert backend.run_node(node, [np.array(False)]).y == 2


def test_run_node_opset():
    # Before version 13 the axes of Squeeze are an attribute.
    node = helper.make_node("Squeeze", ["x"], ["y"], axes=[0])
    assert backend.run_node(node, [np.ones((1, 1))], opset_version=11).y.shape == (1,)
    with pytest.raises(gantry.InvalidModelError):
        backend.run_node(node, [np.ones((1, 1))])


def test_run_node_refuses():
    add = helper.make_node("Add", ["a", "b"], ["c"], name="plus")
    with pytest.raises(gantry.InvalidArgumentError, match='inputs of Add "plus": expected 2 values \\("a", "b"\\), found 3'):
        backend.run_node(add, [ONES] * 3)
    with pytest.raises(gantry.InvalidArgumentError, match='inputs of Add "plus": expected "a", "b", found "a", "x"'):
        backend.run_node(add, {"a": ONES, "x": ONES})
    with pytest.raises(gantry.InvalidArgumentError, match='input "b": found None, whose type is open'):
        backend.run_node(add, [ONES, None])
    with pytest.raises(gantry.InvalidArgumentError, match='input "a": ONNX has no element type for a ndarray of datetime64'):
        backend.run_node(add, [np.zeros(1, "M8[s]"), ONES])
    with pytest.raises(gantry.InvalidArgumentError, match='outputs_info of Add "plus": expected 1 row \\("c"\\), found 2'):
        backend.run_node(add, [ONES, ONES], outputs_info=[(np.float32, (2, 3))] * 2)
    unknown = helper.make_node("Nothing", ["x"], ["y"], domain="test")
    with pytest.raises(gantry.InvalidArgumentError, match='the type of its output "y" does not follow from the node; pass outputs_info'):
        backend.run_node(unknown, [ONES])
    with pytest.raises(gantry.UnsupportedError, match="Nothing"):
        backend.run_node(unknown, [ONES], outputs_info=[(np.float32, (2, 3))])
    with pytest.raises(gantry.InvalidModelError, match="Incompatible dimensions"):
        backend.run_node(helper.make_node("MatMul", ["a", "b"], ["c"]), [np.ones((2, 3)), np.ones((2, 3))])


def test_element_types_of_the_model():
    for element_type in (TensorProto.FLOAT, TensorProto.INT64):
        model = make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", element_type, (1,))], [value("y", element_type, (1,))])
        with pytest.raises(gantry.InvalidArgumentError, match='input "x": expected'):
            backend.run_model(model, [np.zeros(1, np.int8)])
