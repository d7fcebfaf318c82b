# SPDX-License-Identifier: Apache-2.0
"""Bools whose byte is neither 0 nor 1, as NumPy's views of other types and the raw data of models may have them: any byte but 0 is true, for every operator alike."""

import os
import subprocess
import sys

import gantry
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from sanitizer import PATIENCE

BYTES = np.array([255, 0, 2, 1, 128, 0, 0, 254, 3, 0, 77, 1, 0, 255, 16, 4], np.uint8)
BOOLS = BYTES.view(bool)
PLAIN = BYTES != 0
X = np.arange(16, dtype=np.float32)
Y = -X

# Operator: the graph over c (the bools), x and y; what is expected.
CASES = {
    "NonZero": ("(int64[1, k] r) { r = NonZero(c) }", np.flatnonzero(PLAIN)[None]),
    "Compress": ("(float[k] r) { r = Compress(x, c) }", X[PLAIN]),
    "Unique": ("(int64[k] r) { u, i, v, r = Unique<sorted=1>(c) }", np.array([5, 11])),
    "Where": ("(float[16] r) { r = Where(c, x, y) }", np.where(PLAIN, X, Y)),
    "Not": ("(bool[16] r) { r = Not(c) }", ~PLAIN),
    "And": ("(bool[16] r) { t = Identity(c) r = And(c, t) }", PLAIN),
    "Xor": ("(bool[16] r) { one = Greater(x, x) r = Xor(c, one) }", PLAIN),
    "Equal": ("(bool[16] r) { t = GreaterOrEqual(x, x) r = Equal(c, t) }", PLAIN),
    "Cast": ("(int32[16] r) { r = Cast<to=6>(c) }", PLAIN.astype(np.int32)),
    "Identity": ("(bool[16] r) { r = Identity(c) }", PLAIN),
    "ScatterElements": ("(bool[16] r) { i = Cast<to=7>(x) r = ScatterElements(c, i, c) }", PLAIN),
    "ReduceSum": ("(float r) { f = Cast<to=1>(c) r = ReduceSum<keepdims=0>(f) }", np.float32(PLAIN.sum())),
}


def model(case, constant):
    given = "float[16] x, float[16] y" + ("" if constant else ", bool[16] c")
    parsed = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\ng ({given}) => {CASES[case][0]}')
    if constant:
        parsed.graph.initializer.append(helper.make_tensor("c", TensorProto.BOOL, [16], BYTES.tobytes(), raw=True))
    return parsed.SerializeToString()


def same(actual, expected):
    np.testing.assert_array_equal(actual, expected)
    if np.asarray(actual).dtype == bool:
        np.testing.assert_array_equal(np.ascontiguousarray(actual).view(np.uint8), expected.astype(np.uint8))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("optimization", ["all", "none"])
@pytest.mark.parametrize("constant", [False, True], ids=["input", "constant"])
def test_any_byte_but_0_is_true(case, constant, optimization):
    session = gantry.Session(model(case, constant), config={"session": {"optimization": optimization}})
    inputs = {"x": X, "y": Y, **({} if constant else {"c": BOOLS})}
    for _ in range(3):  # recorded, planned, planned
        same(session.run(inputs)["r"], CASES[case][1])
    assert BYTES[0] == 255, "the caller's array is as it was"


def test_the_shape_of_an_output_does_not_depend_on_the_byte():
    session = gantry.Session(onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\ng (bool[n] c) => (int64[1, k] r) { r = NonZero(c) }').SerializeToString())
    assert session.run({"c": np.full(16, 255, "u1").view(bool)})["r"].shape == (1, 16)


def test_bools_of_a_sequence_are_made_plain_too():
    session = gantry.Session(onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]>\ng (seq(bool[n]) s, int64 i) => (int64[1, k] r) { c = SequenceAt(s, i) r = NonZero(c) }').SerializeToString())
    same(session.run({"s": [np.zeros(3, bool), BOOLS], "i": np.int64(1)})["r"], np.flatnonzero(PLAIN)[None])


def test_outputs_of_a_worker_process_are_plain():
    code = """
import sys; sys.path[:0] = sys.argv[1:]
import bools_test
for case in bools_test.CASES:
    for constant in (False, True):
        bools_test.test_any_byte_but_0_is_true(case, constant, "all")
"""
    done = subprocess.run([sys.executable, "-c", code, *(folder for folder in sys.path if folder), os.path.dirname(__file__)],
                          env={**os.environ, "GANTRY_ISOLATION": "all"}, timeout=120 * PATIENCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
