# SPDX-License-Identifier: Apache-2.0
"""Files of a model that are shortened, overwritten or removed while a session uses them, mapped or read (session.map_files)."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from sanitizer import PATIENCE

ROWS = 4096

CODE = """
import os, sys
import numpy as np
import gantry
model, weights, maps, isolated, cache = sys.argv[1], sys.argv[2], sys.argv[3] == "mapped", sys.argv[4], sys.argv[5]
config = {"session": {"map_files": maps, "threads": 1, **({"artefact_cache": cache} if cache else {})}}
for _ in range(2 if cache else 1):  # the second is made by the plan that was kept
    session = gantry.Session(model, config=config)
for path in (model, weights):
    os.truncate(path, 0)
x = np.arange(4, dtype=np.int64) * 1000
expected = np.arange(%d * 64, dtype=np.float32).reshape(-1, 64)[x]
for _ in range(2):
    np.testing.assert_array_equal(session.run({"x": x})["y"], expected)
print("right")
""" % ROWS


@pytest.fixture(name="files")
def _files(tmp_path):
    """A model that reads rows of a table: in external data, or (inline) in the model's own file."""

    def write(inline):
        table = onnx.numpy_helper.from_array(np.arange(ROWS * 64, dtype=np.float32).reshape(ROWS, 64), "table")
        graph = onnx.helper.make_graph([onnx.helper.make_node("Gather", ["table", "x"], ["y"])], "rows",
                                       [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["n"])],
                                       [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 64])], [table])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, tmp_path / "m.onnx", save_as_external_data=not inline, location="weights", size_threshold=0)
        (tmp_path / "weights").touch()
        return tmp_path / "m.onnx", tmp_path / "weights"

    return write


def run(files, access, isolation="off", cache=""):
    # Without records of crashes: other processes would warn of the one that ends by a signal.
    return subprocess.run([sys.executable, "-c", CODE, *map(str, files), access, isolation, str(cache)], timeout=120 * PATIENCE, capture_output=True,
                          text=True, check=False, env={**os.environ, "GANTRY_ISOLATION": isolation, "GANTRY_PROBE_CACHE": "off"})


@pytest.mark.parametrize("inline", [True, False], ids=["in_the_model", "external"])
@pytest.mark.parametrize("isolation", ["off", "all"])
def test_a_session_that_has_read_its_files_does_not_need_them(files, inline, isolation):
    done = run(files(inline), "read", isolation)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr[-800:]


def test_a_plan_that_was_kept_reads_them_too(files, tmp_path):
    done = run(files(False), "read", cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr[-800:]


def test_a_session_that_maps_its_files_keeps_what_is_small(files):
    done = run(files(False), "mapped")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr[-800:]


def test_a_worker_process_that_maps_them_is_not_asked(files):
    """It has no copy of its own: the session says that the file changed before the worker reads it."""
    done = run(files(False), "mapped", "all")
    assert done.returncode == 1 and "the file was written while a session uses it" in done.stderr, done.stderr[-800:]
