# SPDX-License-Identifier: Apache-2.0
"""The standard's nine light_* models: classic image classifiers, as shipped and with random weights."""

import numpy as np
import onnx
import pytest
from compare_models import Pair
from fill_weights import fill_weights
from model_files import LIGHT, light_file
from onnx import numpy_helper

import gantry


@pytest.mark.parametrize("name", LIGHT)
def test_recorded_output(name):
    session = gantry.Session(light_file(name), device="CPU")
    image = session.inputs[0]
    count = int(np.prod(image.shape))
    pixels = (np.arange(count).reshape(image.shape) / count).astype(np.float32)  # what the standard's own runner feeds
    expected = numpy_helper.to_array(onnx.load_tensor(light_file(name, "_output_0.pb")))
    (actual,) = session.run({image.name: pixels}).values()
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", LIGHT)
def test_random_weights(name):
    pair = Pair(fill_weights(onnx.load(light_file(name))).SerializeToString())
    image = pair.ours.inputs[0]
    pixels = np.random.default_rng(1).standard_normal(image.shape, np.float32)
    (scores,) = pair.run({image.name: pixels}).values()
    largest = np.abs(scores).max()
    assert np.ptp(scores) > 0.2 * largest, "the scores are all alike, so that the comparison says little"
    assert np.count_nonzero(np.abs(scores) > 1e-3 * largest) > 2, "one class has it all, so that the comparison says little"
