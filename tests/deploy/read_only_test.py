# SPDX-License-Identifier: Apache-2.0
"""File systems and home folders that cannot be written, as containers have them: models run, and what would be kept is left out."""

import json
import os

import onnx
import pytest
from broken_models import add_model
from command_line import BINARY
from deployments import User, among_own_mounts, needs_root, open_folder, run

SOMEBODY = User(61004, 61004)


@pytest.fixture(name="folder")
def folder_of_a_model():
    with open_folder() as folder:
        onnx.save(add_model(), folder / "add.onnx")
        (folder / "home").mkdir()
        yield folder


def run_command(folder, *options):
    return [BINARY, "run", folder / "add.onnx", "--random", "--dim", "n=3", *options]


# Everything that is mounted becomes read-only, as with `docker run --read-only`.
READ_ONLY = """
cut -d' ' -f5 /proc/self/mountinfo | while read -r folder; do mount -o remount,bind,ro "$folder" 2>/dev/null || true; done
if touch "$HOME/probe" 2>/dev/null; then echo "is writable: $HOME" >&2; exit 9; fi
exec "$@"
"""


@pytest.mark.parametrize("isolation", ["off", "all"])
def test_a_read_only_file_system(folder, isolation):
    printed, said = among_own_mounts(READ_ONLY, *run_command(folder), env={"HOME": str(folder / "home"), "GANTRY_ISOLATION": isolation})
    assert "z" in printed and said == ""
    assert not list((folder / "home").iterdir())


def test_a_compiled_model_cache_on_a_read_only_file_system(folder):
    """It was asked for, so the log says why nothing is kept."""
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    printed, said = among_own_mounts(READ_ONLY, *run_command(folder), env={"HOME": str(folder / "home"), "GANTRY_ARTEFACT_CACHE": str(cache)})
    assert "z" in printed
    assert str(cache) in said and said.count("\n") == 1, said


def test_a_provider_that_is_tried_on_a_read_only_file_system(folder):
    """Its verdict cannot be kept."""
    config = json.dumps({"providers": {"probe": "always"}})
    printed, said = among_own_mounts(READ_ONLY, *run_command(folder, "--config", config), env={"HOME": str(folder / "home")})
    assert "z" in printed and said == ""


HOMES = {"that is root's": "home", "that is not there": "none", "that is a file": "add.onnx"}


@needs_root
@pytest.mark.parametrize("name", HOMES)
def test_a_home_folder_that_cannot_be_written(folder, name):
    for isolation in ("off", "all"):
        printed, said = run(run_command(folder), SOMEBODY, {"HOME": str(folder / HOMES[name]), "GANTRY_ISOLATION": isolation})
        assert "z" in printed and said == ""


def test_without_a_home_folder(folder):
    without = {key: text for key, text in os.environ.items() if key != "HOME"}
    printed, said = run(["env", "-i", *(f"{key}={text}" for key, text in without.items()), *run_command(folder)])
    assert "z" in printed and said == ""
