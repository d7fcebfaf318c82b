# SPDX-License-Identifier: Apache-2.0
"""The library's code for the shapes that a model says is generated before the first run, and nobody has to wait for it who does not run."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest

import gantry
from oracle import run_oracle
from small_graph import small_graph

# Loads the model, waits until the process works no more, and runs it.
LOAD_AND_RUN = """
import sys, time
import numpy as np
import gantry
session = gantry.Session(sys.argv[1], device="CPU", config={"session": {"threads": int(sys.argv[2])}})
quiet, deadline = 0, time.monotonic() + 30
while quiet < 20 and time.monotonic() < deadline:
    before = time.process_time()
    time.sleep(0.005)
    quiet = quiet + 1 if time.process_time() - before < 0.001 else 0
print("LOADED", flush=True)
session.run({"x": np.ones((1, 16, 12, 12), np.float32)})
"""

# Ends while the session is still there.
LOAD_AND_EXIT = """
import ctypes, sys, threading
import gantry
def load():
    session = gantry.Session(sys.argv[1], device="CPU")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))  # it is never destroyed
if sys.argv[2] == "first":
    load()
else:
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
sys.exit(0)
"""

# A child that is forked while there is work ends, and so does its parent.
LOAD_AND_FORK = """
import os, sys
import gantry
session = gantry.Session(sys.argv[1], device="CPU")
child = os.fork()
del session
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


# Children that are forked right behind loading run the model, as its parent does.
LOAD_FORK_AND_RUN = """
import os, signal, sys
import gantry, numpy as np
session = gantry.Session(sys.argv[1], device="CPU")
(name,) = [info.name for info in session.inputs]
x = np.random.default_rng(0).standard_normal([abs(extent) for extent in session.inputs[0].shape], np.float32)
children = []
for number in range(3):
    reader, writer = os.pipe()
    if os.fork() == 0:
        signal.alarm(60)
        os.write(writer, session.run({name: x})[session.outputs[0].name].tobytes())
        os._exit(0)
    os.close(writer)
    children.append(reader)
expected = session.run({name: x})[session.outputs[0].name]
for reader in children:
    with open(reader, "rb") as said:
        np.testing.assert_allclose(np.frombuffer(said.read(), np.float32), expected.ravel(), rtol=1e-4, atol=1e-5)
"""


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(1)
    text = """c = Conv<pads=[1, 1, 1, 1]>(x, w)
    d = Relu(c)
    m = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(d)
    e = Conv(m, v)
    r = Reshape(e, shape)
    p = MatMul(r, u)
    y = Elu(p)"""
    weights = {"w": (24, 16, 3, 3), "v": (32, 24, 1, 1), "u": (1152, 40)}
    constants = {name: rng.standard_normal(shape, np.float32) for name, shape in weights.items()}
    graph, _ = small_graph(text, {"x": np.ones((1, 16, 12, 12), np.float32)}, {**constants, "shape": np.array([1, -1])})
    path = tmp_path / "model.onnx"
    onnx.save(graph, path)
    return path


def start(code, *arguments, **variables):
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], env={**os.environ, **variables}, capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_run_generates_nothing(model, threads):
    text = start(LOAD_AND_RUN, model, threads, ONEDNN_VERBOSE="2")
    loading, running = text.split("LOADED")
    made = [line for line in loading.splitlines() if "create:cache_miss" in line]
    assert any("convolution" in line for line in made) and any("matmul" in line for line in made) and any("pooling" in line for line in made)
    assert ",exec," in running
    assert [line for line in running.splitlines() if "create:cache_miss" in line] == []


@pytest.mark.parametrize("thread", ["first", "another"])
def test_a_process_may_end_at_once(model, thread):
    for _ in range(16):
        start(LOAD_AND_EXIT, model, thread)


def test_a_child_may_end_at_any_time(model):
    for _ in range(4):
        start(LOAD_AND_FORK, model)


@pytest.mark.parametrize("name", ["small", "light_squeezenet", "light_shufflenet"])
def test_children_of_a_process_that_has_just_loaded_run_the_model(model, name):
    lights = pathlib.Path(__file__).parents[3] / "build" / "models" / "onnx" / "light"
    for _ in range(3):
        start(LOAD_FORK_AND_RUN, model if name == "small" else lights / f"{name}.onnx")


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_may_come_at_once_and_sessions_go(model, threads):
    config = {"session": {"threads": threads}}
    x = np.random.default_rng(3).standard_normal((1, 16, 12, 12), np.float32)
    expected = run_oracle(onnx.load(model), {"x": x})[0]
    for _ in range(30):
        session = gantry.Session(model, device="CPU", config=config)
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=1e-4, atol=1e-3)
        gantry.Session(model, device="CPU", config=config)


def test_runs_at_once_make_their_own(model):
    session = gantry.Session(model, device="CPU")
    x = np.random.default_rng(4).standard_normal((1, 16, 12, 12), np.float32)
    expected = run_oracle(onnx.load(model), {"x": x})[0]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: session.run({"x": x})["y"], range(12)):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3)
