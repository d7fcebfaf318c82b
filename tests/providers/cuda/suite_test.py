# SPDX-License-Identifier: Apache-2.0
"""The node cases of ONNX's suite on CUDA:0 over the stand-ins: what the provider takes alone has to be right, and it may not take less."""

import warnings

import numpy as np
import onnx
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests

TAKEN_AT_LEAST = 1187  # cases whose every node runs on the device
# Of sums of numbers up to 45 that cancel out, the case expects what the rounding of another algorithm leaves: 1.9e-7.
ROUNDING_OF_SUMS = {"test_dft_inverse": 5e-7, "test_dft_inverse_opset19": 5e-7}


def arrays(values):
    return [onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value for value in values]


def run_case(cuda, case):
    for inputs, expected in case.data_sets:
        feeds = {info.name: value for info, value in zip(case.model.graph.input, arrays(inputs)) if value is not None}
        _, outputs = cuda.run(case.model, feeds)
        ours = [outputs[info.name] for info in case.model.graph.output]
        is_half = any(value.dtype == np.float16 for value in ours)  # rounded once here, after each step there
        BackendTest.assert_similar_outputs(arrays(expected), ours, max(case.rtol, 2e-3 if is_half else 0),
                                           ROUNDING_OF_SUMS.get(case.name, case.atol))


def test_what_the_device_takes_is_right(cuda):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    taken, wrong = 0, {}
    for case in cases:
        if case.name.endswith("_expanded"):
            continue  # functions in parts: many more kernels to compile, of the same element-wise nodes
        if any(not info.type.HasField("tensor_type") for info in [*case.model.graph.input, *case.model.graph.output]):
            continue  # sequences and optionals are the CPU's
        try:
            run_case(cuda, case)
        except RuntimeError as error:
            if not str(error).startswith("UnsupportedError"):
                wrong[case.name] = str(error)
            continue
        except AssertionError as error:
            wrong[case.name] = str(error)
        taken += 1
    assert wrong == {}
    assert taken >= TAKEN_AT_LEAST
