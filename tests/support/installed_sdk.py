# SPDX-License-Identifier: Apache-2.0
"""The SDK as others get it: installed, moved, and built against with a vendor's warnings as errors."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", ROOT / "build" / "release" / "bin" / "gantry")).parents[1]
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Werror"
CXX_WARNINGS = f"{WARNINGS} -Wold-style-cast -Wnon-virtual-dtor"


def run(*command, folder=None):
    done = subprocess.run([str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(folder):
    """The installed component, moved from where it was installed."""
    run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def build(source, sdk, *options, into=None):
    """Builds a provider out of tree; its build folder."""
    into = into or source / "build"
    run("cmake", "-S", source, "-B", into, f"-DCMAKE_PREFIX_PATH={sdk}", f"-DCMAKE_CXX_FLAGS={CXX_WARNINGS}", f"-DCMAKE_C_FLAGS={WARNINGS}",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF", *options)
    run("cmake", "--build", into)
    return into
