# SPDX-License-Identifier: Apache-2.0
"""Steps of networks for sequences: products, normalisations of the last axis, attention, recurrent layers, reductions."""

import numpy as np

from random_models.elementwise import activation, operand_for
from random_models.movement import unsqueeze

WIDTHS = (1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, 48, 64, 65, 100)


def is_rows(value):
    return value.rank >= 2 and 0 < value.array.size < 1 << 15


def rows(b):
    if any(is_rows(value) and value.is_float for value in b.values) and b.chance(0.9):
        return b.pick(is_rows)
    return b.input(b.numbers(*b.one_of((2, 5, 16), (1, 7, 32), (3, 8), (1, 64), (2, 1, 24), (2, 3, 4, 8), (17, 33))))


def product(b, x=None, made=None):
    """With a constant matrix, on either side, or Gemm."""
    x = x or rows(b)
    width = x.shape[-1]
    made = made or b.one_of(*WIDTHS)
    how = b.one_of("MatMul", "MatMul", "MatMul", "Gemm", "batched", "left", "vector")
    if how == "Gemm" and x.rank == 2:
        turned, other = b.chance(0.5), b.chance(0.15)
        width = x.shape[0] if other else width
        w = b.numbers(*((made, width) if turned else (width, made)), scale=1 / np.sqrt(width))
        inputs = [x, b.constant(w)]
        if b.chance(0.8):
            height = x.shape[1] if other else x.shape[0]
            inputs.append(b.constant(b.numbers(*b.one_of((made,), (1, made), (height, 1), (height, made), (1,), ()))))
        return b.add("Gemm", inputs, transB=int(turned), transA=int(other), alpha=b.one_of(None, None, 0.5), beta=b.one_of(None, None, 2.0, 0.0))
    if how == "batched" and x.rank > 2:
        return b.add("MatMul", [x, b.constant(b.numbers(*x.shape[:-2], width, made, scale=1 / np.sqrt(width)))])
    if how == "left":
        return b.add("MatMul", [b.constant(b.numbers(made, x.shape[-2], scale=1 / np.sqrt(x.shape[-2]))), x])
    if how == "vector":
        return b.add("MatMul", [x, b.constant(b.numbers(width, scale=1 / np.sqrt(width)))])
    return b.add("MatMul", [x, b.constant(b.numbers(width, made, scale=1 / np.sqrt(width)))])


def linear(b, x, made):
    w = b.constant(b.numbers(x.shape[-1], made, scale=1 / np.sqrt(x.shape[-1])))
    if x.rank == 2 and b.chance(0.3):
        return b.add("Gemm", [x, w, b.constant(b.numbers(made))])
    y = b.add("MatMul", [x, w])
    if b.chance(0.8):
        bias = b.constant(b.numbers(made))
        y = b.add("Add", [y, bias] if b.chance(0.5) else [bias, y])
    return y


def product_block(b):
    """A product and what stands behind it."""
    y = product(b)
    for _ in range(int(b.rng.integers(0, 4))):
        how = b.one_of("bias", "activation", "binary", "scale")
        if how == "bias" and y.rank:
            y = b.add("Add", [y, b.constant(b.numbers(y.shape[-1]))])
        elif how == "activation" and y.rank:
            y = activation(b, y)
        elif how == "scale":
            y = b.add(b.one_of("Mul", "Div"), [y, b.scalar(b.one_of(0.125, 8, 3.0))])
        else:
            y = b.add(b.one_of("Add", "Mul", "Sub"), [y, operand_for(b, y)])
    return y


def products_of_one(b):
    """Several of one value, as of queries, keys and values, some of equal weights."""
    x = rows(b)
    made = [linear(b, x, b.one_of(8, 16, 16, 5)) for _ in range(b.one_of(2, 3, 3))]
    widths = {y.shape for y in made}
    if len(widths) == 1 and b.chance(0.6):
        return b.add("Mul", [made[0], made[1]])
    return b.add("Concat", made, axis=-1)


def gated(b):
    x = rows(b)
    made = b.one_of(8, 16, 24)
    gate = linear(b, x, made)
    up = linear(b, x, made)
    gate = b.add("Mul", [gate, b.add("Sigmoid", [gate])])
    return linear(b, b.add("Mul", [gate, up]), x.shape[-1])


def reduce(b, op_type, x, axes, keepdims=1, keep=True):
    if b.opset >= 18 or (b.opset >= 13 and op_type == "ReduceSum"):
        return b.add(op_type, [x, b.ints(*axes)], keep=keep, keepdims=keepdims)
    return b.add(op_type, [x], keep=keep, axes=list(axes), keepdims=keepdims)


def layer_normalization(b, x=None):
    x = x or b.pick(lambda value: value.rank >= 1 and 1 < value.shape[-1] and value.array.size)
    width = x.shape[-1]
    if b.opset >= 17 and b.chance(0.4):
        axis = b.one_of(-1, -1, x.rank - 1, -min(2, x.rank))
        shape = x.shape[axis:]
        inputs = [x, b.constant(b.numbers(*shape))] + ([b.constant(b.numbers(*shape))] if b.chance(0.7) else [])
        return b.add("LayerNormalization", inputs, axis=axis, epsilon=b.one_of(None, 1e-3))
    axis = b.one_of(-1, -1, x.rank - 1)
    mean = reduce(b, "ReduceMean", x, [axis])
    difference = b.add("Sub", [x, mean])
    square = b.add("Pow", [difference, b.scalar(2)]) if b.chance(0.6) else b.add("Mul", [difference, difference])
    variance = reduce(b, "ReduceMean", square, [axis])
    y = b.add("Div", [difference, b.add("Sqrt", [b.add("Add", [variance, b.scalar(1e-2)])])])
    if b.chance(0.8):
        scale = b.constant(b.numbers(*b.one_of((width,), (width,), (1, width), (1,))))
        y = b.add("Mul", [y, scale] if b.chance(0.6) else [scale, y])
        if b.chance(0.8):
            shift = b.constant(b.numbers(*b.one_of((width,), (width,), (1, width), (1,))))
            y = b.add("Add", [y, shift] if b.chance(0.6) else [shift, y])
    return y


def root_mean_square(b):
    x = b.pick(lambda value: value.rank >= 1 and value.array.size)
    mean = reduce(b, "ReduceMean", b.add("Pow", [x, b.scalar(2)]) if b.chance(0.7) else b.add("Mul", [x, x]), [-1])
    root = b.add("Sqrt", [b.add("Add", [mean, b.scalar(1e-2)])])
    y = b.add("Mul", [x, b.add("Reciprocal", [root])]) if b.chance(0.5) else b.add("Div", [x, root])
    return b.add("Mul", [b.constant(b.numbers(x.shape[-1])), y])


def softmax(b, x=None):
    x = x or b.pick(lambda value: value.rank >= 1 and value.array.size)
    if b.chance(0.15):
        largest = reduce(b, "ReduceMax", x, [-1])
        y = b.add("Exp", [b.add("Sub", [x, largest])])
        return b.add("Div", [y, reduce(b, "ReduceSum", y, [-1])])
    return b.add(b.one_of("Softmax", "Softmax", "LogSoftmax"), [x], axis=b.one_of(None, -1, int(b.rng.integers(x.rank))))


def heads(b, x, count, each, turned=False):
    batch, length = x.shape[:2]
    shape = b.one_of((0, 0, count, each), (batch, length, count, each), (batch, -1, count, each), (0, 0, count, -1))
    apart = b.add("Reshape", [x, b.ints(*shape)])
    return b.add("Transpose", [apart], perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3])


def mask_for(b, scores):
    batch, _, rows_, columns = scores.shape[-4:]
    shape = b.one_of((rows_, columns), (1, 1, rows_, columns), (batch, 1, 1, columns), (batch, 1, rows_, columns), scores.shape, (columns,), (rows_, 1))
    hidden = np.where(b.rng.random(shape) < 0.3, np.float32(b.one_of(-100, -900)), np.float32(0))
    return b.constant(hidden) if b.chance(0.4) else b.input(hidden)


def attention(b):
    """Of several heads, in the spellings of several exporters."""
    x = b.pick(lambda value: value.rank == 3 and value.array.size) if b.chance(0.6) else b.input(b.numbers(b.one_of(1, 2), b.one_of(1, 3, 8, 17, 33), b.one_of(8, 16, 24)))
    count, each = b.one_of(1, 2, 2, 3, 4), b.one_of(1, 4, 8, 16, 17)
    shared = b.one_of(1, count) if b.chance(0.3) else count  # heads of keys and values
    width = count * each
    if b.chance(0.3) and shared == count:
        all_ = linear(b, x, 3 * width)
        if b.opset >= 13:
            parts = b.add("Split", [all_, b.ints(width, width, width)] if b.chance(0.5) or b.opset < 18 else [all_], outputs=3, axis=-1)
        else:
            parts = b.add("Split", [all_], outputs=3, axis=2)
    else:
        source = x if b.chance(0.8) else b.input(b.numbers(x.shape[0], b.one_of(1, 5, 20), x.shape[2]))
        parts = linear(b, x, width), linear(b, source, shared * each), linear(b, source, shared * each)
    factor = each ** -0.5
    direct = b.chance(0.5) and shared == count
    q, k, v = heads(b, parts[0], count, each), heads(b, parts[1], shared, each, direct), heads(b, parts[2], shared, each)
    if shared != count:
        k, v = repeated(b, k, count), repeated(b, v, count)
    where = b.one_of("scores", "scores", "q", "both", "none", "k")
    if where in ("q", "both"):
        q = b.add("Mul", [q, b.scalar(factor if where == "q" else factor ** 0.5)])
    if where in ("k", "both") :
        k = b.add("Mul", [k, b.scalar(factor if where == "k" else factor ** 0.5)])
    if not direct:
        k = b.add("Transpose", [k], perm=[0, 1, 3, 2])
    scores = b.add("MatMul", [q, k])
    if where == "scores":
        scores = b.add("Div", [scores, b.scalar(1 / factor)]) if b.chance(0.5) else b.add("Mul", [scores, b.scalar(factor)])
    how = b.one_of("add", "add", "where", "none", "none", "two")
    if how in ("add", "two"):
        for _ in range(2 if how == "two" else 1):
            mask = mask_for(b, scores)
            scores = b.add("Add", [scores, mask] if b.chance(0.7) else [mask, scores])
    elif how == "where":
        seen = np.tril(np.ones(scores.shape[-2:], bool), scores.shape[-1] - scores.shape[-2])
        seen[:, 0] = True
        kept = b.constant(seen if b.chance(0.5) else seen[None, None])
        scores = b.add("Where", [kept, scores, b.scalar(-900)])
    weights = b.add("Softmax", [scores], axis=-1 if b.chance(0.7) else 3)
    if b.chance(0.2):
        weights = b.add("Dropout", [weights])
    y = b.add("MatMul", [weights, v])
    y = b.add("Transpose", [y], perm=[0, 2, 1, 3])
    y = b.add("Reshape", [y, b.ints(0, 0, width) if b.chance(0.5) else b.ints(x.shape[0], -1, width)])
    y = linear(b, y, x.shape[2])
    return b.add("Add", [x, y] if b.chance(0.5) else [y, x]) if b.chance(0.6) else y


def repeated(b, x, count):
    """Heads of keys that several heads of queries share, as exporters write it."""
    batch, shared, length, each = x.shape
    y = unsqueeze(b, x, [2])
    y = b.add("Expand", [y, b.ints(batch, shared, count // shared, length, each)])
    return b.add("Reshape", [y, b.ints(batch, count, length, each)])


def two_tensors(b):
    """A product of two values that are no constants."""
    x = b.pick(lambda value: value.rank >= 2 and 0 < value.array.size < 5000)
    y = b.add("Transpose", [x], perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])
    if b.chance(0.3):
        y = b.add("Tanh", [y])
    z = b.add("MatMul", [x, y] if b.chance(0.5) else [y, x])
    return b.add("Mul", [z, b.scalar(0.1)]) if b.chance(0.7) else z


def large_products(b):
    """Of two values, as large as those of attention without what makes it one."""
    outer = b.one_of((), (2,), (1, 4), (2, 3))
    rows_, inner, columns = b.one_of(64, 100, 130), b.one_of(64, 65), b.one_of(96, 128)
    x = b.input(b.numbers(*outer, rows_, inner))
    y = b.input(b.numbers(*(outer if b.chance(0.7) else outer[1:]), inner, columns, scale=inner ** -0.5))
    if not outer and b.chance(0.4):
        z = b.add("Gemm", [x, y, b.constant(b.numbers(columns))])
    else:
        z = b.add("MatMul", [x, y])
    for _ in range(b.one_of(0, 1, 2)):
        z = activation(b, z) if b.chance(0.5) else b.add("Add", [z, operand_for(b, z)])
    return b.add("Softmax", [z], axis=-1) if b.chance(0.3) else z


def einsum(b):
    x = b.pick(lambda value: value.rank == 3 and 0 < value.array.size < 5000)
    n, s, d = x.shape
    how = int(b.rng.integers(4))
    if how == 0:
        return b.add("Einsum", [x, b.constant(b.numbers(d, 6, scale=0.3))], equation="bsd,dk->bsk")
    if how == 1:
        return b.add("Einsum", [x, x], equation="bsd,btd->bst")
    if how == 2:
        return b.add("Einsum", [x], equation="bsd->dbs")
    return b.add("Einsum", [x, b.constant(b.numbers(n, 5, s, scale=0.3))], equation="bsd,bks->bkd")


def reduction(b):
    x = b.pick(lambda value: value.rank >= 1 and value.array.size)
    op_type = b.one_of("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare", "ReduceL1", "ReduceLogSumExp")
    axes = sorted(int(i) for i in b.rng.permutation(x.rank)[:int(b.rng.integers(1, x.rank + 1))])
    if b.chance(0.3):
        axes = [axis - x.rank for axis in axes]
    if b.chance(0.1):
        return b.add(op_type, [x], keepdims=b.one_of(0, 1))
    return reduce(b, op_type, x, axes, b.one_of(0, 1))


def running(b):
    x = b.pick(lambda value: value.rank >= 1 and value.array.size)
    axis = int(b.rng.integers(x.rank))
    if b.chance(0.5):
        return b.add("CumSum", [x, b.constant(np.array(axis, np.int64))], exclusive=b.one_of(None, 1), reverse=b.one_of(None, 1))
    values, _ = b.add("TopK", [x, b.ints(max(1, x.shape[axis] // 2))], outputs=2, axis=axis, largest=b.one_of(1, 0))
    return values


def recurrent(b):
    fits = lambda value: value.rank == 3 and 0 < value.array.size < 4000
    x = b.pick(fits) if b.chance(0.5) else b.input(b.numbers(b.one_of(1, 2, 7, 20), b.one_of(1, 1, 3), b.one_of(1, 8, 17, 40)))
    op_type = b.one_of("LSTM", "GRU", "RNN")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
    steps, batch, width = x.shape
    layout = 1 if b.opset >= 14 and b.chance(0.1) else None
    if layout:
        steps, batch = batch, steps
    units = b.one_of(1, 3, 8, 16, 17, 32)
    direction = b.one_of(None, "forward", "reverse", "bidirectional")
    count = 2 if direction == "bidirectional" else 1
    constant = lambda *shape: b.constant(b.numbers(*shape, scale=0.4))
    state = lambda: constant(*((batch, count, units) if layout else (count, batch, units))) if b.chance(0.4) else None
    inputs = [x, constant(count, gates * units, width), constant(count, gates * units, units), constant(count, 2 * gates * units) if b.chance(0.7) else None,
              b.constant(b.rng.integers(1, steps + 1, batch).astype(np.int32)) if b.chance(0.25) else None, state()]
    if op_type == "LSTM":
        inputs += [state(), constant(count, 3 * units) if b.chance(0.2) else None]
    while inputs[-1] is None:
        inputs.pop()
    given = {"hidden_size": units, "direction": direction, "layout": layout}
    if op_type == "GRU":
        given["linear_before_reset"] = b.one_of(None, 0, 1)
    if b.chance(0.15):
        given["clip"] = 0.5
    if op_type == "LSTM" and b.chance(0.1):
        given["input_forget"] = 1
    made = b.add(op_type, inputs, outputs=3 if op_type == "LSTM" else 2, **given)
    if layout:
        return made[0]
    y = b.add("Transpose", [made[0]], perm=[0, 2, 1, 3])
    return b.add("Reshape", [y, b.ints(0, 0, -1)])


STEPS = {product: 2, product_block: 4, products_of_one: 1.5, gated: 1, layer_normalization: 2, root_mean_square: 1, softmax: 1.5, attention: 3, two_tensors: 1, large_products: 0.5, einsum: 0.7, reduction: 1.5,
         running: 0.7, recurrent: 2.5}
