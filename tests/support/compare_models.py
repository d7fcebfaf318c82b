# SPDX-License-Identifier: Apache-2.0
"""A model run by gantry and by ONNX Runtime, and how far apart the results may be."""

import numpy as np
import onnxruntime

import gantry

onnxruntime.set_default_logger_severity(3)

LARGEST_DIFFERENCE = 1e-4  # of the largest value of an output, for f32


class Pair:
    """A session of each runtime over the same model."""

    def __init__(self, model, tolerance=LARGEST_DIFFERENCE):
        self.tolerance = tolerance
        self.ours = gantry.Session(model, device="CPU")
        source = model if isinstance(model, bytes) else str(model)
        self.theirs = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])

    def run(self, feeds):
        """Runs both on the same inputs, requires equal results, and returns ours."""
        return self.run_apart(feeds, feeds)[0]

    def run_apart(self, our_feeds, their_feeds):
        """Runs each on its own inputs, for state that is fed back; requires equal results and returns both."""
        ours = self.ours.run(our_feeds)
        names = [output.name for output in self.theirs.get_outputs()]
        theirs = dict(zip(names, self.theirs.run(names, their_feeds), strict=True))
        assert list(ours) == names
        for name in names:
            assert_close(ours[name], theirs[name], name, self.tolerance)
        return ours, theirs


def assert_close(actual, expected, name="", tolerance=LARGEST_DIFFERENCE):
    """The largest absolute difference is within `tolerance` of the largest absolute value; types and shapes are equal."""
    assert actual.dtype == expected.dtype, f"{name}: type {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{name}: shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected, err_msg=name)
        return
    assert np.isfinite(expected).all(), f"{name}: the expected values are not all finite, so that they say nothing"
    assert np.isfinite(actual).all(), f"{name}: not all values are finite"
    difference = np.abs(actual.astype(np.float64) - expected).max(initial=0)
    limit = tolerance * np.abs(expected).max(initial=0)
    assert difference <= limit, f"{name}: the largest difference is {difference:.3g}, allowed is {limit:.3g}"
