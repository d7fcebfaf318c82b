# SPDX-License-Identifier: Apache-2.0
"""Random tensors on the device: reproducible from a seed, different in every run without one, and distributed as asked."""

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from small_graph import small_graph

COUNT = 40001
FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]


def kind(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def runs(cuda, text, feeds=None, constants=None, count=1, name="y"):
    """An output of several runs of one session; later runs may launch a captured graph."""
    model, feeds = small_graph(text, feeds or {"x": np.zeros(1, np.float32)}, constants, opset=22)
    return [outputs[name] for outputs in cuda.run_steps(model, [feeds] * count)]


def words(counter, run, key):
    """Philox4x32-10 by its definition, for many counters."""
    mask = np.uint64(0xFFFFFFFF)
    counter = counter.astype(np.uint64)
    c = [counter & mask, counter >> np.uint64(32), np.full_like(counter, run & 0xFFFFFFFF), np.full_like(counter, run >> 32)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), b & mask, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_the_generator_is_philox():
    """The definition above gives what its authors publish for it."""
    assert [int(w[0]) for w in words(np.zeros(1), 0, 0)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = (1 << 64) - 1
    assert [int(w[0]) for w in words(np.array([ones], np.uint64), ones, ones)] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_numbers_of_a_seed(cuda):
    (found,) = runs(cuda, f"y = RandomUniform<shape=[{COUNT}], dtype=11, seed=2.0>()\n z = Identity(x)")
    c = words(np.arange((COUNT + 1) // 2), 0, int(np.float32(2).view(np.uint32)))
    pairs = np.stack([(c[0] << np.uint64(32) | c[1]) >> np.uint64(11), (c[2] << np.uint64(32) | c[3]) >> np.uint64(11)], 1)
    np.testing.assert_array_equal(found, pairs.reshape(-1)[:COUNT] * 2.0**-53)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(cuda, dtype):
    first, second = runs(cuda, f"y = RandomNormal<shape=[{COUNT}], dtype={kind(dtype)}, mean=3.0, scale=2.0, seed=1.0>()\n z = Identity(x)", count=2)
    assert first.dtype == dtype
    np.testing.assert_array_equal(first, second)
    values = first.astype(np.float64)
    assert abs(values.mean() - 3) < 0.05 and abs(values.std() - 2) < 0.05
    assert abs(((values - 3) ** 4).mean() / 16 - 3) < 0.2
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(cuda, dtype):
    first, second = runs(cuda, f"y = RandomUniform<shape=[{COUNT}], dtype={kind(dtype)}, low=-1.0, high=3.0, seed=2.0>()\n z = Identity(x)", count=2)
    np.testing.assert_array_equal(first, second)
    values = first.astype(np.float64)
    assert values.min() >= -1 and values.max() <= 3
    counts, _ = np.histogram(values, 8, (-1, 3))
    assert counts.min() > COUNT / 8 * 0.93 and counts.max() < COUNT / 8 * 1.07


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "RandomUniformLike"])
def test_like_takes_shape_and_type(cuda, op_type):
    (found,) = runs(cuda, f"y = {op_type}(x)", {"x": np.zeros((3, 5), np.float16)})
    assert found.shape == (3, 5) and found.dtype == np.float16 and len(np.unique(found)) > 3
    (found,) = runs(cuda, f"y = {op_type}<dtype=11>(x)", {"x": np.zeros((3, 5), np.float32)})
    assert found.dtype == np.float64


@pytest.mark.parametrize("text", ["RandomUniformLike(x)", "RandomNormalLike(x)", "Bernoulli(x)"])
def test_every_run_draws_anew(cuda, text):
    """Also in launches of a captured graph."""
    found = runs(cuda, f"r = {text}\n y = Relu(r)", {"x": np.full(200, 0.5, np.float32)}, count=6)
    for number, one in enumerate(found):
        assert not any(np.array_equal(one, other) for other in found[:number])


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.int32, np.uint64, np.float16])
def test_bernoulli(cuda, dtype):
    chances = np.tile(np.array([0, 0.25, 1], np.float32), (COUNT, 1))
    (found,) = runs(cuda, f"y = Bernoulli<dtype={kind(dtype)}, seed=3.0>(x)", {"x": chances})
    assert found.dtype == dtype and set(np.unique(found.astype(float))) <= {0.0, 1.0}
    np.testing.assert_allclose(found.astype(float).mean(0), [0, 0.25, 1], atol=0.02)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("classes", [3, 700])
def test_multinomial(cuda, dtype, classes):
    chances = np.random.default_rng(1).uniform(0, 1, (2, classes))
    chances[1, 0] = 0
    chances /= chances.sum(1, keepdims=True)
    (found,) = runs(cuda, f"y = Multinomial<sample_size={COUNT}, dtype={kind(dtype)}, seed=4.0>(x)", {"x": np.log(chances + 1e-35).astype(np.float32) + 5})
    assert found.shape == (2, COUNT) and found.dtype == dtype
    for row, expected in zip(found, chances):
        counts = np.bincount(row, minlength=classes)
        assert len(counts) == classes and counts[expected == 0].sum() == 0
        # Of classes so many that each is rare: by halves.
        np.testing.assert_allclose(np.add.reduceat(counts, [0, classes // 2]) / COUNT, np.add.reduceat(expected, [0, classes // 2]), atol=0.02)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_dropout_in_training(cuda, dtype):
    x = np.random.default_rng(1).uniform(1, 2, (COUNT,)).astype(dtype)
    text = "y, m = Dropout(x, r, t)"
    constants = {"r": np.float32(0.25), "t": np.array(True)}
    first, second = runs(cuda, text, {"x": x}, constants, count=2)
    masks = runs(cuda, text, {"x": x}, constants, name="m")
    assert masks[0].dtype == np.bool_ and abs(masks[0].mean() - 0.75) < 0.02
    for y in (first, second):
        kept = y != 0
        assert abs(kept.mean() - 0.75) < 0.02
        np.testing.assert_allclose(y[kept].astype(float), x[kept].astype(float) / 0.75, rtol=2e-3 if dtype == np.float16 else 1e-6)
    assert not np.array_equal(first, second)


def test_the_mask_is_of_what_is_kept(cuda):
    x = np.ones(COUNT, np.float32)
    model, feeds = small_graph("y, m = Dropout(x, r, t)", {"x": x}, {"r": np.float32(0.5), "t": np.array(True)})
    (outputs,) = cuda.run_steps(model, [feeds])
    np.testing.assert_array_equal(outputs["y"], np.where(outputs["m"], np.float32(2), np.float32(0)))


@pytest.mark.parametrize("text, constants", [("y, m = Dropout(x)", {}), ("y, m = Dropout(x, r, t)", {"r": np.float32(0.5), "t": np.array(False)}),
                                             ("y, m = Dropout<seed=1>(x, r, t)", {"r": np.float32(0.5), "t": np.array(False)}),
                                             ("y, m = Dropout(x, r, t)", {"r": np.float32(0), "t": np.array(True)})])
def test_dropout_that_drops_nothing(cuda, text, constants):
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    model, feeds = small_graph(text, {"x": x}, constants)
    (outputs,) = cuda.run_steps(model, [feeds])
    np.testing.assert_array_equal(outputs["y"], x)
    np.testing.assert_array_equal(outputs["m"], np.ones((3, 5), np.bool_))


def test_training_of_old_versions_is_refused(cuda):
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    (outputs,) = cuda.run_steps(small_graph("y = Dropout<is_test=1>(x)", {"x": x}, opset=6)[0], [{"x": x}])
    np.testing.assert_array_equal(outputs["y"], x)
    with pytest.raises(RuntimeError, match="which is_test has to end"):
        cuda.run(*small_graph("y = Dropout(x)", {"x": x}, opset=6))


def test_numpys_numbers_are_refused(cuda):
    model, feeds = small_graph("y, m = Dropout<seed=1>(x, r, t)", {"x": np.ones(9, np.float32)}, {"r": np.float32(0.5), "t": np.array(True)})
    with pytest.raises(RuntimeError, match="the numbers that a seed names in training are not supported"):
        cuda.run(model, feeds)


@pytest.mark.parametrize("feeds, text", [({"x": np.zeros((2, 0), np.float32)}, "y = Multinomial(x)"),
                                         ({"x": np.ones(3, np.float32), "r": np.float32(1.5), "t": np.array(True)}, "y, m = Dropout(x, r, t)")])
def test_what_gives_no_distribution(cuda, feeds, text):
    model, feeds = small_graph(text, feeds)
    with pytest.raises(RuntimeError, match="expected"):
        cuda.run(model, feeds)
