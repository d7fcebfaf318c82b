# SPDX-License-Identifier: Apache-2.0
"""Convolutions: by tiles, one thread per result for few channels, and by cuDNN."""

import ml_dtypes
import numpy as np
import onnx.reference
import pytest
from cuda_worker import BUILD, Worker, compare_all
from small_graph import small_graph


@pytest.fixture(scope="module")
def cuda_alone(cuda, tmp_path_factory):
    """With a fake cuDNN that supports no convolution with an epilogue."""
    worker = Worker(tmp_path_factory.mktemp("cuda_alone"), BUILD / "tests" / "fake_cuda_blas", environment={"GANTRY_FAKE_CUDNN": "alone"}, own_kernels=False)
    yield worker
    worker.close()


@pytest.fixture(params=["cuda", "cuda_blas", "cuda_alone"])
def each(request):
    return request.getfixturevalue(request.param)


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


CASES = {
    "plain": ((2, 6, 11, 12), (10, 6, 3, 3), "group=1"),
    "one_by_one": ((1, 20, 9, 9), (70, 20, 1, 1), "group=1"),
    "padded": ((1, 6, 9, 8), (8, 6, 3, 3), "pads=[1,2,0,1]"),
    "strided": ((1, 6, 19, 18), (8, 6, 3, 5), "strides=[2,3], pads=[1,1,1,1]"),
    "dilated": ((1, 6, 19, 18), (8, 6, 3, 3), "dilations=[2,3]"),
    "same": ((1, 6, 19, 18), (8, 6, 4, 4), 'auto_pad="SAME_UPPER", strides=[2,2]'),
    "groups": ((2, 12, 9, 9), (24, 6, 3, 3), "group=2"),
    "small_groups": ((2, 12, 9, 9), (12, 3, 3, 3), "group=4"),
    "depthwise": ((1, 12, 9, 9), (12, 1, 3, 3), "group=12"),
    "line": ((2, 6, 40), (9, 6, 5), "strides=[2]"),
    "room": ((1, 4, 6, 7, 8), (9, 4, 3, 2, 3), "pads=[1,0,1,1,0,1]"),
}


# Of each channel by itself, with whole vectors of channels, of which a kernel of the provider's makes them channels-last.
DEPTHWISE = {
    "plain": ((2, 16, 9, 11), (16, 1, 3, 3), "group=16"),
    "padded": ((1, 24, 9, 8), (24, 1, 3, 5), "group=24, pads=[1,2,0,1]"),
    "strided": ((1, 8, 19, 18), (8, 1, 3, 3), "group=8, strides=[2,3], pads=[1,1,1,1]"),
    "dilated": ((1, 8, 19, 18), (8, 1, 3, 3), "group=8, dilations=[2,3]"),
    "channels_that_are_no_whole_vectors": ((1, 12, 9, 9), (12, 1, 3, 3), "group=12, pads=[1,1,1,1]"),
    "two_results_of_a_channel": ((1, 8, 9, 9), (16, 1, 3, 3), "group=8"),
}


@pytest.fixture(scope="module")
def cuda_tf32(cuda, tmp_path_factory):
    worker = Worker(tmp_path_factory.mktemp("cuda_tf32"), BUILD / "tests" / "fake_cuda_blas", own_kernels=False, precision="tf32")
    yield worker
    worker.close()


@pytest.mark.parametrize("case", DEPTHWISE)
@pytest.mark.parametrize("behind", ["", "Clip", "Add+Relu"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_depthwise(each, case, behind, dtype):
    """Between 1x1 convolutions, so that inputs and outputs are channels-last."""
    check_depthwise(each, case, behind, dtype, {np.float16: 2e-2}.get(dtype, 0.15))


@pytest.mark.parametrize("case", DEPTHWISE)
@pytest.mark.parametrize("behind", ["", "Clip", "Add+Relu"])
def test_depthwise_tf32(cuda_tf32, case, behind):
    """Convolutions of f32 are channels-last if TF32 is allowed."""
    check_depthwise(cuda_tf32, case, behind, np.float32, 2e-2)


def check_depthwise(worker, case, behind, dtype, tolerance):
    x, w, attributes = DEPTHWISE[case]
    constants = {"u": random(x[1], 4, 1, 1, dtype=dtype) / np.asarray(4, dtype), "w": (random(*w, seed=1) / 4).astype(dtype),
                 "b": random(w[0], dtype=dtype, seed=2), "v": random(5, w[0], 1, 1, dtype=dtype, seed=3) / np.asarray(4, dtype)}
    if behind == "Clip":
        constants |= {"low": np.zeros((), dtype), "high": np.asarray(0.75, dtype)}
    made = {"": "d = Identity(c)", "Clip": "d = Clip(c, low, high)", "Add+Relu": "r = Conv<" + attributes + ">(q, w)\n s = Add(c, r)\n d = Relu(s)"}[behind]
    text = f"p = Conv(x, u)\n q = Relu(p)\n c = Conv<{attributes}>(q, w, b)\n {made}\n y = Conv(d, v)"
    compare_all(worker, *small_graph(text, {"x": random(x[0], 4, *x[2:], dtype=dtype)}, constants, opset=22), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_conv(each, case, dtype):
    x, w, attributes = CASES[case]
    weights = (random(*w, seed=1) / 4).astype(dtype)
    bias = random(w[0], dtype=dtype, seed=2)
    tolerance = {np.float64: 1e-12, np.float32: 1e-4, np.float16: 1e-2}.get(dtype, 8e-2)
    text = f"y = Conv<{attributes}>(x, w, b)\n z = Conv<{attributes}>(x, w)"
    compare_all(each, *small_graph(text, {"x": random(*x, dtype=dtype)}, {"w": weights, "b": bias}, opset=22),
                rtol=tolerance, atol=tolerance)


BEHIND = {
    "Relu": "y = Relu(c)", "Clip": "y = Clip(c, low, high)", "Add": "y = Add(c, r)", "Add+Relu": "d = Add(r, c)\n y = Relu(d)",
    "Add+Clip": "d = Add(c, r)\n y = Clip(d, low, high)",
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("behind", ["Relu", "Add+Clip"])
@pytest.mark.parametrize("bias", [", b", ""])
def test_conv_as_a_matmul(cuda_blas, case, behind, bias):
    """cuDNN is not asked for f64, so what cuBLASLt can take is its matmul; groups of a batch and extents that are not aligned are the own kernels'."""
    x, w, attributes = CASES[case]
    weights = {"w": random(*w, seed=1) / 4, "b": random(w[0], seed=2), "low": np.float64(0), "high": np.float64(1.5)}
    feeds = {"x": random(*x)}
    if behind == "Add+Clip":
        reference = onnx.reference.ReferenceEvaluator(small_graph(f"y = Conv<{attributes}>(x, w)", feeds, {"w": weights["w"]}, opset=22)[0])
        feeds["r"] = random(*reference.run(None, feeds)[0].shape, seed=3)
    used = {name: value.astype(np.float64) for name, value in weights.items() if name == "w" or (name == "b" and bias) or (name != "b" and "Clip" in behind)}
    compare_all(cuda_blas, *small_graph(f"c = Conv<{attributes}>(x, w{bias})\n {BEHIND[behind]}", {name: value.astype(np.float64) for name, value in feeds.items()},
                                        used, opset=22), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("bias", [", b", ""])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_epilogue(each, behind, bias, dtype):
    feeds = {"x": random(2, 6, 9, 9, dtype=dtype)} | ({"r": random(2, 8, 9, 9, dtype=dtype)} if "Add" in behind else {})
    constants = {"w": (random(8, 6, 3, 3) / 4).astype(dtype), "b": random(8, dtype=dtype), "low": np.array(0, dtype), "high": np.array(1.5, dtype)}
    constants = {name: value for name, value in constants.items() if name == "w" or (name == "b" and bias) or (name in ("low", "high") and "Clip" in behind)}
    kernels = compare_all(each, *small_graph(f"c = Conv<pads=[1,1,1,1]>(x, w{bias})\n {BEHIND[behind]}", feeds, constants),
                          rtol=1e-2 if dtype == np.float16 else 1e-4, atol=1e-2 if dtype == np.float16 else 1e-4)
    assert set(kernels) == {f"cuda.Conv+{behind}"}


@pytest.mark.parametrize("text, expected", [
    ("c = Conv(x, w)\n y = Relu(c)\n z = Neg(c)", "cuda.Conv"),  # read by two
    ("c = Conv(x, w)\n y = Add(c, s)", "cuda.Conv"),  # another shape
    ("c = Conv(x, w)\n y = Clip(c, s)", "cuda.Conv"),  # no bound above
])
def test_what_is_no_epilogue(each, text, expected):
    kernels = compare_all(each, *small_graph(text, {"x": random(1, 6, 9, 9)}, {"w": random(8, 6, 1, 1), "s": np.float32(-0.5)}), rtol=1e-4, atol=1e-4)
    assert kernels[0] in (expected, "Conv"), kernels


def test_a_sum_of_two_convolutions(each):
    text = "a = Conv<pads=[1,1,1,1]>(x, w)\n b = Conv(x, v)\n c = Add(a, b)\n y = Relu(c)\n"
    feeds, constants = {"x": (random(2, 6, 9, 9), ["n", 6, 9, 9])}, {"w": random(8, 6, 3, 3), "v": random(8, 6, 1, 1)}
    kernels = compare_all(each, *small_graph(text, feeds, constants), rtol=1e-4, atol=1e-4)
    assert sorted(set(kernels)) == ["Conv", "cuda.Conv+Add+Relu"]


CHAINS = {
    "one after the other": "a = Conv<pads=[1,1,1,1]>(x, w, b)\n c = Relu(a)\n d = Conv<pads=[1,1,1,1]>(c, v)\n y = Relu(d)",
    "around": "a = Conv<pads=[1,1,1,1]>(x, w, b)\n c = Relu(a)\n d = Conv<pads=[1,1,1,1]>(c, v)\n e = Add(d, c)\n y = Relu(e)",
    "depthwise": "a = Conv(x, w)\n c = Conv<group=8>(a, g)\n y = Conv(c, v)",
    "read by another": "a = Conv<pads=[1,1,1,1]>(x, w)\n c = Conv<pads=[1,1,1,1]>(a, v)\n d = GlobalAveragePool(a)\n y = Add(c, d)",
    "an output between": "y = Conv<pads=[1,1,1,1]>(x, w)\n z = Conv(y, v)\n q = Conv(y, v)",
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_sequences_of_convolutions(each, chain, dtype):
    """Tensors of 16-bit floats between convolutions are channels-last if cuDNN is there."""
    constants = {"w": random(8, 6, 3, 3) / 8, "v": random(8, 8, 3, 3) / 8, "g": random(8, 1, 3, 3) / 3, "b": random(8)}
    used = {name: value.astype(dtype) for name, value in constants.items() if f"{name})" in CHAINS[chain] or f"{name}," in CHAINS[chain]}
    compare_all(each, *small_graph(CHAINS[chain], {"x": random(2, 6, 9, 9, dtype=dtype)}, used), rtol=1e-2 if dtype == np.float16 else 1e-4,
                atol=2e-2 if dtype == np.float16 else 1e-4)


def test_channels_last_is_offered_where_it_pays(cuda, cuda_blas):
    """A channels-last claim is a fusion, with the provider's name; any other is a kernel row."""
    for worker, dtype, expected in ((cuda_blas, np.float16, "cuda.Conv"), (cuda_blas, np.float32, "Conv"), (cuda, np.float16, "Conv")):
        constants = {"w": (random(8, 6, 3, 3) / 8).astype(dtype), "v": (random(8, 8, 3, 3) / 8).astype(dtype)}
        kernels, _ = worker.run(*small_graph("a = Conv(x, w)\n y = Conv(a, v)", {"x": random(2, 6, 9, 9, dtype=dtype)}, constants))
        assert kernels == [expected] * 2


POOLS = {
    "max": "MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>",
    "average": "AveragePool<kernel_shape=[3,2], strides=[1,2], pads=[1,0,1,1], count_include_pad=1>",
}


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_pools_between_convolutions(each, pool, dtype):
    """Sets between convolutions are channels-last; sets beside only one are not."""
    text = f"a = Conv(x, w)\n b = {POOLS[pool]}(a)\n c = Conv(b, v)\n d = GlobalAveragePool(c)\n e = GlobalMaxPool(c)\n f = {POOLS[pool]}(x)\n y = Relu(b)\n z = Conv(f, w)"
    constants = {"w": (random(8, 6, 3, 3) / 8).astype(dtype), "v": (random(8, 8, 3, 3) / 8).astype(dtype)}
    kernels = compare_all(each, *small_graph(text, {"x": random(2, 6, 19, 21, dtype=dtype)}, constants), rtol=1e-2 if dtype == np.float16 else 1e-4,
                          atol=2e-2 if dtype == np.float16 else 1e-4)
    assert kernels.count("cuda.Conv") in (0, 3)
    if "cuda.Conv" in kernels:
        assert "cuda.GlobalAveragePool" in kernels and any(name in kernels for name in ("cuda.MaxPool", "cuda.AveragePool"))


NORMS = {"groups": (16, "GroupNormalization<num_groups=4>"), "small_groups": (24, "GroupNormalization<num_groups=8>"), "odd_groups": (12, "GroupNormalization<num_groups=4>"),
         "one": (10, "GroupNormalization<num_groups=1>"), "channels": (16, "InstanceNormalization"), "tiles": (144, "GroupNormalization<num_groups=9>")}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("size", [7, 40])
def test_norms_between_convolutions(each, norm, size):
    """Per channel, channels-last."""
    channels, text = NORMS[norm]
    constants = {"w": random(channels, 6, 1, 1) / 3, "v": random(4, channels, 1, 1) / channels**0.5, "g": random(channels), "b": random(channels, seed=1)}
    constants = {name: value.astype(np.float16) for name, value in constants.items()}
    # Each place is another, so that none may be left out.
    x = (random(2, 6, size, size) + np.linspace(-9, 9, size * size).reshape(size, size) ** 2 / 20).astype(np.float16)
    # The factor tells the type, which nothing infers of GroupNormalization.
    model, feeds = small_graph(f"a = Conv(x, w)\n n = {text}(a, g, b)\n k = Mul(o, n)\n s = Sigmoid(k)\n m = Mul(k, s)\n y = Conv(m, v)",
                               {"x": x, "o": np.ones(1, np.float16)}, constants)
    kernels = compare_all(each, model, feeds, rtol=2e-2, atol=2e-2)
    assert any(name.endswith(text.split("<")[0]) for name in kernels)
    assert ("cuda.Conv" in kernels) == any(name.startswith(("cuda.Group", "cuda.Instance")) for name in kernels)


def test_weights_that_are_no_constants(each):
    feeds = {"x": random(2, 6, 9, 9, dtype=np.float16), "w": random(8, 6, 3, 3, dtype=np.float16) / 8, "v": random(8, 8, 3, 3, dtype=np.float16) / 8}
    compare_all(each, *small_graph("a = Conv(x, w)\n y = Conv(a, v)", feeds), rtol=1e-2, atol=2e-2)


# Extents that are unknown before the run: the addend may be as large, smaller, or larger.
ADDED = [((2, 8, 5, 6), (2, 8, 5, 6)), ((2, 8, 5, 6), (2, 8, 1, 1)), ((2, 8, 1, 1), (2, 8, 5, 6)), ((2, 8, 1, 6), (2, 8, 5, 1)), ((2, 8, 0, 6), (2, 8, 1, 1))]


@pytest.mark.parametrize("shapes", ADDED)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_what_is_added_may_be_broadcast(each, shapes, dtype):
    x, a = (random(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes))
    feeds = {"x": (x, [2, 8, "h", "w"]), "a": (a, [2, 8, "p", "q"])}
    constants = {"w": (random(8, 8, 1, 1) / 8).astype(dtype), "b": random(8, dtype=dtype), "v": (random(8, 8, 1, 1, seed=1) / 8).astype(dtype)}
    text = "c = Conv(x, w, b)\n d = Add(a, c)\n e = Relu(d)\n y = Conv(e, v)"
    compare_all(each, *small_graph(text, feeds, constants), rtol=1e-2 if dtype == np.float16 else 1e-4, atol=2e-2 if dtype == np.float16 else 1e-4)


def test_one_shape_after_another(cuda_blas):
    model, feeds = small_graph("y = Conv(x, w)", {"x": (random(1, 4, 7, 7), ["n", 4, 7, 7])}, {"w": random(3, 4, 3, 3)})
    for batch in (1, 2, 1):
        compare_all(cuda_blas, model, {"x": random(batch, 4, 7, 7)}, rtol=1e-4, atol=1e-4)


TRANSPOSED = {
    "strided": ((2, 6, 7, 8), (6, 5, 3, 3), "strides=[2,2]"),
    "padded": ((2, 6, 7, 8), (6, 5, 3, 3), "strides=[2,1], pads=[1,0,1,1], output_padding=[1,0]"),
    "groups": ((2, 6, 7, 8), (6, 5, 3, 3), "group=2"),
    "dilated": ((2, 6, 7, 8), (6, 5, 3, 3), "dilations=[2,1]"),
    "a_shape": ((1, 6, 5, 5), (6, 4, 3, 3), "strides=[2,2], output_shape=[10,9]"),
    "a_larger_shape": ((1, 6, 5, 5), (6, 4, 2, 2), "strides=[2,2], output_shape=[14,13]"),
    "same": ((1, 6, 5, 5), (6, 4, 4, 3), 'strides=[2,2], auto_pad="SAME_LOWER"'),
    "line": ((2, 6, 9), (6, 4, 4), "strides=[3]"),
    "room": ((1, 4, 3, 4, 5), (4, 3, 2, 2, 3), "strides=[2,1,2], pads=[0,1,1,0,0,1]"),
}


@pytest.mark.parametrize("case", TRANSPOSED)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_conv_transpose(each, case, dtype):
    x, w, attributes = TRANSPOSED[case]
    channels = w[1] * (2 if "group" in attributes else 1)
    constants = {"w": (random(*w, seed=1) / 4).astype(dtype), "b": random(channels, dtype=dtype, seed=2)}
    text = f"y = ConvTranspose<{attributes}>(x, w, b)\n z = ConvTranspose<{attributes}>(x, w)"
    compare_all(each, *small_graph(text, {"x": random(*x, dtype=dtype)}, constants), rtol=1e-2 if dtype == np.float16 else 1e-4, atol=1e-2 if dtype == np.float16 else 1e-4)


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_epilogue_of_a_transposed_convolution(each, behind, dtype):
    feeds = {"x": random(2, 6, 5, 6, dtype=dtype)} | ({"r": random(2, 8, 10, 12, dtype=dtype)} if "Add" in behind else {})
    constants = {"w": (random(6, 8, 2, 2) / 4).astype(dtype), "b": random(8, dtype=dtype)}
    constants |= {"low": np.array(0, dtype), "high": np.array(1.5, dtype)} if "Clip" in behind else {}
    kernels = compare_all(each, *small_graph(f"c = ConvTranspose<strides=[2,2]>(x, w, b)\n {BEHIND[behind]}", feeds, constants),
                          rtol=1e-2 if dtype == np.float16 else 1e-4, atol=1e-2 if dtype == np.float16 else 1e-4)
    assert set(kernels) == {f"cuda.ConvTranspose+{behind}"}


def test_a_transposed_one_between_convolutions(each):
    """A pool between convolutions is channels-last."""
    constants = {"w": random(8, 6, 1, 1) / 8, "t": random(8, 8, 2, 2) / 4, "v": random(4, 8, 3, 3) / 8}
    model, feeds = small_graph("a = Conv(x, w)\n b = ConvTranspose<strides=[2,2]>(a, t)\n y = Conv(b, v)", {"x": random(1, 6, 7, 7, dtype=np.float16)},
                               {name: value.astype(np.float16) for name, value in constants.items()})
    kernels = compare_all(each, model, feeds, rtol=2e-2, atol=2e-2)
    assert set(kernels) in ({"Conv", "ConvTranspose"}, {"cuda.Conv", "cuda.ConvTranspose"})


def test_a_small_network(agrees):
    text = """a = Conv<pads=[1,1,1,1]>(x, w)
              b = BatchNormalization(a, s, t, m, v)
              c = Relu(b)
              d = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(c)
              e = Conv<pads=[1,1,1,1]>(d, u)
              f = Add(e, d)
              g = Relu(f)
              h = GlobalAveragePool(g)
              i = Flatten(h)
              j = Gemm<transB=1>(i, k, l)
              y = Softmax(j)"""
    constants = {"w": random(16, 3, 3, 3), "s": random(16), "t": random(16, seed=1), "m": random(16, seed=2), "v": np.abs(random(16, seed=3)) + 1,
                 "u": random(16, 16, 3, 3) / 8, "k": random(10, 16), "l": random(10)}
    kernels = agrees(*small_graph(text, {"x": random(2, 3, 17, 19)}, constants), rtol=1e-4, atol=1e-5)
    assert kernels[1] == kernels[2] == "cuda.BatchNormalization+Relu" and set(kernels[4:7]) == {"cuda.Conv+Add+Relu"}


BETWEEN = {
    "one": "a = Conv(x, w)\n s = HardSwish(a)\n y = Conv(s, v)",
    "read_twice": "a = Conv(x, w)\n i = Sigmoid(a)\n s = Mul(a, i)\n y = Conv(s, v)\n z = Conv(s, v)",
    "behind_each_other": "a = Conv(x, w)\n s = HardSwish(a)\n t = GlobalAveragePool(s)\n u = HardSigmoid(t)\n r = Mul(s, u)\n y = Conv(r, v)",
    "by_channel": "a = Conv(x, w)\n s = Mul(a, b)\n t = Tanh(s)\n y = Conv(t, v)",
    "two_orders": "a = Conv(x, w)\n s = Mul(a, d)\n t = Tanh(s)\n y = Conv(t, v)",
    "also_read_dense": "a = Conv(x, w)\n s = HardSwish(a)\n y = Conv(s, v)\n z = ReduceMax<keepdims=0>(s)",
    "on_one_side_alone": "a = Conv(x, w)\n y = HardSwish(a)",
    "behind_a_relu": "a = Conv(x, w)\n r = Relu(a)\n s = HardSwish(r)\n y = Conv(s, v)",
}


@pytest.mark.parametrize("case", BETWEEN)
@pytest.mark.parametrize("channels", [8, 5])
def test_elementwise_nodes_between_convolutions(each, case, channels):
    """Channels-last, or with different layouts of input and output."""
    text = BETWEEN[case]
    constants = {"w": random(channels, 6, 3, 3) / 8, "v": random(8, channels, 3, 3) / 8, "b": random(1, channels, 1, 1)}
    used = {name: value.astype(np.float16) for name, value in constants.items() if f"{name})" in text}
    feeds = {"x": random(2, 6, 9, 8, dtype=np.float16)} | ({"d": random(2, channels, 7, 6, dtype=np.float16)} if "d)" in text else {})
    compare_all(each, *small_graph(text, feeds, used, opset=21), rtol=2e-2, atol=2e-2)
