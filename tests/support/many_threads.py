# SPDX-License-Identifier: Apache-2.0
"""Threads that use one model at once: runs of several shapes in shared sessions, sessions that come and go, runs that are cancelled. What is asked of the results
any build can tell; what the threads do to each other, ThreadSanitizer."""

import threading

import numpy as np
from small_graph import small_graph

import gantry

THREADS = 4
RUNS = 6


def model_of_weights():
    """Convolution, activation, pooling, products with constants, a recurrent layer: what packs weights, and what is made at the first run of a shape."""
    rng = np.random.default_rng(5)
    weights = {"w": rng.standard_normal((16, 8, 3, 3), np.float32), "m": rng.standard_normal((16, 24), np.float32),
               "k": rng.standard_normal((1, 32, 24), np.float32), "r": rng.standard_normal((1, 32, 8), np.float32),
               "axes": np.array([0], np.int64), "last": np.array([1], np.int64)}
    text = """a = Conv<pads = [1, 1, 1, 1]>(x, w)
              b = Relu(a)
              c = GlobalAveragePool(b)
              d = Flatten(c)
              e = MatMul(d, m)
              f = Softmax(e)
              s = Unsqueeze(f, axes)
              h = LSTM<hidden_size = 8>(s, k, r)
              y = Squeeze(h, last)"""
    model, _ = small_graph(text, {"x": (np.zeros((1, 8, 12, 12), np.float32), ["n", 8, 12, 12])}, weights)
    return model, [{"x": rng.standard_normal((n, 8, 12, 12), np.float32)} for n in (1, 2, 3)]


def run_at_once(workers):
    """Runs the functions on threads of their own and gives what they raised."""
    raised = []

    def guarded(worker):
        try:
            worker()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def check_runs_at_once(**options):
    """Sessions of one and of two threads a run, each used by THREADS threads, give what a thread alone gets. `options`: of the sessions."""
    model, feeds = model_of_weights()

    def session_of(threads):
        return gantry.Session(model, config={"session": {"threads": threads}}, **options)

    alone = session_of(1)
    expected = [alone.run(feed)["y"] for feed in feeds]
    sessions = [session_of(1), session_of(2)]

    def agree(session, number):
        np.testing.assert_allclose(session.run(feeds[number])["y"], expected[number], rtol=1e-5, atol=1e-6)

    def use(first):
        for run in range(RUNS):
            for session in sessions:
                agree(session, (first + run) % len(feeds))

    def come_and_go():
        for run in range(RUNS // 2):
            agree(session_of(1 + run % 2), run % len(feeds))

    def cancel():
        for run in range(RUNS):
            token = gantry.CancelToken()
            timer = threading.Timer(0.0005 * run, token.cancel)
            timer.start()
            try:
                sessions[run % 2].run(feeds[run % len(feeds)], cancel=token)
            except gantry.CancelledError:
                pass
            timer.join()

    workers = [lambda first=first: use(first) for first in range(THREADS)]
    assert run_at_once([*workers, come_and_go, cancel]) == []
    return alone
