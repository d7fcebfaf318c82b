# SPDX-License-Identifier: Apache-2.0
"""Tensors of 8-bit numbers, and the comparison of what becomes of them on CUDA:0 with the CPU's results."""

import numpy as np
from cuda_worker import compare
from onnx import helper
from small_graph import small_graph

import gantry

U8, S8 = np.uint8, np.int8


def numbers(dtype, *shape, seed=0):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed + sum(shape)).integers(info.min, info.max + 1, shape).astype(dtype)


def microsoft_graph(text, inputs, constants, dtype):
    """small_graph for one operator of com.microsoft, of which the onnx package does not know that it makes `dtype`."""
    model, feeds = small_graph(text, inputs, constants)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None))
    return model, feeds


def compare_steps(worker, model, feeds, steps=1):
    """As compare_all, but a few results of 8 bits may be `steps` away where the CPU rounds another way; returns the kernels."""
    expected = gantry.Session(model, device="CPU").run(feeds)
    kernels, outputs = worker.run(model, feeds, runs=3)
    for name, value in expected.items():
        if value.dtype not in (U8, S8):
            compare(outputs[name], value, 1e-4, 1e-4)
            continue
        assert outputs[name].dtype == value.dtype and outputs[name].shape == value.shape
        difference = np.abs(outputs[name].astype(int) - value.astype(int))
        assert difference.max(initial=0) <= steps and (difference > 0).sum() <= max(1, 0.02 * difference.size)
    return kernels
