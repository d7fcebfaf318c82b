# SPDX-License-Identifier: Apache-2.0
"""The tutorial for provider authors, step by step: the commands of docs/write-a-provider.md run as they stand and print what stands there."""

import os
import pathlib
import re
import subprocess

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_tutorial_ends_with_a_provider_that_is_tested(tmp_path):
    (tmp_path / "build").symlink_to(ROOT / "build")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="the_relu")], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")

    page = (ROOT / "docs" / "write-a-provider.md").read_text(encoding="utf-8")
    steps = re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)
    assert len(steps) == 8
    environment = dict(os.environ, PATH=f"{ROOT / 'build' / 'release' / 'bin'}:{os.environ['PATH']}")
    done = subprocess.run(["sh", "-e", "-c", "\n".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    # The columns that depend on the machine are left out of the page: its memory, and why a device is not there.
    said = {re.sub(r" MEMORY( REASON)?$", "", " ".join(line.split())) for line in done.stdout.splitlines()}
    shown = [" ".join(line.split()) for block in re.findall(r"^```text\n(.*?)^```", page, re.M | re.S) for line in block.splitlines()]
    assert len(shown) > 15
    assert [line for line in shown if line != "..." and line not in said] == []
    assert (tmp_path / "package" / "share" / "gantry" / "providers.d" / "my-npu.json").is_file()
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (tmp_path / "my-npu").glob("*.*"))
    assert f"`my-npu` has three files, {lines} lines in all" in page
