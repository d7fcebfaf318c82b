# SPDX-License-Identifier: Apache-2.0
"""What stands between convolutions and products of 8 bits stays in 8 bits: functions, gates, residuals and constants as quantizers leave them."""

import os

import numpy as np
import pytest

import gantry
from cpu_flags import CPU_FLAGS
from byte_cases import S8, U8, check, conv_case, generator, random8, zero
from oracle import run_oracle
from small_graph import small_graph

HAS_VNNI = "avx512_vnni" in CPU_FLAGS and os.environ.get("ONEDNN_MAX_CPU_ISA", "") in ("", "AVX512_CORE_VNNI")
NUMBERS = {"s": np.float32(0.04), "t": np.float32(0.011), "u": np.float32(0.03), "half": np.float32(0.5), "one": np.float32(1),
           "root": np.float32(np.sqrt(2))}
SPELLINGS = {
    "silu": "a = DequantizeLinear(q, s, z)\n b = DequantizeLinear(q, s, z)\n c = Sigmoid(a)\n d = QuantizeLinear(c, t, v)\n e = DequantizeLinear(d, t, v)\n"
            "f = Mul(b, e)\n y = QuantizeLinear(f, u, w)",
    "gelu": "a = DequantizeLinear(q, s, z)\n b = DequantizeLinear(q, s, z)\n c = Div(a, root)\n d = Erf(c)\n e = QuantizeLinear(d, t, v)\n"
            "f = DequantizeLinear(e, t, v)\n k = DequantizeLinear(kq, t, v)\n g = Add(f, k)\n h = QuantizeLinear(g, t, v)\n i = DequantizeLinear(h, t, v)\n"
            "j = Mul(b, i)\n l = QuantizeLinear(j, u, w)\n m = DequantizeLinear(l, u, w)\n n = Mul(m, half)\n y = QuantizeLinear(n, u, w)",
    "another scale": "a = DequantizeLinear(q, s, z)\n y = QuantizeLinear(a, u, w)",
    "two bounds": "a = DequantizeLinear(q, s, z)\n b = Relu(a)\n c = Sub(one, b)\n d = Abs(c)\n y = QuantizeLinear(d, u, w)",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("dtype", [U8, S8])
def test_a_function_in_parts_is_one_table(spelling, dtype):
    text = SPELLINGS[spelling]
    constants = {**NUMBERS, "z": zero(dtype, 100), "v": zero(dtype, 12), "w": zero(dtype, 30), "kq": np.array(103, dtype)}
    constants = {name: value for name, value in constants.items() if f" {name})" in text or f" {name}," in text or f"({name}," in text}
    check(text, {"q": random8(dtype, 2, 20, 8, 7)}, constants, ["x86.int8_lookup"], 1)


def test_a_result_that_others_read_ends_a_function():
    text = ("a = DequantizeLinear(q, s, z)\n b = Sigmoid(a)\n c = QuantizeLinear(b, t, z)\n d = DequantizeLinear(c, t, z)\n e = Tanh(d)\n"
            "y = QuantizeLinear(e, t, z)\n f = Identity(c)\n g = Cast<to=6>(f)")
    model, feeds = small_graph(text, {"q": random8(U8, 2, 20, 8, 7)}, {"s": NUMBERS["s"], "t": NUMBERS["t"], "z": zero(U8, 100)})
    session = gantry.Session(model, device="CPU")
    results = session.run(feeds)
    for found, wanted in zip(results.values(), run_oracle(model, feeds), strict=True):
        assert np.abs(found.astype(np.int32) - wanted.astype(np.int32)).max() <= 1
    assert {node.kernel for node in session.placement.nodes} == {"x86.int8_lookup", "Cast"}


@pytest.mark.parametrize("reader", ["y = Erf(e)", "y = Mul(e, e)"])
def test_a_function_brings_channels_back_into_dense_order(reader):
    """A convolution leaves its channels innermost; who reads the function behind it knows no such order."""
    text, inputs, constants = conv_case(channels=(16, 24))
    text += f"\nx2 = DequantizeLinear(y, sy, zy)\n c2 = Sigmoid(x2)\n q2 = QuantizeLinear(c2, s2, z2)\n e = DequantizeLinear(q2, s2, z2)\n {reader}".replace("y =", "out =")
    model, feeds = small_graph(text, inputs, {**constants, "s2": np.float32(1 / 255), "z2": zero(U8, 0)}, 21)
    (expected,) = run_oracle(model, feeds)
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        for _ in range(2):
            assert np.abs(session.run(feeds)["out"] - expected).max() < 0.03
    assert "x86.int8_lookup" in {node.kernel for node in session.placement.nodes}


@pytest.mark.parametrize("mask_first", [True, False])
@pytest.mark.parametrize("is_narrow", [True, False])
@pytest.mark.parametrize("behind", ["", "Relu"])
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
def test_a_mask_of_the_lowest_float(operator, behind, is_narrow, mask_first):
    """As quantizers leave the mask of attention: its scale is near the largest float, so no number that is finite is a bound of what is none, and the
    scale of a narrow result goes into it more often than a float can say."""
    lowest = np.float32(-3.4028235e38)
    constants = {"s": np.float32(4e-4), "z": zero(U8, 138), "sm": -lowest / 255, "zm": zero(U8, 255), "so": np.float32(2e-4) if is_narrow else -lowest / 255 * (np.float32(4e-4) if operator == "Mul" else 1), "zo": zero(U8, 128)}
    operands = "m, a" if mask_first else "a, m"
    end = "b = Relu(c)\n y = QuantizeLinear(b, so, zo)" if behind else "y = QuantizeLinear(c, so, zo)"
    text = f"a = DequantizeLinear(q, s, z)\n m = DequantizeLinear(p, sm, zm)\n c = {operator}({operands})\n {end}"
    mask = np.where(np.tri(7, dtype=bool), 255, 0).astype(U8).reshape(1, 1, 7, 7)
    check(text, {"q": random8(U8, 2, 4, 7, 7), "p": np.broadcast_to(mask, (2, 1, 7, 7)).copy()}, constants, ["x86.eltwise.int8" + "+Relu" * bool(behind)], 1)


@pytest.mark.parametrize("extents", [(1, 1), (9, 9), (1, 9)])
@pytest.mark.parametrize("first", [True, False])
def test_a_gate_behind_a_convolution(extents, first):
    """Of channels that stand innermost, by a tensor that comes in dense order and is broadcast."""
    operands = "g, h" if first else "h, g"
    text, inputs, constants = conv_case(attributes="pads=[1, 1, 1, 1]",
                                        behind="e = QuantizeLinear(c, s2, z2)\n g = DequantizeLinear(e, s2, z2)\n h = DequantizeLinear(p, sp, zp)\n"
                                               f"d = Mul({operands})")
    constants |= {"s2": np.float32(0.05), "z2": zero(U8, 117), "sp": np.float32(0.008), "zp": zero(U8, 3)}
    inputs["p"] = random8(U8, 2, 24, *extents)
    check(text, inputs, constants, ["x86.conv.int8", "x86.eltwise.int8"], 1)


CONSTANT = {"k": random8(U8, 1, 20, 8, 7, seed=4), "sk": np.float32(0.02), "zk": zero(U8, 70)}


@pytest.mark.parametrize("node, kernel", [("Add(x, kf)", "x86.eltwise.int8"), ("Mul(kf, x)", "x86.eltwise.int8"),
                                          ("Concat<axis=1>(kf, x)", "x86.concat.int8")])
def test_a_constant_tensor_in_8_bits(node, kernel):
    """A position's embedding, a class token: quantizers put a DequantizeLinear behind these too."""
    constants = {**CONSTANT, "sx": np.float32(0.04), "zx": zero(U8, 101), "sy": np.float32(0.05), "zy": zero(U8, 140)}
    check(f"x = DequantizeLinear(q, sx, zx)\n kf = DequantizeLinear(k, sk, zk)\n c = {node}\n y = QuantizeLinear(c, sy, zy)",
          {"q": random8(U8, 1, 20, 8, 7)}, constants, [kernel], 1)


def test_a_constant_residual():
    text, inputs, constants = conv_case(channels=(16, 20), extent=8, kernel=1, behind="r = DequantizeLinear(k, sk, zk)\n d = Add(c, r)")
    constants |= {**CONSTANT, "k": random8(U8, 2, 20, 8, 8, seed=4)}
    check(text, inputs, constants, ["x86.conv.int8+Add"], 1)


@pytest.mark.skipif(not HAS_VNNI, reason="without VNNI the library's sums are not exact, and it stays in floats")
@pytest.mark.parametrize("source, target", [(U8, U8), (S8, S8), (U8, S8)])
@pytest.mark.parametrize("attributes, kernel", [("strides=[2, 2]", 2), ("strides=[2, 2], pads=[1, 1, 1, 1]", 4), ("", 3), ("dilations=[2, 2]", 3)])
@pytest.mark.parametrize("behind", ["d = Identity(c)", "d = Relu(c)"])
def test_a_transposed_convolution(source, target, attributes, kernel, behind):
    rng = generator(3)
    scales = rng.uniform(0.002, 0.01, 24).astype(np.float32)
    constants = {"sx": np.float32(0.02), "zx": zero(source, 31), "sy": np.float32(0.07), "zy": zero(target, 17), "sw": scales,
                 "w": rng.integers(-100, 100, (32, 24, kernel, kernel)).astype(S8), "bq": rng.integers(-3000, 3000, 24).astype(np.int32),
                 "sb": (scales * np.float32(0.02)).astype(np.float32)}
    text = ("x = DequantizeLinear(q, sx, zx)\n wf = DequantizeLinear<axis=1>(w, sw)\n b = DequantizeLinear<axis=0>(bq, sb)\n"
            f"c = ConvTranspose<{attributes}>(x, wf, b)\n {behind}\n y = QuantizeLinear(d, sy, zy)").replace("<>", "")
    check(text, {"q": random8(source, 2, 32, 9, 7)}, constants, ["x86.conv_transpose.int8" + ("+Relu" if "Relu" in behind else "")], 1)


@pytest.mark.parametrize("source, target", [(U8, U8), (S8, S8), (S8, U8)])
@pytest.mark.parametrize("behind", ["d = Identity(c)", "d = Relu(c)", "d = Clip(c, low, high)"])
@pytest.mark.parametrize("is_last", [True, False])
def test_a_normalisation_by_channel(source, target, behind, is_last):
    """Its own scale and bias are in 8 and 32 bits, as the static quantizer leaves them; in the order that a convolution leaves, and in the dense one."""
    rng = generator(6)
    constants = {"sx": np.float32(0.05), "zx": zero(source, 17), "sy": np.float32(0.03), "zy": zero(target, 40), "g": rng.integers(20, 120, 27).astype(S8),
                 "sg": np.float32(0.01), "bq": rng.integers(-900, 900, 27).astype(np.int32), "sb": np.float32(0.0005),
                 "m": rng.uniform(-1, 1, 27).astype(np.float32), "v": rng.uniform(0.5, 1.5, 27).astype(np.float32)}
    constants |= {"low": np.float32(-0.4), "high": np.float32(0.9)} if "Clip" in behind else {}
    extra = "" if "Identity" in behind else "+Relu" if "Relu" in behind else "+Clip"
    lines, kernels, name, inputs = [], [f"x86.eltwise.int8{extra}"], "q", {"q": random8(source, 2, 27, 9, 7)}
    if is_last:
        lines, name = ["p1 = DequantizeLinear(p, sx, zx)", "w = DequantizeLinear(wq, sg)", "e = Conv(p1, w)", "q = QuantizeLinear(e, sx, zx)"], "q"
        constants["wq"] = rng.integers(-100, 100, (27, 16, 1, 1)).astype(S8)
        kernels.append("x86.conv.int8")
        inputs = {"p": random8(source, 2, 16, 9, 7)}
    lines += [f"x = DequantizeLinear({name}, sx, zx)", "gf = DequantizeLinear(g, sg)", "bf = DequantizeLinear(bq, sb)",
              "c = BatchNormalization(x, gf, bf, m, v)", behind, "y = QuantizeLinear(d, sy, zy)"]
    if is_last:  # and somebody who reads channels innermost
        lines += ["z = DequantizeLinear(y, sy, zy)", "w2 = DequantizeLinear(wq2, sg)", "o = Conv(z, w2)", "out = QuantizeLinear(o, so, zx)"]
        constants |= {"wq2": rng.integers(-100, 100, (8, 27, 1, 1)).astype(S8), "so": np.float32(0.3)}
    check("\n".join(lines), inputs, constants, kernels, 2 if is_last else 1)
