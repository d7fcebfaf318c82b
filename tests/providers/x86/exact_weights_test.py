# SPDX-License-Identifier: Apache-2.0
"""Matrices that 16 bits hold exactly: held so, with the results of floats."""

import ml_dtypes
import numpy as np
import pytest

import gantry
from cpu_flags import CPU_FLAGS
from small_graph import small_graph

HAS_AVX512 = "avx512bw" in CPU_FLAGS
NARROW = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}


def random(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape, np.float32)


def matrix(kind, inner, columns):
    return (random(inner, columns, seed=7) / np.float32(np.sqrt(inner))).astype(NARROW[kind]).astype(np.float32)


def result(x, w, threads=1, text="y = MatMul(x, w)"):
    model, feeds = small_graph(text, {"x": x}, {"w": w})
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
    assert [node.kernel for node in session.placement.nodes] == ["x86.matmul"]
    session.run(feeds)
    return session.run(feeds)["y"]


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("rows", [1, 2, 7, 14, 15, 29, 90, 450])
@pytest.mark.parametrize("inner, columns", [(37, 100), (64, 16), (20, 17), (2500, 72)])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums(kind, rows, inner, columns, threads):
    """Sizes of every kind of tile and panel; the longest inner extent is multiplied in parts."""
    x, w = random(rows, inner), matrix(kind, inner, columns)
    exact = x.astype(np.float64) @ w
    np.testing.assert_allclose(result(x, w, threads), exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("kind", NARROW)
def test_a_transposed_matrix(kind):
    x, w = random(19, 130), matrix(kind, 130, 70)
    np.testing.assert_allclose(result(x, np.ascontiguousarray(w.T), text="y = Gemm<transB=1>(x, w)"), x.astype(np.float64) @ w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("numbers", [
    [0.0, -0.0, 1.0, -2.0, 65504.0, -65504.0, 2.0**-14, 2.0**-24, -3 * 2.0**-24, 1023 * 2.0**-24, 1.0 + 2.0**-10],  # f16 down to its smallest
    [3.0e38, 2.0**-126, -2.0**-140, 1.0 + 2.0**-7],                                                                 # bf16
    [65520.0, 1.0 + 2.0**-11], [1.0 + 2.0**-8, 1e6], [2.0**-25, 1.0 + 2.0**-10], [3 * 2.0**-25, 1.0 + 2.0**-9],     # neither
])
@pytest.mark.parametrize("rows", [1, 20])
def test_each_number_is_what_it_was(numbers, rows):
    """The identity lets the matrix through."""
    w = np.resize(np.array(numbers, np.float32), (16, 48))
    expected = np.where(np.abs(w) < 2.0**-126, 0, w)  # denormals of floats count as zero in products
    found = result(np.resize(np.eye(16, dtype=np.float32), (rows, 16)), w)
    np.testing.assert_array_equal(found, np.resize(expected, (rows, 48)))


@pytest.mark.parametrize("kind", NARROW)
def test_one_number_that_does_not_fit(kind):
    """It stands where a part of the matrix was looked at already."""
    w = matrix(kind, 300, 200)
    w[-1, -1] = np.float32(1 / 3)
    x = np.zeros((1, 300), np.float32)
    x[0, -1] = 3
    assert result(x, w)[0, -1] == np.float32(3) * w[-1, -1]


@pytest.mark.skipif(not HAS_AVX512, reason="without AVX-512 the library multiplies, in floats")
def test_take_half_the_memory(tmp_path):
    """Of the artefact, which has the packed matrix."""
    sizes = {}
    for kind, w in {"f32": random(512, 1024), "bf16": matrix("bf16", 512, 1024)}.items():
        folder = tmp_path / kind
        model, feeds = small_graph("y = MatMul(x, w)", {"x": random(1, 512)}, {"w": w})
        config = {"session": {"artefact_cache": str(folder)}}
        first = gantry.Session(model, device="CPU", config=config).run(feeds)["y"]
        again = gantry.Session(model, device="CPU", config=config)
        np.testing.assert_array_equal(again.run(feeds)["y"], first)
        sizes[kind] = sum(file.stat().st_size for file in folder.iterdir())
    assert sizes["bf16"] < sizes["f32"] - 512 * 1024 * 1.9
