# SPDX-License-Identifier: Apache-2.0
"""Steps of networks for images: convolutions with what stands around them, pools, normalisations by channel."""

import numpy as np

from random_models.builder import Unusable
from random_models.elementwise import activation, operand_for

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 16, 17, 24, 32, 32, 33, 48, 64)


def is_image(value):
    return 3 <= value.rank <= 5 and 0 < value.array.size < 1 << 18


def image(b):
    """A value with channels and an extent or two; a new one if there is none."""
    found = [value for value in b.values if value.is_float and is_image(value)]
    if found and b.chance(0.9):
        return b.pick(is_image)
    if b.chance(0.08):  # of several blocks of every kernel
        return b.input(b.numbers(1, b.one_of(3, 40, 64, 96, 128), *[b.one_of(28, 33, 40)] * 2))
    extents = [b.one_of(1, 2, 3, 5, 7, 8, 9, 13, 16, 20) for _ in range(b.one_of(2, 2, 2, 2, 1, 3))]
    if len(extents) == 3:
        extents = [min(extent, 6) for extent in extents]
    return b.input(b.numbers(b.one_of(1, 1, 2, 3), b.one_of(*CHANNELS), *extents))


def window(b, extents, most=5):
    """Attributes of a window, now and then unusual ones."""
    rank = len(extents)
    same = b.chance(0.75)
    size = b.one_of(1, 1, 3, 3, 3, 2, 5, 7)
    kernel = [size if same else b.one_of(1, 2, 3) for _ in range(rank)]
    kernel = [min(k, most, max(1, extent + 2)) for k, extent in zip(kernel, extents, strict=True)]
    given = {"kernel_shape": kernel}
    if b.chance(0.35):
        given["strides"] = [b.one_of(1, 2, 2, 3)] * rank if b.chance(0.8) else [b.one_of(1, 2, 3) for _ in range(rank)]
    if b.chance(0.15):
        given["dilations"] = [b.one_of(1, 2)] * rank if b.chance(0.6) else [b.one_of(1, 2, 3) for _ in range(rank)]
    how = b.rng.random()
    if how < 0.6:
        given["pads"] = [k // 2 for k in kernel] * 2
    elif how < 0.8:
        given["pads"] = [int(b.rng.integers(0, max(1, k))) for k in kernel * 2]
    elif how < 0.88:
        given["auto_pad"] = b.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    # Of a window larger than the image ONNX Runtime makes results that ONNX has none of.
    around = given.get("pads", [0] * 2 * rank)
    for i, extent in enumerate(extents):
        span = (kernel[i] - 1) * given.get("dilations", [1] * rank)[i] + 1
        if span > extent + around[i] + around[rank + i] and not given.get("auto_pad", "").startswith("SAME"):
            raise Unusable("the window is larger than the image")
    return given


def convolution(b, x=None, made=None, groups=None, given=None):
    x = x or image(b)
    count = x.shape[1]
    given = given or window(b, x.shape[2:])
    if groups is None:
        groups = b.one_of(1, 1, 1, count, b.one_of(*(g for g in range(1, count + 1) if count % g == 0)))
    each = count // groups
    if made is None:
        made = groups * b.one_of(1, 1, 2) if groups > 1 else b.one_of(*CHANNELS)
    weights = b.numbers(made, each, *given["kernel_shape"], scale=1 / np.sqrt(each * np.prod(given["kernel_shape"])))
    inputs = [x, b.constant(weights)]
    if b.chance(0.6):
        inputs.append(b.constant(b.numbers(made) if b.chance(0.9) else np.zeros(made, np.float32)))
    if not b.chance(0.7):
        given = {key: value for key, value in given.items() if key != "kernel_shape"}
    return b.add("Conv", inputs, group=groups if groups != 1 or b.chance(0.5) else None, **given)


def batch_normalization(b, x=None):
    x = x or image(b)
    count = x.shape[1]
    positive = lambda: b.constant(np.abs(b.numbers(count)) + np.float32(0.5))
    return b.add("BatchNormalization", [x, positive(), b.constant(b.numbers(count)), b.constant(b.numbers(count)), positive()], epsilon=b.one_of(None, 1e-3))


def by_channel(b, x):
    """A factor or an addend for each channel, or one alone, or of another shape."""
    count = x.shape[1]
    shape = b.one_of((count, *(1,) * (x.rank - 2)), (1, count, *(1,) * (x.rank - 2)), (1,), x.shape[1:], (x.shape[-1],))
    op_type = b.one_of("Add", "Mul", "Sub", "Div")
    c = b.numbers(*shape)
    other = b.constant(np.abs(c) + np.float32(0.5) if op_type == "Div" else c)
    return b.add(op_type, [x, other] if b.chance(0.8) else [other, x]) if op_type != "Div" else b.add(op_type, [x, other])


def block(b):
    """A convolution and what exporters put behind it, in any order and of any length."""
    x = image(b)
    y = convolution(b, x)
    for _ in range(int(b.rng.integers(0, 4))):
        how = b.one_of("activation", "activation", "batch", "channel", "residual", "binary")
        if how == "activation":
            y = activation(b, y)
        elif how == "batch":
            y = batch_normalization(b, y)
        elif how == "channel":
            y = by_channel(b, y)
        elif how == "residual":
            fits = [value for value in b.values if value.shape == y.shape and value.is_float]
            other = fits[int(b.rng.integers(len(fits)))]
            y = b.add(b.one_of("Add", "Add", "Sum"), [y, other] if b.chance(0.5) else [other, y])
        else:
            y = b.add(b.one_of("Add", "Mul"), [y, operand_for(b, y)])
    return y


def residual_block(b):
    x = image(b)
    y = x
    for last in (False, True):
        size = b.one_of(1, 3)
        made = x.shape[1] if last else b.one_of(*CHANNELS)
        y = convolution(b, y, made, 1, {"kernel_shape": [size] * (x.rank - 2), "pads": [size // 2] * 2 * (x.rank - 2)})
        if b.chance(0.4):
            y = batch_normalization(b, y)
        if not last:
            y = activation(b, y)
    y = b.add("Add", [x, y] if b.chance(0.5) else [y, x])
    return activation(b, y) if b.chance(0.7) else y


def mobile_block(b):
    """Wider by single pixels, depthwise, narrower by single pixels; each step read elsewhere now and then."""
    x = image(b)
    rank = x.rank - 2
    wide = x.shape[1] * b.one_of(1, 2, 3, 6)
    pixel = {"kernel_shape": [1] * rank}
    y = activation(b, convolution(b, x, wide, 1, dict(pixel))) if b.chance(0.8) else x
    size = b.one_of(3, 3, 5, 7)
    around = {"kernel_shape": [size] * rank, "pads": [size // 2] * 2 * rank}
    if b.chance(0.3):
        around["strides"] = [2] * rank
    if b.chance(0.1):
        around["dilations"] = [2] * rank
    y = convolution(b, y, y.shape[1], y.shape[1], around)
    if b.chance(0.8):
        y = activation(b, y)
    if b.chance(0.3):
        y = squeeze_and_excite(b, y)
    y = convolution(b, y, b.one_of(x.shape[1], *CHANNELS), 1, dict(pixel))
    if y.shape == x.shape:
        y = b.add("Add", [x, y] if b.chance(0.5) else [y, x])
    return activation(b, y) if b.chance(0.4) else y


def large_mobile_block(b):
    """So large between its convolutions that it is one kernel, with what stands behind each and is read elsewhere now and then."""
    extent = b.one_of(57, 64, 81)
    x = b.input(b.numbers(1, b.one_of(16, 24, 33), extent, b.one_of(extent, 48)))
    size = b.one_of(3, 3, 5)
    step = b.one_of(1, 1, 2)
    y = convolution(b, x, b.one_of(96, 144), 1, {"kernel_shape": [1, 1]}) if b.chance(0.7) else b.input(b.numbers(1, 96, 60, 57))
    for _ in range(b.one_of(0, 1, 1, 2)):
        y = batch_normalization(b, y) if b.chance(0.3) else activation(b, y)
    around = b.one_of([size // 2] * 4, [size // 2] * 4, [0, 1, 1, 0], [0] * 4)
    y = convolution(b, y, y.shape[1], y.shape[1], {"kernel_shape": [size, size], "pads": around, "strides": [step, step]})
    if b.chance(0.8):
        y = activation(b, y)
    if b.chance(0.8):
        y = convolution(b, y, b.one_of(x.shape[1], 24, 40), 1, {"kernel_shape": [1, 1]})
        if y.shape == x.shape:
            y = b.add("Add", [x, y] if b.chance(0.5) else [y, x])
        if b.chance(0.3):
            y = activation(b, y)
    return y


def wide_transposed_convolution(b):
    x = b.input(b.numbers(b.one_of(1, 2), b.one_of(16, 24, 40), *[b.one_of(1, 3, 8, 13) for _ in range(b.one_of(2, 2, 1, 3))]))
    rank = x.rank - 2
    made, size, step = b.one_of(16, 20, 32), b.one_of(1, 2, 3, 4), b.one_of(1, 2, 2, 3)
    given = {"strides": [step] * rank, "pads": [int(b.rng.integers(0, max(1, size // 2 + 1))) for _ in range(2 * rank)], "dilations": [b.one_of(1, 1, 1, 2)] * rank}
    if step > 1 and b.chance(0.4):
        given["output_padding"] = [int(b.rng.integers(0, step)) for _ in range(rank)]
    if b.chance(0.2):
        given.pop("pads")
        given["auto_pad"] = b.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    y = b.add("ConvTranspose", [x, b.constant(b.numbers(x.shape[1], made, *[size] * rank, scale=(x.shape[1] * size) ** -0.5))] + ([b.constant(b.numbers(made))] if b.chance(0.6) else []), **given)
    for _ in range(b.one_of(0, 1, 2)):
        y = b.one_of(activation, batch_normalization, by_channel)(b, y)
    return y


def squeeze_and_excite(b, x=None):
    x = x or image(b)
    rank = x.rank - 2
    if b.chance(0.6):
        y = b.add("GlobalAveragePool", [x])
    else:
        axes = list(range(2, x.rank))
        y = b.add("ReduceMean", [x, b.ints(*axes)]) if b.opset >= 18 else b.add("ReduceMean", [x], axes=axes, keepdims=1)
    y = activation(b, convolution(b, y, b.one_of(1, 4, 8), 1, {"kernel_shape": [1] * rank}))
    y = convolution(b, y, x.shape[1], 1, {"kernel_shape": [1] * rank})
    gate = b.add(b.one_of("Sigmoid", "HardSigmoid"), [y])
    return b.add("Mul", [x, gate] if b.chance(0.5) else [gate, x])


def transposed_convolution(b):
    x = b.pick(is_image)
    count = x.shape[1]
    rank = x.rank - 2
    groups = b.one_of(1, 1, count)
    made = b.one_of(1, 2, 5, 8, 16)
    size = b.one_of(1, 2, 3, 4)
    stride = b.one_of(1, 2, 2, 3)
    given = {"strides": [stride] * rank, "pads": [int(b.rng.integers(0, max(1, size // 2 + 1))) for _ in range(2 * rank)]}
    if stride > 1 and b.chance(0.4):
        given["output_padding"] = [int(b.rng.integers(0, stride)) for _ in range(rank)]
    if b.chance(0.1):
        given["dilations"] = [2] * rank
    weights = b.constant(b.numbers(count, made, *[size] * rank, scale=1 / np.sqrt(count * size)))
    inputs = [x, weights] + ([b.constant(b.numbers(made * groups))] if b.chance(0.6) else [])
    y = b.add("ConvTranspose", inputs, group=groups, **given)
    return activation(b, y) if b.chance(0.5) else y


def pool(b, x=None):
    x = x if x and is_image(x) else b.pick(is_image)
    op_type = b.one_of("MaxPool", "MaxPool", "AveragePool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool")
    if op_type.startswith("Global"):
        return b.add(op_type, [x])
    given = window(b, x.shape[2:])
    if op_type == "LpPool" or given.get("auto_pad", "").startswith("SAME"):  # where ONNX Runtime forgets the gaps
        given.pop("dilations", None)
    if op_type == "AveragePool" and b.opset < 19:
        given.pop("dilations", None)
    if op_type != "LpPool" and b.chance(0.3):
        given["ceil_mode"] = 1
    if op_type == "AveragePool" and b.chance(0.5):
        given["count_include_pad"] = 1
    return b.add(op_type, [x], **given)


def resize(b):
    x = b.pick(lambda value: value.rank == 4 and 0 < value.array.size < 4000)
    mode = b.one_of("nearest", "linear", "cubic")
    given = {"mode": mode, "coordinate_transformation_mode": b.one_of(None, "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel")}
    if mode == "nearest":
        given["nearest_mode"] = b.one_of(None, "floor", "ceil", "round_prefer_ceil")
    if b.chance(0.5):
        sizes = [x.shape[0], x.shape[1], *(max(1, int(extent * b.one_of(0.5, 1, 2, 3))) for extent in x.shape[2:])]
        return b.add("Resize", [x, None, None, b.ints(*sizes)], **given)
    if given["coordinate_transformation_mode"] == "align_corners":  # where ONNX Runtime rounds the extent that ONNX does not
        return None
    factors = np.array([1, 1, *(b.one_of(0.5, 2, 2, 1.5) for _ in range(2))], np.float32)
    return b.add("Resize", [x, None, b.constant(factors)], **given)


def normalization(b):
    x = b.pick(lambda value: is_image(value) and min(value.shape[2:]) > 1 and value.array.size)
    count = x.shape[1]
    scale, shift = b.constant(b.numbers(count)), b.constant(b.numbers(count))
    how = b.one_of("InstanceNormalization", "GroupNormalization", "LRN")
    if how == "LRN":
        return b.add("LRN", [x], size=b.one_of(1, 3, 5), alpha=b.one_of(None, 0.1))
    if how == "GroupNormalization" and b.opset >= 21:
        groups = b.one_of(*(g for g in range(1, count + 1) if count % g == 0))
        return b.add(how, [x, scale, shift], num_groups=groups)
    return b.add("InstanceNormalization", [x, scale, shift])


def batch_and_activation(b):
    """Without a convolution before it, or with one that stands elsewhere."""
    return activation(b, batch_normalization(b))


def dense_block(b):
    """Convolutions that each read all before them, together."""
    x = image(b)
    parts = [x]
    for _ in range(2):
        joined = b.add("Concat", parts, axis=1) if len(parts) > 1 else x
        y = batch_and_activation_of(b, joined) if b.chance(0.5) else joined
        parts.append(convolution(b, y, b.one_of(4, 8, 16, 5), 1, {"kernel_shape": [1] * (x.rank - 2)}))
    return b.add("Concat", parts, axis=1)


def batch_and_activation_of(b, x):
    return activation(b, batch_normalization(b, x))


STEPS = {convolution: 2, block: 4, residual_block: 2, mobile_block: 2, large_mobile_block: 0.4, wide_transposed_convolution: 0.7, squeeze_and_excite: 1, transposed_convolution: 1, pool: 2, resize: 1, normalization: 1, batch_and_activation: 1, dense_block: 1}
