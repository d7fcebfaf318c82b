# SPDX-License-Identifier: Apache-2.0
"""Libraries of operators that are made for ONNX Runtime, run by the provider `ort_custom_ops` and by ONNX Runtime itself."""

import json
import pathlib
import re

import command_line
import custom_ops_oracle
import gantry
import gantry.onnxruntime
import numpy as np
import onnxruntime_extensions as extensions
import pytest
from onnx import TensorProto, helper, numpy_helper

BUILD = command_line.BINARY.parents[1]
SAMPLE = str(BUILD / "tests" / "libsample_ops.so")
EXTENSIONS = extensions.get_library_path()
CONTRIB = "ai.onnx.contrib"
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def model_of(nodes, inputs, outputs, constants=(), versions=()):
    """`inputs`, `outputs`: (name, type, shape)."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*each) for each in inputs],
                              [helper.make_tensor_value_info(*each) for each in outputs], list(constants))
    imports = {"": 18, "test.ops": 1, CONTRIB: 1} | dict(versions)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in imports.items()], ir_version=9)


def node(op_type, inputs, outputs, domain="test.ops", **attributes):
    return helper.make_node(op_type, inputs, outputs, name=f"the {op_type}", domain=domain, **attributes)


def expect_same(model, feed, library=SAMPLE):
    """Equal results, and equal types of the outputs."""
    text = model.SerializeToString()
    outputs, expected = custom_ops_oracle.run(text, library, feed)
    options = gantry.onnxruntime.SessionOptions()
    options.register_custom_ops_library(library)
    session = gantry.onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    assert [(value.name, value.type) for value in session.get_outputs()] == outputs
    for want, found in zip(expected, session.run(None, feed), strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)
    return expected


def session_of(model, library=SAMPLE, **config):
    return gantry.Session(model, config={"providers": {"options": {"ort_custom_ops": {"libraries": [library]}}}} | config)


def floats(*values):
    return np.array(values, np.float32)


def test_a_kernel_learns_of_its_node():
    tensor = numpy_helper.from_array(floats(1, 2.5, 3), "t")
    describe = node("Describe", ["x"], ["y"], whole=-3, real=0.5, text="a text", wholes=[1, 2], reals=[0.5], tensor=tensor)
    (found,) = expect_same(model_of([describe], [("x", FLOAT, [None, 2])], [("y", STRING, [2])]), {"x": np.zeros((3, 2), np.float32)})
    assert found[0].startswith("whole -3 real 0.5") and found[1] == "a text"


def test_variadic_inputs_of_strings():
    names = ["a", "b", "c"]
    feed = {name: np.array([[name, "ä" * 3], ["", name]], object) for name in names}
    model = model_of([node("Join", names, ["y"], separator="-")], [(name, STRING, [None, None]) for name in names], [("y", STRING, [None, None])])
    expect_same(model, feed)


@pytest.mark.parametrize("dtype", (FLOAT, INT64))
@pytest.mark.parametrize("inputs", (["x"], ["x", "f"]))
@pytest.mark.parametrize("outputs", (["y"], ["y", "n"]))
def test_overloads_and_optional_values(dtype, inputs, outputs):
    """Two operators of one name, which differ in types; the types of the outputs are inferred from those of the inputs."""
    array = np.arange(6).reshape(2, 3).astype(np.float32 if dtype == FLOAT else np.int64)
    model = model_of([node("Scale", inputs, outputs)] + [helper.make_node("Identity", [name], [f"{name}_shown"]) for name in outputs],
                     [("x", dtype, [None, 3])] + [("f", dtype, [])] * (len(inputs) - 1),
                     [(f"{name}_shown", INT64 if name == "n" else dtype, None) for name in outputs])
    feed = {"x": array, "f": np.array(3, array.dtype)}
    expect_same(model, {name: feed[name] for name in inputs})


@pytest.mark.parametrize("array", (floats(1, 2), np.array([2**40]), np.array(["a", "b"], object)), ids=("float", "int64", "string"))
def test_an_output_has_the_type_of_an_input(array):
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype) if array.dtype != object else STRING
    nodes = [node("Same", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"])]
    expect_same(model_of(nodes, [("x", dtype, [None])], [("z", dtype, None)]), {"x": array})


def test_constants_are_known_when_a_kernel_is_made():
    constant = numpy_helper.from_array(floats(7, 8), "c")
    inputs, outputs = [("x", FLOAT, [None])], [("y", FLOAT, [None])]
    assert expect_same(model_of([node("AddFirst", ["x", "c"], ["y"])], inputs, outputs, [constant]), {"x": floats(1)})[0] == [8]
    model = model_of([node("AddFirst", ["x", "c"], ["y"])], [*inputs, ("c", FLOAT, [None])], outputs)
    assert expect_same(model, {"x": floats(1), "c": floats(7)})[0] == [101]


def test_ranges_on_threads_and_memory():
    model = model_of([node("Squares", ["x"], ["y"])], [("x", FLOAT, [None])], [("y", FLOAT, [None])])
    expect_same(model, {"x": np.arange(10001, dtype=np.float32)})


def test_what_nobody_reads_is_made_all_the_same():
    """A library writes every output that its node has."""
    model = model_of([node("Scale", ["x"], ["y", "n"])], [("x", FLOAT, [2])], [("n", INT64, [1])])
    assert expect_same(model, {"x": floats(1, 2)})[0] == [2]


def test_versions_of_the_domain():
    inputs, outputs = [("x", FLOAT, [2])], [("y", FLOAT, [2])]
    expect_same(model_of([node("OfVersion2", ["x"], ["y"])], inputs, outputs, versions={"test.ops": 2}), {"x": floats(1, 2)})
    with pytest.raises(gantry.UnsupportedError, match=r"version 1 of its operator set, the library has it from 2"):
        session_of(model_of([node("OfVersion2", ["x"], ["y"])], inputs, outputs))


def failing(how):
    return model_of([node("Fail", ["x"], ["y"], how=how)], [("x", FLOAT, [1])], [("y", FLOAT, None)])


@pytest.mark.parametrize(("how", "message"), (
    ("status", r'Fail "the Fail", by its library: this run failed'),
    ("exception", r'Fail "the Fail", by its library: something was thrown'),
    ("thread", r'Fail "the Fail", by its library: something was thrown on a thread'),
    ("extent", r"extent"),
    ("index", r'input 7 of Fail "the Fail", which has 1'),
    ("function", r"function 46 of ONNX Runtime's OrtApi, counted from 0, is not there"),
    ("output", r'Fail "the Fail": its library made no output 0'),
))
def test_what_goes_wrong_in_a_run(how, message):
    session = session_of(failing(how))
    for _ in range(2):  # it is usable after that
        with pytest.raises(gantry.Error, match=message):
            session.run({"x": floats(1)})
    np.testing.assert_array_equal(session_of(failing("")).run({"x": floats(1)})["y"], [0])


def test_what_goes_wrong_in_loading(tmp_path):
    with pytest.raises(gantry.Error, match=r'Fail "the Fail", by its library: this kernel cannot be made'):
        session_of(failing("making"))
    wrong_type = model_of([node("AddFirst", ["x", "x"], ["y"])], [("x", INT64, [1])], [("y", FLOAT, [1])])
    with pytest.raises(gantry.UnsupportedError, match=r"input 0 is int64, the library takes float32"):
        session_of(wrong_type)
    with pytest.raises(gantry.UnsupportedError, match=r'the libraries of operators have no Other in domain "test.ops"'):
        session_of(model_of([node("Other", ["x"], ["y"])], [("x", FLOAT, [1])], [("y", FLOAT, [1])]))
    with pytest.raises(gantry.NotFoundError, match=r'the library of operators "/nowhere.so" cannot be opened'):
        session_of(failing(""), "/nowhere.so")
    other = tmp_path / "libother.so"
    other.write_bytes((BUILD / "lib" / "gantry" / "providers.d" / "libgantry_sim.so").read_bytes())
    with pytest.raises(gantry.NotFoundError, match=r"expected a library of operators for ONNX Runtime, found one without the function RegisterCustomOps"):
        session_of(failing(""), str(other))
    with pytest.raises(gantry.InvalidArgumentError, match=r"/providers/options/ort_custom_ops.*library"):
        gantry.Session(failing(""), config={"providers": {"options": {"ort_custom_ops": {"library": SAMPLE}}}})


def test_without_libraries_the_provider_stays_closed():
    """Nobody who has no such library pays for it, and an unknown operator is told of as ever."""
    report = command_line.facts("doctor")
    (row,) = [row for row in report["providers"] if row["name"] == "ort_custom_ops"]
    assert (row["state"], row["code"]) == ("not opened", "OK")
    assert row["hint"] == "It is opened where options are given to it, in /providers/options/ort_custom_ops."
    assert [row for row in command_line.facts("devices")["devices"] if row["provider"] == "ort_custom_ops"] == []
    with pytest.raises(gantry.UnsupportedError, match=r'Scale.*Operators of domain "test.ops" may be in a library that /providers/options/ort_custom_ops can name'):
        gantry.Session(model_of([node("Scale", ["x"], ["y"])], [("x", FLOAT, [1])], [("y", FLOAT, [1])]))


def test_a_session_without_libraries_does_not_see_those_of_others():
    scale = model_of([node("Scale", ["x"], ["y"])], [("x", FLOAT, [1])], [("y", FLOAT, [1])])
    np.testing.assert_array_equal(session_of(scale).run({"x": floats(3)})["y"], [6])
    with pytest.raises(gantry.UnsupportedError, match="Scale") as error:
        gantry.Session(scale)
    assert "ort_custom_ops on CPU" not in str(error.value)


def test_a_disabled_provider_is_as_if_it_were_not_there(tmp_path):
    """What it was given for options is no error of a model that needs no library."""
    add = model_of([helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, [2])], [("y", FLOAT, [2])])
    (tmp_path / "m.onnx").write_bytes(add.SerializeToString())
    printed, _ = command_line.gantry("run", tmp_path / "m.onnx", "--random", "--set", f"/providers/options/ort_custom_ops/libraries={json.dumps([SAMPLE])}",
                                     env={"GANTRY_PROVIDERS_DISABLE": "ort_custom_ops"})
    assert "y" in printed


def test_in_a_process_of_its_own(tmp_path):
    """As a command, since providers of this process run in it already."""
    (tmp_path / "config.json").write_text(json.dumps({"providers": {
        "isolation": {"ort_custom_ops": "process"}, "options": {"ort_custom_ops": {"libraries": [SAMPLE]}}}}))
    nodes = [node("Scale", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    (tmp_path / "m.onnx").write_bytes(model_of(nodes, [("x", FLOAT, [2])], [("z", FLOAT, [2])]).SerializeToString())
    np.save(tmp_path / "x.npy", floats(1, 2))
    printed, _ = command_line.gantry("run", tmp_path / "m.onnx", "--config", tmp_path / "config.json", "--input", f"x={tmp_path / 'x.npy'}",
                             "--out", tmp_path)
    assert "z" in printed
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), [-2, -4])


def test_a_module_of_python_opens_in_python_alone(tmp_path):
    (tmp_path / "m.onnx").write_bytes(failing("").SerializeToString())
    said = command_line.complaint("run", tmp_path / "m.onnx", "--random", "--set", f"/providers/options/ort_custom_ops/libraries={json.dumps([EXTENSIONS])}")
    assert "undefined symbol" in said and said.endswith("it is a module of Python, which opens in a process of Python alone")


def contrib(op_type, feed, outputs, **attributes):
    types = {"O": STRING, "f": FLOAT, "i": INT64, "b": TensorProto.BOOL}
    inputs = [(name, types[array.dtype.kind], [None] * array.ndim) for name, array in feed.items()]
    return model_of([node(op_type, list(feed), [name for name, _, _ in outputs], CONTRIB, **attributes)], inputs, outputs)


TEXTS = np.array(["Hello World", "", "Grüße, 2 of them", "日本語"], object)
VOCABULARY = "\n".join(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "hello", "world", "##s", "of", "the", "##m", ",", "2"])


@pytest.mark.parametrize(("op_type", "feed", "outputs", "attributes"), (
    ("StringUpper", {"x": TEXTS}, [("y", STRING, [None])], {}),
    ("StringLength", {"x": TEXTS}, [("y", INT64, [None])], {}),
    ("StringToHashBucketFast", {"x": TEXTS, "n": np.array([1000])}, [("y", INT64, [None])], {}),
    ("StringConcat", {"a": TEXTS, "b": TEXTS[::-1].copy()}, [("y", STRING, [None])], {}),
    ("StringRegexReplace", {"x": TEXTS, "p": np.array(["[aeiou]"], object), "r": np.array(["_"], object)}, [("y", STRING, [None])], {}),
    ("StringEqual", {"a": TEXTS, "b": TEXTS}, [("y", TensorProto.BOOL, [None])], {}),
    ("StringSplit", {"x": TEXTS, "d": np.array([" "], object), "skip": np.array([True])},
     [("i", INT64, [None, 2]), ("t", STRING, [None]), ("n", INT64, [2])], {}),
    ("NegPos", {"x": floats(0, -2, 3)}, [("a", FLOAT, [None]), ("b", FLOAT, [None])], {}),
    ("SegmentExtraction", {"x": np.array([0, 0, 1, 1, 2, 0, 3])}, [("p", INT64, [None, 2]), ("v", INT64, [None])], {}),
    ("BertTokenizer", {"x": np.array(["Hello worlds", "the 2 of them"], object)},
     [("ids", INT64, [None]), ("types", INT64, [None]), ("mask", INT64, [None])], {"vocab_file": VOCABULARY, "do_lower_case": 1}),
), ids=lambda value: value if isinstance(value, str) else "")
def test_operators_of_onnxruntime_extensions(op_type, feed, outputs, attributes):
    expect_same(contrib(op_type, feed, outputs, **attributes), feed, EXTENSIONS)


def test_operators_written_in_python():
    @extensions.onnx_op(op_type="Reversed", inputs=[extensions.PyCustomOpDef.dt_string], outputs=[extensions.PyCustomOpDef.dt_string])
    def reverse(texts):
        return np.array([text[::-1] for text in texts], object)

    assert reverse is not None
    session = session_of(contrib("Reversed", {"x": TEXTS}, [("y", STRING, [None])]), EXTENSIONS)
    assert session.run({"x": TEXTS})["y"].tolist() == [text[::-1] for text in TEXTS]


def test_two_libraries_in_one_session():
    nodes = [node("Join", ["x", "x"], ["j"], separator="+"), node("StringUpper", ["j"], ["y"], CONTRIB)]
    model = model_of(nodes, [("x", STRING, [None])], [("y", STRING, [None])])
    options = {"ort_custom_ops": {"libraries": [SAMPLE, EXTENSIONS]}}
    session = gantry.Session(model, config={"providers": {"options": options}})
    assert session.run({"x": np.array(["ab"], object)})["y"].tolist() == ["AB+AB"]
    placed = {row.op_type: row.provider for row in session.placement.nodes} if hasattr(session, "placement") else {}
    assert not placed or set(placed.values()) == {"ort_custom_ops"}


def test_a_library_of_another_path_type_is_taken():
    options = gantry.onnxruntime.SessionOptions()
    options.register_custom_ops_library(pathlib.Path(SAMPLE))
    assert re.search("libsample_ops", json.dumps(options.config()))
