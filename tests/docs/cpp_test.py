# SPDX-License-Identifier: Apache-2.0
"""docs/cpp.md as it stands: what is installed is moved, and a program is built and run with nothing else of gantry."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", ROOT / "build" / "release" / "bin" / "gantry")).parents[1]
PAGE = (ROOT / "docs" / "cpp.md").read_text(encoding="utf-8")
WARNINGS = "-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -pedantic -Werror"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="module", name="installed")
def install(tmp_path_factory):
    """A folder with the prefix `gantry`, moved from where it was installed, in a path with a space."""
    folder = tmp_path_factory.mktemp("installed")
    (command,) = [block for block in blocks("sh") if "--install" in block]
    (folder / "first").mkdir()
    subprocess.run(["sh", "-e", "-c", command.replace("build/release", str(BUILD))], cwd=folder / "first", check=True, stdout=subprocess.DEVNULL)
    (folder / "first").rename(folder / "mo ved")
    return folder / "mo ved"


def environment(folder):
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GANTRY_PROBE_CACHE": "off"}


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_a_program_is_built_with_what_is_installed(compiler, installed, tmp_path):
    program, project = blocks("cpp")[0], blocks("cmake")[0]
    (steps,) = [block for block in blocks("sh") if "-S ." in block]
    (tmp_path / "program.cc").write_text(program, encoding="utf-8")
    (tmp_path / "CMakeLists.txt").write_text(project, encoding="utf-8")
    (tmp_path / "gantry").symlink_to(installed / "gantry")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "models").symlink_to(ROOT / "build" / "models")
    env = {**environment(tmp_path), "CXX": compiler, "CXXFLAGS": WARNINGS}
    done = subprocess.run(["sh", "-e", "-c", steps], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    (said,) = blocks("text")
    assert done.stdout.endswith(said)


def test_what_is_installed_knows_nothing_of_the_build(installed):
    prefix = installed / "gantry"
    of_here = [str(path) for path in prefix.rglob("*") if path.is_file() and any(str(place).encode() in path.read_bytes() for place in (ROOT, BUILD))]
    assert of_here == []
    done = subprocess.run([prefix / "bin" / "gantry", "doctor", "--json"], env=environment(installed), capture_output=True, text=True, check=False)
    rows = json.loads(done.stdout)["providers"]
    assert {row["name"] for row in rows} >= {"cpu", "x86", "sim"}
    assert [row["library"] for row in rows if not row["library"].startswith(f"{prefix}/lib/gantry/providers.d/")] == []


def test_the_helpers_are_installed(installed, tmp_path):
    """The process that an isolated provider runs in, and the one in which a provider is tried first."""
    env = {**environment(tmp_path), "GANTRY_ISOLATION": "all"}
    config = tmp_path / "probe.json"
    config.write_text('{"providers": {"probe": "always"}}')
    done = subprocess.run([installed / "gantry" / "bin" / "gantry", "doctor", "--json", "--config", config], env=env, capture_output=True, text=True,
                          check=False)
    rows = {row["name"]: row for row in json.loads(done.stdout)["providers"]}
    assert rows["sim"]["state"] == rows["cpu"]["state"] == "ready"
    assert rows["cpu"]["isolation"] == "process"
