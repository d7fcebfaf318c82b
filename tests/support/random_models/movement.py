# SPDX-License-Identifier: Apache-2.0
"""Steps that move elements: their kernels make views, work in place, or are removed."""

import numpy as np


def _has_rank(least):
    return lambda value: value.rank >= least and value.array.size


def _axis(b, x):
    axis = int(b.rng.integers(x.rank))
    return axis - x.rank if b.chance(0.3) else axis


def transpose(b, x=None):
    x = x or b.pick(_has_rank(2))
    perm = [int(i) for i in b.rng.permutation(x.rank)]
    if b.chance(0.4):
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    if x.rank == 4 and b.chance(0.4):
        perm = b.one_of([0, 2, 3, 1], [0, 3, 1, 2], [0, 2, 1, 3])
    return b.add("Transpose", [x], perm=perm if b.chance(0.9) else None)


def _split_extent(b, count):
    factors = [f for f in range(1, count + 1) if count % f == 0]
    first = factors[int(b.rng.integers(len(factors)))]
    return first, count // first


def reshape(b, x=None):
    x = x or b.pick(_has_rank(1))
    shape = list(x.shape)
    for _ in range(int(b.rng.integers(1, 3))):
        at = int(b.rng.integers(len(shape)))
        if b.chance(0.5) and len(shape) > 1:
            at = min(at, len(shape) - 2)
            shape[at:at + 2] = [shape[at] * shape[at + 1]]
        else:
            shape[at:at + 1] = _split_extent(b, shape[at])
    wanted = list(shape)
    for at in range(min(len(shape), x.rank)):
        if shape[at] == x.shape[at] and b.chance(0.4):
            wanted[at] = 0
    if b.chance(0.4):
        wanted[int(b.rng.integers(len(wanted)))] = -1
    return b.add("Reshape", [x, b.ints(*wanted)])


def reshape_by_shape(b):
    """The shape computed from another one's, as tracing exporters write it."""
    x = b.pick(_has_rank(2))
    shape = b.add("Shape", [x], keep=False)
    first = b.add("Gather", [shape, b.constant(np.array(0, np.int64))], keep=False, axis=0)
    axes = b.ints(0)
    first = b.add("Unsqueeze", [first, axes], keep=False) if b.opset >= 13 else b.add("Unsqueeze", [first], keep=False, axes=[0])
    rest = _split_extent(b, int(np.prod(x.shape[1:])))
    wanted = b.add("Concat", [first, b.ints(rest[0]), b.ints(-1 if b.chance(0.5) else rest[1])], keep=False, axis=0)
    return b.add("Reshape", [x, wanted])


def flatten(b):
    x = b.pick(_has_rank(1))
    return b.add("Flatten", [x], axis=int(b.rng.integers(-x.rank, x.rank + 1)))


def squeeze_and_unsqueeze(b):
    x = b.pick(lambda value: value.rank < 6)
    count = int(b.rng.integers(1, 3))
    axes = sorted(int(i) for i in b.rng.permutation(x.rank + count)[:count])
    y = unsqueeze(b, x, axes)
    if b.chance(0.4):
        return b.add("Squeeze", [y, b.ints(*axes)]) if b.opset >= 13 else b.add("Squeeze", [y], axes=axes)
    return y


def unsqueeze(b, x, axes):
    return b.add("Unsqueeze", [x, b.ints(*axes)]) if b.opset >= 13 else b.add("Unsqueeze", [x], axes=list(axes))


def slice_(b, x=None):
    x = x or b.pick(_has_rank(1))
    axes = sorted(int(i) for i in b.rng.permutation(x.rank)[:int(b.rng.integers(1, min(x.rank, 2) + 1))])
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = x.shape[axis]
        step = b.one_of(1, 1, 1, 2, -1, 3, -2)
        low, high = sorted(int(i) for i in b.rng.integers(0, extent + 1, 2))
        low, high = (0, max(1, extent // 2)) if low == high and b.chance(0.9) else (low, high)
        if step < 0:
            low, high = high - 1, (low - 1 if low > 0 else -(1 << 62))
        elif b.chance(0.2):
            high = (1 << 63) - 1
        elif b.chance(0.2):
            low = low - extent
        starts, ends, steps = [*starts, low], [*ends, high], [*steps, step]
    inputs = [x, b.ints(*starts), b.ints(*ends)]
    if axes != list(range(len(axes))) or any(step != 1 for step in steps) or b.chance(0.7):
        inputs += [b.ints(*(axis - x.rank if b.chance(0.3) else axis for axis in axes)), b.ints(*steps)]
    return b.add("Slice", inputs)


def split(b, x=None):
    """Apart, each part worked on or not, and often together again."""
    x = x or b.pick(_has_rank(1))
    axis = _axis(b, x)
    extent = x.shape[axis]
    count = min(b.one_of(2, 2, 3, 4), extent)
    if count < 2:
        return None
    if extent % count == 0 and b.chance(0.6):
        parts = b.add("Split", [x], outputs=count, axis=axis, num_outputs=count if b.opset >= 18 else None)
    else:
        cuts = sorted(int(i) for i in b.rng.integers(0 if b.chance(0.1) else 1, extent, count - 1))
        sizes = [int(n) for n in np.diff([0, *cuts, extent])]
        if b.opset >= 13:
            parts = b.add("Split", [x, b.ints(*sizes)], outputs=count, axis=axis)
        else:
            parts = b.add("Split", [x], outputs=count, axis=axis, split=sizes)
    if b.chance(0.3):
        return parts[-1]
    parts = [b.add(b.one_of("Relu", "Neg", "Sigmoid", "Abs"), [part]) if b.chance(0.4) else part for part in parts]
    if b.chance(0.2):
        parts = [parts[int(i)] for i in b.rng.integers(0, len(parts), len(parts) + 1)]
    elif b.chance(0.3):
        parts = parts[::-1]
    return b.add("Concat", parts, axis=axis)


def concat(b, x=None):
    x = x or b.pick(_has_rank(1))
    axis = _axis(b, x)
    at = axis % x.rank
    fits = [v for v in b.values if v.is_float and v.rank == x.rank and all(v.shape[i] == x.shape[i] for i in range(x.rank) if i != at)]
    parts = [x]
    for _ in range(int(b.rng.integers(1, 4))):
        if b.chance(0.3):
            shape = list(x.shape)
            shape[at] = b.one_of(1, 2, 5)
            parts.append(b.constant(b.numbers(*shape)))
        else:
            parts.append(fits[int(b.rng.integers(len(fits)))])
    return b.add("Concat", [parts[int(i)] for i in b.rng.permutation(len(parts))], axis=axis)


def gather(b, x=None):
    x = x or b.pick(_has_rank(1))
    axis = _axis(b, x)
    extent = x.shape[axis]
    shape = b.one_of((), (1,), (3,), (2, 2), (extent,), (1, 1))
    indices = b.rng.integers(-extent, extent, shape)
    if b.chance(0.2):
        indices = np.arange(extent)[::b.one_of(1, -1)]
    return b.add("Gather", [x, b.constant(np.asarray(indices).astype(b.one_of(np.int64, np.int32)))], axis=axis)


def expand(b):
    x = b.pick(lambda value: value.array.size < 2000)
    shape = [b.one_of(2, 3) if extent == 1 and b.chance(0.6) else (1 if b.chance(0.3) else extent) for extent in x.shape]
    if b.chance(0.3):
        shape = [b.one_of(1, 2), *shape]
    return b.add("Expand", [x, b.ints(*shape)])


def tile(b):
    x = b.pick(lambda value: 0 < value.array.size < 2000 and value.rank)
    return b.add("Tile", [x, b.ints(*(b.one_of(1, 1, 2, 3) for _ in range(x.rank)))])


def pad(b, x=None):
    x = x or b.pick(_has_rank(1))
    mode = b.one_of(None, "constant", "edge", "reflect")
    pads = [b.one_of(0, 0, 1, 2) for _ in range(2 * x.rank)]
    if mode in (None, "constant") and b.chance(0.2):
        pads[int(b.rng.integers(len(pads)))] = -1
    inputs = [x, b.ints(*pads)]
    if b.chance(0.4):
        inputs.append(b.constant(np.float32(b.one_of(0, 1.5))))
    return b.add("Pad", inputs, mode=mode)


def shuffle(b):
    x = b.pick(lambda value: value.rank == 4 and value.shape[1] > 1 and value.array.size)
    n, c, h, w = x.shape
    groups, rest = _split_extent(b, c)
    apart = b.add("Reshape", [x, b.ints(n, groups, rest, h, w)])
    turned = b.add("Transpose", [apart], perm=[0, 2, 1, 3, 4])
    return b.add("Reshape", [turned, b.ints(n, c, h, w) if b.chance(0.5) else b.ints(n, -1, h, w)])


def depth_and_space(b):
    x = b.pick(lambda value: value.rank == 4 and value.array.size)
    return b.add(b.one_of("DepthToSpace", "SpaceToDepth"), [x], blocksize=2, **({}))


def scatter(b):
    x = b.pick(lambda value: value.rank >= 2 and value.shape[0] > 1 and value.array.size)
    if b.chance(0.5):
        rows = b.rng.permutation(x.shape[0])[:2].reshape(2, 1)
        return b.add("ScatterND", [x, b.constant(rows.astype(np.int64)), b.constant(b.numbers(2, *x.shape[1:]))])
    return b.add("GatherElements", [x, b.constant(b.rng.integers(0, x.shape[0], (2, *x.shape[1:])))], axis=0)


def there_and_back(b):
    """A Transpose or a Reshape that a later one takes back, with element-wise nodes between."""
    x = b.pick(_has_rank(2))
    perm = [int(i) for i in b.rng.permutation(x.rank)]
    y = b.add("Transpose", [x], perm=perm)
    if b.chance(0.7):
        y = b.add(b.one_of("Relu", "Tanh"), [y])
    if b.chance(0.5):
        y = b.add("Add", [y, b.constant(b.numbers(y.shape[-1]))])
    return b.add("Transpose", [y], perm=[int(i) for i in np.argsort(perm)])


STEPS = {transpose: 2, reshape: 2, reshape_by_shape: 1, flatten: 0.5, squeeze_and_unsqueeze: 1, slice_: 2, split: 2, concat: 2, gather: 1, expand: 0.7, tile: 0.5, pad: 1, shuffle: 1,
         depth_and_space: 0.7, scatter: 0.5, there_and_back: 1}
