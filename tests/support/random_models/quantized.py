# SPDX-License-Identifier: Apache-2.0
"""Steps in numbers of 8 bits, as ONNX Runtime's quantisers write them.

Most scales are powers of two, so that nothing depends on the order of sums. Zero points are even: what lies halfway between two numbers is then rounded to the same one
whether they are added before or after rounding, as libraries do.
"""

import numpy as np

from random_models import images, movement, sequences
from random_models.elementwise import activation

LEAST = {np.uint8: 0, np.int8: -128}


def scale_for(b, largest):
    scale = max(float(largest), 1e-3) / 120
    return np.float32(2.0 ** np.ceil(np.log2(scale)) if b.chance(0.8) else scale)


def numbers_for(b, array, dtype=None):
    """A scale, a zero point and a type for a tensor's values."""
    dtype = dtype or b.one_of(np.uint8, np.uint8, np.int8)
    low, high = float(array.min(initial=0)), float(array.max(initial=0))
    if dtype == np.uint8:
        scale = scale_for(b, (high - low) / 2)
        zero = int(np.clip(round(-low / scale), 0, 255)) & ~1
    else:
        scale = scale_for(b, max(high, -low))
        zero = 2 * int(b.rng.integers(-5, 5)) if b.chance(0.2) else 0
    if b.chance(0.1):
        scale = np.float32(scale / 4)  # so that some saturate
    return scale, np.array(zero, dtype)


def quantized(b, x, dtype=None):
    scale, zero = numbers_for(b, x.array, dtype)
    scale, zero = b.constant(np.asarray(scale)), b.constant(zero)
    return b.add("QuantizeLinear", [x, scale, zero], keep=False), scale, zero


def rounded(b, x, dtype=None):
    """x through 8 bits, if it does not come from there already."""
    if any(node.op_type == "DequantizeLinear" and node.output[0] == x.name for node in b.nodes[-12:]) and b.chance(0.8):
        return x
    return b.add("DequantizeLinear", list(quantized(b, x, dtype)))


def narrow_weights(b, array, axis):
    """A constant as it is dequantized, with its scales."""
    by_channel = b.chance(0.6)
    largest = np.abs(array).max(axis=tuple(i for i in range(array.ndim) if i != axis), initial=0) if by_channel else np.abs(array).max(initial=0)
    scales = np.array([scale_for(b, one) for one in np.atleast_1d(largest)], np.float32)
    scales = scales if by_channel else scales[0]
    dtype = np.int8 if b.chance(0.8) or by_channel else np.uint8
    zero = np.zeros_like(scales).astype(dtype) if dtype == np.int8 else np.array(128, np.uint8)
    shaped = scales.reshape([-1 if i == axis else 1 for i in range(array.ndim)]) if by_channel else scales
    whole = np.clip(np.round(array / shaped) + zero.reshape(np.shape(shaped)).astype(np.int32), LEAST[dtype], LEAST[dtype] + 255).astype(dtype)
    inputs = [b.constant(whole), b.constant(np.asarray(scales))]
    if dtype == np.uint8 or b.chance(0.7):
        inputs.append(b.constant(np.asarray(zero)))
    return b.add("DequantizeLinear", inputs, keep=False, axis=axis if by_channel else None), np.asarray(scales)


def quantized_convolution(b):
    x = images.image(b)
    scale, zero = numbers_for(b, x.array)
    scale_value = b.constant(np.asarray(scale))
    q = b.add("QuantizeLinear", [x, scale_value, b.constant(zero)], keep=False)
    x = b.add("DequantizeLinear", [q, scale_value, b.constant(zero)])
    count = x.shape[1]
    given = images.window(b, x.shape[2:])
    groups = b.one_of(1, 1, 1, count)
    made = count * b.one_of(1, 1, 2) if groups > 1 else b.one_of(*images.CHANNELS, 64, 128)
    w, scales = narrow_weights(b, b.numbers(made, count // groups, *given["kernel_shape"], scale=1 / np.sqrt(count // groups * np.prod(given["kernel_shape"]))), 0)
    inputs = [x, w]
    if b.chance(0.6):
        bias_scale = (scales * scale).astype(np.float32)
        bias = b.constant(b.rng.integers(-2000, 2000, made).astype(np.int32))
        inputs.append(b.add("DequantizeLinear", [bias, b.constant(np.asarray(bias_scale))], keep=False, axis=0 if bias_scale.ndim else None) if b.chance(0.8) else b.constant(b.numbers(made)))
    y = b.add("Conv", inputs, group=groups, **given)
    return behind(b, y)


def behind(b, y):
    """What stands between a product and its rounding."""
    for _ in range(b.one_of(0, 1, 1, 2)):
        if b.chance(0.3):
            fits = [value for value in b.values if value.shape == y.shape and value.is_float]
            y = b.add("Add", [rounded(b, y) if b.chance(0.5) else y, rounded(b, fits[int(b.rng.integers(len(fits)))])])
        else:
            y = b.add("Relu", [y]) if b.chance(0.6) else activation(b, y)
    return rounded(b, y) if b.chance(0.85) else y


def quantized_product(b):
    x = rounded(b, sequences.rows(b))
    width, made = x.shape[-1], b.one_of(*sequences.WIDTHS)
    turned = x.rank == 2 and b.chance(0.5)
    w, _ = narrow_weights(b, b.numbers(*((made, width) if turned else (width, made)), scale=1 / np.sqrt(width)), 0 if turned else 1)
    if x.rank == 2 and (turned or b.chance(0.4)):
        y = b.add("Gemm", [x, w, b.constant(b.numbers(made))] if b.chance(0.7) else [x, w], transB=int(turned))
    else:
        y = b.add("MatMul", [x, w])
        if b.chance(0.5):
            y = b.add("Add", [y, b.constant(b.numbers(made))])
    return behind(b, y)


def quantized_binary(b):
    x = b.pick(lambda value: 0 < value.array.size < 1 << 15)
    fits = [value for value in b.values if value.shape == x.shape and value.is_float]
    other = fits[int(b.rng.integers(len(fits)))]
    y = b.add(b.one_of("Add", "Add", "Mul", "Sub"), [rounded(b, x), rounded(b, other)])
    return behind(b, y)


def quantized_concat(b):
    x = b.pick(lambda value: value.rank >= 2 and 0 < value.array.size < 1 << 14)
    axis = b.one_of(1, -1, 0)
    fits = [value for value in b.values if value.shape == x.shape and value.is_float]
    dtype = b.one_of(np.uint8, np.int8)
    if b.chance(0.4):  # the same numbers for all
        _, scale, zero = quantized(b, x, dtype)
        through = lambda value: b.add("DequantizeLinear", [b.add("QuantizeLinear", [value, scale, zero], keep=False), scale, zero])
    else:
        through = lambda value: rounded(b, value, dtype)
    parts = [through(value) for value in [x, fits[int(b.rng.integers(len(fits)))]]]
    y = b.add("Concat", parts, axis=axis)
    return through(y)


def quantized_movement(b):
    """What moves elements, between two roundings, by the same numbers or by others."""
    x = b.pick(lambda value: value.rank >= 1 and 0 < value.array.size < 1 << 15)
    q, scale, zero = quantized(b, x)
    x = b.add("DequantizeLinear", [q, scale, zero])
    how = b.one_of(movement.transpose, movement.reshape, movement.slice_, movement.gather, movement.pad, images.pool, movement.split)
    y = how(b, x)
    if y is None or b.chance(0.2):
        return y
    same = b.chance(0.7)
    if not same:
        return rounded(b, y)
    return b.add("DequantizeLinear", [b.add("QuantizeLinear", [y, scale, zero], keep=False), scale, zero])


def quantized_unary(b):
    x = rounded(b, b.pick(lambda value: 0 < value.array.size < 1 << 15 and value.rank))
    how = b.one_of("activation", "Softmax", "GlobalAveragePool", "AveragePool", "MaxPool")
    if how == "activation":
        y = activation(b, x)
    elif how == "Softmax":
        y = b.add("Softmax", [x], axis=-1)
    elif how == "GlobalAveragePool":
        y = b.add(how, [x])
    else:
        y = images.pool(b, x)
    return rounded(b, y)


def integer_forms(b):
    """QLinear and Integer operators, and products whose rows are quantized as they come."""
    how = b.one_of("QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger", "dynamic", "dynamic", "dynamic", "QLinearAdd")
    if how in ("QLinearConv", "ConvInteger"):
        x = images.image(b)
        q, scale, zero = quantized(b, x)
        count = x.shape[1]
        given = images.window(b, x.shape[2:])
        groups = b.one_of(1, 1, count)
        made = count if groups > 1 else b.one_of(*images.CHANNELS)
        w = b.constant(b.rng.integers(-80, 80, (made, count // groups, *given["kernel_shape"])).astype(np.int8))
        if how == "ConvInteger":
            y = b.add(how, [q, w, zero], keep=False, group=groups, **given)
            return b.add("Mul", [b.add("Cast", [y], keep=False, to=1, ), b.constant(np.float32(2.0 ** -12))])
        ws = 2.0 ** -b.rng.integers(6, 9, made if b.chance(0.6) else ())
        wz = b.constant(np.zeros(np.shape(ws), np.int8))
        out = b.constant(np.asarray(np.float32(0.0625))), b.constant(np.array(b.one_of(0, 4, -6) if zero.array.dtype == np.int8 else b.one_of(0, 120, 128), zero.array.dtype))
        inputs = [q, scale, zero, w, b.constant(np.asarray(ws, np.float32)), wz, *out]
        if b.chance(0.5):
            inputs.append(b.constant(b.rng.integers(-3000, 3000, made).astype(np.int32)))
        return b.add("DequantizeLinear", [b.add(how, inputs, keep=False, group=groups, **given), *out])
    x = sequences.rows(b)
    width, made = x.shape[-1], b.one_of(*sequences.WIDTHS)
    if how == "QLinearAdd":
        q, scale, zero = quantized(b, x)
        out = b.constant(np.asarray(scale_for(b, 2 * np.abs(x.array).max()))), b.constant(np.array(4, zero.array.dtype))
        return b.add("DequantizeLinear", [b.add(how, [q, scale, zero, q, scale, zero, *out], keep=False, domain="com.microsoft"), *out])
    if how == "dynamic":
        q, scale, zero = b.add("DynamicQuantizeLinear", [x], outputs=3, keep=False)
        w = b.constant(b.rng.integers(-80, 80, (width, made)).astype(b.one_of(np.int8, np.int8, np.uint8)))
        inputs = [q, w, zero] + ([b.constant(np.array(b.one_of(0, 0, 5), w.array.dtype))] if b.chance(0.5) else [])
        y = b.add("Cast", [b.add("MatMulInteger", inputs, keep=False)], keep=False, to=1)
        factor = b.add("Mul", [scale, b.constant(b.one_of(np.full(made, 0.001, np.float32), np.float32(0.001)))], keep=False)
        y = b.add("Mul", [y, factor])
        return b.add("Add", [y, b.constant(b.numbers(made))]) if b.chance(0.6) else y
    q, scale, zero = quantized(b, x)
    w = b.constant(b.rng.integers(-80, 80, (width, made)).astype(np.int8))
    if how == "MatMulInteger":
        y = b.add("Cast", [b.add(how, [q, w, zero], keep=False)], keep=False, to=1)
        return b.add("Mul", [y, b.constant(np.float32(2.0 ** -12))])
    ws = 2.0 ** -b.rng.integers(6, 9, made if b.chance(0.5) else ())
    out = b.constant(np.asarray(np.float32(0.0625))), b.constant(np.array(2, zero.array.dtype))
    inputs = [q, scale, zero, w, b.constant(np.asarray(ws, np.float32)), b.constant(np.zeros(np.shape(ws), np.int8)), *out]
    return b.add("DequantizeLinear", [b.add(how, inputs, keep=False), *out])


STEPS = {quantized_convolution: 4, quantized_product: 3, quantized_binary: 2, quantized_concat: 1.5, quantized_movement: 2, quantized_unary: 1.5, integer_forms: 3}
