# SPDX-License-Identifier: Apache-2.0
"""Wakes the runtimes one after the other: a process each, asleep on its pipe while another one works."""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import tempfile

import cpuid_mask
import numpy as np

from comparison import figures
from comparison.rows import is_quantized, prepare
from workspace import PYTHON, RELEASE, Failure

WORKER = pathlib.Path(__file__).with_name("worker.py")


def environment():
    """For a worker: this checkout's build of gantry comes first, wherever the shared environment points."""
    module = RELEASE / "python"
    if not (module / "gantry").is_dir():
        raise Failure("build/release has no Python module to measure; build it first: tools/quickstart")
    paths = [str(module), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@functools.cache
def masked(isa):
    return cpuid_mask.environment(isa)


class Refused(Exception):
    """A runtime that does not run a model; the text says why, in its words."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long a measurement takes: rounds, and of each round the least seconds and runs."""

    rounds: int
    round_seconds: float
    round_runs: int


class Process:
    """A worker. Ask it as often as needed; closing ends it. `variables`: of its environment, beside what it has in any case.
    `options`: of gantry's provider x86."""

    def __init__(self, runtime, model, inputs, threads, variables=None, options=None):
        command = [PYTHON, WORKER, runtime, model, inputs, threads, *([json.dumps(options)] if options else [])]
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                                         env={**environment(), **(variables or {})}, text=True)

    def ask(self, *command):
        try:
            self._process.stdin.write(json.dumps([str(part) for part in command]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; its last words are read below
        line = self._process.stdout.readline()
        if not line:
            raise Refused(f"the process ended with status {self._process.wait()}{self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def close(self):
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        self._process.wait()
        self._log.close()

    def _last_words(self):
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""


def rotated(items, by):
    by %= max(len(items), 1)
    return items[by:] + items[:by]


class Measurement:
    """One row on one number of threads; `isa`: the level of instructions (cpuid_mask.LEVELS) that all see, None: what the CPU has."""

    def __init__(self, row, threads, runtimes, effort, isa=None):
        self._row, self._threads, self._effort, self._isa = row, threads, effort, isa
        self._results = {runtime: {} for runtime in runtimes}
        self._processes = {}
        self._outputs = {}
        self._compared_with = None
        self._samples = {runtime: [] for runtime in runtimes}

    def run(self):
        """{"model", "title", "threads", "isa", "limit", "runtimes": name -> figures or {"error"}, "difference", "better_peer", "ratio"}."""
        model, inputs = prepare(self._row)
        try:
            if is_quantized(model) and ("onnxruntime" in self._results or self._isa):
                self._compare_with("exact onnxruntime", model, inputs)
            for runtime in self._results:
                self._attempt(runtime, lambda runtime=runtime: self._load(runtime, model, inputs))
            for number in range(self._effort.rounds):
                for runtime in rotated(list(self._processes), number):
                    self._attempt(runtime, lambda runtime=runtime: self._take_round(runtime))
        finally:
            for process in self._processes.values():
                process.close()
        return self._report()

    def _attempt(self, runtime, step):
        try:
            step()
        except Refused as refusal:
            self._results[runtime] = {"error": " ".join(str(refusal).split())}
            self._processes.pop(runtime).close()

    def _load(self, runtime, model, inputs):
        variables = masked(self._isa) if self._isa else None
        process = self._processes[runtime] = Process(runtime, model, inputs, self._threads, variables)
        self._results[runtime] = process.ask("load")
        self._outputs[runtime] = self._outputs_of(process)

    def _compare_with(self, runtime, model, inputs):
        process = Process(runtime, model, inputs, self._threads)
        try:
            process.ask("load")
            self._outputs[runtime] = self._outputs_of(process)
            self._compared_with = runtime
        except Refused:
            pass  # the other's own refusal tells the same
        finally:
            process.close()

    @staticmethod
    def _outputs_of(process):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "outputs.npz"
            process.ask("outputs", path)
            with np.load(path) as arrays:
                return [arrays[name] for name in arrays.files]

    def _take_round(self, runtime):
        answer = self._processes[runtime].ask("round", self._effort.round_seconds, self._effort.round_runs)
        self._samples[runtime] += answer["samples_ms"]
        self._results[runtime]["is_quiet"] &= answer["is_quiet"]

    def _report(self):
        for runtime, result in self._results.items():
            if "error" not in result:
                result.update(figures.summary(self._samples[runtime]))
        ran = [runtime for runtime, result in self._results.items() if "error" not in result]
        expected = self._compared_with or next((runtime for runtime in ran if runtime != figures.OURS), None)
        for runtime in ran:
            if expected and runtime != expected:
                self._results[runtime]["difference"] = figures.difference(self._outputs[runtime], self._outputs[expected])
        return {"model": self._row.name, "title": self._row.title, "threads": self._threads, "isa": self._isa, "limit": self._row.limit, "compared_with": expected,
                "runtimes": self._results, "better_peer": figures.better_peer(self._results), "ratio": figures.ratio(self._results)}
