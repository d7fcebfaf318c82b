# SPDX-License-Identifier: Apache-2.0
"""Einsum against numpy.einsum: every form of a term, and every type."""

import numpy as np
import pytest
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry

import gantry

EQUATIONS = [
    ("ij->ji", [(3, 4)]),
    ("ij", [(3, 4)]),
    ("ba", [(3, 4)]),  # implied output ab
    ("ij->", [(3, 4)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("iji->j", [(3, 4, 3)]),
    ("...ii->...i", [(2, 3, 5, 5)]),
    ("i,i", [(5,), (5,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 5, 4), (2, 3, 6, 4)]),
    ("bqhd,bkhd->bhqk", [(2, 5, 3, 4), (2, 6, 3, 4)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (1, 6, 4, 5)]),
    ("ij,ij->ij", [(30, 40), (30, 40)]),
    ("ij,ij->j", [(3, 4), (3, 4)]),
    ("ij,kj->", [(3, 4), (5, 4)]),
    ("ab,bc,cd->ad", [(3, 4), (4, 5), (5, 6)]),
    ("abc,cd,be->ade", [(2, 3, 4), (4, 5), (3, 6)]),
    (" i j , j k -> k i ", [(3, 4), (4, 5)]),
    ("Ab,bA->A", [(3, 4), (4, 3)]),
    ("i...->...", [(3, 4, 5)]),
    ("i...,i...->i...", [(3, 4, 5), (3, 1, 5)]),
    (",ij->ij", [(), (2, 3)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    ("ij,jk->ik", [(0, 4), (4, 5)]),
    ("ij,jk->ik", [(130, 70), (70, 90)]),
    ("bij,bjk->bki", [(40, 5, 6), (40, 6, 7)]),
]


def numbers(shape, name, seed=0):
    rng = np.random.default_rng(seed)
    if name in ("float", "double", "float16", "bfloat16"):
        return np.asarray(rng.normal(size=shape)).astype(NUMPY_OF[name])
    return np.asarray(rng.integers(0, 9, shape)).astype(NUMPY_OF[name])


def run(equation, inputs):
    model, feeds = node_model("Einsum", inputs, [element_type(inputs[0])], 28 if inputs[0].dtype.name == "bfloat16" else 12, {"equation": equation})
    return run_gantry(model, feeds)[0]


@pytest.mark.parametrize("equation, shapes", EQUATIONS)
def test_equations(equation, shapes):
    inputs = [numbers(shape, "double", i) for i, shape in enumerate(shapes)]
    compare(run(equation, inputs), np.asarray(np.einsum(equation, *inputs)), 1e-9, 1e-9)


@pytest.mark.parametrize("name", ["float", "double", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_types(name):
    inputs = [numbers((2, 5, 6), name), numbers((2, 6, 4), name, 1), numbers((4,), name, 2)]
    wide = [x.astype(np.float64 if inputs[0].dtype.kind in "fV" else np.int64) for x in inputs]
    expected = np.einsum("bij,bjk,k->bik", *wide).astype(inputs[0].dtype)
    compare(run("bij,bjk,k->bik", inputs), expected, *{"float16": (2e-2, 2e-2), "bfloat16": (5e-2, 1e-1), "float": (1e-4, 1e-5)}.get(name, (1e-12, 0)))


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "letter stands for 3|ncompatible|nconsistent"),
        ("ij->ij", [(2, 3, 4)], "names 2 axes|rank|ank"),
        ("ij->k", [(2, 3)], "missing from the inputs|no input has"),
        ("i,j->ij", [(2,)], "2 terms for 1 inputs|umber of"),
        ("i1->i", [(2, 3)], "no list of letters|does not match the equation"),
    ],
)
def test_what_does_not_fit_is_said(equation, shapes, message):
    with pytest.raises(gantry.Error, match=message):
        run(equation, [numbers(shape, "float") for shape in shapes])
