# SPDX-License-Identifier: Apache-2.0
"""The node cases of ONNX's suite on CUDA:0 over the fakes: cases that run on it alone must be right, and it must not take fewer than before."""

import pathlib
import warnings

import numpy as np
import onnx
import pytest
from cuda_worker import compare_all
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests
from small_graph import small_graph

EXPECTED_FAILURES = pathlib.Path(__file__).resolve().parents[2] / "conformance" / "expected_failures.txt"
TAKEN_AT_LEAST = 1237  # cases whose every node runs on the device
OPERATORS_AT_LEAST = 172  # of ai.onnx that do
# Of sums of numbers up to 45 that cancel out, the case expects what the rounding of another algorithm leaves: 1.9e-7.
ROUNDING_OF_SUMS = {"test_dft_inverse": 5e-7, "test_dft_inverse_opset19": 5e-7}


def arrays(values):
    return [onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value for value in values]


def random_cases():
    """Cases of which the standard defines only types and shapes."""
    lines = EXPECTED_FAILURES.read_text(encoding="utf-8").splitlines()
    return {line.split(":")[0] for line in lines if ": random:" in line}


def run_case(cuda, case, is_random):
    """The kernels that ran it."""
    kernels = []
    for inputs, expected in case.data_sets:
        feeds = {info.name: value for info, value in zip(case.model.graph.input, arrays(inputs)) if value is not None}
        kernels, outputs = cuda.run(case.model, feeds)
        ours = [outputs[info.name] for info in case.model.graph.output]
        if is_random:
            assert [(value.dtype, value.shape) for value in ours] == [(value.dtype, value.shape) for value in arrays(expected)]
            continue
        is_half = any(value.dtype == np.float16 for value in ours)  # rounded once here, after each step there
        BackendTest.assert_similar_outputs(arrays(expected), ours, max(case.rtol, 2e-3 if is_half else 0),
                                           ROUNDING_OF_SUMS.get(case.name, case.atol))
    return kernels


class Suite:
    """Results of the cases: `taken` names them, `operators` those of ai.onnx that kernels of the device ran in them."""

    def __init__(self, cuda):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            cases = load_model_tests(kind="node")
        self.taken, self.wrong, self.operators = [], {}, set()
        self.random = random_cases()
        for case in cases:
            if case.name.endswith("_expanded"):
                continue  # functions in parts: many more kernels to compile, of the same element-wise nodes
            if any(not info.type.HasField("tensor_type") for info in [*case.model.graph.input, *case.model.graph.output]):
                continue  # sequences and optionals are the CPU's
            self.add(cuda, case)

    def add(self, cuda, case):
        try:
            kernels = run_case(cuda, case, case.name in self.random)
        except RuntimeError as error:
            if not str(error).startswith("UnsupportedError"):
                self.wrong[case.name] = str(error)
            return
        except AssertionError as error:
            self.wrong[case.name] = str(error)
            return
        self.taken.append(case.name)
        if kernels:  # none is left where the core has done it all
            self.operators |= {node.op_type for node in case.model.graph.node if node.domain == ""}


@pytest.fixture(scope="module")
def suite(cuda):
    return Suite(cuda)


def test_what_the_device_takes_is_right(suite):
    assert suite.wrong == {} and suite.random
    assert len(suite.taken) >= TAKEN_AT_LEAST


# Operators of ai.onnx that the suite has no case of.
IMAGE = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)
WITHOUT_A_CASE = {
    "GlobalLpPool": ("y = GlobalLpPool(x)", {"x": IMAGE}),
    "MaxRoiPool": ("y = MaxRoiPool<pooled_shape=[2, 2]>(x, r)", {"x": IMAGE, "r": np.array([[0, 1, 1, 4, 3]], np.float32)}),
}


def test_operators_that_run_on_the_device(cuda, suite):
    own = set()
    for op_type, (text, feeds) in WITHOUT_A_CASE.items():
        assert compare_all(cuda, *small_graph(text, feeds, opset=22)) == [op_type]
        own.add(op_type)
    assert not own & suite.operators
    schemas = {schema.name: schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}
    # Constants are folded and control flow is the core's, whatever runs inside.
    of_the_core = {name for name, schema in schemas.items() if any(kind.type == onnx.defs.OpSchema.AttrType.GRAPH for kind in schema.attributes.values())} | {"Constant"}
    count = len((suite.operators | own) & set(schemas) - of_the_core)
    assert count >= OPERATORS_AT_LEAST
