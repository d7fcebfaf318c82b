# SPDX-License-Identifier: Apache-2.0
"""Denormal numbers count as zero, on every thread of a run, and the caller's own arithmetic is left as it was."""

import numpy as np
import pytest

import gantry
from small_graph import small_graph


@pytest.mark.parametrize("threads", [1, 2])
def test_denormal_numbers_count_as_zero(threads):
    x = np.full((8, 64, 56, 56), 1e-40, np.float32)
    model, feeds = small_graph("y = Conv(x, w)", {"x": x}, {"w": np.ones((64, 64, 1, 1), np.float32)})
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
    for _ in range(5):
        assert not session.run(feeds)["y"].any()
    assert (x * np.float32(0.5)).all()
