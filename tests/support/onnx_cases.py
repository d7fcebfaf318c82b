# SPDX-License-Identifier: Apache-2.0
"""The standard's own test cases: single operators, and small models from PyTorch; each with inputs and the outputs they must give."""

import pathlib
import warnings
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node as node_cases
from onnx.backend.test.loader import load_model_tests

MODEL_KINDS = ("simple", "pytorch-operator", "pytorch-converted")


@dataclass
class Case:
    name: str
    model: onnx.ModelProto
    data_sets: list  # of (inputs, outputs), both in the model's order
    rtol: float
    atol: float


def to_value(item):
    return numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def read_value(file, value_type):
    content = file.read_bytes()
    if value_type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if value_type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def read_data_set(folder, model):
    return tuple(
        [read_value(folder / f"{kind}_{i}.pb", info.type) for i, info in enumerate(infos) if (folder / f"{kind}_{i}.pb").exists()]
        for kind, infos in (("input", model.graph.input), ("output", model.graph.output))
    )


def collect_node_cases():
    """Single operators; the cases come with their data, made by a seeded generator."""
    np.random.seed(0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = node_cases.collect_testcases()
    for case in found:
        data_sets = [tuple([to_value(item) for item in side] for side in data_set) for data_set in case.data_sets]
        yield Case(case.name, case.model, data_sets, case.rtol, case.atol)


def collect_model_cases():
    """Small models, read from the onnx package."""
    for kind in MODEL_KINDS:
        for case in load_model_tests(kind=kind):
            folder = pathlib.Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            data_sets = [read_data_set(data, model) for data in sorted(folder.glob("test_data_set_*"))]
            yield Case(case.name, model, data_sets, case.rtol, case.atol)


def collect_cases():
    """All of them, by name."""
    return {case.name: case for collect in (collect_node_cases, collect_model_cases) for case in collect()}


def assert_similar(actual, expected, rtol, atol):
    """What the standard's own runner asserts: types and shapes equal, values close."""
    if isinstance(expected, (list, tuple)):
        assert isinstance(actual, list)
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            assert_similar(ours, theirs, rtol, atol)
        return
    if expected is None:
        assert actual is None
        return
    expected = np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind in "OUS":
        assert actual.astype(str).tolist() == expected.astype(str).tolist()
        return
    assert actual.dtype == expected.dtype, f"type {actual.dtype}, expected {expected.dtype}"
    if expected.dtype.kind not in "fcbiu":  # of ml_dtypes
        if expected.dtype.name == "bfloat16":
            rtol = max(rtol, 2**-6)
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
