# SPDX-License-Identifier: Apache-2.0
"""int8 convolutions: exact sums, by tiles and by windows, fused with the quantisation around them."""

import numpy as np
import pytest
from cuda_bytes import S8, U8, compare_steps, numbers
from cuda_worker import compare_all
from small_graph import small_graph

# Of x, of the weights, attributes.
SHAPES = {
    "plain": ((2, 16, 9, 8), (24, 16, 3, 3), ""),
    "image": ((1, 3, 31, 29), (16, 3, 7, 7), "strides=[2, 2], pads=[3, 3, 3, 3]"),
    "odd_channels": ((2, 21, 6, 7), (19, 21, 3, 3), "pads=[1, 0, 1, 2]"),
    "single_pixels": ((2, 64, 5, 5), (40, 64, 1, 1), ""),
    "large_tiles": ((2, 32, 17, 17), (140, 32, 1, 1), ""),
    "few_results": ((1, 20, 9, 9), (5, 20, 3, 3), "pads=[1, 1, 1, 1]"),
    "shared_sums": ((2, 70, 5, 5), (20, 70, 3, 3), "pads=[1, 1, 1, 1]"),
    "groups": ((2, 12, 7, 7), (16, 6, 3, 3), "group=2, pads=[1, 1, 1, 1]"),
    "wide_groups": ((1, 40, 7, 7), (32, 20, 3, 3), "group=2, dilations=[2, 2]"),
    "channelwise": ((2, 10, 9, 9), (10, 1, 3, 3), "group=10, strides=[2, 2], pads=[1, 1, 1, 1]"),
    "same": ((1, 8, 10, 9), (8, 8, 4, 2), "auto_pad=\"SAME_UPPER\", strides=[2, 1]"),
    "one_axis": ((2, 8, 21), (9, 8, 5), "pads=[2, 1]"),
    "three_axes": ((1, 6, 5, 6, 7), (8, 6, 2, 3, 3), "pads=[0, 1, 1, 1, 1, 0]"),
    "empty": ((0, 8, 5, 5), (8, 8, 3, 3), ""),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("types", [(U8, S8), (S8, S8), (U8, U8)])
@pytest.mark.parametrize("constant", [True, False])
def test_sums(cuda, shape, types, constant):
    """Without zero points, with one per tensor, and with one per channel."""
    extents, weights, attributes = SHAPES[shape]
    x, w = numbers(types[0], *extents), numbers(types[1], *weights, seed=1)
    zeros = {"p": np.array(9, types[0]), "q": np.array(100, types[1]), "r": numbers(types[1], weights[0], seed=2)}
    text = "\n".join(f"{name} = ConvInteger<{attributes}>({inputs})" for name, inputs in (("a", "x, w"), ("b", "x, w, p, q"), ("c", "x, w, p, r")))
    feeds = {"x": x} | ({} if constant else {"w": w})
    kernels = compare_all(cuda, *small_graph(text.replace("<>", ""), feeds, zeros | ({"w": w} if constant else {})))
    assert set(kernels) == {"ConvInteger"}


@pytest.mark.parametrize("shape", ["plain", "image", "shared_sums", "groups", "channelwise", "few_results", "one_axis"])
@pytest.mark.parametrize("types", [(U8, S8, U8), (S8, S8, S8), (U8, U8, S8)])
@pytest.mark.parametrize("by_channel, bias", [(True, True), (False, False), (True, False)])
def test_linear_convolution(cuda, shape, types, by_channel, bias):
    extents, weights, attributes = SHAPES[shape]
    rng = np.random.default_rng(4)
    channels = [weights[0]] if by_channel else []
    constants = {"xs": np.float32(0.02), "xz": np.array(11, types[0]), "w": numbers(types[1], *weights, seed=1), "ws": rng.uniform(0.01, 0.02, channels).astype(np.float32),
                 "wz": np.full(channels, 128 if types[1] == U8 else 0, types[1]), "ys": np.float32(4), "yz": np.array(3, types[2])}
    if bias:
        constants["b"] = rng.integers(-30000, 30000, weights[0]).astype(np.int32)
    text = f"y = QLinearConv<{attributes}>(x, xs, xz, w, ws, wz, ys, yz{', b' if bias else ''})".replace("<>", "")
    compare_all(cuda, *small_graph(text, {"x": numbers(types[0], *extents)}, constants))


BEHIND = {"nothing": "d = Identity(c)", "relu": "d = Relu(c)", "clip": "d = Clip(c, low, high)", "another": "d = LeakyRelu<alpha=0.1>(c)"}


@pytest.mark.parametrize("shape", ["plain", "image", "shared_sums", "groups", "channelwise"])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("bias", [None, np.int32, np.float32])
@pytest.mark.parametrize("by_channel", [True, False])
def test_quantised_floats(cuda, shape, behind, bias, by_channel):
    extents, weights, attributes = SHAPES[shape]
    rng = np.random.default_rng(4)
    channels = [weights[0]] if by_channel else []
    constants = {"xs": np.float32(0.02), "xz": np.array(131, U8), "w": numbers(S8, *weights, seed=1), "ws": rng.uniform(0.01, 0.02, channels).astype(np.float32),
                 "wz": np.zeros(channels, S8), "ys": np.float32(1), "yz": np.array(90, U8)}
    axis = "<axis=0>" if by_channel else ""
    lines = ["x = DequantizeLinear(q, xs, xz)", f"f = DequantizeLinear{axis}(w, ws, wz)"]
    if bias == np.int32:
        constants |= {"i": rng.integers(-30000, 30000, weights[0]).astype(np.int32), "is": (constants["ws"] * np.float32(0.02)).astype(np.float32)}
        lines.append(f"b = DequantizeLinear{axis}(i, is)")
    if bias == np.float32:
        constants["b"] = rng.standard_normal(weights[0]).astype(np.float32) * 9
    if behind == "clip":
        constants |= {"low": np.float32(-20), "high": np.float32(60)}
    lines += [f"c = Conv<{attributes}>(x, f{', b' if bias else ''})".replace("<>", ""), BEHIND[behind], "y = QuantizeLinear(d, ys, yz)"]
    kernels = compare_steps(cuda, *small_graph("\n".join(lines), {"q": numbers(U8, *extents)}, constants))
    quantised = "cuda." + "DequantizeLinear+" * (3 if bias == np.int32 else 2) + "Conv"
    if behind == "another":
        assert quantised in kernels and "cuda.LeakyRelu+QuantizeLinear" in kernels
    else:
        assert set(kernels) == {quantised + {"nothing": "", "relu": "+Relu", "clip": "+Clip"}[behind] + "+QuantizeLinear"}


def test_a_quantised_block(cuda):
    """A QDQ residual block runs in int8 kernels only."""
    rng = np.random.default_rng(8)
    constants = {"s": np.float32(0.02), "z": np.array(120, U8), "t": np.float32(0.5), "u": np.array(100, U8), "w": numbers(S8, 16, 16, 3, 3), "v": numbers(S8, 16, 16, 1, 1, seed=1),
                 "ws": rng.uniform(0.001, 0.002, 16).astype(np.float32), "wz": np.zeros(16, S8)}
    text = """x = DequantizeLinear(q, s, z)
              f = DequantizeLinear<axis=0>(w, ws, wz)
              c = Conv<pads=[1, 1, 1, 1]>(x, f)
              r = Relu(c)
              k = QuantizeLinear(r, t, u)
              l = DequantizeLinear(k, t, u)
              g = DequantizeLinear<axis=0>(v, ws, wz)
              d = Conv(l, g)
              m = QuantizeLinear(d, t, u)
              n = DequantizeLinear(m, t, u)
              o = Add(n, x)
              p = Relu(o)
              y = QuantizeLinear(p, t, u)"""
    kernels = compare_steps(cuda, *small_graph(text, {"q": numbers(U8, 2, 16, 9, 9)}, constants))
    assert "cuda.DequantizeLinear+DequantizeLinear+Conv+Relu+QuantizeLinear" in kernels
    assert "cuda.DequantizeLinear+DequantizeLinear+Add+Relu+QuantizeLinear" in kernels


CHAINS = {  # of channels, groups and what stands between
    "wide": [(16, 32, 1, "Relu"), (32, 16, 1, None)],
    "image": [(3, 32, 1, "Relu"), (32, 24, 2, "Add"), (24, 16, 1, None)],
    "channelwise": [(16, 16, 16, "Relu"), (16, 32, 1, "Add"), (32, 32, 32, "LeakyRelu"), (32, 20, 1, None)],
    "pool": [(3, 32, 1, "MaxPool"), (32, 16, 1, "Relu"), (16, 16, 1, None)],
    "odd": [(5, 20, 1, "Relu"), (20, 12, 1, None)],
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("signed", [True, False])
def test_sequences_of_convolutions(cuda, chain, signed):
    """Tensors between int8 convolutions are channels-last where the kernels read them so, also through nodes in between."""
    rng = np.random.default_rng(3)
    kind, zero = (S8, -7) if signed else (U8, 121)
    constants = {"s": np.float32(0.05), "z": np.array(zero, kind)}
    lines, last = ["f0 = DequantizeLinear(x, s, z)"], "f0"
    for number, (taken, made, group, between) in enumerate(CHAINS[chain]):
        constants |= {f"w{number}": numbers(S8, made, taken // group, 3, 3, seed=number), f"t{number}": rng.uniform(0.001, 0.002, made).astype(np.float32),
                      f"u{number}": np.zeros(made, S8)}
        lines += [f"g{number} = DequantizeLinear<axis=0>(w{number}, t{number}, u{number})", f"c{number} = Conv<group={group}, pads=[1, 1, 1, 1]>({last}, g{number})"]
        made_by = f"c{number}"
        if between in ("Relu", "LeakyRelu"):
            lines.append(f"r{number} = {between}({made_by})")
            made_by = f"r{number}"
        if between == "MaxPool":
            lines += [f"p{number} = QuantizeLinear({made_by}, s, z)", f"q{number} = DequantizeLinear(p{number}, s, z)",
                      f"r{number} = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(q{number})"]
            made_by = f"r{number}"
        if between == "Add":
            lines += [f"p{number} = QuantizeLinear({made_by}, s, z)", f"q{number} = DequantizeLinear(p{number}, s, z)", f"r{number} = Add(q{number}, q{number})"]
            made_by = f"r{number}"
        lines += [f"k{number} = QuantizeLinear({made_by}, s, z)", f"l{number} = DequantizeLinear(k{number}, s, z)"]
        last = f"l{number}"
    lines.pop()
    kernels = compare_steps(cuda, *small_graph("\n".join(lines), {"x": numbers(kind, 2, CHAINS[chain][0][0], 9, 8)}, constants), 2)
    assert chain != "pool" or "cuda.MaxPool" in kernels  # which has an order, as a row of the table has none


def test_one_shape_after_another(cuda):
    model, _ = small_graph("y = ConvInteger<pads=[1, 1, 1, 1]>(x, w)", {"x": (numbers(U8, 1, 8, 7, 7), ["n", 8, 7, 7])}, {"w": numbers(S8, 9, 8, 3, 3)})
    for batch in (1, 3, 1):
        compare_all(cuda, model, {"x": numbers(U8, batch, 8, 7, 7)})
