#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One runtime, one model, in a process of its own that works only when it is told to.

    worker.py RUNTIME MODEL INPUTS.npz THREADS [OPTIONS]

OPTIONS: of gantry's provider x86, as JSON. Reads commands from standard input and answers each by a line of JSON on standard output (what libraries print there goes to standard
error): `load`, `outputs FILE.npz`, `implementations` (of gantry: of each node), `round SECONDS LEAST_RUNS`. Before each answer it waits until no thread of the process works
any more: pools spin for a while after a run, which would disturb whoever is next.
"""

import json
import os
import sys
import time

import numpy as np

MOST_RUNS = 2000        # of a round
QUIET_STEP_S = 0.005
QUIET_SHARE = 0.2       # a step in which the process worked less than this share of it is quiet
QUIET_LIMIT_S = 2.0


class Gantry:
    def __init__(self, options=None):
        import gantry

        self._gantry = gantry
        self._options = options or {}
        self.version = gantry.__version__

    def load(self, model, feeds, threads):
        config = {"session": {"threads": threads}, "providers": {"options": {"x86": self._options}}}
        self._session = self._gantry.Session(model, device="CPU", config=config)
        self._binding = self._gantry.Binding(self._session)
        for name, array in feeds.items():
            self._binding.input(name, array)

    def run(self):
        self._binding.run()

    def outputs(self):
        return [self._binding.result(output.name) for output in self._session.outputs]

    def implementations(self):
        return [node.implementation for node in self._session.placement.nodes]


class OnnxRuntime:
    entries = ()

    def __init__(self):
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        self._onnxruntime = onnxruntime
        self.version = onnxruntime.__version__

    def load(self, model, feeds, threads):
        options = self._onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        for entry in self.entries:
            options.add_session_config_entry(*entry)
        self._session = self._onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._binding = self._session.io_binding()
        for name, array in feeds.items():
            self._binding.bind_cpu_input(name, array)
        for output in self._session.get_outputs():
            self._binding.bind_output(output.name)

    def run(self):
        self._session.run_with_iobinding(self._binding)

    def outputs(self):
        return self._binding.copy_outputs_to_cpu()


class ExactOnnxRuntime(OnnxRuntime):
    """Not timed: what quantized models' outputs are compared with. Why, tests/support/oracle.py says."""

    entries = (("session.x64quantprecision", "1"),)


class OpenVino:
    def __init__(self):
        import openvino

        self._openvino = openvino
        self.version = openvino.__version__.split("-")[0]

    def load(self, model, feeds, threads):
        options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        compiled = self._openvino.Core().compile_model(model, "CPU", options)
        self._request = compiled.create_infer_request()
        self._count = len(compiled.outputs)
        for name, array in feeds.items():
            self._request.set_tensor(name, self._openvino.Tensor(array, shared_memory=True))

    def run(self):
        self._request.infer()

    def outputs(self):
        return [np.array(self._request.get_output_tensor(i).data) for i in range(self._count)]


RUNTIMES = {"gantry": Gantry, "onnxruntime": OnnxRuntime, "exact onnxruntime": ExactOnnxRuntime, "openvino": OpenVino}


def memory(field):
    """Bytes of a field of /proc/self/status: VmRSS, VmHWM (the most that was resident)."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(f"{field}:"))


def forget_peak():
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass  # some containers forbid it: the peak is then at least that of the imports


def wait_until_quiet():
    """Returns whether the process came to rest."""
    deadline = time.perf_counter() + QUIET_LIMIT_S
    while time.perf_counter() < deadline:
        before = time.process_time()
        time.sleep(QUIET_STEP_S)
        if time.process_time() - before < QUIET_SHARE * QUIET_STEP_S:
            return True
    return False


class Worker:
    def __init__(self, runtime, model, inputs, threads, *options):
        self._runtime = RUNTIMES[runtime](*map(json.loads, options))
        self._model, self._threads = model, int(threads)
        with np.load(inputs) as arrays:
            self._feeds = {name: arrays[name] for name in arrays.files}

    def load(self):
        forget_peak()
        before = memory("VmRSS")
        start, worked = time.perf_counter(), time.process_time()
        self._runtime.load(self._model, self._feeds, self._threads)
        loaded, worked = time.perf_counter(), time.process_time() - worked
        self._runtime.run()
        end = time.perf_counter()
        return {"version": self._runtime.version, "load_ms": 1e3 * (loaded - start), "load_cpu_ms": 1e3 * worked, "first_run_ms": 1e3 * (end - loaded),
                "growth_bytes": memory("VmRSS") - before, "peak_bytes": memory("VmHWM") - before}

    def outputs(self, path):
        self._runtime.run()
        np.savez(path, *self._runtime.outputs())
        return {}

    def implementations(self):
        return {"implementations": self._runtime.implementations()}

    def round(self, seconds, least_runs):
        """Times single runs after one that is not counted, which brings the model back into the caches."""
        run, clock, samples = self._runtime.run, time.perf_counter, []
        run()
        deadline = clock() + float(seconds)
        while len(samples) < MOST_RUNS and (len(samples) < int(least_runs) or clock() < deadline):
            start = clock()
            run()
            samples.append(1e3 * (clock() - start))
        return {"samples_ms": samples}


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        worker = Worker(*sys.argv[1:])
        answers_to = {"load": worker.load, "outputs": worker.outputs, "implementations": worker.implementations, "round": worker.round}
        for line in sys.stdin:
            command, *arguments = json.loads(line)
            answer = answers_to[command](*arguments)
            print(json.dumps({**answer, "is_quiet": wait_until_quiet()}), file=answers)
    except Exception as error:  # whatever a runtime throws is its answer
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
