# SPDX-License-Identifier: Apache-2.0
"""A process in which CUDA:0 is a fake (tests/providers/cuda/fake), and the comparison of its results with the CPU's."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import gantry

BUILD = pathlib.Path(gantry.__file__).resolve().parents[2]
FAKE = BUILD / "tests" / "fake_cuda"
SOURCES = BUILD / "tests" / "fake_cuda_sources"  # of every kernel that was compiled
TESTS = pathlib.Path(__file__).resolve().parents[1] / "providers" / "cuda"

# Sums are added in another order, and 16-bit floats are rounded once for each kernel.
TOLERANCES = {"float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2), "float32": (1e-5, 1e-5), "float64": (1e-12, 1e-12)}


class Worker:
    """The process; `run` answers (kernels, outputs) or raises what it says."""

    def __init__(self, folder, fakes=FAKE, environment=None, session=None, **options):
        config = folder / "config.json"
        options = {"libraries": [str(fakes)], "cache": str(BUILD / "tests" / "fake_cuda_cache"), "own_kernels": True, "overlap": True,
                   **options}
        config.write_text(json.dumps({"providers": {"options": {"cuda": options}}, "session": session or {}}), encoding="utf-8")
        SOURCES.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen([sys.executable, str(TESTS / "worker.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "GANTRY_CONFIG": str(config), "PYTHONPATH": path,
                                             "GANTRY_FAKE_NVRTC_SOURCES": str(SOURCES), **(environment or {})})

    def run(self, model, feeds, runs=1, fallback=False):
        kernels, outputs = self._ask(model, [feeds] * runs, fallback)
        return kernels, outputs[-1]

    def run_steps(self, model, steps):
        """Outputs of each step, with its own feeds, of one session."""
        return self._ask(model, steps, False)[1]

    def _ask(self, model, steps, fallback):
        pickle.dump((model.SerializeToString(), steps, fallback), self.process.stdin)
        self.process.stdin.flush()
        result = pickle.load(self.process.stdout)
        if isinstance(result, str):
            raise RuntimeError(result)
        return result

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


def compare(ours, expected, rtol=None, atol=None):
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    if ours.dtype.name not in TOLERANCES:
        np.testing.assert_array_equal(ours, expected)
        return
    usual = TOLERANCES[ours.dtype.name]
    np.testing.assert_allclose(ours.astype(np.float64), expected.astype(np.float64), rtol=rtol or usual[0], atol=atol or usual[1])


def compare_all(worker, model, feeds, rtol=None, atol=None):
    """On CUDA:0 alone, three runs (the third may be a captured one), equal to the CPU; returns the kernels."""
    expected = gantry.Session(model, device="CPU").run(feeds)
    kernels, outputs = worker.run(model, feeds, runs=3)
    for name, value in expected.items():
        compare(outputs[name], value, rtol, atol)
    return kernels
