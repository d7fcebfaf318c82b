# SPDX-License-Identifier: Apache-2.0
"""Sequences and optionals, as chains that end in tensors, against ONNX Runtime; strings and errors by hand."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracle import compare, element_type, run_gantry, run_ort


def chain(nodes, feeds, outputs, opset=18):
    """A model of several nodes, written as (operator, inputs, outputs, attributes)."""
    made = [helper.make_node(op, inputs, results, **attributes) for op, inputs, results, attributes in nodes]
    graph = helper.make_graph(
        made,
        "graph",
        [helper.make_tensor_value_info(name, element_type(x), [None] * x.ndim) for name, x in feeds.items()],
        [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = A + 10
INT = TensorProto.INT64
FLOAT = TensorProto.FLOAT


def scalar(value):
    return np.array(value, np.int64)


CASES = {
    "at": (
        [("SequenceConstruct", ["a", "b"], ["s"], {}), ("SequenceAt", ["s", "i"], ["y"], {})],
        {"a": A, "b": B, "i": scalar(-1)},
        {"y": FLOAT},
    ),
    "insert at the end": (
        [
            ("SequenceConstruct", ["a"], ["s"], {}),
            ("SequenceInsert", ["s", "b"], ["t"], {}),
            ("ConcatFromSequence", ["t"], ["y"], {"axis": 1}),
            ("SequenceLength", ["t"], ["n"], {}),
        ],
        {"a": A, "b": B},
        {"y": FLOAT, "n": INT},
    ),
    "insert before": (
        [
            ("SequenceEmpty", [], ["e"], {}),
            ("SequenceInsert", ["e", "a"], ["s"], {}),
            ("SequenceInsert", ["s", "b", "i"], ["t"], {}),
            ("ConcatFromSequence", ["t"], ["y"], {"axis": -1, "new_axis": 1}),
        ],
        {"a": A, "b": B, "i": scalar(-1)},
        {"y": FLOAT},
    ),
    "erase": (
        [
            ("SequenceConstruct", ["a", "b", "a"], ["s"], {}),
            ("SequenceErase", ["s", "i"], ["t"], {}),
            ("SequenceErase", ["t"], ["u"], {}),
            ("ConcatFromSequence", ["u"], ["y"], {"axis": 0}),
        ],
        {"a": A, "b": B, "i": scalar(0)},
        {"y": FLOAT},
    ),
    "split by one extent": (
        [("SplitToSequence", ["a", "i"], ["s"], {"axis": 1}), ("SequenceAt", ["s", "j"], ["y"], {}), ("SequenceLength", ["s"], ["n"], {})],
        {"a": A, "i": scalar(2), "j": scalar(1)},
        {"y": FLOAT, "n": INT},
    ),
    "split by extents": (
        [("SplitToSequence", ["a", "i"], ["s"], {"axis": 1}), ("ConcatFromSequence", ["s"], ["y"], {"axis": 1})],
        {"a": A, "i": np.array([1, 2], np.int64)},
        {"y": FLOAT},
    ),
    "split without the axis": (
        [("SplitToSequence", ["a"], ["s"], {"keepdims": 0}), ("ConcatFromSequence", ["s"], ["y"], {"axis": 2, "new_axis": 0})],
        {"a": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)},
        {"y": FLOAT},
    ),
    "optional": (
        [
            ("Optional", ["a"], ["o"], {}),
            ("OptionalHasElement", ["o"], ["h"], {}),
            ("OptionalGetElement", ["o"], ["y"], {}),
        ],
        {"a": A},
        {"h": TensorProto.BOOL, "y": FLOAT},
    ),
    "optional of a sequence": (
        [
            ("SequenceConstruct", ["a", "b"], ["s"], {}),
            ("Optional", ["s"], ["o"], {}),
            ("OptionalGetElement", ["o"], ["t"], {}),
            ("SequenceAt", ["t", "i"], ["y"], {}),
        ],
        {"a": A, "b": B, "i": scalar(1)},
        {"y": FLOAT},
    ),
    "optional of opset 18 takes tensors": (
        [("OptionalHasElement", ["a"], ["h"], {}), ("OptionalGetElement", ["a"], ["y"], {})],
        {"a": A},
        {"h": TensorProto.BOOL, "y": FLOAT},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_chain(name):
    nodes, feeds, outputs = CASES[name]
    model = chain(nodes, feeds, outputs)
    compare(run_gantry(model, feeds), run_ort(model, feeds), 0, 0)


def test_strings_pass_through_sequences():
    words = np.array(["a", "", "\u00e9\u00e9", "long enough to leave a small buffer"], dtype=object)
    nodes = [
        ("SplitToSequence", ["a"], ["s"], {}),
        ("SequenceInsert", ["s", "a", "i"], ["t"], {}),
        ("ConcatFromSequence", ["t"], ["y"], {"axis": 0}),
    ]
    feeds = {"a": words, "i": scalar(0)}
    model = chain(nodes, feeds, {"y": TensorProto.STRING})
    compare(run_gantry(model, feeds), [np.concatenate([words, words])])


@pytest.mark.parametrize("position", [2, -3])
def test_a_position_outside_is_an_error(position):
    import gantry

    nodes, feeds, outputs = CASES["at"]
    with pytest.raises(gantry.Error, match="position"):
        run_gantry(chain(nodes, feeds, outputs), {**feeds, "i": scalar(position)})
