# SPDX-License-Identifier: Apache-2.0
"""The library as programs get it: installed, moved, found by CMake and by pkg-config, opened by the name of its interface."""

import os
import re
import shutil
import subprocess

import pytest
from installed_sdk import BUILD, ROOT, run
from model_files import light_file

SOURCE = ROOT / "examples" / "applications" / "program" / "program.cc"
SONAME = "libgantry.so." + re.search(r"project\(gantry VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


@pytest.fixture(name="prefix", scope="module")
def install(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--component", "gantry", "--prefix", folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def runs(program):
    assert run(program, light_file("squeezenet")).startswith("softmaxout_1 has 1000 elements")


def test_the_library_is_opened_by_the_name_of_its_interface(prefix):
    """Another minor version, which may have another interface until 1.0, does not take its place."""
    assert f"Library soname: [{SONAME}]" in run("readelf", "-d", prefix / "lib" / "libgantry.so")
    assert os.readlink(prefix / "lib" / "libgantry.so") == SONAME
    assert f"Shared library: [{SONAME}]" in run("readelf", "-d", prefix / "bin" / "gantry")


def test_pkg_config_says_how_a_program_is_compiled(prefix, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}

    def asked(*options):
        return subprocess.run(["pkg-config", *options, "gantry"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True).stdout.split()

    run("c++", "-std=c++20", SOURCE, *asked("--cflags", "--libs"), f"-Wl,-rpath,{prefix / 'lib'}", "-o", tmp_path / "program")
    runs(tmp_path / "program")
    assert asked("--modversion") == [re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8").split("project(gantry")[1])[1]]


@pytest.mark.parametrize("target", ["gantry::gantry", "gantry::core"])
def test_cmake_knows_it_by_its_name_and_by_an_older_one(prefix, tmp_path, target):
    shutil.copy(SOURCE, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
find_package(gantry REQUIRED)
add_executable(program program.cc)
target_link_libraries(program PRIVATE {target})
""")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF")
    run("cmake", "--build", tmp_path / "build")
    runs(tmp_path / "build" / "program")


@pytest.mark.parametrize("package", ["gantry", "gantry_sdk"])
def test_a_build_folder_in_the_path_is_not_taken_for_what_is_installed(prefix, tmp_path, package):
    """CMake looks beside the folders of the PATH; what a build has there names targets that it has not."""
    sdk = tmp_path / "sdk"
    run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", sdk)
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
find_package({package} REQUIRED)
message(STATUS "found in ${{{package}_DIR}}")
""")
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{BUILD / 'plugin_sdk'}:{os.environ['PATH']}:{prefix / 'bin'}:{sdk / 'bin'}"}
    (sdk / "bin").mkdir()
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"found in (.*)", done.stdout)[1]
    assert found.startswith(str(prefix if package == "gantry" else sdk)), found
