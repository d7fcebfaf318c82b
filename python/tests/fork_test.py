# SPDX-License-Identifier: Apache-2.0
"""Forked children run models, as servers fork them: after loading, after a run, after asking for devices."""

import subprocess
import sys

import pytest

BEGIN = """
import multiprocessing, os, signal, sys, threading, time
import gantry, numpy as np, onnx.parser
import gantry.onnxruntime as ort
HEAD = '<ir_version: 10, opset_import: ["": 21]> '
model = onnx.parser.parse_model(HEAD + 'g (float[n, 64] x, float[64, 64] w) => (float[n, 64] y) { p = MatMul(x, w) y = Relu(p) }').SerializeToString()
FEED = {"x": np.eye(64, dtype=np.float32), "w": np.arange(4096, dtype=np.float32).reshape(64, 64)}

def run(session):
    np.testing.assert_array_equal(session.run(FEED)["y"], FEED["w"])

def in_child(body):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is ended
        try:
            body()
            os._exit(0)
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def program(text):
    done = subprocess.run([sys.executable, "-c", BEGIN + text], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("before", ["pass", "run(session)", "for _ in range(50): run(session)", "ort.get_available_providers(); ort.get_device()"])
def test_a_child_runs_the_session_of_its_parent_and_its_own(before):
    program(f"""
session = gantry.Session(model, device="CPU")
{before}
def body():
    run(session)
    run(gantry.Session(model, device="CPU"))
    ort.InferenceSession(model).run(None, FEED)
for _ in range(5):
    assert in_child(body) == 0
run(session)
""")


def test_a_failed_load_in_the_parent_is_no_hindrance():
    program("""
try:
    gantry.Session(b"no model")
except gantry.InvalidModelError:
    pass
assert in_child(lambda: run(gantry.Session(model))) == 0
""")


def test_a_pool_of_processes():
    said = program("""
session = gantry.Session(model)
run(session)

def work(factor):
    return float(session.run({"x": factor * FEED["x"], "w": FEED["w"]})["y"][0, 1])

with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(work, range(8)))
""")
    assert said == "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]\n"


def test_a_child_that_is_forked_during_a_run_is_told():
    said = program("""
steps = 'y = Loop (n, go, x) <body = b (int64 i, bool c, float[64, 64] h) => (bool c, float[64, 64] next) { next = MatMul(h, h) }>'
loop = onnx.parser.parse_model(HEAD + 'g (int64 n, bool go, float[64, 64] x) => (float[64, 64] y) { ' + steps + ' }').SerializeToString()
session, busy, token = gantry.Session(model), gantry.Session(loop), gantry.CancelToken()
feed = {"n": np.array(2**40), "go": np.array(True), "x": np.zeros((64, 64), np.float32)}

def be_busy():
    try:
        busy.run(feed, cancel=token)
    except gantry.CancelledError:
        pass

thread = threading.Thread(target=be_busy)
thread.start()
while in_child(lambda: run(session)) == 0:  # until the run has begun
    pass
token.cancel()
thread.join()
run(session)
""")
    assert said.startswith("UnavailableError this process was forked")


def test_a_profile_stays_the_parents(tmp_path):
    program(f"""
options = ort.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = {str(tmp_path / "trace")!r}
session = ort.InferenceSession(model, options)
session.run(None, FEED)
def body():
    global session
    session.run(None, FEED)
    session = None
assert in_child(body) == 0
assert not os.listdir({str(tmp_path)!r})
""")
    assert len(list(tmp_path.iterdir())) == 1
