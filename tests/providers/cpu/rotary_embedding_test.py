# SPDX-License-Identifier: Apache-2.0
"""RotaryEmbedding: both patterns, ranks and sources of positions, part of a head, 16-bit floats; and what it refuses."""

import ml_dtypes
import numpy as np
import pytest
from oracle import compare, element_type, node_model, run_gantry, run_reference

import gantry

LENGTH, HEADS, SIZE, POSITIONS = 5, 3, 12, 9


def inputs(is_flat, has_positions, turned, dtype=np.float32):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, LENGTH, HEADS * SIZE) if is_flat else (2, HEADS, LENGTH, SIZE))
    angles = rng.uniform(0, 6, (POSITIONS, turned // 2) if has_positions else (2, LENGTH, turned // 2))
    positions = [rng.integers(0, POSITIONS, (2, LENGTH))] if has_positions else []
    return [array.astype(dtype) for array in (x, np.cos(angles), np.sin(angles))] + positions


def model_of(arrays, attributes):
    return node_model("RotaryEmbedding", arrays, [element_type(arrays[0])], 23, attributes)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("has_positions", [True, False])
@pytest.mark.parametrize("is_flat", [True, False])
@pytest.mark.parametrize("turned", [SIZE, 8])
def test_forms(interleaved, has_positions, is_flat, turned):
    attributes = {"interleaved": interleaved, "num_heads": HEADS if is_flat else 0, "rotary_embedding_dim": turned if turned < SIZE else 0}
    model, feeds = model_of(inputs(is_flat, has_positions, turned), attributes)
    compare(run_gantry(model, feeds), run_reference(model, feeds))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_small_floats(dtype):
    arrays = inputs(False, True, SIZE, dtype)
    (actual,) = run_gantry(*model_of(arrays, {}))
    (expected,) = run_gantry(*model_of([a.astype(np.float32) if a.dtype == dtype else a for a in arrays], {}))
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, expected.astype(dtype))  # rounded once


@pytest.mark.parametrize(("change", "words"), [
    ({3: np.full((2, LENGTH), POSITIONS)}, f"position {POSITIONS} is outside caches of {POSITIONS}"),
    ({3: np.zeros((2, 1), np.int64)}, "expected \\[batch, length\\]"),
    ({2: np.zeros((POSITIONS, 2), np.float32)}, "do not fit"),
])
def test_refusals(change, words):
    arrays = inputs(False, True, SIZE)
    for slot, array in change.items():
        arrays[slot] = array
    with pytest.raises(gantry.Error, match=words):
        run_gantry(*model_of(arrays, {}))
