# SPDX-License-Identifier: Apache-2.0
"""gantry.write_optimized: the model as a session plans it, as a file that others read."""

import numpy as np
import onnx
import onnxruntime
import pytest
from branching_model import WEIGHTS, X, by_peer, network
from onnx import TensorProto, helper, numpy_helper

import gantry
import gantry.onnxruntime

FEED = {"x": X, "flag": np.array(True)}


def folded():
    """A weight that two constants make, a node that does nothing, an output that is an input, one that is a constant, and metadata."""
    nodes = [helper.make_node("Transpose", ["t"], ["w"], perm=[1, 0]), helper.make_node("Identity", ["x"], ["same"]),
             helper.make_node("MatMul", ["same", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"]),
             helper.make_node("Identity", ["x"], ["again"]), helper.make_node("Identity", ["t"], ["weights"])]
    values = {"x": ["rows", 40], "y": ["rows", 30], "again": ["rows", 40], "weights": [30, 40]}
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in values.items()}
    weights = np.random.default_rng(0).standard_normal((30, 40), np.float32)
    graph = helper.make_graph(nodes, "folded", [infos["x"]], [infos["y"], infos["again"], infos["weights"]], [numpy_helper.from_array(weights, "t")])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 19)])
    helper.set_model_props(model, {"author": "somebody"})
    return model


def test_what_depends_on_constants_is_computed(tmp_path):
    gantry.write_optimized(folded(), tmp_path / "m.onnx")
    written = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert "Transpose" not in [node.op_type for node in written.graph.node]
    assert written.opset_import[0].version == 19
    assert {entry.key: entry.value for entry in written.metadata_props} == {"author": "somebody"}
    assert written.graph.name == "folded"
    x = np.random.default_rng(1).standard_normal((3, 40), np.float32)
    expected, found = by_peer(folded(), {"x": x}), by_peer(written, {"x": x})
    assert list(found) == list(expected) == ["y", "again", "weights"]
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5)


def test_what_the_model_says_of_itself_is_kept(tmp_path):
    model = folded()
    model.producer_name, model.producer_version, model.domain, model.model_version, model.doc_string = "exporter", "2.1", "net.example", 7, "a model"
    model.graph.doc_string = "its graph"
    gantry.write_optimized(model, tmp_path / "m.onnx")
    written = onnx.load(tmp_path / "m.onnx")
    for field in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(written, field) == getattr(model, field)
    assert written.graph.doc_string == "its graph"


def test_basic_keeps_the_operators(tmp_path):
    """As ONNX Runtime's ORT_ENABLE_BASIC: constants are folded, and no pattern becomes an operator of a later opset."""
    nodes = [helper.make_node("Add", ["one", "one"], ["two"]), helper.make_node("Sqrt", ["two"], ["root"]), helper.make_node("Div", ["x", "root"], ["scaled"]),
             helper.make_node("Erf", ["scaled"], ["erf"]), helper.make_node("Add", ["erf", "one"], ["moved"]), helper.make_node("Mul", ["x", "moved"], ["twice"]),
             helper.make_node("Div", ["twice", "two"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    model = helper.make_model(helper.make_graph(nodes, "gelu", infos[:1], infos[1:], [numpy_helper.from_array(np.float32(1), "one")]), ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    options = gantry.onnxruntime.SessionOptions()
    for level, operators in (("ORT_ENABLE_BASIC", ["Div", "Erf", "Add", "Mul", "Div"]), ("ORT_ENABLE_ALL", ["Gelu"])):
        options.graph_optimization_level = gantry.onnxruntime.GraphOptimizationLevel[level]
        options.optimized_model_filepath = str(tmp_path / "m.onnx")
        gantry.onnxruntime.InferenceSession(model.SerializeToString(), options)
        written = onnx.load(tmp_path / "m.onnx")
        assert [node.op_type for node in written.graph.node] == operators
        assert (written.opset_import[0].version == 17) == (level == "ORT_ENABLE_BASIC")


def test_branches_and_names_are_kept(tmp_path):
    gantry.write_optimized(network(), tmp_path / "m.onnx")
    written = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert [value.name for value in written.graph.input] == ["x", "flag"]
    for flag in (True, False):
        feed = {"x": X, "flag": np.array(flag)}
        np.testing.assert_allclose(by_peer(written, feed)["y"], by_peer(network(), feed)["y"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(gantry.Session(written).run(FEED)["y"], by_peer(network(), FEED)["y"], rtol=1e-4, atol=1e-3)


def test_large_tensors_go_to_a_file_beside_it(tmp_path):
    gantry.write_optimized(network(), tmp_path / "m.onnx", external_file="m.weights", external_bytes=500)
    written = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    outside = {tensor.name for tensor in written.graph.initializer if tensor.data_location == TensorProto.EXTERNAL}
    assert outside == {"w", "v"}
    assert (tmp_path / "m.weights").stat().st_size == WEIGHTS["w"].nbytes + WEIGHTS["v"].nbytes
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["y"], FEED)[0], by_peer(network(), FEED)["y"], rtol=1e-5, atol=1e-5)


def test_dimensions_and_optimization_are_the_configurations(tmp_path):
    gantry.write_optimized(folded(), tmp_path / "m.onnx", config={"session": {"optimization": "none", "dimensions": {"rows": 3}}})
    written = onnx.load(tmp_path / "m.onnx")
    assert [node.op_type for node in written.graph.node].count("Transpose") == 1
    assert written.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3


def test_defaults_of_inputs_are_constants(tmp_path):
    model = network()
    model.graph.input.append(helper.make_tensor_value_info("v", TensorProto.FLOAT, WEIGHTS["v"].shape))
    gantry.write_optimized(model, tmp_path / "m.onnx")
    written = onnx.load(tmp_path / "m.onnx")
    assert [value.name for value in written.graph.input] == ["x", "flag"]
    np.testing.assert_allclose(by_peer(written, FEED)["y"], by_peer(network(), FEED)["y"], rtol=1e-5, atol=1e-5)


def test_a_model_may_be_written_over_itself(tmp_path):
    """Its weights are mapped while it is read."""
    onnx.save(network(), tmp_path / "m.onnx", save_as_external_data=True, location="m.weights", size_threshold=0)
    session = gantry.Session(tmp_path / "m.onnx")
    gantry.write_optimized(tmp_path / "m.onnx", tmp_path / "m.onnx", external_file="m.weights", external_bytes=0)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.onnx", "m.weights"]
    np.testing.assert_allclose(gantry.Session(tmp_path / "m.onnx").run(FEED)["y"], by_peer(network(), FEED)["y"], rtol=1e-4, atol=1e-3)
    assert session.outputs[0].name == "y"


@pytest.mark.parametrize("name", ["m.onnx", "../weights", "/tmp/weights", "folder/weights", "."])
def test_the_file_for_large_tensors_is_a_plain_name(tmp_path, name):
    with pytest.raises(gantry.InvalidArgumentError, match="the file for large tensors: expected the name of a file in the model's folder"):
        gantry.write_optimized(folded(), tmp_path / "m.onnx", external_file=name)
    assert not list(tmp_path.iterdir())


def test_outputs_and_initializers_are_those_of_the_call(tmp_path):
    zeros = np.zeros_like(WEIGHTS["v"])
    gantry.write_optimized(network(), tmp_path / "m.onnx", outputs=["product"], initializers={"v": zeros})
    found = by_peer(onnx.load(tmp_path / "m.onnx"), FEED)
    assert list(found) == ["product"] and not found["product"].any()


def test_files_that_cannot_be_written(tmp_path):
    with pytest.raises(gantry.UnavailableError, match="m.onnx: the file cannot be opened for writing"):
        gantry.write_optimized(folded(), tmp_path / "none" / "m.onnx")


@pytest.mark.parametrize("level", ["ORT_ENABLE_BASIC", "ORT_ENABLE_ALL", "ORT_DISABLE_ALL"])
def test_optimized_model_filepath(tmp_path, level):
    options = gantry.onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(gantry.onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(tmp_path / "m.onnx")
    options.add_initializer("v", gantry.onnxruntime.OrtValue.ortvalue_from_numpy(WEIGHTS["v"] * 2))
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "m.bin")
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "100")
    session = gantry.onnxruntime.InferenceSession(network().SerializeToString(), options)
    (y,) = session.run(["y"], FEED)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["y"], FEED)[0], y, rtol=1e-4, atol=1e-3)
    assert (tmp_path / "m.bin").exists()
