# SPDX-License-Identifier: Apache-2.0
"""One model on many threads at once, and runs of one thread that do not wait for each other."""

import threading
import time

import numpy as np
from many_threads import check_runs_at_once
from small_graph import small_graph

import gantry

LONG = 1.0  # seconds


def test_runs_at_once():
    session = check_runs_at_once(device="CPU")
    assert {"x86.matmul", "x86.recurrent"} <= {node.kernel for node in session.placement.nodes}


def product(rows, inner):
    model, feeds = small_graph("y = MatMul(x, w)", {"x": (np.ones((rows, inner), np.float32), ["n", inner])}, {"w": np.ones((inner, inner), np.float32)})
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 1}})
    assert [node.provider for node in session.placement.nodes] == ["x86"]
    session.run(feeds)
    return session, feeds


def test_runs_of_one_thread_do_not_wait_for_each_other():
    inner = 1024
    long, feeds = product(256, inner)
    start = time.perf_counter()
    long.run(feeds)
    rows = 256 * (1 + int(LONG / (time.perf_counter() - start)))
    short, few = product(1, 64)
    # Two of them: an arena of oneTBB has room for a second caller.
    workers = [threading.Thread(target=long.run, args=({"x": np.ones((rows, inner), np.float32)},)) for _ in range(2)]
    for worker in workers:
        worker.start()
    time.sleep(LONG / 4)
    short.run(few)
    alive = [worker.is_alive() for worker in workers]
    for worker in workers:
        worker.join()
    assert alive == [True, True], "the short run ended only after a long one"
