# SPDX-License-Identifier: Apache-2.0
"""Transposes of more elements than a tile, which ONNX's cases do not have."""

import numpy as np
import pytest
from small_graph import small_graph

CASES = {
    "matrix": ((37, 70), (1, 0)),
    "wide": ((8, 300), (1, 0)),
    "narrow": ((130, 9), (1, 0)),
    "of_a_batch": ((3, 33, 65), (0, 2, 1)),
    "of_two_axes_around": ((2, 40, 3, 33), (0, 2, 3, 1)),
    "channels_last": ((2, 20, 9, 11), (0, 2, 3, 1)),
    "channels_first": ((2, 9, 11, 20), (0, 3, 1, 2)),
    "an_axis_between": ((12, 5, 18), (2, 1, 0)),
    "heads": ((2, 30, 4, 8), (0, 2, 1, 3)),
    "thin": ((3, 400), (1, 0)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_transposes(agrees, case, dtype):
    shape, perm = CASES[case]
    x = np.random.default_rng(sum(shape)).integers(0, 250, shape).astype(dtype)
    assert agrees(*small_graph(f"y = Transpose<perm={list(perm)}>(x)", {"x": x})) == ["Transpose"]


def test_halves_of_a_transpose(agrees):
    """A slice of columns has gaps between its rows."""
    x = np.arange(40 * 50, dtype=np.float32).reshape(40, 50)
    text = "a, b = Split<axis=1, num_outputs=2>(x)\n y = Transpose<perm=[1, 0]>(a)\n z = Transpose<perm=[1, 0]>(b)"
    agrees(*small_graph(text, {"x": x}))
