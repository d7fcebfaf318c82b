# SPDX-License-Identifier: Apache-2.0
"""Einsum by matmuls of operands in place, transposed and copied, and by loops over the ranges of its labels."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare_all
from small_graph import small_graph, typed_outputs

EXTENTS = dict(zip("bhijklmn", (2, 3, 5, 7, 4, 6, 8, 1)))
TOLERANCES = {np.float32: 1e-4, np.float64: 1e-11, np.float16: 2e-2, ml_dtypes.bfloat16: 1e-1, np.int32: 0, np.int8: 0, np.uint64: 0}


def random(*shape, dtype=np.float32, seed=0):
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * (1 if np.dtype(dtype).kind in "fV" else 4)).astype(dtype)


def check(worker, equation, shapes, dtype=np.float32):
    names = [f"x{i}" for i in range(len(shapes))]
    feeds = {name: random(*shape, dtype=dtype, seed=i) for i, (name, shape) in enumerate(zip(names, shapes))}
    text = f'y = Einsum<equation="{equation}">({", ".join(names)})'
    tolerance = TOLERANCES[dtype]
    model, feeds = small_graph(text, feeds, opset=28 if dtype == ml_dtypes.bfloat16 else 12)
    assert compare_all(worker, typed_outputs(model, dtype), feeds, rtol=tolerance, atol=tolerance) == ["Einsum"]


def shapes_of(equation):
    return [[EXTENTS[label] for label in term.strip()] for term in equation.split("->")[0].split(",")]


EQUATIONS = [
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ki", "ij,jk->ki", "bij,bjk->bik", "bhij,bhkj->bhik", "bihj,bkhj->bhik", "bij,jk->bik", "ij,bjk->bik",
    "bhij,bkjh->bihk", "ijb,jkb->ikb", "ij,ij->", "ij,ij->i", "ij,ij->ji", "i,j->ij", "i,ij->ij", "ij->ji", "ij->", "ij->i", "ij->j", "ii->i", "iij->ji", "ii->",
    "ij,k->i", "ijk,ljm->iklm", "ij,jk,kl->il", "ij,j,jk->ik", "i,j,k->kji", "ij,jk,ki->", "ij, jk", "bn,nk->bk", "ijkl,klm->ijm", "ijkl,lkm->mij", "nij,njk->nik",
]


@pytest.mark.parametrize("worker", ["cuda", "cuda_blas"])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(worker, equation, request):
    shapes = shapes_of(equation)
    if equation == "ii->i" or equation == "ii->":
        shapes = [[5, 5]]
    check(request.getfixturevalue(worker), equation, shapes)


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("equation", ["bij,bjk->bik", "ij,ij->i", "ij->j", "ij,jk,kl->il"])
def test_types(cuda_blas, equation, dtype):
    check(cuda_blas, equation, shapes_of(equation), dtype)


@pytest.mark.parametrize("equation, shapes", [
    ("...ij,...jk->...ik", [(2, 3, 4, 5), (2, 3, 5, 6)]), ("...ij,...jk->...ik", [(1, 3, 4, 5), (2, 1, 5, 6)]), ("i...,i...->...", [(4, 3, 2), (4, 1, 2)]),
    ("...,...", [(3, 4), (1, 4)]), ("b...i,ij->b...j", [(2, 3, 4, 5), (5, 6)]), ("...->...", [(2, 3)]), ("ij,jk->ik", [(3, 1), (4, 5)]), ("ij,jk->ik", [(3, 0), (0, 5)]),
    ("ij,jk->ik", [(0, 4), (4, 5)]), ("...i->...", [(2, 3, 70)]), ("bij,bij->b", [(2, 40, 50), (2, 40, 50)]),
    ("bqhd,bkhd->bhqk", [(2, 33, 4, 16), (2, 40, 4, 16)]), ("bhqk,bkhd->bqhd", [(2, 4, 33, 40), (2, 40, 4, 16)]), ("bqhd,bkhd->bhqk", [(1, 33, 4, 16), (1, 40, 4, 16)]), ("bhqk,bkhd->bqhd", [(1, 4, 33, 40), (1, 40, 4, 16)]), ("hij,bhjk->bhik", [(3, 4, 5), (2, 3, 5, 6)]),
    ("bij,bhjk->bhik", [(2, 4, 5), (2, 3, 5, 6)]), ("bhij,bhjk->hbik", [(2, 3, 4, 5), (2, 3, 5, 6)]), ("nctkv,kvw->nctw", [(2, 3, 4, 5, 6), (5, 6, 7)]),
])
def test_shapes(cuda_blas, equation, shapes):
    check(cuda_blas, equation, shapes)


def test_equations_that_do_not_fit(cuda):
    x = np.ones((2, 3), np.float32)
    # The extents are left open, so that only the run can know.
    feeds = {"x": (x, ["a", "b"]), "z": (x, ["c", "d"])}
    with pytest.raises(RuntimeError, match=r"input 1 has the shape \[2, 3\], where another says 3 for axis 0"):
        cuda.run(*small_graph('y = Einsum<equation="ij,jk->ik">(x, z)', feeds, opset=12))
    feeds = {"x": x}
    with pytest.raises(RuntimeError, match="equations of more than 8 letters are not supported"):
        cuda.run(*small_graph('y = Einsum<equation="ab,bc,cd,de,ef,fg,gh,hi,ij->aj">(x, x, x, x, x, x, x, x, x)', {"x": np.ones((2, 2), np.float32)}, opset=12))
