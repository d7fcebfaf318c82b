# SPDX-License-Identifier: Apache-2.0
"""Files and folders that cannot be read or written: one sentence that says which and why, and no half of a file is left."""

import json
import pathlib
import resource
import signal
import subprocess

import pytest
from broken_models import add_model
from command_line import BINARY, ERROR, complaint, gantry

from gantry import Session, write_optimized

MODEL = pathlib.Path(__file__).parents[2] / "build" / "models" / "onnx" / "light" / "light_squeezenet.onnx"
FULL = pathlib.Path("/dev/full")  # a device without room


@pytest.fixture(name="model")
def save_model(tmp_path):
    file = tmp_path / "add.onnx"
    file.write_bytes(add_model().SerializeToString())
    return file


def test_a_configuration_that_is_a_folder(tmp_path):
    assert complaint("devices", "--config", tmp_path) == f"{tmp_path}: the configuration file cannot be opened: it is a folder"
    assert complaint("devices", "--config", tmp_path / "none.json").endswith("none.json: the configuration file cannot be opened: No such file or directory")
    said = complaint("devices", env={"GANTRY_CONFIG": str(tmp_path)})
    assert said == f"GANTRY_CONFIG names {tmp_path}, which cannot be read: it is a folder; expected a JSON file"
    said = complaint("devices", env={"GANTRY_CONFIG": str(tmp_path / "none.json")})
    assert said == f"GANTRY_CONFIG names {tmp_path}/none.json, which cannot be read: No such file or directory; expected a JSON file"


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_disk_without_room(model, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "z.npy").symlink_to(FULL)
    arguments = [model, "--random", "--dim", "n=1"]
    assert complaint("run", *arguments, "--out", out) == f"{out}/z.npy: the file cannot be written: No space left on device"
    assert complaint("explain", model, "--html", FULL) == "/dev/full: the page cannot be written: No space left on device"
    trace = tmp_path / "trace.json"
    trace.symlink_to(FULL)
    printed, said = gantry("bench", *arguments, "--runs", 2, "--warm-up", 0, "--profile", trace, status=ERROR)
    assert printed == "" and f"{trace}: the trace cannot be written: No space left on device" in said
    assert said.endswith(f"gantry: {trace}: the trace was not written; the log says why\n")
    assert trace.is_symlink() and FULL.is_char_device()


def test_a_link_is_written_through(model, tmp_path):
    """/dev/stdout is one; a device or a pipe must not be replaced by a file either."""
    target = tmp_path / "target"
    target.touch()
    link = tmp_path / "link"
    link.symlink_to(target)
    write_optimized(str(model), str(link))
    assert link.is_symlink() and Session(str(link), device="CPU").inputs
    write_optimized(str(link), str(link))  # over the model that is read
    assert link.is_symlink() and Session(str(link), device="CPU").inputs
    _, said = gantry("devices", env={"GANTRY_LOADER_REPORT": str(FULL)})
    assert "/dev/full: the report cannot be written there: No space left on device" in said and FULL.is_char_device()
    gantry("devices", env={"GANTRY_LOADER_REPORT": str(link)})
    assert link.is_symlink() and "providers" in json.loads(target.read_text(encoding="utf-8"))


def limit_files():
    """In the child: a file that grows past 4 KiB is an error, not a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_an_output_that_does_not_fit_leaves_nothing(model, tmp_path):
    command = [BINARY, "run", model, "--random", "--dim", "n=100000", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit_files)
    assert done.returncode == ERROR and "z.npy: the file cannot be written: File too large" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_cache_that_others_may_write_is_told_of_once(model, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    _, said = gantry("explain", MODEL, env={"GANTRY_ARTEFACT_CACHE": str(cache)})
    assert said.count(f"chmod o-w {cache}") == 1 and said.count("\n") == 1, said
    assert list(cache.iterdir()) == []
