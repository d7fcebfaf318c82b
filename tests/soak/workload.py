# SPDX-License-Identifier: Apache-2.0
"""What tools/soak runs: eight threads in one process that use gantry in every way that ends or changes something, for as long as asked.

    workload.py MINUTES SEED

Prints a line of measurements every ten seconds: JSON with seconds, memory (resident, KiB), descriptors, threads, processes (children), and the
counts of what was done. The last line is {"faults": [...]}: results that were wrong and errors that nobody asked for.
"""

import collections
import gc
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from many_threads import model_of_weights  # noqa: E402: beside this folder
from small_graph import small_graph  # noqa: E402

import gantry  # noqa: E402

SAMPLE_SECONDS = 10
# Three ends of a provider's worker processes within ten minutes put it in quarantine: two are asked for.
SECONDS_BETWEEN_KILLS = 330

CHILD = """
import os, signal, sys, time
import numpy as np
sys.path[:0] = {path!r}
import gantry
from workload import wave
model, feeds, expected = wave()
config = {config!r}
session = gantry.Session(model, device={device!r}, config=config)
for number in range({runs}):
    try:
        for feed, value in zip(feeds, expected):
            np.testing.assert_allclose(session.run(feed)["y"], value, rtol=1e-5, atol=1e-6)
    except ({errors}) as error:
        continue
print("done")
"""


def wave():
    """An element-wise chain with an open extent, on CPU and on SIM."""
    model, _ = small_graph("a = Add(x, x)\ny = Relu(a)", {"x": (np.zeros(4, np.float32), ["n"])})
    rng = np.random.default_rng(1)
    feeds = [{"x": rng.standard_normal(n, np.float32)} for n in (1, 7, 1000, 30000)]
    return model, feeds, [np.maximum(feed["x"] * 2, 0) for feed in feeds]


def loop():
    """A loop whose number of rounds and extents are open."""
    import onnx

    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
        g (int64 n, float[k] x) => (float[k] y, float[n, k] all) {
          t = Constant <value = bool {1}> ()
          y, all = Loop <body = b (int64 i, bool c, float[k] v) => (bool d, float[k] w, float[k] u) {
            d = Identity(c) w = Add(v, x) u = Neg(w) }> (n, t, x) }""")
    feeds = [{"n": np.int64(n), "x": np.arange(k, dtype=np.float32)} for n, k in ((1, 3), (9, 2), (0, 4), (4, 5000))]
    return model, feeds, [feed["x"] * (1 + int(feed["n"])) for feed in feeds]


def picked():
    """Extents that depend on elements."""
    model, _ = small_graph("z = NonZero(x)\ny = Cast<to = 1>(z)", {"x": (np.zeros((2, 2), np.float32), ["n", "m"])})
    rng = np.random.default_rng(2)
    feeds = [{"x": (rng.random(shape) > 0.5).astype(np.float32)} for shape in ((1, 1), (3, 5), (200, 70))]
    return model, feeds, [np.array(np.nonzero(feed["x"]), np.float32) for feed in feeds]


class Soak:
    """The threads' common state."""

    def __init__(self, minutes, seed):
        self.start = time.monotonic()
        self.end = self.start + minutes * 60
        self.seed = seed
        self.counts = collections.Counter()
        self.faults = []
        weights, feeds = model_of_weights()
        alone = gantry.Session(weights, device="CPU", config={"session": {"threads": 1}})
        self.models = [(weights, feeds, [alone.run(feed)["y"] for feed in feeds]), wave(), loop(), picked()]
        self.sessions = [gantry.Session(model, device="CPU", config={"session": {"threads": 1 + number % 2}})
                         for number, (model, _, _) in enumerate(self.models)]
        self.late = gantry.Session(wave()[0], device="SIM:0", config={"placement": {"fallback": "error"}})

    def is_over(self):
        return time.monotonic() >= self.end

    def check(self, session, number, feed):
        _, feeds, expected = self.models[number]
        np.testing.assert_allclose(session.run(feeds[feed])["y"], expected[feed], rtol=1e-4, atol=1e-5)

    # Each of these is what one thread does over and over.

    def run_shared(self, draw):
        number = draw.randrange(len(self.models))
        self.check(self.sessions[number], number, draw.randrange(len(self.models[number][1])))
        self.counts["runs"] += 1

    def come_and_go(self, draw):
        number = draw.randrange(len(self.models))
        session = gantry.Session(self.models[number][0], device="CPU", config={"session": {"threads": 1 + draw.randrange(2)}})
        self.check(session, number, draw.randrange(len(self.models[number][1])))
        self.counts["sessions"] += 1

    def stop(self, draw):
        number = draw.randrange(len(self.models))
        feed = self.models[number][1][-1]
        token = gantry.CancelToken()
        timer = threading.Timer(draw.random() * 0.002, token.cancel)
        timer.start()
        try:
            if draw.random() < 0.5:
                self.sessions[number].run(feed, cancel=token)
            else:
                self.sessions[number].run(feed, timeout=draw.random() * 0.001 + 1e-6)
        except (gantry.CancelledError, gantry.DeadlineExceededError):
            self.counts["stopped"] += 1
        timer.join()

    def use_late_device(self, draw):
        feed = draw.randrange(len(self.models[1][1]))
        try:
            self.check(self.late, 1, feed)
            self.counts["device runs"] += 1
        except gantry.ProviderCrashedError:
            self.counts["crashes seen"] += 1

    def fork(self, draw):
        child = os.fork()
        if child == 0:
            self.be_a_child(draw)
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise AssertionError(f"a forked child ended with status {status}")
        self.counts["forks"] += 1
        time.sleep(0.2)

    def be_a_child(self, draw):
        """A forked child runs models if nothing went on in its parent, and what it drops is its parent's still."""
        status = 1
        try:
            signal.alarm(20)  # ends it by SIGALRM if it hangs
            try:
                draw.choice([self.sessions[1], self.late]).run(self.models[1][1][0])
                status = 0
            except gantry.UnavailableError:
                status = 0
            self.sessions.clear()
            self.late = None
            gc.collect()
        finally:
            os._exit(status)

    def child_program(self, draw):
        """A process in which the provider runs isolated and its workers are killed, or in which a device is lost."""
        lost = draw.random() < 0.5
        config = ({"providers": {"options": {"sim": {"faults": {"device_lost": draw.randrange(1, 20)}}}}, "placement": {"fallback": "error"}} if lost
                  else {})
        program = CHILD.format(path=[*map(str, (pathlib.Path(__file__).parents[1] / "support", pathlib.Path(__file__).parent)), *sys.path],
                               config=config, device="SIM:0" if lost else "CPU", runs=40,
                               errors="gantry.DeviceLostError, gantry.UnavailableError" if lost else "gantry.ProviderCrashedError,")
        child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "GANTRY_ISOLATION": "off" if lost else "all"})
        for _ in range(0 if lost else 2):  # a third would put the provider in quarantine
            time.sleep(0.3 + draw.random())
            kill_a_worker(child.pid, draw)
        said, wrong = child.communicate(timeout=120)
        if child.returncode != 0 or said.strip() != "done":
            raise AssertionError(f"a child program ended with status {child.returncode}: {wrong[-800:]}")
        self.counts["devices lost" if lost else "killed in children"] += 1

    def kill_own_worker(self, draw):
        for _ in range(int(SECONDS_BETWEEN_KILLS / 0.5)):
            if self.is_over():
                return
            time.sleep(0.5)
        self.counts["workers killed"] += kill_a_worker(os.getpid(), draw)

    def work(self, action, number):
        draw = random.Random(self.seed * 100 + number)
        while not self.is_over() and len(self.faults) < 20:
            try:
                action(draw)
            except BaseException as error:
                self.faults.append(f"{action.__name__}: {type(error).__name__}: {str(error)[:600]}")

    def run(self):
        actions = [self.run_shared, self.run_shared, self.come_and_go, self.stop, self.use_late_device, self.fork, self.child_program, self.kill_own_worker]
        threads = [threading.Thread(target=self.work, args=(action, number)) for number, action in enumerate(actions)]
        for thread in threads:
            thread.start()
        while not self.is_over() and len(self.faults) < 20:
            time.sleep(min(SAMPLE_SECONDS, max(self.end - time.monotonic(), 0.1)))
            self.sample()
        for thread in threads:
            thread.join()
        print(json.dumps({"faults": self.faults}), flush=True)
        return 1 if self.faults else 0

    def sample(self):
        gc.collect()
        status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
        children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        print(json.dumps({"seconds": round(time.monotonic() - self.start), "memory": int(status["VmRSS"].split()[0]),
                          "descriptors": len(os.listdir("/proc/self/fd")), "threads": int(status["Threads"]), "processes": len(children),
                          **self.counts}), flush=True)


def kill_a_worker(process, draw):
    """Kills one of the worker processes of `process`, if it has one; gives how many."""
    workers = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip().startswith("gantry-worker"):
                    workers.append(int(child))
        except OSError:  # it has ended meanwhile
            continue
    if not workers:
        return 0
    try:
        os.kill(draw.choice(workers), signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(Soak(float(sys.argv[1]), int(sys.argv[2])).run())
