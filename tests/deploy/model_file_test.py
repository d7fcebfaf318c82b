# SPDX-License-Identifier: Apache-2.0
"""A model's files are written, shortened or replaced while a session uses them."""

import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gantry

LARGE = 6 << 20  # elements of a table that is read where the file is mapped


def save(path, value, rows, external=False):
    """y = table[i], every element of the table `value`; z = y + value."""
    table = np.full((rows, 64), value, np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["r"]), helper.make_node("Add", ["r", "c"], ["y"])], "g",
        [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [1])], [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.full(64, value, np.float32), "c")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if external:
        onnx.save(model, path, save_as_external_data=True, location=path.name + ".data")
    else:
        onnx.save(model, path)


def run(session, row):
    (y,) = session.run({"i": np.array([row])}).values()
    return y


def overwrite(source, target):
    """As cp does: the file stays, its content is another."""
    with open(source, "rb") as new, open(target, "r+b") as old:
        old.truncate(0)
        shutil.copyfileobj(new, old)


@pytest.mark.parametrize("external", [False, True])
def test_a_small_model_keeps_what_was_loaded(tmp_path, external):
    save(tmp_path / "m.onnx", 1, 100, external)
    save(tmp_path / "other.onnx", 2, 100, external)
    session = gantry.Session(tmp_path / "m.onnx", device="CPU")
    for name in ("m.onnx", *(["m.onnx.data"] if external else [])):
        overwrite(tmp_path / name.replace("m.", "other."), tmp_path / name)
    assert (run(session, 3) == 2).all()
    os.truncate(tmp_path / "m.onnx", 1)
    assert (run(session, 99) == 2).all()


@pytest.mark.parametrize("external", [False, True])
def test_a_large_model_says_that_it_was_written(tmp_path, external):
    rows = LARGE // 64
    save(tmp_path / "m.onnx", 1, rows, external)
    save(tmp_path / "other.onnx", 2, rows, external)
    session = gantry.Session(tmp_path / "m.onnx", device="CPU")
    assert (run(session, 3) == 2).all()
    name = "m.onnx.data" if external else "m.onnx"
    overwrite(tmp_path / name.replace("m.", "other."), tmp_path / name)
    for _ in range(2):
        with pytest.raises(gantry.InvalidModelError, match=f"{name}.*was written while a session uses it.*renaming"):
            run(session, rows - 1)
    assert (run(gantry.Session(tmp_path / "m.onnx", device="CPU"), 3) == (4 if not external else 3)).all()


def test_a_large_model_may_be_replaced_by_renaming(tmp_path):
    rows = LARGE // 64
    save(tmp_path / "m.onnx", 1, rows)
    save(tmp_path / "other.onnx", 2, rows)
    session = gantry.Session(tmp_path / "m.onnx", device="CPU")
    os.replace(tmp_path / "other.onnx", tmp_path / "m.onnx")
    assert (run(session, rows - 1) == 2).all()


def test_a_copied_model_may_be_written(tmp_path):
    rows = LARGE // 64
    save(tmp_path / "m.onnx", 1, rows)
    session = gantry.Session(tmp_path / "m.onnx", device="CPU", config={"session": {"map_files": False}})
    os.truncate(tmp_path / "m.onnx", 100)
    assert (run(session, rows - 1) == 2).all()


SHORTENED = """
import os, sys, threading, numpy as np, gantry
session = gantry.Session(sys.argv[1], device="CPU")
rows = int(sys.argv[2])
def shorten():
    os.truncate(sys.argv[1], 4096)
done = 0
threading.Timer(0.05, shorten).start()
try:
    for i in range(10_000_000):
        session.run({"i": np.array([(i * 997) % rows])})
        done += 1
except gantry.InvalidModelError as error:
    print("refused", done > 0, "while a session uses it" in str(error))
"""


def test_a_model_that_is_shortened_in_a_run_does_not_end_the_process(tmp_path):
    rows = LARGE // 64
    save(tmp_path / "m.onnx", 1, rows)
    done = subprocess.run([sys.executable, "-c", SHORTENED, tmp_path / "m.onnx", str(rows)], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "refused True True\n"), (done.returncode, done.stdout, done.stderr[-2000:])


def test_the_compiled_model_cache_too(tmp_path):
    rows = LARGE // 64
    save(tmp_path / "m.onnx", 1, rows)
    config = {"session": {"artefact_cache": str(tmp_path / "cache")}}
    gantry.Session(tmp_path / "m.onnx", device="CPU", config=config)
    session = gantry.Session(tmp_path / "m.onnx", device="CPU", config=config)
    (file,) = (tmp_path / "cache").glob("m-*")
    os.truncate(file, 4096)
    with pytest.raises(gantry.InvalidModelError, match="while a session uses it"):
        for row in range(3):
            run(session, row)
