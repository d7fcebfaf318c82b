# SPDX-License-Identifier: Apache-2.0
"""Models that must be refused: from Python by path and as bytes, and on the command line; each by one sentence that names what is
wrong, and the process goes on."""

import numpy as np
import onnx
import pytest
from broken_models import BROKEN, add_model, external_weight, filling_model, make_model, value, weighted_model
from command_line import complaint
from onnx import TensorProto, helper

import gantry


def say_all(message, parts):
    assert "\n" not in message
    for part in parts:
        assert part in message, f"{part!r} is not in {message!r}"


@pytest.mark.parametrize("name", BROKEN)
def test_broken_model(name, tmp_path):
    make, code, parts = BROKEN[name]
    content = make()
    file = tmp_path / "broken.onnx"
    file.write_bytes(content)
    for model in (file, content):
        with pytest.raises(gantry.Error) as raised:
            gantry.Session(model)
        assert raised.value.code == code
        say_all(str(raised.value), parts)
    with pytest.raises(gantry.Error, match="broken.onnx"):
        gantry.Session(file)
    say_all(complaint("run", file, "--random"), ["broken.onnx", *parts])
    assert gantry.Session(add_model()).placement.compatible  # nothing was left behind


@pytest.mark.parametrize(("content", "words"), [
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 3\n", ["a Git LFS pointer", "git lfs pull"]),
    (b"\n<!DOCTYPE html><html><body>Not found</body></html>", ["an HTML page"]),
    (b"PK\x03\x04" + bytes(60), ["a ZIP archive", "PyTorch"]),
    (b"\x1f\x8b\x08" + bytes(60), ["a gzip file; unpack it"]),
    (b"\x18\x00\x00\x00ORTM" + bytes(60), ["ONNX Runtime's own format"]),
    (b"\x80\x02}q\x00." + bytes(60), ["a Python pickle"]),
    (b'\x40\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{}}', ["a safetensors file"]),
    (b'<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Relu(x) }', ["a model as text", "onnx.save"]),
    (b'{"model": 1}', ["JSON"]),
])
def test_another_kind_of_file(content, words, tmp_path):
    file = tmp_path / "model.onnx"
    file.write_bytes(content)
    for model in (file, content):
        with pytest.raises(gantry.InvalidModelError) as raised:
            gantry.Session(model)
        say_all(str(raised.value), ["not an ONNX model: it is", *words])


@pytest.mark.parametrize("cut", range(0, len(add_model().SerializeToString()), 7))
def test_cut_anywhere(cut):
    with pytest.raises(gantry.InvalidModelError):
        gantry.Session(add_model().SerializeToString()[:cut])


def test_check_tells_the_reason(tmp_path):
    file = tmp_path / "foreign.onnx"
    file.write_bytes(BROKEN["foreign operator"][0]())
    verdict = gantry.check(file)
    assert not verdict.compatible
    (node,) = verdict.nodes
    assert (node.node, node.op_type, node.domain, node.device) == ("strange", "Frobnicate", "com.acme", "")
    say_all(node.reason, ["Frobnicate", "CPU:0"])


@pytest.mark.parametrize(
    ("model", "parts"),
    [("gone.onnx", ["gone.onnx", "No such file"]), (".", ["a regular file was expected, found a folder"])],
)
def test_no_model(model, parts, tmp_path):
    with pytest.raises(gantry.Error) as raised:
        gantry.Session(tmp_path / model)
    say_all(str(raised.value), parts)
    say_all(complaint("run", tmp_path / model), parts)


@pytest.mark.parametrize(
    ("entries", "error", "parts"),
    [
        ({"location": "gone.bin"}, gantry.NotFoundError, ["gone.bin", "No such file"]),
        ({"location": "../weights.bin"}, gantry.InvalidModelError, ["../weights.bin", "outside"]),
        ({"location": "link.bin"}, gantry.InvalidModelError, ["link.bin", "outside"]),
        ({"location": "/etc/passwd"}, gantry.InvalidModelError, ["/etc/passwd", "relative"]),
        ({"location": "short.bin"}, gantry.InvalidModelError, ["short.bin", "4 bytes", "12"]),
        ({"location": "short.bin", "offset": 100}, gantry.InvalidModelError, ["short.bin", "byte 100"]),
        ({"location": "short.bin", "offset": "x"}, gantry.InvalidModelError, ["offset", '"x"']),
    ],
)
def test_external_data(entries, error, parts, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(12))
    (folder / "short.bin").write_bytes(bytes(4))
    (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
    file = folder / "external.onnx"
    file.write_bytes(weighted_model(external_weight(**entries)).SerializeToString())
    parts = ["external.onnx", 'tensor "w"', *parts]
    with pytest.raises(error) as raised:
        gantry.Session(file)
    say_all(str(raised.value), parts)
    say_all(complaint("run", file, "--random"), parts)


def test_bytes_have_no_folder(tmp_path):
    (tmp_path / "weights.bin").write_bytes(bytes(12))
    with pytest.raises(gantry.InvalidModelError, match='tensor "w"'):
        gantry.Session(weighted_model(external_weight(location="weights.bin")))


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ([1 << 40, 1 << 40], gantry.InvalidArgumentError),
        ([-1, 2], gantry.InvalidArgumentError),
        ([1 << 24, 1 << 24], gantry.OutOfMemoryError),
    ],
)
def test_absurd_extents_of_a_run(shape, error):
    session = gantry.Session(filling_model())
    for _ in range(2):
        with pytest.raises(error, match='ConstantOfShape "fill"'):
            session.run({"shape": np.array(shape, np.int64)})
    assert session.run({"shape": np.array([2, 3], np.int64)})["z"].shape == (2, 3)  # the session goes on


def reshaping_model(wrong):
    """y of a rank that only the run knows and that the model declares wrongly, if `wrong`; z reads it or not."""
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Reshape", ["a", "shape"], ["y"], name="turn")]
    model = make_model(nodes, [value("x", shape=(2, 3)), value("shape", TensorProto.INT64, ("r",))], [value("y", shape=(1, "width") if wrong else (1, 1, "width"))])
    return model


def test_an_output_whose_rank_the_model_says_wrongly(capfd):
    """As exporters leave it: nobody reads the output, so nothing was made for the rank that it does not have."""
    feed = {"x": np.ones((2, 3), np.float32), "shape": np.array([1, 1, 6])}
    session = gantry.Session(reshaping_model(wrong=True))
    assert session.outputs[0].shape == [1, "width"]
    for _ in range(3):
        np.testing.assert_array_equal(session.run(feed)["y"], np.ones((1, 1, 6), np.float32))
    said = capfd.readouterr().err
    assert said == 'gantry warning: Reshape "turn": output "y" has rank 3, the model says 2, which is wrong; it is handed out as it is\n'
    assert gantry.Session(reshaping_model(wrong=False)).run(feed)["y"].shape == (1, 1, 6)
    assert capfd.readouterr().err == ""


def test_a_rank_that_other_nodes_rely_on_must_be_right():
    model = reshaping_model(wrong=True)
    model.graph.node.append(helper.make_node("Transpose", ["y"], ["z"], perm=[1, 0]))
    model.graph.output.append(value("z", shape=("a", "b")))
    feed = {"x": np.ones((2, 3), np.float32), "shape": np.array([1, 1, 6])}
    with pytest.raises(gantry.InvalidArgumentError, match="rank 3, the model says 2"):
        gantry.Session(model).run(feed)


def test_a_function_body_that_needs_a_rank():
    """A standard operator that runs by its function body, which its schema builds for known ranks only."""
    op_type = "CausalConvWithState"
    inputs, outputs = ([onnx.helper.make_tensor_value_info(f"{letter}{i}", onnx.TensorProto.FLOAT, None) for i in range(2)]
                       for letter in "xy")
    node = onnx.helper.make_node(op_type, [info.name for info in inputs], [info.name for info in outputs], name="f")
    graph = onnx.helper.make_graph([node], "g", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 27)], ir_version=10)
    assert not gantry.check(model, "CPU").compatible
    with pytest.raises(gantry.UnsupportedError, match=f'1 of 1 nodes cannot run on CPU: {op_type} "f"'):
        gantry.Session(model)
