# SPDX-License-Identifier: Apache-2.0
"""Functions of the model, against ONNX Runtime run live."""

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import gantry

# An attribute of a function that has a default, given and left out, and handed on by a function of its own.
DEFAULTS = {
    "left_out": "a = my.Times (x) y = Relu(a)",
    "given": "a = my.Times <k = 5.0> (x) y = Relu(a)",
    "both": "a = my.Times (x) y = my.Times <k = 5.0> (a)",
    "in_a_function": "a = my.Outer (x) y = Relu(a)",
    "handed_on": "a = my.Outer <j = 7.0> (x) y = Relu(a)",
    "in_a_body": "one = Constant <value = bool {1}> () y = If (one) <then_branch = t () => (float[N] b) { b = my.Times (x) }, "
                 "else_branch = e () => (float[N] c) { c = Relu(x) }>",
}
TEXT = """
<ir_version: 10, opset_import: ["" : 18, "my" : 1]>
g (float[N] x) => (float[N] y) {{ {nodes} }}
<domain: "my", opset_import: ["" : 18]>
Times <k: float = 3.0> (v) => (w) {{ c = Constant <value_float : float = @k> () w = Mul(v, c) }}
<domain: "my", opset_import: ["" : 18, "my" : 1]>
Outer <j: float = 2.0> (v) => (w) {{ t = my.Times <k : float = @j> (v) u = my.Times (t) w = Neg(u) }}
"""


@pytest.mark.parametrize("nodes", DEFAULTS.values(), ids=DEFAULTS)
def test_attributes_have_their_defaults(nodes):
    model = onnx.parser.parse_model(TEXT.format(nodes=nodes))
    assert any(function.attribute_proto for function in model.functions)
    x = np.array([-1, 0.5, 2], np.float32)
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    np.testing.assert_array_equal(gantry.Session(model.SerializeToString()).run({"x": x})["y"], expected)


def with_a_graph_as_default(calls):
    """A function that hands the graph of its attribute to an If; the default of that attribute calls `calls`."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 18, "my" : 1]>
        g (float[N] x) => (float[N] y) { y = my.Chosen (x) }
        <domain: "my", opset_import: ["" : 18, "my" : 1]> Chosen (v) => (w) { w = Relu(v) }""")
    graph = onnx.parser.parse_graph(f"t () => (float[1] b) {{ z = Constant <value_floats = [1.0]> () b = {calls}(z) }}")
    model.functions[0].attribute_proto.append(onnx.helper.make_attribute("body", graph))
    return model


def test_a_default_that_calls_its_own_function_is_refused():
    with pytest.raises(gantry.UnsupportedError, match="function Chosen: the default of attribute body is a graph that calls function Chosen"):
        gantry.Session(with_a_graph_as_default("my.Chosen").SerializeToString())


def test_defaults_that_would_take_much_memory_in_all_calls_are_refused():
    model = with_a_graph_as_default("Neg")
    model.functions[0].attribute_proto.append(onnx.helper.make_attribute("text", "x" * 400_000))
    gantry.Session(model.SerializeToString())
    for number in range(200):
        model.graph.node.append(onnx.helper.make_node("Chosen", ["x"], [f"y{number}"], domain="my"))
    with pytest.raises(gantry.UnsupportedError, match="attribute text of a function: the defaults of attributes .* 67108864 bytes"):
        gantry.Session(model.SerializeToString())


@pytest.mark.parametrize("body", ["same (v) => (v) { }", "same (v) => (w, v) { w = Neg(v) }", "same (v, u) => (u, v) { }"])
def test_outputs_that_are_inputs(body):
    count = body.split("=> (")[1].split(")")[0].count(",") + 1
    inputs = body.split("(")[1].count(",") + 1
    results = ", ".join(f"a{i}" for i in range(count))
    outputs = ", ".join(f"float[N] y{i}" for i in range(count))
    nodes = " ".join(f"y{i} = Add(a{i}, x)" for i in range(count))
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 18, "my" : 1]>
        g (float[N] x) => ({outputs}) {{ {results} = my.same ({", ".join(["x"] * inputs)}) {nodes} }}
        <domain: "my", opset_import: ["" : 18]> {body}""")
    x = np.array([1, -2], np.float32)
    found = gantry.Session(model.SerializeToString()).run({"x": x})
    for name, part in zip(found, body.split("=> (")[1].split(")")[0].split(", "), strict=True):
        np.testing.assert_array_equal(found[name], x + (-x if part == "w" else x))
