# SPDX-License-Identifier: Apache-2.0
"""Steps in whole numbers and truths, as of masks, places and shapes, on their way from floats and back."""

import numpy as np


def whole(b):
    """A chain of int32 or int64."""
    x = b.pick(lambda value: value.array.size < 1 << 14)
    kind, dtype = b.one_of((6, np.int32), (7, np.int64))
    y = b.add("Cast", [b.add("Mul", [x, b.scalar(20)])], keep=False, to=kind)
    for _ in range(int(b.rng.integers(1, 5))):
        how = b.one_of("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Abs", "Neg", "Where", "Clip", "CumSum", "ReduceSum", "Sign")
        if how in ("Abs", "Neg", "Sign"):
            y = b.add(how, [y], keep=False)
        elif how == "Where":
            y = b.add(how, [b.add("Greater", [y, b.constant(np.array(3, dtype))], keep=False), y, b.constant(np.array(-1, dtype))], keep=False)
        elif how == "Clip":
            y = b.add(how, [y, b.constant(np.array(-9, dtype)), b.constant(np.array(50, dtype))], keep=False)
        elif how in ("CumSum", "ReduceSum"):
            if not y.rank:
                continue
            axis = b.constant(np.array(y.rank - 1, np.int64)) if how == "CumSum" else b.ints(y.rank - 1)
            y = b.add(how, [y, axis], keep=False)
        elif how in ("Max", "Min") and b.chance(0.5):
            y = b.add(how, [y, b.constant(np.array(2, dtype)), y], keep=False)
        else:
            y = b.add(how, [y, b.constant(np.array(b.one_of(2, 3, 7, -5), dtype))], keep=False)
    if b.chance(0.3):
        return b.add("Cast", [b.add("Equal", [y, b.constant(np.array(0, dtype))], keep=False)], to=1)
    return b.add("Mul", [b.add("Cast", [y], keep=False, to=1), b.scalar(0.01)])


def truths(b):
    x = b.pick(lambda value: value.array.size < 1 << 14)
    first = b.add(b.one_of("Less", "GreaterOrEqual"), [x, b.scalar(0.2)], keep=False)
    second = b.add("Greater", [x, b.scalar(-0.7)], keep=False)
    joined = b.add(b.one_of("And", "Or", "Xor"), [first, second], keep=False)
    if b.chance(0.4):
        joined = b.add("Not", [joined], keep=False)
    return b.add("Cast", [joined], to=1) if b.chance(0.5) else b.add("Where", [joined, x, b.scalar(b.one_of(0, -1))])


def places(b):
    """Rows of a table by numbers that the run brings or computes."""
    x = b.pick(lambda value: value.rank >= 1 and value.array.size)
    indices = b.add("ArgMax", [x], keep=False, axis=-1, keepdims=b.one_of(0, 1))
    table = b.constant(b.numbers(x.shape[-1], b.one_of(1, 4, 9)))
    return b.add("Gather", [table, indices], axis=0)


def doubles(b):
    x = b.add("Cast", [b.pick(lambda value: value.array.size < 1 << 14)], keep=False, to=11)
    for _ in range(int(b.rng.integers(1, 4))):
        x = b.add(b.one_of("Tanh", "Exp", "Abs", "Neg", "Relu", "Sqrt") if b.chance(0.4) else "Identity", [x], keep=False)
        x = b.add(b.one_of("Add", "Mul", "Sub"), [x, b.constant(np.array(0.7))], keep=False)
    return b.add("Cast", [x], to=1)


STEPS = {whole: 2, truths: 1.5, places: 0.7, doubles: 0.7}
