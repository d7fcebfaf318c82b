# SPDX-License-Identifier: Apache-2.0
"""Steps of element-wise nodes, and exporters' spellings that are made of such."""

import numpy as np

UNARY = {
    "Relu": {}, "Sigmoid": {}, "Tanh": {}, "Neg": {}, "Abs": {}, "Erf": {}, "HardSwish": {}, "Softplus": {}, "Softsign": {}, "Selu": {}, "Sin": {}, "Cos": {}, "Identity": {}, "Exp": {},
    "LeakyRelu": {"alpha": (None, 0.2, 0.0, -0.5)}, "Elu": {"alpha": (None, 0.3)}, "HardSigmoid": {"alpha": (None, 0.3), "beta": (None, 0.1)}, "Celu": {"alpha": (None, 2.0)},
    "ThresholdedRelu": {"alpha": (None, 0.1)}, "Gelu": {"approximate": (None, "tanh")}, "Mish": {},
}


def unary(b, x=None):
    op_type = b.one_of(*UNARY)
    return b.add(op_type, [x or b.pick()], **{name: b.one_of(*choices) for name, choices in UNARY[op_type].items()})


def activation(b, x):
    """Of those that fuse behind convolutions and products."""
    how = b.one_of("Relu", "Relu", "Relu", "Clip", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "silu", "hard_swish", "HardSwish", "HardSigmoid", "PRelu", "Elu", "gelu", "Mish", "min_max", "other")
    if how == "Clip":
        return clip(b, x)
    if how == "silu":
        return silu(b, x)
    if how == "hard_swish":
        return hard_swish(b, x)
    if how == "gelu":
        return gelu(b, x)
    if how == "PRelu":
        return b.add("PRelu", [x, b.constant(b.numbers(*b.one_of((1,), (x.shape[1], *(1,) * (x.rank - 2)) if x.rank > 1 else (1,))))])
    if how == "min_max":
        low = b.add("Max", [x, b.scalar(b.one_of(0, -0.5))])
        return b.add("Min", [low, b.scalar(b.one_of(6, 0.5))])
    if how == "other":
        return unary(b, x)
    return b.add(how, [x], **({"alpha": b.one_of(0.1, 0.3)} if how in ("LeakyRelu", "HardSigmoid", "Elu") else {}))


def clip(b, x=None):
    x = x or b.pick()
    low, high = b.one_of((0, 6), (0, 1), (-0.5, 0.5), (None, 0.3), (0, None), (None, None), (1, 6), (-1, 0))
    bound = lambda number: None if number is None else b.constant(np.float32(number))
    return b.add("Clip", [x, bound(low), bound(high)] if high is not None or b.chance(0.5) else [x, bound(low)])


def silu(b, x=None):
    x = x or b.pick()
    scaled = b.add("Mul", [x, b.scalar(1.702)]) if b.chance(0.2) else x
    gate = b.add("Sigmoid", [scaled])
    return b.add("Mul", [x, gate] if b.chance(0.5) else [gate, x])


def hard_swish(b, x=None):
    x = x or b.pick()
    three = b.scalar(3)
    moved = b.add("Add", [x, three] if b.chance(0.7) else [three, x])
    clipped = b.add("Clip", [moved, b.constant(np.float32(0)), b.constant(np.float32(6))])
    if b.chance(0.3):
        gate = b.add("Div", [clipped, b.scalar(6)])
        return b.add("Mul", [x, gate]) if b.chance(0.7) else gate
    product = b.add("Mul", [x, clipped] if b.chance(0.5) else [clipped, x])
    return b.add("Div", [product, b.scalar(6)]) if b.chance(0.6) else b.add("Mul", [product, b.scalar(1 / 6)])


def gelu(b, x=None):
    x = x or b.pick()
    if b.chance(0.6):
        scaled = b.add("Div", [x, b.scalar(np.sqrt(2))]) if b.chance(0.7) else b.add("Mul", [x, b.scalar(np.sqrt(0.5))])
        bell = b.add("Erf", [scaled])
    else:
        cube = b.add("Pow", [x, b.scalar(3)]) if b.chance(0.6) else b.add("Mul", [b.add("Mul", [x, x]), x])
        sum_ = b.add("Add", [x, b.add("Mul", [cube, b.scalar(0.044715)])])
        bell = b.add("Tanh", [b.add("Mul", [sum_, b.scalar(np.sqrt(2 / np.pi))])])
    sum_ = b.add("Add", [bell, b.scalar(1)] if b.chance(0.7) else [b.scalar(1), bell])
    how = int(b.rng.integers(3))
    if how == 0:
        return b.add("Mul", [b.add("Mul", [x, sum_]), b.scalar(0.5)])
    if how == 1:
        return b.add("Mul", [b.add("Mul", [x, b.scalar(0.5)]), sum_])
    return b.add("Mul", [x, b.add("Mul", [sum_, b.scalar(0.5)])])


def operand_for(b, x):
    """Something that broadcasts with x: a constant, x itself, or another value."""
    how = b.rng.random()
    if how < 0.15:
        return x
    if how < 0.6:
        found = [v for v in b.values if v.is_float and _broadcasts(v.shape, x.shape)]
        if found:
            return found[int(b.rng.integers(len(found)))]
    shape = [extent if b.chance(0.5) else 1 for extent in x.shape]
    if b.chance(0.4):
        shape = [1] * x.rank
        if x.rank:
            at = int(b.rng.integers(x.rank))
            shape[at] = x.shape[at]
    while shape and shape[0] == 1 and b.chance(0.5):
        shape = shape[1:]
    if b.chance(0.05):
        shape = [1, *shape]
    return b.constant(b.numbers(*shape)) if b.chance(0.7) or len(b.inputs) > 4 else b.input(b.numbers(*shape))


def _broadcasts(a, b):
    try:
        return np.prod(np.broadcast_shapes(a, b)) < 1 << 15
    except ValueError:
        return False


def binary(b, x=None):
    x = x or b.pick()
    op_type = b.one_of("Add", "Add", "Add", "Mul", "Mul", "Sub", "Sub", "Max", "Min", "Div", "Sum", "Mean", "PRelu", "Where", "Pow", "three")
    other = operand_for(b, x)
    if op_type == "PRelu" and np.broadcast_shapes(other.shape, x.shape) != x.shape:
        op_type = "Add"
    if op_type == "Div":
        other = b.add("Add", [b.add("Abs", [other]), b.scalar(0.5)])
    if op_type == "Pow":
        return b.add("Pow", [b.add("Abs", [x]), b.scalar(b.one_of(0.5, 1.5, 2, 1, 0))]) if b.chance(0.4) else b.add("Pow", [x, b.scalar(b.one_of(2, 3, 1, 2.0))])
    if op_type == "Where":
        condition = b.add(b.one_of("Greater", "Less", "GreaterOrEqual", "Equal"), [x, b.scalar(0.1) if b.chance(0.5) else other], keep=False)
        if b.chance(0.3):
            condition = b.add("Not", [condition], keep=False)
        return b.add("Where", [condition, x, other] if b.chance(0.5) else [condition, b.scalar(b.one_of(0, -10)), x])
    if op_type == "three":
        return b.add(b.one_of("Sum", "Max", "Min", "Mean"), [x, other, operand_for(b, x)])
    return b.add(op_type, [x, other] if b.chance(0.6) or op_type == "PRelu" else [other, x])


def narrow_cast(b):
    """There and back through another type."""
    x = b.pick()
    kind = b.one_of(11, 10, 7, 6, 16)
    if kind in (6, 7):
        x = b.add("Mul", [x, b.scalar(8)])
    there = b.add("Cast", [x], keep=False, to=kind)
    if kind in (7, 6) and b.chance(0.5):
        there = b.add(b.one_of("Add", "Mul", "Sub"), [there, there], keep=False)
    if kind == 11 and b.chance(0.5):
        there = b.add(b.one_of("Exp", "Tanh", "Abs", "Neg"), [there], keep=False)
    return b.add("Cast", [there], to=1)


def dropout(b):
    x = b.pick()
    return b.add("Dropout", [x] if b.chance(0.5) else [x, b.constant(np.float32(0.4))])


def chain(b):
    """Several in a row, each of the last but one or of the last."""
    x = b.pick()
    for _ in range(int(b.rng.integers(2, 7))):
        x = unary(b, x) if b.chance(0.4) else binary(b, x)


STEPS = {unary: 2, binary: 4, chain: 3, clip: 1, silu: 1, hard_swish: 1, gelu: 1, narrow_cast: 1, dropout: 0.3}
