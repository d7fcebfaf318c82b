# SPDX-License-Identifier: Apache-2.0
"""The SDK as others get it: installed, moved, and used with nothing else of gantry; and what `gantry provider new` writes for it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import onnx
import pytest
from command_line import BINARY, complaint, facts, gantry
from installed_sdk import BUILD, ROOT, build, install, run
from onnx import TensorProto, helper


@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return install(tmp_path_factory.mktemp("sdk"))


def relu(path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="the_relu")], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_the_package_has_the_sdk_and_nothing_of_the_core(sdk):
    files = {str(file.relative_to(sdk)) for file in sdk.rglob("*") if file.is_file()}
    headers = {name for name in files if name.startswith("include/")}
    assert headers == {f"include/{path.relative_to(folder)}" for folder in (ROOT / "plugin_sdk" / "include", ROOT / "plugin_sdk" / "cpp")
                       for path in folder.rglob("*.h")}
    assert {name.rsplit("/", 1)[1] for name in files - headers} == {
        "CMakeLists.txt", "skeleton.cc", "skeleton.json", "model_cases", "node_cases", "provider_exports.map", "gantry_provider_library.cmake",
        "gantry_provider_tests.cmake", "gantry-sdk.pc", "gantry_sdkConfig.cmake", "gantry_sdkConfigVersion.cmake", "gantry_sdkTargets.cmake"}
    for name in files:
        text = (sdk / name).read_text(encoding="utf-8")
        assert str(ROOT) not in text and str(BUILD) not in text, f"{name} names the machine it was built on"


def test_the_skeleton_builds_against_the_installed_tree(sdk, tmp_path):
    shutil.copytree(sdk / "share" / "gantry_sdk" / "skeleton", tmp_path / "skeleton")
    folder = build(tmp_path / "skeleton", sdk)
    assert (folder / "libskeleton.so").is_file() and (folder / "skeleton.json").is_file()
    dependencies = run("cmake", "-E", "cat", folder / "CMakeFiles" / "skeleton.dir" / "skeleton.cc.o.d")
    assert str(sdk / "include" / "gantry" / "provider.h") in dependencies
    assert str(ROOT) not in dependencies, "a header was taken from the sources and not from the package"


def test_the_sdk_is_a_project_of_its_own(tmp_path):
    shutil.copytree(ROOT / "plugin_sdk", tmp_path / "plugin_sdk")
    run("cmake", "-S", tmp_path / "plugin_sdk", "-B", tmp_path / "build")
    run("cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "sdk")
    assert (tmp_path / "sdk" / "include" / "gantry" / "provider.h").is_file()


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_a_provider_needs_no_cmake(sdk, tmp_path, compiler):
    """The command of docs/write-a-provider.md."""
    page = (ROOT / "docs" / "write-a-provider.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^```\nc\+\+ (.*?)\n```", page, re.M | re.S)
    gantry("provider", "new", "my-npu", "--dir", tmp_path / "my-npu")
    (tmp_path / "sdk").symlink_to(sdk)
    run(compiler, "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", *command.split(), folder=tmp_path)
    report = facts("provider", "lint", tmp_path / "my-npu" / "my-npu.json")
    assert report["good"] and report["findings"] == []
    env = {"GANTRY_ADD_PROVIDER_FILES": str(tmp_path / "my-npu" / "my-npu.json")}
    assert facts("check", relu(tmp_path / "relu.onnx"), "--device", "MY_NPU", env=env)["compatible"]


def test_a_new_provider_builds_loads_and_runs(sdk, tmp_path):
    made = facts("provider", "new", "my-npu_2", "--dir", tmp_path / "new")
    assert made["device"] == "MY_NPU_2" and [pathlib.Path(file).name for file in made["files"]] == [
        "CMakeLists.txt", "my-npu_2.cc", "my-npu_2.json"]
    written = [pathlib.Path(file).read_text(encoding="utf-8") for file in made["files"]]
    assert sum(len(text.splitlines()) for text in written) < 150
    assert not any("skeleton" in text.lower() for text in written)

    folder = build(tmp_path / "new", sdk)
    environment = {"GANTRY_ADD_PROVIDER_FILES": str(folder / "my-npu_2.json"), "GANTRY_PROBE_CACHE": "off"}
    devices = facts("devices", env=environment)["devices"]
    assert [row["state"] for row in devices if row["device"] == "MY_NPU_2:0"] == ["ready"]
    ran = facts("run", relu(tmp_path / "relu.onnx"), "--device", "MY_NPU_2", "--random", env=environment)
    assert ran["outputs"][0]["shape"] == [4] and ran["outputs"][0]["min"] >= 0

    run("cmake", "--install", folder, "--prefix", tmp_path / "prefix")
    home = {"XDG_DATA_HOME": str(tmp_path / "prefix" / "share"), "GANTRY_PROBE_CACHE": "off"}
    assert any(row["device"] == "MY_NPU_2:0" for row in facts("devices", env=home)["devices"]), "it is found where it installs itself"


def test_the_suite_is_two_tests_of_the_vendors_own(sdk, tmp_path):
    """find_package(gantry_sdk) brings the conformance suite, as tests for ctest with a report for a build server."""
    shutil.copytree(sdk / "share" / "gantry_sdk" / "skeleton", tmp_path / "npu")
    with open(tmp_path / "npu" / "CMakeLists.txt", "a", encoding="utf-8") as file:
        file.write('enable_testing()\ngantry_provider_tests(skeleton LEVEL 3 OPTIONS "{}")\n')
    folder = build(tmp_path / "npu", sdk, f"-DGANTRY_COMMAND={BINARY}")
    said = run("ctest", "--test-dir", folder, "--output-on-failure")
    assert "2 tests passed" in said or "100% tests passed, 0 tests failed out of 2" in said
    report = xml.etree.ElementTree.parse(folder / "skeleton.conformance.xml").getroot()
    assert {suite.get("name") for suite in report} == {"level1", "level2", "level3"} and not list(report.iter("failure"))

    source = tmp_path / "npu" / "skeleton.cc"
    source.write_text(source.read_text(encoding="utf-8").replace("skeleton device", ""), encoding="utf-8")
    run("cmake", "--build", folder)
    done = subprocess.run(["ctest", "--test-dir", folder, "--output-on-failure"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "devices.are-described" in done.stdout and "skeleton.lint" in done.stdout

    said = refused(tmp_path / "npu", sdk, "-DGANTRY_COMMAND=GANTRY_COMMAND-NOTFOUND", "-DCMAKE_PROGRAM_PATH=/nowhere", path="/usr/bin:/bin")
    assert "the command gantry is not in the path; set GANTRY_COMMAND to it" in " ".join(said.split())


def refused(source, sdk, *options, path):
    """What CMake says when it will not configure."""
    done = subprocess.run(["cmake", "-S", source, "-B", source / "refused", f"-DCMAKE_PREFIX_PATH={sdk}", *options],
                          env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_names_that_cannot_be(tmp_path):
    for name in ("2npu", "Npu", "", "a b", "x" * 65, "../npu"):
        said = complaint("provider", "new", name, "--dir", tmp_path / "new", status=2)
        assert "expected 1 to 64 of a-z, 0-9, _ and -, first a letter" in said
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    said = complaint("provider", "new", "npu", "--dir", tmp_path)
    assert "expected a new or empty folder" in said and "--dir" in said
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_the_text_says_what_to_do_next(tmp_path):
    output, _ = gantry("provider", "new", "npu", "--dir", tmp_path / "npu")
    assert f"cmake -S {tmp_path}/npu -B {tmp_path}/npu/build" in output and "gantry devices" in output
    assert json.loads((tmp_path / "npu" / "npu.json").read_text(encoding="utf-8"))["devices"] == ["NPU"]
