# SPDX-License-Identifier: Apache-2.0
"""Session.run_async: results, errors, coroutines, cancelling, forks."""

import asyncio
import concurrent.futures
import os
import subprocess
import sys

import numpy as np
import pytest
from broken_models import make_model, value
from loop_model import loop_model
from onnx import helper

import gantry


@pytest.fixture(scope="module")
def session():
    return gantry.Session(make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=("n",))], [value("y", shape=("n",))]))


@pytest.fixture(scope="module")
def endless():
    return gantry.Session(loop_model())


ENDLESS = {"x": np.zeros((512, 512), np.float32), "count": 10**9}


def test_each_run_has_its_result(session):
    runs = [session.run_async({"x": np.full(3, i, np.float32)}) for i in range(100)]
    for i, run in enumerate(runs):
        np.testing.assert_array_equal(run.result(60)["y"], np.full(3, -i))


def test_coroutines_await_it(session):
    async def all_of_them():
        return await asyncio.gather(*(session.run_async({"x": [float(i)]}) for i in range(10)))

    assert [outputs["y"].tolist() for outputs in asyncio.run(all_of_them())] == [[-i] for i in range(10)]


def test_errors_are_those_of_run(session):
    with pytest.raises(gantry.InvalidArgumentError, match='"z"'):
        session.run_async({"z": [1.0]}).result(60)
    with pytest.raises(gantry.InvalidArgumentError, match="timeout: expected seconds from 0"):
        session.run_async({"x": [1.0]}, timeout=-1).result(60)
    with pytest.raises(gantry.DeadlineExceededError):
        session.run_async({"x": [1.0]}, timeout=0).result(60)


def test_cancel_ends_a_run_that_goes_on(endless):
    run = endless.run_async(ENDLESS, timeout=60)
    with pytest.raises(concurrent.futures.TimeoutError):
        run.result(0.05)
    assert run.cancel()
    with pytest.raises(gantry.CancelledError):
        run.result(60)
    assert not run.cancel()


def test_a_token_ends_it_too(endless):
    token = gantry.CancelToken()
    run = endless.run_async(ENDLESS, timeout=60, cancel=token)
    token.cancel()
    with pytest.raises(gantry.CancelledError):
        run.result(60)


def test_a_coroutine_that_is_cancelled_ends_its_run(endless):
    run = None

    async def wait():
        nonlocal run
        run = endless.run_async(ENDLESS, timeout=60)
        await run

    async def begin_and_cancel():
        task = asyncio.create_task(wait())
        while run is None and not task.done():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_cancel())
    with pytest.raises(gantry.CancelledError):
        run.result(60)


def test_a_forked_child_has_threads_of_its_own():
    """Its parent's threads are not there: it must not wait for them."""
    code = """if True:
        import os, sys, gantry, onnx.parser
        model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }')
        session = gantry.Session(model)
        session.run_async({"x": [1.0, 2.0]}).result()
        if os.fork() == 0:
            print(session.run_async({"x": [1.0, 2.0]}).result(60)["y"].tolist(), flush=True)
            os._exit(0)
        os.wait()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True, env=os.environ)
    assert done.stdout == "[-1.0, -2.0]\n", done.stderr
