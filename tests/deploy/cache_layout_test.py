# SPDX-License-Identifier: Apache-2.0
"""Models in caches of model hubs: names are links into a folder of blobs, and another revision moves the links."""

import numpy as np
import onnx
import pytest
from command_line import facts
from onnx import helper, numpy_helper

import gantry


def add_revision(hub, revision, value):
    """A model of external data in a revision's folder: y = x + value. The names of blobs say nothing."""
    graph = helper.make_graph([helper.make_node("Add", ["x", "c"], ["y"])], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4096])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4096])], [numpy_helper.from_array(np.full(4096, value, np.float32), "c")])
    blobs, snapshot = hub / "blobs", hub / "snapshots" / revision / "onnx"
    blobs.mkdir(exist_ok=True)
    snapshot.mkdir(parents=True)
    made = hub / "made"
    made.mkdir()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), made / "model.onnx", save_as_external_data=True, location="model.onnx_data")
    for file in list(made.iterdir()):
        blob = f"{revision}{len(file.name):060x}"
        file.rename(blobs / blob)
        (snapshot / file.name).symlink_to(f"../../../blobs/{blob}")
    made.rmdir()
    return snapshot / "model.onnx"


def result(session):
    (y,) = session.run({"x": np.zeros(4096, np.float32)}).values()
    return set(y.tolist())


@pytest.fixture(name="hub")
def hub_folder(tmp_path):
    folder = tmp_path / "models--owner--name"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("map_files", [True, False])
def test_a_model_and_its_data_are_links(hub, map_files):
    model = add_revision(hub, "a1", 1)
    assert result(gantry.Session(model, device="CPU", config={"session": {"map_files": map_files}})) == {1}
    assert facts("check", model)["compatible"]


def test_another_revision_under_the_same_name(hub, tmp_path):
    """With the compiled-model cache too, whose file is the name's."""
    config = {"session": {"artefact_cache": str(tmp_path / "cache")}}
    main = hub / "main"
    main.symlink_to(add_revision(hub, "a1", 1).parent)
    first = gantry.Session(main / "model.onnx", device="CPU", config=config)
    other = hub / "other"
    other.symlink_to(add_revision(hub, "b2", 2).parent)
    other.rename(main)
    assert result(first) == {1}
    for _ in range(2):
        assert result(gantry.Session(main / "model.onnx", device="CPU", config=config)) == {2}
