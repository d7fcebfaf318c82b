# SPDX-License-Identifier: Apache-2.0
"""Loading ends by a timeout, a token or Ctrl-C, wherever it is, and the next load works."""

import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import onnx.parser
import pytest
from sanitizer import PATIENCE

import gantry

NODES = 3000
# Each pass sees every node, each node is compiled; and the products are constants, which are computed.
CHAIN = "".join(f"a{i + 1} = Softmax(a{i})\n" for i in range(NODES))
MODEL = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 18]>
    g (float[n, 7] a0) => (float[n, 7] y) {{ {CHAIN} y = Relu(a{NODES}) }}""").SerializeToString()
PRODUCTS = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]>
    g (float x) => (float y) {
      s = Constant <value = int64[2] {1500, 1500}> ()
      c0 = ConstantOfShape <value = float[1] {0.001}> (s) """ + "".join(f"c{i + 1} = MatMul(c{i}, c{i}) " for i in range(40)) + """
      k = ReduceMax <keepdims = 0> (c40) y = Add(x, k) }""").SerializeToString()


@pytest.fixture(name="seconds", scope="module")
def _seconds():
    start = time.monotonic()
    gantry.Session(MODEL)
    return time.monotonic() - start


@pytest.mark.parametrize("share", [0, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_timeout_ends_loading_at_every_part(share, seconds):
    timeout = seconds * share
    while True:
        try:
            gantry.Session(MODEL, timeout=timeout)
        except gantry.DeadlineExceededError as error:
            assert "model in memory: " in str(error) and "loading did not end within its timeout: it was before " in str(error)
            break
        timeout /= 1.5  # the machine is faster than it was a moment ago
    assert gantry.Session(MODEL, timeout=1000).run({"a0": np.zeros((1, 7), np.float32)})["y"].shape == (1, 7)


def test_the_constants_that_are_computed_end_too():
    start = time.monotonic()
    with pytest.raises(gantry.DeadlineExceededError):
        gantry.Session(PRODUCTS, config={"session": {"threads": 1}}, timeout=0.05)
    assert time.monotonic() - start < 2 * PATIENCE


def test_a_token_ends_loading(seconds):
    token = gantry.CancelToken()
    token.cancel()
    with pytest.raises(gantry.CancelledError, match="loading was cancelled before the model was"):
        gantry.Session(MODEL, cancel=token)
    token.reset()
    timer = threading.Timer(seconds / 3, token.cancel)
    timer.start()
    with pytest.raises(gantry.CancelledError, match="model in memory: loading was cancelled before "):
        for _ in range(20):  # the timer may be late
            gantry.Session(MODEL, cancel=token)
    timer.join()


def test_wrong_timeouts_are_refused():
    for wrong in (-1, float("nan")):
        with pytest.raises(gantry.InvalidArgumentError, match="timeout: expected seconds from 0"):
            gantry.Session(MODEL, timeout=wrong)


def test_planning_for_other_values_of_defaults_ends_by_the_runs_timeout():
    model = onnx.load_from_string(MODEL)
    weights = onnx.numpy_helper.from_array(np.ones((1, 7), np.float32), "w")
    model.graph.initializer.append(weights)
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [1, 7]))
    model.graph.node[-1].input[0] = "b"
    model.graph.node.insert(len(model.graph.node) - 1, onnx.helper.make_node("Mul", [f"a{NODES}", "w"], ["b"]))
    session = gantry.Session(model.SerializeToString())
    feeds = {"a0": np.zeros((1, 7), np.float32), "w": np.full((1, 7), 2, np.float32)}
    with pytest.raises(gantry.DeadlineExceededError, match="loading did not end within its timeout"):
        session.run(feeds, timeout=0.001)
    np.testing.assert_allclose(session.run(feeds)["y"], np.full((1, 7), 2 / 7), rtol=1e-5)


def test_ctrl_c_ends_loading():
    # The handler is set: a shell starts what it puts into the background with interrupts ignored.
    code = """
import signal, sys, threading, time
import gantry
signal.signal(signal.SIGINT, signal.default_int_handler)
model = sys.stdin.buffer.read()
gantry.Session(model)
threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
start = time.monotonic()
try:
    while time.monotonic() - start < 60:
        gantry.Session(model)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], input=MODEL, timeout=120 * PATIENCE, capture_output=True, check=False)
    assert done.stdout == b"interrupted\n", done.stderr[-500:]
