# SPDX-License-Identifier: Apache-2.0
"""Concat and Split as row copies in one launch: all word sizes, empty parts, more parts than a launch takes."""

import numpy as np
import pytest
from small_graph import small_graph

SIZES = {"even": [8, 16, 24], "odd": [3, 5, 1], "one": [7], "empty": [4, 0, 2], "many": [1 + i % 3 for i in range(37)]}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64, np.bool_])
def test_parts(agrees, sizes, axis, dtype):
    shape = [2, 3, 4]
    shape[axis] = sum(SIZES[sizes])
    x = np.random.default_rng(1).integers(0, 200, shape).astype(dtype)
    names = [f"p{i}" for i in range(len(SIZES[sizes]))]
    text = f"{', '.join(names)} = Split<axis={axis}>(x, s)\n y = Concat<axis={axis}>({', '.join(reversed(names))})\n z = Concat<axis={axis}>(x, x)"
    agrees(*small_graph(text, {"x": x}, {"s": np.array(SIZES[sizes])}))


def test_parts_that_nobody_reads(agrees):
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    agrees(*small_graph("a, b, c = Split<axis=1>(x, s)\n y = Neg(b)", {"x": x}, {"s": np.array([1, 2, 3])}))
