# SPDX-License-Identifier: Apache-2.0
"""What a session may change in its model: other outputs, other initializers, extents of open dimensions."""

import numpy as np
import onnx
import pytest
from branching_model import RNG, WEIGHTS, X, by_peer, network
from onnx import TensorProto, helper, numpy_helper

import gantry


@pytest.mark.parametrize("optimization", ["none", "all"])
def test_any_value_of_the_graph_is_an_output(optimization):
    wanted = ["product", "y", "conv", "x", "w", "relu"]
    session = gantry.Session(network(), config={"session": {"optimization": optimization}}, outputs=wanted)
    feed = {"x": X, "flag": np.array(True)}
    found = session.run(feed)
    assert list(found) == wanted
    assert [output.name for output in session.outputs] == wanted
    expected = by_peer(network(outputs=["product", "y", "conv", "relu"]), feed) | {"x": X, "w": WEIGHTS["w"]}
    for name in wanted:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-4, err_msg=name)


def test_only_what_the_outputs_need_is_computed():
    session = gantry.Session(network(), outputs=["conv"])
    assert {row.op_type for row in session.placement.nodes} == {"Conv"}
    # An input that nothing reads any more is still an input of the model.
    assert [value.name for value in session.inputs] == ["x", "flag"]


def test_outputs_that_the_model_does_not_have():
    with pytest.raises(gantry.InvalidArgumentError, match=r'output "prodct": the model\'s graph has no value of that name\. Did you mean "product"\?'):
        gantry.Session(network(), outputs=["prodct"])
    with pytest.raises(gantry.InvalidArgumentError, match='output "two_result": the model\'s graph has no value of that name'):
        gantry.Session(network(), outputs=["two_result"])  # inside a branch
    with pytest.raises(gantry.InvalidArgumentError, match='output "y": it is named twice'):
        gantry.Session(network(), outputs=["y", "y"])
    with pytest.raises(gantry.InvalidArgumentError, match=r"outputs: expected a list of names or None, found"):
        gantry.Session(network(), outputs="y")
    with pytest.raises(gantry.InvalidArgumentError, match=r'it has "y"\. A session that is made with outputs=\[\.\.\.\] returns any values of the graph'):
        gantry.Session(network()).run({"x": X, "flag": np.array(True)}, ["conv"])


def test_initializers_of_the_application():
    other = {"w": RNG.standard_normal((8, 3, 3, 3), np.float32), "v": RNG.standard_normal((512, 5), np.float32), "two": np.array(7, np.float32)}
    feed = {"x": X, "flag": np.array(True)}
    session = gantry.Session(network(), initializers=other)
    expected = by_peer(network(weights={name: other[name] for name in "wv"}), feed)["y"] / 2 * 7
    np.testing.assert_allclose(session.run(feed)["y"], expected, rtol=1e-4, atol=1e-3)
    # The next session has the model's own again.
    np.testing.assert_allclose(gantry.Session(network()).run(feed)["y"], by_peer(network(), feed)["y"], rtol=1e-4, atol=1e-3)


def test_a_shape_that_the_application_gives_is_inferred_from():
    session = gantry.Session(network(), initializers={"flat": np.array([2, 512])})
    assert session.outputs[0].shape == [2, 5]  # the model says "batch"
    with pytest.raises(gantry.Error):
        session.run({"x": X[:1], "flag": np.array(True)})
    assert session.run({"x": X, "flag": np.array(False)})["y"].shape == (2, 5)


def test_initializers_whose_file_is_not_there(tmp_path):
    model = network()
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in network().graph.initializer}
    feed = {"x": X, "flag": np.array(True)}
    session = gantry.Session(tmp_path / "m.onnx", initializers=values)
    np.testing.assert_allclose(session.run(feed)["y"], by_peer(network(), feed)["y"], rtol=1e-4, atol=1e-3)
    missing = {name: value for name, value in values.items() if name != "v"}
    with pytest.raises(gantry.NotFoundError, match='external data of tensor "v"'):
        gantry.Session(tmp_path / "m.onnx", initializers=missing)


def test_initializers_without_elements():
    nodes = [helper.make_node("Concat", ["x", "none"], ["y"], axis=0)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))], [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))],
                              [numpy_helper.from_array(np.zeros(0, np.float32), "none")])
    session = gantry.Session(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), initializers={"none": np.zeros(0, np.float32)})
    assert session.run({"x": np.ones(2, np.float32)})["y"].tolist() == [1, 1]


def test_strings_and_bools_as_initializers():
    nodes = [helper.make_node("Identity", ["s"], ["text"]), helper.make_node("Where", ["flags", "x", "zero"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3,))],
                              [helper.make_tensor_value_info("text", TensorProto.STRING, (2,)), helper.make_tensor_value_info("y", TensorProto.FLOAT, (3,))],
                              [helper.make_tensor("s", TensorProto.STRING, (2,), [b"a", b"b"]), helper.make_tensor("flags", TensorProto.BOOL, (3,), [1, 1, 1]),
                               helper.make_tensor("zero", TensorProto.FLOAT, (), [0])])
    session = gantry.Session(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]),
                             initializers={"s": np.array(["u", "\u00e9"]), "flags": np.array([True, False, True])})
    found = session.run({"x": np.array([1, 2, 3], np.float32)})
    assert found["text"].tolist() == ["u", "\u00e9"]
    assert found["y"].tolist() == [1, 0, 3]


@pytest.mark.parametrize(("given", "error"), [
    ({"ww": WEIGHTS["w"]}, r'initializer "ww": the model has no such initializer; it has "w", "b", "v", "flat", "two", "three"\. Did you mean "w"\?'),
    ({"w": WEIGHTS["w"].astype(np.float64)}, r'initializer "w": expected float32\[8,3,3,3\] as in the model, found float64\[8,3,3,3\]'),
    ({"b": WEIGHTS["b"][:4]}, r'initializer "b": expected float32\[8\] as in the model, found float32\[4\]'),
    ([WEIGHTS["w"]], "initializers: expected a dict from initializer names to arrays, found a list"),
    ({3: WEIGHTS["w"]}, r"initializers: expected names \(str\) as keys, found an int"),
])
def test_initializers_that_do_not_fit(given, error):
    with pytest.raises(gantry.InvalidArgumentError, match=error):
        gantry.Session(network(), initializers=given)


def test_initializers_are_no_part_of_the_compiled_model_cache(tmp_path):
    feed = {"x": X, "flag": np.array(True)}
    onnx.save(network(), tmp_path / "m.onnx")
    config = {"session": {"artefact_cache": str(tmp_path / "cache")}}
    for _ in range(2):
        plain = gantry.Session(tmp_path / "m.onnx", config=config)
        np.testing.assert_allclose(plain.run(feed)["y"], by_peer(network(), feed)["y"], rtol=1e-4, atol=1e-3)
        zero = gantry.Session(tmp_path / "m.onnx", config=config, initializers={"v": np.zeros((512, 5), np.float32)})
        assert not zero.run(feed)["y"].any()
        inner = gantry.Session(tmp_path / "m.onnx", config=config, outputs=["product"])
        assert list(inner.run(feed)) == ["product"]
        fixed = gantry.Session(tmp_path / "m.onnx", config={"session": {**config["session"], "dimensions": {"batch": 1}}})
        assert fixed.inputs[0].shape == [1, 3, 10, 10]


def test_dimensions_are_fixed_by_name():
    session = gantry.Session(network(), config={"session": {"dimensions": {"batch": 2}}})
    assert session.inputs[0].shape == [2, 3, 10, 10]
    assert session.outputs[0].shape == [2, 5]
    feed = {"x": X, "flag": np.array(True)}
    np.testing.assert_allclose(session.run(feed)["y"], by_peer(network(), feed)["y"], rtol=1e-4, atol=1e-3)
    with pytest.raises(gantry.InvalidArgumentError, match=r'input "x": expected float32\[2,3,10,10\], found float32\[1,3,10,10\]'):
        session.run({"x": X[:1], "flag": np.array(True)})


def test_dimensions_are_fixed_by_denotation():
    model = network(batch=None)
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    assert gantry.Session(model).inputs[0].shape == [None, 3, 10, 10]
    assert gantry.Session(model, config={"session": {"dimensions": {"DATA_BATCH": 4}}}).inputs[0].shape == [4, 3, 10, 10]


def test_a_dimension_that_no_input_has():
    session = gantry.Session(network(), config={"session": {"dimensions": {"bacth": 2}}})
    (warning,) = [text for text in session.placement.warnings if "dimensions" in text]
    assert warning.endswith('session.dimensions has "bacth", which no dimension of an input is called; they are called "batch". Did you mean "batch"?')
    with pytest.raises(gantry.InvalidArgumentError, match="/session/dimensions/batch"):
        gantry.Session(network(), config={"session": {"dimensions": {"batch": -1}}})


def test_check_sees_the_dimensions():
    placement = gantry.check(network(), config={"session": {"dimensions": {"batch": 2}}})
    assert placement.compatible
