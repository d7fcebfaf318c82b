# SPDX-License-Identifier: Apache-2.0
"""Files that break a rule of ONNX and that ONNX Runtime loads: for each row of docs/leniencies.md they load, one warning is given, and
the results are ONNX Runtime's, run live."""

import pathlib
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gantry

ROOT = pathlib.Path(__file__).resolve().parents[2]
W = numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")
ONES = numpy_helper.from_array(np.ones(3, np.float32), "s")
node = helper.make_node


def value(name, shape=(2, 3), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def untyped(name):
    return onnx.ValueInfoProto(name=name)


def model(nodes, constants=(), inputs=None, outputs=None, opsets=(("", 17),), ir=8):
    graph = helper.make_graph(nodes, "g", inputs or [value("x")], outputs or [value("y")], list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], ir_version=ir)


def unnamed():
    result = model([node("Relu", ["x"], ["y"])])
    result.graph.name = ""
    return result


def metadata_twice():
    result = model([node("Relu", ["x"], ["y"])])
    for text in "ab":
        result.metadata_props.add(key="k", value=text)
    return result


def inner_shape():
    result = model([node("Relu", ["x"], ["a"]), node("Abs", ["a"], ["y"])])
    result.graph.value_info.append(value("a", (7, 8)))
    return result


def branches(then, other):
    return {"then_branch": helper.make_graph([node("Relu", [then], ["b"])], "t", [], [value("b", None)]),
            "else_branch": helper.make_graph([node("Abs", [other], ["b2"])], "e", [], [value("b2", None)])}


COND = numpy_helper.from_array(np.array(True), "cond")
def marked(constant):
    """With an attribute of a tool's own, as onnxsim marks constants; ONNX Runtime takes the first attribute for the value."""
    constant.attribute.append(helper.make_attribute("tools_mark", 1))
    return constant


CASES = [
    ("unnamed-graph", unnamed()),
    ("untyped-output", model([node("Relu", ["x"], ["a"]), node("Exp", ["a"], ["y"])], outputs=[value("y"), untyped("a")])),
    ("untyped-output", model([node("Shape", ["x"], ["y"])], outputs=[untyped("y")])),
    ("untyped-output", model([node("Add", ["x", "w"], ["y"])], [W], outputs=[value("y"), untyped("w"), untyped("x")])),
    ("untyped-output", model([node("If", ["cond"], ["y"], **branches("x", "x"))], [COND], outputs=[untyped("y")])),
    ("initializer-is-no-input", model([node("Add", ["x", "w"], ["y"])], [W], opsets=[("", 8)], ir=3)),
    ("nodes-out-of-order", model([node("Exp", ["a"], ["y"]), node("Relu", ["x"], ["a"])])),
    ("nodes-out-of-order", model([node("If", ["cond"], ["y"], **branches("late", "x")), node("Neg", ["x"], ["late"])], [COND])),
    ("domain-not-imported", model([node("FastGelu", ["x"], ["y"], domain="com.microsoft")])),
    ("domain-not-imported", model([node("Normalizer", ["x"], ["y"], domain="ai.onnx.ml", norm="L2")])),
    ("opset-too-low", model([node("Relu", ["x"], ["y"])], opsets=[("", 17), ("ai.onnx.ml", 0)])),
    ("old-ir-version", model([node("Relu", ["x"], ["y"])], opsets=[("", 8)], ir=2)),
    ("old-ir-version", model([node("Relu", ["x"], ["y"])], opsets=[("", 8)], ir=0)),
    *(("operator-too-new", model([node("LayerNormalization", ["x", "s", "w"], ["y", "m", "i"], axis=-1, epsilon=1e-3)], [ONES, W],
                                 outputs=[value("y"), value("m", (2, 1)), value("i", (2, 1))], opsets=[("", opset)])) for opset in (9, 12, 16)),
    ("operator-too-new", model([node("ThresholdedRelu", ["x"], ["y"], alpha=0.3)], opsets=[("", 8)])),
    ("constant-form", model([node("Constant", [], ["c"], value_float=2.0), node("Mul", ["x", "c"], ["y"])], opsets=[("", 11)])),
    ("constant-form", model([node("Constant", [], ["c"], value_floats=[2.0, 1.0, 3.0]), node("Mul", ["x", "c"], ["y"])], opsets=[("", 7)])),
    ("constant-mark", model([marked(node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32([1, 2, 3])))), node("Mul", ["x", "c"], ["y"])])),
    ("constant-mark", model([marked(node("Constant", [], ["c"], value_float=2.0)), node("Mul", ["x", "c"], ["y"])])),
    ("initializer-twice", model([node("Add", ["x", "w"], ["y"])], [W, numpy_helper.from_array(np.full(3, 7, np.float32), "w")])),
    ("metadata-twice", metadata_twice()),
    ("negative-extent", model([node("Relu", ["x"], ["y"])], inputs=[value("x", (-1, 3))], outputs=[value("y", (-1, 3))])),
    ("wrong-shape", model([node("Relu", ["x"], ["y"])], outputs=[value("y", (4, 5))])),
    ("wrong-shape", inner_shape()),
]


@pytest.mark.parametrize("fault, proto", CASES, ids=[f"{fault}-{i}" for i, (fault, _) in enumerate(CASES)])
def test_loads_warns_once_and_agrees(fault, proto, capfd):
    data = proto.SerializeToString()
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    expected = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    session = gantry.Session(data, device="CPU")
    found = session.run(feeds)
    assert list(found) == [output.name for output in proto.graph.output]
    for name, reference in zip(found, expected, strict=True):
        assert found[name].dtype == reference.dtype and found[name].shape == reference.shape
        np.testing.assert_allclose(found[name], reference, rtol=1e-5, atol=1e-6)
    warnings = [line for line in capfd.readouterr().err.splitlines() if line.startswith("gantry warning: model in memory: ")]
    assert [line.split(": ")[2] for line in warnings] == [fault]


def test_every_row_has_a_case_and_is_in_the_page():
    source = (ROOT / "core/onnx/validate/leniencies.cc").read_text(encoding="utf-8")
    table = source[source.index("kLeniencies = {"):source.index("\n};")]
    rows = [[cell.replace('\\"', '"') for cell in re.findall(r'"((?:[^"\\]|\\.)*)"', row)]
            for row in re.findall(r"Leniency\{(.*?)\}", table, re.S)]
    page = re.findall(r"^\| `([^`]*)` \| (.*) \| (.*) \| (.*) \|$", (ROOT / "docs/leniencies.md").read_text(encoding="utf-8"), re.M)
    assert [tuple(row) for row in rows] == page
    assert {row[0] for row in rows} == {fault for fault, _ in CASES}
