# SPDX-License-Identifier: Apache-2.0
"""Small models as exporters write them, a part of those that tools/zoo makes, against ONNX Runtime: files of scikit-learn, XGBoost, LightGBM and PyTorch."""

import pathlib

import numpy as np
import onnx
import pytest
from oracle import run_exact_ort
import gantry.onnxruntime

FOLDER = pathlib.Path(__file__).parent / "exported"
MODELS = sorted(file.stem for file in FOLDER.glob("*.onnx"))


def feeds_of(file):
    with np.load(file) as saved:
        return {name: saved[name].astype(object) if saved[name].dtype.kind == "U" else saved[name] for name in saved}


def assert_same(found, expected):
    """Also lists of maps, as classifiers give their probabilities."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected):
            assert_same(*pair)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(found, expected)
    else:
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_there_are_models_of_each_exporter():
    assert len(MODELS) >= 30
    assert {name.split("_")[0] for name in MODELS} == {"scikit", "boosting", "torch"}


@pytest.mark.parametrize("name", MODELS)
def test_it_agrees(name):
    model = onnx.load(FOLDER / f"{name}.onnx")
    feeds = feeds_of(FOLDER / f"{name}.npz")
    session = gantry.onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert_same(session.run(None, feeds), run_exact_ort(model, feeds))
    assert [one.name for one in session.get_outputs()] == [one.name for one in model.graph.output]
