# SPDX-License-Identifier: Apache-2.0
"""Steps of the operators that exporters and ONNX Runtime's optimiser write for transformers: attention, rotations, weights of a few bits, normalisations with what is added."""

import numpy as np

from random_models.sequences import is_rows, layer_normalization, rows


def sequence(b, width=None):
    """[batch, length, width]"""
    if width is None and any(value.rank == 3 and value.is_float and value.array.size for value in b.values) and b.chance(0.7):
        return b.pick(lambda value: value.rank == 3 and value.array.size)
    return b.input(b.numbers(b.one_of(1, 2), b.one_of(1, 2, 5, 17, 40), width or b.one_of(8, 16, 32)))


def standard_attention(b):
    count, shared, each = b.one_of((1, 1), (2, 2), (4, 2), (4, 1), (3, 3)) + (b.one_of(4, 8, 16, 17, 32),)
    batch, length, keys = b.one_of(1, 2), b.one_of(1, 3, 8, 17), b.one_of(1, 5, 8, 33)
    given = {"scale": b.one_of(None, 0.3), "is_causal": b.one_of(None, None, 1), "softcap": b.one_of(None, None, None, 2.0)}
    if b.chance(0.5):
        tensors = [b.input(b.numbers(batch, n, s, each)) for n, s in ((count, length), (shared, keys), (shared, keys))]
    else:
        given |= {"q_num_heads": count, "kv_num_heads": shared}
        tensors = [b.input(b.numbers(batch, s, n * each)) for n, s in ((count, length), (shared, keys), (shared, keys))]
    mask = None
    if b.chance(0.5):
        shape = b.one_of((length, keys), (1, 1, length, keys), (batch, 1, length, keys), (batch, count, length, keys))
        seen = b.rng.random(shape) < 0.8
        seen[..., 0] = True
        mask = b.one_of(b.constant, b.input)(np.where(seen, np.float32(0), np.float32(-50)) if b.chance(0.6) else seen)
    past = [b.input(b.numbers(batch, shared, 6, each)) for _ in range(2)] if mask is None and b.chance(0.25) else []
    if past:
        made = b.add("Attention", [*tensors, None, *past], outputs=3, **given)
        return made[0]
    return b.add("Attention", [*tensors, *([mask] if mask else [])], **given)


def joined_attention(b):
    x = sequence(b)
    width = x.shape[2]
    count = b.one_of(*(n for n in (1, 2, 4) if width % n == 0))
    tensors = [x]
    for _ in range(2):
        w = b.constant(b.numbers(width, width, scale=width ** -0.5))
        tensors.append(b.add("MatMul", [x, w]))
    inputs = [*tensors]
    if b.chance(0.4):
        inputs.append(b.constant(b.numbers(3 * width)))
    elif b.chance(0.5):
        batch, length = x.shape[:2]
        mask = np.ones((batch, length), np.int32)
        mask[:, length // 2 + 1:] = 0
        inputs += [None, b.constant(mask)]
    return b.add("MultiHeadAttention", inputs, domain="com.microsoft", num_heads=count, scale=b.one_of(None, 0.2), unidirectional=b.one_of(None, 1))


def rotary(b):
    count, each = b.one_of(1, 2, 4), b.one_of(4, 8, 16)
    x = sequence(b, count * each)
    batch, length = x.shape[:2]
    angles = np.arange(64)[:, None] / 100.0 ** (np.arange(each // 2) / (each // 2))
    cos, sin = (b.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    places = b.constant(b.rng.integers(0, 64, (batch, length)))
    interleaved = b.one_of(None, 1)
    if b.opset >= 23 and b.chance(0.6):
        return b.add("RotaryEmbedding", [x, cos, sin, places], num_heads=count, interleaved=interleaved)
    return b.add("RotaryEmbedding", [x, places, cos, sin], domain="com.microsoft", num_heads=count, interleaved=interleaved)


def spelled_rotary(b):
    """x * cos + rotated(x) * sin, the halves exchanged by Slice, Neg and Concat."""
    each = b.one_of(4, 8, 16)
    x = b.input(b.numbers(b.one_of(1, 2), b.one_of(1, 2, 4), b.one_of(1, 5, 9), each))
    angles = np.concatenate([np.arange(x.shape[2])[:, None] / 100.0 ** (np.arange(each // 2) / (each // 2))] * 2, -1)
    first = b.add("Slice", [x, b.ints(0), b.ints(each // 2), b.ints(3)])
    second = b.add("Slice", [x, b.ints(each // 2), b.ints((1 << 63) - 1), b.ints(-1)])
    turned = b.add("Concat", [b.add("Neg", [second]), first], axis=-1)
    straight = b.add("Mul", [x, b.constant(np.cos(angles).astype(np.float32))])
    return b.add("Add", [straight, b.add("Mul", [turned, b.constant(np.sin(angles).astype(np.float32))])])


def few_bits(b):
    """MatMulNBits."""
    x = rows(b)
    width, made = x.shape[-1], b.one_of(1, 3, 8, 16, 17, 33, 64)
    bits, block = b.one_of(4, 4, 8), b.one_of(16, 32, 128)
    blocks = -(-width // block)
    weights = b.rng.integers(0, 256, (made, blocks, block * bits // 8)).astype(np.uint8)
    inputs = [x, b.constant(weights), b.constant(np.abs(b.numbers(made, blocks, scale=0.02)) + np.float32(0.01))]
    if b.chance(0.5):
        inputs.append(b.constant(b.rng.integers(0, 256, (made, -(-blocks * bits // 8))).astype(np.uint8)))
    if b.chance(0.3):
        inputs += [None] * (5 - len(inputs)) + [b.constant(b.numbers(made))]
    return b.add("MatMulNBits", inputs, domain="com.microsoft", K=width, N=made, bits=bits, block_size=block, accuracy_level=b.one_of(None, 1, 4) if made > 8 else 1)


def normalization_with_addition(b):
    x = sequence(b)
    width = x.shape[-1]
    other = next((value for value in b.values if value.shape == x.shape and value.name != x.name and value.is_float), x)
    scale, shift = b.constant(b.numbers(width)), b.constant(b.numbers(width))
    how = b.one_of("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "spelled", "RMSNormalization")
    if how == "spelled":
        return layer_normalization(b, b.add("Add", [x, other]))
    if how == "RMSNormalization":
        return b.add(how, [x, scale], axis=-1, epsilon=b.one_of(None, 1e-2)) if b.opset >= 23 else None
    inputs = [x, other, scale, *([shift] if how == "SkipLayerNormalization" else [])]
    if b.chance(0.4):
        inputs.append(b.constant(b.numbers(width)))
    return b.add(how, inputs, domain="com.microsoft", epsilon=1e-3)


def fused_activation(b):
    x = b.pick(is_rows)
    op_type = b.one_of("BiasGelu", "FastGelu", "QuickGelu", "Gelu")
    inputs = [x, b.constant(b.numbers(x.shape[-1]))] if op_type.startswith("Bias") or (op_type == "FastGelu" and b.chance(0.5)) else [x]
    return b.add(op_type, inputs, domain="com.microsoft", alpha=1.702 if op_type == "QuickGelu" else None)


STEPS = {standard_attention: 2, joined_attention: 2, rotary: 1, spelled_rotary: 1, few_bits: 2, normalization_with_addition: 1.5, fused_activation: 1}
