# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with a library of operators, in a process of its own: such a library keeps the functions of the runtime that opened it last."""

import concurrent.futures
import multiprocessing

_pool = None


def _run(model, library, feed):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [(value.name, value.type) for value in session.get_outputs()], session.run(None, feed)


def run(model, library, feed):
    """Names and types of the outputs, and the outputs. Raises what ONNX Runtime raises, as text."""
    global _pool
    if _pool is None:
        _pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    return _pool.submit(_run, model, library, feed).result()
