# SPDX-License-Identifier: Apache-2.0
"""`gantry check` and gantry.check: a verdict and a reason for every node, those of bodies and functions too, and nothing is compiled for it."""

import json

import onnx
import pytest
from broken_models import OPSET, make_model, value
from command_line import ERROR, NO, facts, gantry
from onnx import TensorProto, helper

import gantry as runtime


def nested_model():
    """A Loop whose body holds an If whose branch calls a function of the model: Relu, then Frobnicate, which nobody knows."""
    function = helper.make_function(
        "own.domain", "Bend", ["a"], ["b"],
        [helper.make_node("Relu", ["a"], ["r"], name="inside"), helper.make_node("Frobnicate", ["r"], ["b"], name="strange", domain="example.nowhere")],
        [helper.make_opsetid("", OPSET), helper.make_opsetid("example.nowhere", 1)])
    branch = helper.make_graph([helper.make_node("Bend", ["before"], ["bent"], name="call", domain="own.domain")], "branch", [], [value("bent", shape=(2,))])
    other = helper.make_graph([helper.make_node("Neg", ["before"], ["minus"], name="minus")], "other", [], [value("minus", shape=(2,))])
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"], name="keep"),
         helper.make_node("If", ["go"], ["after"], name="choose", then_branch=branch, else_branch=other)],
        "body", [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("before", shape=(2,))],
        [value("go_on", TensorProto.BOOL, ()), value("after", shape=(2,))])
    nodes = [helper.make_node("Loop", ["rounds", "yes", "x"], ["y"], name="again", body=body)]
    inputs = [value("rounds", TensorProto.INT64, ()), value("yes", TensorProto.BOOL, ()), value("x", shape=(2,))]
    model = make_model(nodes, inputs, [value("y", shape=(2,))])
    model.functions.append(function)
    model.opset_import.extend([helper.make_opsetid("own.domain", 1), helper.make_opsetid("example.nowhere", 1)])
    return model


def relu_model():
    return make_model([helper.make_node("Relu", ["x"], ["y"], name="only")], [value("x", shape=(2,))], [value("y", shape=(2,))])


def test_bodies_and_functions_are_looked_into(tmp_path):
    onnx.save(nested_model(), tmp_path / "nested.onnx")
    verdict = facts("check", tmp_path / "nested.onnx", status=NO)
    rows = {(row["op_type"], row["device"]) for row in verdict["nodes"]}
    assert {("Loop", "CPU:0"), ("If", "CPU:0"), ("Neg", "CPU:0"), ("Relu", "CPU:0"), ("Frobnicate", "")} <= rows
    (refused,) = [row for row in verdict["nodes"] if not row["device"]]
    assert refused["node"].startswith("again/body/choose/then_branch/") and "Frobnicate" in refused["reason"]
    choice = verdict["nodes"][refused["parent"]]
    assert choice["node"] == "again/body/choose" and refused["body"] == "then_branch"
    assert verdict["nodes"][choice["parent"]]["node"] == "again"

    placement = runtime.check(nested_model())
    assert not placement.compatible
    assert [node.node for node in placement.nodes if not node.device] == [refused["node"]]
    with pytest.raises(runtime.UnsupportedError, match="Frobnicate"):
        runtime.Session(nested_model())


def test_nothing_is_compiled(tmp_path):
    """A provider that compiles nothing still says what it would take."""
    onnx.save(relu_model(), tmp_path / "relu.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"providers": {"options": {"sim": {"faults": {"compile": "Relu"}}}}}))
    arguments = [tmp_path / "relu.onnx", "--config", tmp_path / "config.json", "--device", "SIM:0"]
    assert facts("check", *arguments)["compatible"] is True
    assert 'the fault "compile"' in gantry("run", *arguments, "--random", status=ERROR)[1]


def test_every_refusal_has_a_reason():
    placement = runtime.check(nested_model(), device="SIM:1")
    refused = [node for node in placement.nodes if not node.device]
    assert refused and all(node.reason for node in refused)
    assert any("sim on SIM:1" in node.reason for node in refused)
