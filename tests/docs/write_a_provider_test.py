# SPDX-License-Identifier: Apache-2.0
"""The tutorial for provider authors, step by step: the commands of docs/write-a-provider.md run as they stand."""

import os
import pathlib
import re
import subprocess

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_tutorial_ends_with_a_model_on_the_new_device(tmp_path):
    (tmp_path / "plugin_sdk").symlink_to(ROOT / "plugin_sdk")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="the_relu")], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")

    steps = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / "write-a-provider.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(steps) == 4
    environment = dict(os.environ, PATH=f"{ROOT / 'build' / 'release' / 'bin'}:{os.environ['PATH']}")
    done = subprocess.run(["sh", "-e", "-c", "\n".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"SKELETON:0\s+ready\s+skeleton", done.stdout), done.stdout
    assert "compatible with device SKELETON: every node runs (1)" in done.stdout
