# SPDX-License-Identifier: Apache-2.0
"""Fragments as a compiler of whole graphs gets them: checked by the standard's checker, and run by ONNX Runtime on what gantry computes before them."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from broken_models import make_model, value
from compare_models import assert_close
from fill_weights import fill_weights
from microsoft_models import layer_of, random
from model_files import light_file, model_file
from onnx import TensorProto, helper, numpy_helper

import gantry

BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", pathlib.Path(__file__).parents[2] / "build" / "release" / "bin" / "gantry")).parents[1]
MANIFEST = BUILD / "tests" / "fakes" / "fragment.json"
LOAD = "import gantry, sys; gantry.Session(sys.argv[1], config=sys.argv[2])"
GENERATOR = np.random.default_rng(5)


def write_json(folder, document):
    file = folder / "config.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def constants(graph):
    """The initializers of the graph and of the bodies in it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from constants(body)


def write_fragment(model, nodes, folder, optimization="none"):
    """The model that a provider gets which claims these nodes (names) of the graph as it stands in the file, weights inside; and their number."""
    config = {
        "providers": {"options": {"fragment": {"folder": str(folder), "nodes": nodes}}},
        "placement": {"prefer": ["FRAGMENT", "CPU"], "fallback": "allow"},
        "session": {"optimization": optimization},
    }
    (folder / "whole.onnx").write_bytes(model)
    # In a process of its own: the variables are read once.
    done = subprocess.run([sys.executable, "-c", LOAD, folder / "whole.onnx", write_json(folder, config)], stdin=subprocess.DEVNULL,
                          env={**os.environ, "GANTRY_ADD_PROVIDER_FILES": str(MANIFEST)}, capture_output=True, text=True, timeout=120, check=False)
    # A call of a function has nobody else to run it after the provider failed to compile it.
    assert done.returncode == 0 or "compile failed: the fragment was written" in done.stderr, done.stderr
    fragment = onnx.load(folder / "fragment.onnx", load_external_data=False)
    weights = 0
    for tensor in constants(fragment.graph):
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if not entries:
            assert len(tensor.raw_data) <= 1024, f"{tensor.name} was to be left out"
            continue
        weights += 1
        tensor.raw_data = (folder / entries["location"]).read_bytes()
        assert len(tensor.raw_data) == int(entries["length"]) > 1024
        del tensor.external_data[:]
        tensor.ClearField("data_location")
    return fragment, weights


def with_outputs(model, names):
    """The model with these values as its outputs; their types are left to inference."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {info.name: info for info in onnx.shape_inference.infer_shapes(model).graph.value_info}
    own = {info.name: info for info in model.graph.output}
    del copy.graph.output[:]
    for name in names:
        copy.graph.output.append(own.get(name) or known.get(name) or onnx.ValueInfoProto(name=name))
    return copy


def check_fragment(model, nodes, feeds, folder):
    """The fragment of these nodes gives ONNX Runtime what gantry computes for them in the whole model; returns it with the number of its weights."""
    fragment, weights = write_fragment(model.SerializeToString(), nodes, folder)
    inputs = [item.name for item in fragment.graph.input]
    outputs = [item.name for item in fragment.graph.output]
    given = {item.name for item in model.graph.input}
    made = [name for name in inputs if name not in given] + outputs
    session = gantry.Session(with_outputs(model, made).SerializeToString(), device="CPU", config={"session": {"optimization": "none"}})
    values = {**feeds, **session.run(feeds)}
    for item in [*fragment.graph.input, *fragment.graph.output]:
        tensor = item.type.tensor_type
        if not tensor.HasField("shape"):  # the graph does not know its rank, and the checker wants one
            tensor.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in values[item.name].shape)
            tensor.shape.SetInParent()
    onnx.checker.check_model(fragment, full_check=True)
    runner = onnxruntime.InferenceSession(fragment.SerializeToString(), providers=["CPUExecutionProvider"])
    results = runner.run(outputs, {name: values[name] for name in inputs})
    assert outputs
    for name, result in zip(outputs, results, strict=True):
        assert_close(values[name], result, name)
    return fragment, weights


def with_names(model):
    """Every node has a name of its own."""
    for number, node in enumerate(model.graph.node):
        node.name = f"node_{number}"
    return [node.name for node in model.graph.node if node.op_type != "Constant"]


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "inception_v2", "densenet121"])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_thirds_of_light_models(name, part, tmp_path):
    model = fill_weights(onnx.load(light_file(name)))
    names = with_names(model)
    third = len(names) // 3
    nodes = names[part * third:(part + 1) * third]
    image = model.graph.input[0]
    shape = [extent.dim_value for extent in image.type.tensor_type.shape.dim]
    feeds = {image.name: GENERATOR.standard_normal(shape, np.float32)}
    fragment, weights = check_fragment(model, nodes, feeds, tmp_path)
    assert len(fragment.graph.node) == third and weights > 3


def test_every_other_node(tmp_path):
    """Scattered over the model, such a set is no fragment: it would close a cycle, and the host says so and makes none."""
    model = fill_weights(onnx.load(light_file("squeezenet")))
    nodes = with_names(model)[::2]
    with pytest.raises(FileNotFoundError):
        write_fragment(model.SerializeToString(), nodes, tmp_path)


def test_recurrence_with_symbols(tmp_path):
    """silero_vad: an If around everything, whose bodies have Ifs of their own and read the model's inputs and weights."""
    model = onnx.load(model_file("silero-vad/silero_vad/data/silero_vad.onnx"))
    nodes = with_names(model)
    feeds = {"input": GENERATOR.standard_normal((1, 576), np.float32), "state": np.zeros((2, 1, 128), np.float32),
             "sr": np.array(16000, np.int64)}
    fragment, weights = check_fragment(model, nodes, feeds, tmp_path)
    assert weights > 10


def test_loop_with_captures(tmp_path):
    """A Loop whose body reads an outer value, a large constant and its own counter, and hands a value on untouched."""
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", "w"], ["product"]), helper.make_node("Add", ["product", "offset"], ["next"]),
         helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("ReduceSum", ["next"], ["seen"], keepdims=0)],
        "body",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("state", shape=("n", 20))],
        [value("go_on", TensorProto.BOOL, ()), value("next", shape=("n", 20)), value("seen", shape=())])
    nodes = [helper.make_node("Relu", ["x"], ["offset"], name="before"),
             helper.make_node("Loop", ["count", "", "x"], ["last", "history"], name="loop", body=body),
             helper.make_node("Neg", ["last"], ["y"], name="after")]
    weights = [numpy_helper.from_array(GENERATOR.uniform(-0.3, 0.3, (20, 20)).astype(np.float32), "w"),
               numpy_helper.from_array(np.array(3, np.int64), "count")]
    model = make_model(nodes, [value("x", shape=("n", 20))], [value("y", shape=("n", 20)), value("history", shape=(3,))], weights)
    feeds = {"x": GENERATOR.standard_normal((4, 20), np.float32)}
    fragment, weights = check_fragment(model, ["loop"], feeds, tmp_path)
    assert [item.name for item in fragment.graph.input] == ["x", "offset"]
    assert weights == 1


def test_functions_come_along(tmp_path):
    """A function of the model that the provider claims as a node; its body is the compiler's to read."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    weight = numpy_helper.from_array(GENERATOR.standard_normal(300).astype(np.float32), "w")  # large: left out when the model was read
    inner = helper.make_function("my", "Shift", ["p"], ["q"], [
        helper.make_node("Constant", [], ["w"], value=weight), helper.make_node("Add", ["p", "w"], ["q"])], opsets[:1])
    outer = helper.make_function("my", "Curve", ["p"], ["q"], [
        helper.make_node("Shift", ["p"], ["t"], domain="my"), helper.make_node("Softmax", ["t"], ["q"], axis=-1)], opsets)
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="before"), helper.make_node("Curve", ["a"], ["y"], domain="my", name="curve")]
    graph = helper.make_graph(nodes, "g", [value("x", shape=("n", 300))], [value("y", shape=("n", 300))])
    model = helper.make_model(graph, opset_imports=opsets, functions=[inner, outer], ir_version=9)
    fragment, _ = check_fragment(model, ["curve"], {"x": GENERATOR.standard_normal((2, 300), np.float32)}, tmp_path)
    assert sorted(function.name for function in fragment.functions) == ["Curve", "Shift"]


def test_a_body_under_an_older_opset(tmp_path):
    """The nodes of the body are of a newer opset than those beside it, which are converted."""
    model = layer_of(11)
    names = [node.node for node in gantry.Session(model, device="CPU", config={"session": {"optimization": "none"}}).placement.nodes]
    feeds = {"x": random(2, 5, 32), "mask": np.array([[1] * 5, [1, 1, 0, 0, 0]], np.int32)}
    fragment, _ = check_fragment(model, names, feeds, tmp_path)
    assert len(fragment.graph.node) >= len(names) > 30


def test_nodes_of_several_opsets(tmp_path):
    """A model of opset 12 in which gantry finds a Gelu, of opset 20: what beside it has changed since is converted, and means the same."""
    model = onnx.parser.parse_model("""<ir_version: 7, opset_import: ["": 12]>
        g (float[n, 4, 6] x, bool c) => (float[n] y) <float root = {1.4142135}, float one = {1.0}, float half = {0.5}> {
            s = Softmax <axis = 1> (x)
            v = Unsqueeze <axes = [0]> (s)
            w = Squeeze <axes = [0]> (v)
            left, right = Split <axis = 1, split = [1, 3]> (w)
            d = Div(right, root)
            e = Erf(d)
            p = Add(e, one)
            m = Mul(right, p)
            u = Mul(m, half)
            t = If (c) <then_branch = th () => (float[n] a) { a = ReduceSum <axes = [1, 2], keepdims = 0> (u) },
                        else_branch = el () => (float[n] b) { b = ReduceMax <axes = [1, 2], keepdims = 0> (u) }>
            q = ReduceMean <axes = [1, 2], keepdims = 0> (left)
            y = Add(t, q)
        }""")
    # A provider that took the parts of the Gelu together would get them as they are.
    names = [name for name in with_names(model) if name not in ("node_4", "node_5", "node_6", "node_7")] + ["node_8_1"]
    fragment, _ = write_fragment(model.SerializeToString(), names, tmp_path, "all")
    assert [entry.version for entry in fragment.opset_import] == [20]
    assert {node.op_type for node in fragment.graph.node} >= {"Gelu", "Softmax", "Split", "If"}
    assert {item.name for item in fragment.graph.input} == {"x", "c"}
    runner = onnxruntime.InferenceSession(fragment.SerializeToString(), providers=["CPUExecutionProvider"])
    before = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for choice in (True, False):
        feeds = {"x": GENERATOR.standard_normal((3, 4, 6), np.float32), "c": np.array(choice)}
        (result,), (expected,) = runner.run(["y"], feeds), before.run(["y"], feeds)
        assert_close(expected, result, f"c = {choice}")
