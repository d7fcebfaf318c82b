# SPDX-License-Identifier: Apache-2.0
"""The decoder that tools/bench/decoders measures: what it measures is the same computation in both runtimes."""

import pathlib
import sys

import numpy as np
import onnxruntime
import pytest

import gantry

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench"))
from comparison import decoder_files  # noqa: E402: the folder of the scripts is no package

SMALL = dict(width=64, heads=4, kv_heads=2, inner=96, layers=2, words=50)
ROOM = 12


@pytest.mark.parametrize("bits", [4, 8])
def test_both_runtimes_agree(bits, tmp_path):
    path = tmp_path / "decoder.onnx"
    decoder_files.write_onnx(path, decoder_files.Extents(bits=bits, **SMALL), accuracy=0, room=ROOM)
    sessions = [gantry.Session(path, device="CPU"), onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])]
    runs = [sessions[0].run, lambda feeds: dict(zip([one.name for one in sessions[1].get_outputs()], sessions[1].run(None, feeds)))]
    names = [one.name for one in sessions[1].get_inputs() if "past" in one.name]
    found = []
    for run in runs:
        caches = {name: np.zeros((1, 2, ROOM, 16), np.float32) for name in names}
        rows = []
        for past, ids in ((0, [3, 1, 4, 1, 5]), (5, [9]), (6, [2])):
            made = run({"input_ids": np.array([ids]), "attention_mask": np.ones((1, past + len(ids)), np.int64), **caches})
            caches = {name: made[name.replace("past_key_values", "present")] for name in names}
            rows.append(made["logits"])
        found.append(np.concatenate(rows))
    assert np.ptp(found[1]) > 0.1, "logits that differ, so that they tell something"
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-4)
