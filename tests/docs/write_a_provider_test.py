# SPDX-License-Identifier: Apache-2.0
"""The tutorial for provider authors, step by step: the commands of docs/write-a-provider.md run as they stand and print what stands there. After its first step, which
installs the SDK, there is nothing but that and the installed command: no build, no repository, none of the caller's environment."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]


def installed_environment(folder):
    """The command with its libraries and providers in a folder of its own, and the variables of a shell that knows no other."""
    release = ROOT / "build" / "release"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(release / "bin" / "gantry", folder / "bin")
    shutil.copytree(release / "lib", folder / "lib", ignore=shutil.ignore_patterns("*.a"))
    (folder / "home").mkdir()
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "LD_LIBRARY_PATH": str(folder / "lib"), "HOME": str(folder / "home"), "GANTRY_PROBE_CACHE": "off"}


def the_fused_row_runs_two_nodes_as_one(page, folder, environment):
    """The section "Fuse nodes": its code and the call that hands the table over, in the provider of the steps before."""
    (code,) = re.findall(r"^## Fuse nodes\n.*?^```cpp\n(.*?)^```", page, re.M | re.S)
    (call,) = re.findall(r"`(Provider\(offer, [^`]*kFusions\)\))`", page)
    source = folder / "my-npu" / "my-npu.cc"
    text = source.read_text(encoding="utf-8")
    plain = 'Provider(offer, "my-npu", {sdk::table(kRows)})'
    assert text.count(plain) == text.count("class MyNpuProvider") == 1
    source.write_text(text.replace(plain, call).replace("class MyNpuProvider", f"{code}\nclass MyNpuProvider"), encoding="utf-8")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("a", "b", "y")]
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:2], values[2:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "add_relu.onnx")
    steps = ["cmake --build my-npu/build >&2", "gantry provider test my-npu/build/my-npu.json >&2",
             'GANTRY_ADD_PROVIDER_FILES="$PWD/my-npu/build/my-npu.json" gantry explain add_relu.onnx --device MY_NPU --json']
    done = subprocess.run(["sh", "-e", "-c", "\n".join(steps)], cwd=folder, env=environment, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [node["kernel"] for node in json.loads(done.stdout)["nodes"]] == ["my-npu.add_relu"] * 2


def an_operator_of_its_own_runs(page, folder, environment):
    """The section "Operators of your own": its code, the call that hands the tables over, and the member of the manifest."""
    section = page[page.index("## Operators of your own"):]
    (code,) = re.findall(r"^```c\+\+\n(.*?)^```", section, re.M | re.S)
    (call,) = re.findall(r"`(Provider\(offer, [^`]*kOwnRows\)\}\))`", section)
    (member,) = re.findall(r"^```json\n(.*?)^```", section, re.M | re.S)
    source = folder / "my-npu" / "my-npu.cc"
    text, count = re.subn(r"Provider\(offer, \"my-npu\", .*\) \{\}", call + " {}", source.read_text(encoding="utf-8"))
    assert count == 1
    source.write_text(text.replace("class MyNpuProvider", f"{code}\nclass MyNpuProvider"), encoding="utf-8")
    manifest = folder / "my-npu" / "my-npu.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"devices":', f'{member.strip()},\n  "devices":', 1), encoding="utf-8")
    nodes = [helper.make_node("Halve", ["x"], ["h"], domain="com.my-npu"), helper.make_node("Relu", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])], [onnx.ValueInfoProto(name="y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.my-npu", 1)], ir_version=8), folder / "halve.onnx")
    steps = ["cmake --build my-npu/build >&2", "gantry provider lint my-npu/build/my-npu.json >&2", "gantry provider test my-npu/build/my-npu.json >&2",
             'GANTRY_ADD_PROVIDER_FILES="$PWD/my-npu/build/my-npu.json" gantry run halve.onnx --device MY_NPU --random --json']
    done = subprocess.run(["sh", "-e", "-c", "\n".join(steps)], cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    (output,) = json.loads(done.stdout)["outputs"]
    assert (output["dtype"], output["shape"]) == ("float32", [2, 3]) and output["min"] == 0 and 0 < output["max"] < 0.5


def test_the_tutorial_ends_with_a_provider_that_is_tested(tmp_path_factory, tmp_path):
    environment = installed_environment(tmp_path_factory.mktemp("installed") / "gantry")
    (tmp_path / "build").symlink_to(ROOT / "build")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="the_relu")], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")

    page = (ROOT / "docs" / "write-a-provider.md").read_text(encoding="utf-8")
    steps = re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)
    assert len(steps) == 8
    assert steps[0].startswith("cmake --install build/release --component sdk")
    subprocess.run(["sh", "-e", "-c", steps[0]], cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "build").unlink()
    done = subprocess.run(["sh", "-e", "-c", "\n".join(steps[1:])], cwd=tmp_path, env=environment, capture_output=True, text=True,
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
    # What needs the Python that has onnx: the cases, and with them the two tests of the provider's own build.
    (cases,) = re.findall(r"^```\n(python sdk/\S+/node_cases .*?)^```", page, re.M | re.S)
    (tests,) = re.findall(r"^```cmake\n(.*?)^```", page, re.M | re.S)
    with (tmp_path / "my-npu" / "CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(tests)
    steps = [cases.replace("python ", f"{sys.executable} "), "cmake --build my-npu/build", "ctest --test-dir my-npu/build"]
    done = subprocess.run(["sh", "-e", "-c", "\n".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed, 0 tests failed out of 2" in done.stdout
    assert (tmp_path / "my-npu" / "cases" / "test_relu" / "model.onnx").is_file()  # as the page's fourth step says
    assert os.access(tmp_path / "sdk" / "share" / "gantry_sdk" / "model_cases", os.X_OK)
    the_fused_row_runs_two_nodes_as_one(page, tmp_path, environment)
    an_operator_of_its_own_runs(page, tmp_path, environment)
    of_here = [str(path) for folder in ("sdk", "my-npu", "package") for path in (tmp_path / folder).rglob("*")
               if path.is_file() and str(ROOT).encode() in path.read_bytes()]
    assert of_here == []
