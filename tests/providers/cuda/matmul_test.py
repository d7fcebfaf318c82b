# SPDX-License-Identifier: Apache-2.0
"""Matmuls, by own kernels and by cuBLASLt."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import BUILD, Worker, compare_all
from small_graph import small_graph


def random(*shape, dtype=np.float32, seed=0):
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * 2).astype(dtype)


SHAPES = {
    "matrices": ((5, 7), (7, 9)),
    "tiles": ((70, 33), (33, 130)),
    "row": ((7,), (7, 9)),
    "column": ((5, 7), (7,)),
    "vectors": ((7,), (7,)),
    "batch": ((3, 5, 7), (3, 7, 9)),
    "right_for_all": ((3, 5, 7), (7, 9)),
    "left_for_all": ((5, 7), (3, 7, 9)),
    "two_batches": ((2, 1, 5, 7), (1, 3, 7, 9)),
    "two_batches_in_whole_words": ((2, 1, 4, 8), (1, 3, 8, 12)),
    "two_batches_along_the_first": ((5, 1, 4, 8), (1, 2, 8, 12)),
    "three_batches": ((2, 1, 3, 4, 8), (1, 4, 1, 8, 4)),
    "more_batches_than_calls": ((66, 1, 2, 4), (1, 65, 4, 4)),
    "one": ((1, 1), (1, 1)),
    "nothing_to_add": ((4, 0), (0, 3)),
    "empty": ((0, 4), (4, 3)),
}


@pytest.fixture(params=["cuda", "cuda_blas"])
def both(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_matmul(both, shapes, dtype):
    a, b = (random(*shape, dtype=dtype, seed=i) for i, shape in enumerate(SHAPES[shapes]))
    compare_all(both, *small_graph("y = MatMul(a, b)", {"a": a, "b": b}), rtol=2e-2 if np.dtype(dtype).itemsize == 2 else 1e-4)


ADDED = {"none": None, "row": (9,), "column": (5, 1), "whole": (5, 9), "scalar": (), "one": (1, 1)}


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("factors", [(1, 1), (0.5, 2), (1.5, 0)])
def test_gemm(both, added, transposed, factors):
    a = random(*((7, 5) if transposed[0] else (5, 7)))
    b = random(*((9, 7) if transposed[1] else (7, 9)))
    feeds = {"a": a, "b": b} | ({} if ADDED[added] is None else {"c": random(*ADDED[added])})
    text = f"y = Gemm<transA={transposed[0]}, transB={transposed[1]}, alpha={factors[0]:.1f}, beta={factors[1]:.1f}>({', '.join(feeds)})"
    compare_all(both, *small_graph(text, feeds), rtol=1e-4)


@pytest.mark.parametrize("behind", ["n = Add(m, c)\n y = Relu(n)", "y = Add(m, d)"])
def test_epilogue_of_a_batch_that_is_broadcast_both_ways(both, behind):
    feeds = {"a": random(2, 1, 4, 8), "b": random(1, 3, 8, 12, seed=1)} | ({"d": random(2, 3, 4, 12, seed=2)} if "d)" in behind else {})
    constants = {"c": random(12, seed=3)} if "c)" in behind else {}
    compare_all(both, *small_graph(f"m = MatMul(a, b)\n {behind}", feeds, constants), rtol=1e-4, atol=1e-4)


def test_small_alphas_are_distinguished(both):
    """They differ behind the sixth decimal digit."""
    feeds = {"a": random(5, 7), "b": random(7, 9)}
    model, feeds = small_graph("y0 = Gemm<alpha=0.0000001>(a, b)\n y1 = Gemm<alpha=0.0000004>(a, b)", feeds)
    _, outputs = both.run(model, feeds)
    for name, factor in (("y0", 1e-7), ("y1", 4e-7)):
        np.testing.assert_allclose(outputs[name], factor * (feeds["a"] @ feeds["b"]), rtol=1e-4)


EPILOGUES = {
    "bias": ("m = MatMul(a, b)\n y = Add(m, c)", "MatMul+Add"),
    "bias_first": ("m = MatMul(a, b)\n y = Add(c, m)", "MatMul+Add"),
    "relu": ("m = MatMul(a, b)\n y = Relu(m)", "MatMul+Relu"),
    "both": ("m = MatMul(a, b)\n n = Add(m, c)\n y = Relu(n)", "MatMul+Add+Relu"),
    "gemm": ("m = Gemm(a, b, c)\n y = Relu(m)", "Gemm+Relu"),
    "gelu": ("m = MatMul(a, b)\n n = Add(m, c)\n y = Gelu<approximate=\"tanh\">(n)", "MatMul+Add+Gelu"),
    "gelu_of_gemm": ("m = Gemm(a, b, c)\n y = Gelu<approximate=\"tanh\">(m)", "Gemm+Gelu"),
    "exact_gelu": ("m = MatMul(a, b)\n n = Add(m, c)\n y = Gelu(n)", "MatMul+Add+Gelu"),
    "addend": ("m = MatMul(a, b)\n n = Add(m, c)\n y = Add(n, d)", "MatMul+Add+Add"),
    "addend_alone": ("m = MatMul(a, b)\n y = Add(d, m)", "MatMul+Add"),
    "addend_and_relu": ("m = MatMul(a, b)\n n = Add(m, c)\n o = Add(d, n)\n y = Relu(o)", "MatMul+Add+Add+Relu"),
    "one_row_for_all": ("m = MatMul(a, b)\n y = Add(m, e)", None),
    "relu_of_the_sum_of_two": ("m = MatMul(a, b)\n n = MatMul(a, b)\n o = Add(m, n)\n y = Relu(o)", None),
    "read_twice": ("m = MatMul(a, b)\n n = Add(m, c)\n y = Mul(m, n)", None),
}


@pytest.mark.parametrize("case", EPILOGUES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_epilogue_is_fused(both, case, dtype):
    text, kernel = EPILOGUES[case]
    feeds = {"a": random(5, 7, dtype=dtype), "b": random(7, 9, dtype=dtype, seed=1)}
    feeds |= {name: random(*shape, dtype=dtype, seed=3) for name, shape in (("d", (5, 9)), ("e", (1, 9))) if f"{name}," in text or f"{name})" in text}
    constants = {"c": random(9, dtype=dtype, seed=2)} if "c" in text.replace("Relu", "") else {}
    kernels = compare_all(both, *small_graph(text, feeds, constants), rtol=2e-2 if dtype == np.float16 else 1e-4, atol=2e-2 if dtype == np.float16 else 1e-4)
    if "Gelu" in text and dtype != np.float16:
        assert not any("MatMul+Add+Gelu" in name or "Gemm+Gelu" in name for name in kernels)  # the library's and tensor cores' are made for 16 bits
    elif kernel:
        assert set(kernels) == {f"cuda.{kernel}"}
    else:
        assert not any(name.startswith("cuda.MatMul+") for name in kernels)


def test_tf32_where_it_is_asked_for(tmp_path):
    """By cuBLASLt: operands are rounded to TF32 with the session's or the provider's option precision, and exact without."""
    a, b = random(20, 30), random(30, 40, seed=1)
    model, feeds = small_graph("y = MatMul(a, b)", {"a": a, "b": b})
    exact = a.astype(np.float64) @ b
    errors = {}
    for name, session, own in (("none", {}, {}), ("session", {"precision": "tf32"}, {}), ("own", {}, {"precision": "tf32"}),
                               ("both", {"precision": "tf32"}, {"precision": "f32"})):
        (tmp_path / name).mkdir()
        worker = Worker(tmp_path / name, BUILD / "tests" / "fake_cuda_blas", session=session, own_kernels=False, **own)
        _, outputs = worker.run(model, feeds)
        worker.close()
        errors[name] = np.abs(outputs["y"] - exact).max() / np.abs(exact).max()
    assert errors["none"] < 1e-6 and errors["both"] < 1e-6
    assert 1e-5 < errors["session"] < 1e-2 and errors["own"] == errors["session"]


def test_a_precision_that_the_device_does_not_take(tmp_path):
    worker = Worker(tmp_path, session={"precision": "bf16"})
    with pytest.raises(RuntimeError, match='no provider of CUDA:0 computes in "bf16"; "cuda" takes f32 and tf32. Leave'):
        worker.run(*small_graph("y = MatMul(a, b)", {"a": random(2, 3), "b": random(3, 4)}))
    worker.close()


FEW = {"row": (1, 64, 72), "rows": (3, 256, 40), "most": (8, 96, 24), "shared_inner": (2, 2048, 16), "shared_inner_of_more_rows": (3, 2048, 16), "longer_inner": (1, 8192, 16), "narrow": (1, 16, 8), "no_whole_tile": (5, 128, 200)}


@pytest.mark.parametrize("shape", FEW)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("lies", ["rows", "columns"])
def test_skinny_gemm(both, shape, dtype, lies):
    """Right operands in either layout, also with extents that are no whole vectors."""
    m, k, n = FEW[shape]
    if lies == "columns":
        n += 1
    feeds = {"a": random(m, k, dtype=dtype), "b": random(*((k, n) if lies == "rows" else (n, k)), dtype=dtype, seed=1) / np.asarray(8, dtype)}
    tolerance = {np.float32: 1e-4, np.float16: 2e-2}.get(dtype, 0.1)
    compare_all(both, *small_graph(f"y = Gemm<transB={int(lies == 'columns')}>(a, b)", feeds), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", ["bias", "both", "gemm", "gelu", "addend", "addend_and_relu"])
@pytest.mark.parametrize("shape", ["rows", "shared_inner"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_epilogue_of_a_skinny_gemm(both, case, shape, dtype):
    m, k, n = FEW[shape]
    text, kernel = EPILOGUES[case]
    feeds = {"a": random(m, k, dtype=dtype), "b": random(k, n, dtype=dtype, seed=1) / np.asarray(8, dtype), "d": random(m, n, dtype=dtype, seed=3)}
    feeds = {name: value for name, value in feeds.items() if name != "d" or "d" in text.replace("Add", "").replace("Gemm", "")}
    kernels = compare_all(both, *small_graph(text, feeds, {"c": random(n, dtype=dtype, seed=2)}), rtol=3e-2 if dtype == np.float16 else 1e-4,
                          atol=3e-2 if dtype == np.float16 else 1e-4)
    if case != "gelu" or dtype == np.float16:
        assert set(kernels) == {f"cuda.{kernel}"}


# Of 16-bit floats by tensor cores: one of each size of tiles, with ends inside of tiles, strips and rows, and few tiles whose
# inner axis is shared.
TILES = {"largest": (136, 48, 520), "two_thirds": (250, 72, 200), "middle": (70, 136, 200), "low": (70, 72, 72), "smallest": (20, 64, 24),
         "no_whole_tile": (9, 8, 8), "shared": (40, 1096, 72)}


@pytest.mark.parametrize("shape", TILES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("lies", ["rows", "columns"])
def test_tiles(both, shape, dtype, lies):
    m, k, n = TILES[shape]
    feeds = {"a": random(m, k, dtype=dtype), "b": random(*((k, n) if lies == "rows" else (n, k)), dtype=dtype, seed=1) / np.asarray(8, dtype)}
    tolerance = 3e-2 if dtype == np.float16 else 0.2
    compare_all(both, *small_graph(f"y = Gemm<transB={int(lies == 'columns')}>(a, b)", feeds), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", [case for case, (_, kernel) in EPILOGUES.items() if kernel])
@pytest.mark.parametrize("shape", ["smallest", "shared"])
def test_epilogue_of_tiles(both, case, shape):
    m, k, n = TILES[shape]
    text, kernel = EPILOGUES[case]
    half = np.float16
    feeds = {"a": random(m, k, dtype=half), "b": random(k, n, dtype=half, seed=1) / half(32), "d": random(m, n, dtype=half, seed=3)}
    feeds = {name: value for name, value in feeds.items() if name != "d" or "d" in text.replace("Add", "").replace("Gemm", "")}
    kernels = compare_all(both, *small_graph(text, feeds, {"c": random(n, dtype=half, seed=2)}), rtol=3e-2, atol=3e-2)
    assert set(kernels) == {f"cuda.{kernel}"}


@pytest.mark.parametrize("added", [(24,), (20, 1), (20, 24), (), (1, 24)])
def test_what_is_added_to_tiles(both, added):
    feeds = {"a": random(20, 40, dtype=np.float16), "b": random(40, 24, dtype=np.float16), "c": random(*added, dtype=np.float16)}
    compare_all(both, *small_graph("y = Gemm<alpha=0.5, beta=2.0>(a, b, c)", feeds), rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("shapes", [((3, 20, 40), (40, 24)), ((3, 20, 40), (3, 40, 24)), ((20, 40), (2, 40, 24)), ((2, 1, 20, 40), (1, 3, 40, 24))])
def test_tiles_of_a_batch(both, shapes):
    a, b = (random(*shape, dtype=np.float16, seed=i) for i, shape in enumerate(shapes))
    compare_all(both, *small_graph("y = MatMul(a, b)", {"a": a, "b": b}), rtol=3e-2, atol=3e-2)


def test_an_infinity_in_tiles(both):
    """Padding of tiles does not contribute."""
    a = random(20, 40, dtype=np.float16)
    a[3, 39] = np.inf
    b = np.abs(random(40, 24, dtype=np.float16)) + np.float16(0.1)
    compare_all(both, *small_graph("y = MatMul(a, b)", {"a": a, "b": b}), rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("batch", [(4, 2), (2, 1), (3, 3)])
def test_skinny_gemm_of_a_batch(both, batch):
    """A batch that shares the right operand is one skinny GEMM, if its rows are few."""
    compare_all(both, *small_graph("y = MatMul(a, b)", {"a": random(*batch, 32), "b": random(32, 24)}), rtol=1e-4, atol=1e-4)


GROUPS = {
    "row": ((1, 1, 64), (72, 16, 24)), "rows": ((2, 3, 32), (16, 40)), "more_than_one_group": ((2, 24), (8, 16, 24, 8, 32)), "many_rows": ((12, 32), (16, 24)),
    "no_whole_vectors": ((2, 24), (8, 7)), "nothing": ((0, 8), (8, 16)),
}


@pytest.mark.parametrize("case", GROUPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_one_left_operand(both, case, dtype):
    """Matmuls of one left operand with several constants are one claim, and if skinny one launch."""
    shape, columns = GROUPS[case]
    constants = {f"w{i}": random(shape[-1], n, dtype=dtype, seed=i) / np.asarray(4, dtype) for i, n in enumerate(columns)}
    text = "\n".join(f"y{i} = MatMul(x, w{i})" for i in range(len(columns)))
    tolerance = 3e-2 if dtype == np.float16 else 1e-4
    kernels = compare_all(both, *small_graph(text, {"x": random(*shape, dtype=dtype)}, constants), rtol=tolerance, atol=tolerance)
    first = "+".join(["MatMul"] * min(len(columns), 4))
    assert kernels[:2] == [f"cuda.{first}"] * 2


@pytest.mark.parametrize("shape", [(2, 3, 32), (1, 1, 32), (40, 32), (2, 20, 32)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("order", ["one_by_one", "products_first"])
def test_one_left_operand_with_biases(both, shape, dtype, order):
    """Queries, keys and values with biases are one claim, in any order of the nodes; one may have no bias."""
    constants = {f"w{i}": random(32, n, dtype=dtype, seed=i) / np.asarray(4, dtype) for i, n in enumerate((16, 40, 8))}
    constants |= {f"b{i}": random(n, dtype=dtype, seed=i + 5) for i, n in ((0, 16), (2, 8))}
    products = ["p0 = MatMul(x, w0)", "y1 = MatMul(x, w1)", "p2 = MatMul(x, w2)"]
    sums = ["y0 = Add(p0, b0)", "y2 = Add(b2, p2)"]
    lines = [*products, *sums[::-1]] if order == "products_first" else [products[0], sums[0], products[1], products[2], sums[1]]
    tolerance = 3e-2 if dtype == np.float16 else 1e-4
    kernels = compare_all(both, *small_graph("\n".join(lines), {"x": random(*shape, dtype=dtype)}, constants), rtol=tolerance, atol=tolerance)
    assert len(set(kernels)) == 1 and sorted(kernels[0][len("cuda."):].split("+")) == ["Add", "Add", "MatMul", "MatMul", "MatMul"]


@pytest.mark.parametrize("rows", [40, 200])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_one_left_operand_of_tiles(both, rows, dtype):
    constants = {f"w{i}": random(136, n, dtype=dtype, seed=i) / np.asarray(4, dtype) for i, n in enumerate((200, 72, 8))}
    tolerance = 3e-2 if dtype == np.float16 else 0.2
    text = "\n".join(f"y{i} = MatMul(x, w{i})" for i in range(3))
    compare_all(both, *small_graph(text, {"x": random(rows, 136, dtype=dtype)}, constants), rtol=tolerance, atol=tolerance)


def test_one_left_operand_of_a_gated_layer(both):
    """A matmul with a further epilogue is fused with that; the others are a group."""
    constants = {"g": random(16, 24), "u": random(16, 24, seed=1), "v": random(16, 8, seed=2), "b": random(8)}
    text = "p = MatMul(x, g)\n s = Sigmoid(p)\n a = Mul(p, s)\n q = MatMul(x, u)\n y = Mul(a, q)\n m = MatMul(x, v)\n n = Add(m, b)\n z = Relu(n)"
    kernels = compare_all(both, *small_graph(text, {"x": random(2, 16)}, constants), rtol=1e-4, atol=1e-4)
    assert kernels.count("cuda.MatMul+MatMul") == 2 and kernels.count("cuda.MatMul+Add+Relu") == 3
