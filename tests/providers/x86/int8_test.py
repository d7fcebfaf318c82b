# SPDX-License-Identifier: Apache-2.0
"""Operators between DequantizeLinear and QuantizeLinear run in 8 bits, to within one step of the oracle's."""

import json
import os
import re

import numpy as np
import pytest

import gantry
from cpu_flags import CPU_FLAGS
from byte_cases import S8, U8, check, conv_case, generator, random8, zero
from oracle import run_oracle
from small_graph import small_graph


@pytest.mark.parametrize("options", [
    {},
    {"source": S8, "source_zero": 0, "target": S8, "target_zero": 0},
    {"source": S8, "source_zero": -7, "target": U8},
    {"source_zero": 0, "target_zero": 0, "behind": "d = Relu(c)"},
    {"weights": U8},
    {"per_channel": False, "bias": None},
    {"bias": "f32"},
    {"groups": 2},
    {"groups": 16, "channels": (16, 16)},
    {"groups": 24, "channels": (24, 24), "attributes": "strides=[2, 2], pads=[1, 1, 1, 1]", "source_zero": 0},
    {"attributes": "strides=[2, 2], pads=[1, 1, 1, 1]"},
    {"attributes": "auto_pad=\"SAME_UPPER\""},
    {"attributes": "dilations=[2, 2]"},
    {"kernel": 1, "channels": (64, 32)},
    {"kernel": 7, "channels": (3, 16), "extent": 31, "attributes": "strides=[2, 2], pads=[3, 3, 3, 3]"},
    {"behind": "d = Clip(c, low, high)"},
    {"behind": "d = LeakyRelu<alpha=0.1>(c)"},
], ids=str)
def test_convolution(options):
    text, inputs, constants = conv_case(**options)
    constants.update({"low": np.float32(0), "high": np.float32(4)} if "Clip" in text else {})
    extra = "+Relu" if " Relu" in text else "+LeakyRelu" if "Leaky" in text else "+Clip" if "Clip" in text else ""
    check(text, inputs, constants, [f"x86.conv.int8{extra}"], 1)


@pytest.mark.parametrize("source, source_zero", [(U8, 114), (S8, 0), (S8, 7)])
def test_a_channel_for_each_group_over_three_axes(source, source_zero):
    """Eight weights in each of eight groups: what the library's sums are corrected by is wrong then."""
    constants = {"sx": np.float32(0.03125), "zx": zero(source, source_zero), "w": generator(6).integers(-80, 80, (8, 1, 2, 2, 2)).astype(S8), "sw": np.float32(0.0078125)}
    model, feeds = small_graph("x = DequantizeLinear(q, sx, zx)\n f = DequantizeLinear(w, sw)\n y = Conv<group=8>(x, f)", {"q": random8(source, 1, 8, 6, 6, 6)}, constants)
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("source, source_zero", [(U8, 126), (S8, 9), (U8, 0)])
@pytest.mark.parametrize("pads", [[1, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0]], ids=str)
def test_padding_before_and_behind_planes(source, source_zero, pads):
    constants = {"sx": np.float32(0.03125), "zx": zero(source, source_zero), "w": generator(6).integers(-80, 80, (64, 128, 2, 2, 1)).astype(S8), "sw": np.float32(0.0078125)}
    model, feeds = small_graph(f"x = DequantizeLinear(q, sx, zx)\n f = DequantizeLinear(w, sw)\n y = Conv<pads={pads}>(x, f)", {"q": random8(source, 1, 128, 3, 6, 32)}, constants)
    expected = run_oracle(model, feeds)[0]
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_a_convolution_whose_result_stays_in_floats():
    text, inputs, constants = conv_case()
    check(text.rsplit("\n", 2)[0], inputs, {name: constants[name] for name in constants if name not in ("sy", "zy")},
          ["x86.conv.int8"], 2e-4)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("addend", [U8, S8])
def test_a_residual(rounded, addend):
    between = "e = QuantizeLinear(c, s2, z2)\n f = DequantizeLinear(e, s2, z2)\n" if rounded else ""
    text, inputs, constants = conv_case(behind=f"{between} r = DequantizeLinear(p, sr, zr)\n g = Add({'f' if rounded else 'c'}, r)\n d = Relu(g)",
                                        attributes="pads=[1, 1, 1, 1]")
    constants |= {"s2": np.float32(0.04), "z2": zero(U8, 100), "sr": np.float32(0.03), "zr": zero(addend, 12)}
    if not rounded:
        del constants["s2"], constants["z2"]
    inputs["p"] = random8(addend, 2, 24, 9, 9)
    middle = "+QuantizeLinear+DequantizeLinear" if rounded else ""
    check(text, inputs, constants, [f"x86.conv.int8{middle}+Add+Relu"], 1)


def test_rounding_saturates_between_a_convolution_and_its_residual():
    text, inputs, constants = conv_case(behind="e = QuantizeLinear(c, s2, z2)\n f = DequantizeLinear(e, s2, z2)\n"
                                               "r = DequantizeLinear(p, s2, z2)\n d = Add(f, r)", attributes="pads=[1, 1, 1, 1]")
    constants |= {"s2": np.float32(0.005), "z2": zero(U8, 100), "sy": np.float32(0.0103)}  # no sums halfway between two numbers
    inputs["p"] = random8(U8, 2, 24, 9, 9)
    check(text, inputs, constants, ["x86.conv.int8+QuantizeLinear+DequantizeLinear+Add"], 1)


LEVEL = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
HAS_AMX = "amx_int8" in CPU_FLAGS and not LEVEL
HAS_VNNI = "avx512_vnni" in CPU_FLAGS and LEVEL in ("", "AVX512_CORE_VNNI")


def count_of_own_code(model, feeds, folder):
    """How many kernels of a run name the provider's own code for bytes as their part."""
    path = folder / "trace.json"
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 1, "profile": str(path)}})
    session.run(feeds)
    del session
    return sum(event["name"] == ("tiles amx_int8" if HAS_AMX else "int8 avx512_vnni") for event in json.loads(path.read_text())["traceEvents"])


needs_vnni = pytest.mark.skipif(not HAS_VNNI, reason="the provider's own code for bytes needs AVX-512 with VNNI")


@needs_vnni
@pytest.mark.parametrize("options", [
    {"channels": (128, 136), "extent": 7, "attributes": "pads=[1, 1, 1, 1]"},
    {"channels": (256, 520), "kernel": 1, "extent": 5, "bias": None},
    {"channels": (64, 100), "kernel": 5, "extent": 9, "attributes": "strides=[2, 2], pads=[2, 1, 2, 1]", "source_zero": 0, "target_zero": 0},
    {"channels": (128, 128), "extent": 8, "attributes": "dilations=[2, 2], pads=[2, 2, 2, 2]", "weights": U8},
    {"channels": (512, 300), "kernel": 1, "extent": 4, "target": S8, "target_zero": -5, "per_channel": False, "bias": "f32"},
    {"channels": (132, 128), "extent": 3, "target_scale": 0.02},
    {"channels": (128, 128), "extent": 5, "behind": "d = Relu(c)"},
    {"channels": (128, 120), "extent": 5, "behind": "d = Clip(c, low, high)", "target_zero": 3},
    {"channels": (512, 260), "kernel": 1, "extent": 5, "behind": "d = LeakyRelu<alpha=0.1>(c)"},
], ids=str)
def test_few_pixels_and_many_weights(options, tmp_path):
    text, inputs, constants = conv_case(**{"target_scale": 0.6, **options})
    constants.update({"low": np.float32(-20), "high": np.float32(30)} if "Clip" in text else {})
    extra = "+Relu" if " Relu" in text else "+LeakyRelu" if "Leaky" in text else "+Clip" if "Clip" in text else ""
    check(text, inputs, constants, [f"x86.conv.int8{extra}"], 1)
    assert count_of_own_code(*small_graph(text, inputs, constants), tmp_path) == 1


@needs_vnni
def test_few_pixels_and_many_weights_whose_result_stays_in_floats(tmp_path):
    text, inputs, constants = conv_case(channels=(128, 140), extent=6)
    text, constants = text.rsplit("\n", 2)[0], {name: constants[name] for name in constants if name not in ("sy", "zy")}
    check(text, inputs, constants, ["x86.conv.int8"], 2e-3)
    assert count_of_own_code(*small_graph(text, inputs, constants), tmp_path) == 1


# With AMX all are taken that are not in groups and end in steps that the code has.
@needs_vnni
@pytest.mark.parametrize("options, behind, own", [
    ({"channels": (32, 128), "extent": 8}, "", HAS_AMX), ({"channels": (128, 128), "extent": 20}, "", HAS_AMX),
    ({"channels": (128, 128), "extent": 5, "source": S8, "source_zero": 3}, "", HAS_AMX),
    ({"channels": (128, 128), "extent": 5}, "d = Sigmoid(c)", False), ({"channels": (128, 128), "extent": 5, "groups": 2}, "", False),
], ids=str)
def test_what_is_left_to_the_library(options, behind, own, tmp_path):
    assert count_of_own_code(*small_graph(*conv_case(**options, behind=behind)), tmp_path) == own


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("behind", ["", "Relu", "Clip"])
@pytest.mark.parametrize("made, zero_made", [(U8, 0), (U8, 9), (S8, 0)])
@pytest.mark.parametrize("channels", [16, 128])  # of the library's code and of the provider's own
def test_a_residual_whose_memory_the_result_takes(rounded, behind, made, zero_made, channels):
    """Three convolutions, the result of the first added to that of the third, after which nobody reads it."""
    rng = generator(11)
    scales = {"s0": 0.02, "sa": 0.045, "sb": 0.03, "sr": 0.04, "sy": 0.061}
    constants = {name: np.float32(scale) for name, scale in scales.items()}
    constants |= {"z0": zero(U8, 120), "za": zero(made, 7), "zb": zero(U8, 0), "zr": zero(U8, 100), "zy": zero(made, zero_made),
                  "sw": (rng.uniform(0.008, 0.016, channels) / np.sqrt(channels)).astype(np.float32)}
    constants |= {f"w{i}": rng.integers(-100, 100, (channels, channels, k, k)).astype(S8) for i, k in ((1, 1), (2, 1), (3, 3))}
    constants |= {"low": np.float32(-1), "high": np.float32(5)} if behind == "Clip" else {}
    lines = ["x = DequantizeLinear(q, s0, z0)"]
    for i, source, pads in ((1, "x", ""), (2, "a", ""), (3, "b", "<pads=[1, 1, 1, 1]>")):
        lines += [f"f{i} = DequantizeLinear<axis=0>(w{i}, sw)", f"c{i} = Conv{pads}({source}, f{i})"]
        if i < 3:
            value = "ab"[i - 1]
            lines += [f"{value}q = QuantizeLinear(c{i}, s{value}, z{value})", f"{value} = DequantizeLinear({value}q, s{value}, z{value})"]
    if rounded:
        lines += ["rq = QuantizeLinear(c3, sr, zr)", "r = DequantizeLinear(rq, sr, zr)"]
    lines.append(f"g = Add({'r' if rounded else 'c3'}, a)")
    lines.append({"": "d = Identity(g)", "Relu": "d = Relu(g)", "Clip": "d = Clip(g, low, high)"}[behind])
    lines += ["yq = QuantizeLinear(d, sy, zy)", "y = DequantizeLinear(yq, sy, zy)"]
    middle = "+QuantizeLinear+DequantizeLinear" if rounded else ""
    check("\n".join(lines), {"q": random8(U8, 1, channels, 9, 9)}, constants,
          ["x86.conv.int8", f"x86.conv.int8{middle}+Add{'+' if behind else ''}{behind}", "DequantizeLinear"], scales["sy"] * 1.001)


@pytest.mark.parametrize("channels, kernel", [(16, 3), (24, 1), (40, 1), (128, 3)])
def test_a_residual_between_convolutions(channels, kernel):
    """The sum replaces what was added, channels innermost: nothing may be written before it was read."""
    rng = generator(5)
    constants = {f"s{i}": np.float32(0.02) for i in range(5)} | {f"z{i}": zero(U8, 110 + i) for i in range(5)}
    constants["sw"] = (rng.uniform(0.8, 1.6, channels) / np.sqrt(channels * 3000 * kernel**2)).astype(np.float32)
    constants |= {f"w{i}": rng.integers(-100, 100, (channels, channels, kernel, kernel)).astype(S8) for i in range(4)}
    pads = f"<pads=[{', '.join([str(kernel // 2)] * 4)}]>"
    lines = ["x0 = DequantizeLinear(q, s0, z0)"]
    for i, source in enumerate(("x0", "x1", "x2", "x3")):
        lines += [f"f{i} = DequantizeLinear<axis=0>(w{i}, sw)", f"c{i} = Conv{pads}({source}, f{i})"]
        made = f"c{i}"
        if i == 2:
            lines.append("g = Add(c2, x1)")
            made = "g"
        lines.append(f"q{i} = QuantizeLinear({made}, s{i + 1}, z{i + 1})")
        lines.append(f"{'y' if i == 3 else f'x{i + 1}'} = DequantizeLinear(q{i}, s{i + 1}, z{i + 1})")
    model, feeds = small_graph("\n".join(lines), {"q": random8(U8, 1, channels, 9, 9)}, constants, 21)
    (expected,) = run_oracle(model, feeds)
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        for _ in range(2):
            difference = np.abs(session.run(feeds)["y"] - expected)
            assert difference.max() <= 3 * 0.0201  # a step apart, here and there, and what follows from it


@pytest.mark.parametrize("operator, shape, axis", [("MatMul", (40, 33), 1), ("Gemm", (40, 33), 1), ("Gemm<transB=1>", (33, 40), 0),
                                                   ("Gemm<alpha=0.5, beta=2.0, transB=1>", (33, 40), 0)])
@pytest.mark.parametrize("source", [U8, S8])
def test_product(operator, shape, axis, source):
    scales = generator(1).uniform(0.002, 0.01, 33).astype(np.float32)
    constants = {"sx": np.float32(0.02), "zx": zero(source, 9), "w": random8(S8, *shape), "sw": scales, "sy": np.float32(0.06), "zy": zero(U8, 120)}
    bias = ""
    if "Gemm" in operator:
        bias = ", b"
        constants |= {"bq": generator(2).integers(-3000, 3000, 33).astype(np.int32), "sb": (scales * np.float32(0.02)).astype(np.float32)}
    text = (f"x = DequantizeLinear(q, sx, zx)\n wf = DequantizeLinear<axis={axis}>(w, sw)\n"
            + ("b = DequantizeLinear<axis=0>(bq, sb)\n" if bias else "")
            + f"c = {operator}(x, wf{bias})\n d = Relu(c)\n y = QuantizeLinear(d, sy, zy)")
    check(text, {"q": random8(source, 7, 40)}, constants, ["x86.matmul.int8+Relu"], 1)


def test_product_of_a_batch():
    constants = {"sx": np.float32(0.02), "zx": zero(U8, 128), "w": random8(S8, 40, 33), "sw": np.float32(0.004)}
    check("x = DequantizeLinear(q, sx, zx)\n wf = DequantizeLinear(w, sw)\n y = MatMul(x, wf)", {"q": random8(U8, 2, 5, 40)}, constants,
          ["x86.matmul.int8"], 2e-4)


@pytest.mark.parametrize("source, source_zero", [(U8, 0), (U8, 9), (S8, 0), (S8, 9)])
def test_products_of_many_numbers_of_rows(source, source_zero):
    """The library multiplies few rows by weights in another layout than many."""
    constants = {"sx": np.float32(0.02), "zx": zero(source, source_zero), "w": generator(5).integers(-80, 80, (64, 33)).astype(S8), "sw": np.float32(0.004),
                 "zw": zero(S8, 0), "sy": np.float32(0.0625), "zy": zero(S8, 0)}
    model, _ = small_graph("y = QLinearMatMul(q, sx, zx, w, sw, zw, sy, zy)", {"q": (random8(source, 2, 64), ["n", 64])}, constants)
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 1}})
    assert [node.kernel for node in session.placement.nodes] == ["x86.matmul.int8"]
    for rows in (1, 2, 5, 8, 17, 64, 200, 1):
        feeds = {"q": random8(source, rows, 64)}
        np.testing.assert_array_equal(session.run(feeds)["y"], run_oracle(model, feeds)[0])
    kept = []  # so that the weights are shared
    for rows in (200, 1):
        model, feeds = small_graph("y = QLinearMatMul(q, sx, zx, w, sw, zw, sy, zy)", {"q": random8(source, rows, 64)}, constants)
        kept.append(gantry.Session(model, device="CPU", config={"session": {"threads": 1}}))
        np.testing.assert_array_equal(kept[-1].run(feeds)["y"], run_oracle(model, feeds)[0])


@pytest.mark.parametrize("text, kernel", [
    pytest.param("f = DequantizeLinear<axis=1>(w, sw)\n c = MatMul(a, f)\n y = Add(c, x)", "x86.matmul.int8+Add", marks=needs_vnni),
    ("d = DequantizeLinear(q, sa, za)\n c = Add(a, d)\n y = QuantizeLinear(c, sa, za)", "x86.eltwise.int8"),
    ("d = DequantizeLinear(q, sa, za)\n f = DequantizeLinear(w4, sw1)\n c = Conv(d, f)\n e = QuantizeLinear(c, sa, za)\n g = DequantizeLinear(e, sa, za)\n"
     "h = Concat<axis=1>(g, a)\n y = QuantizeLinear(h, sy, za)", "x86.concat.int8"),
    ("d = DequantizeLinear(q, sa, za)\n f = DequantizeLinear(w4, sw1)\n c = Conv(d, f)\n e = Add(c, a)\n y = QuantizeLinear(e, sa, za)", "x86.conv.int8+Add"),
], ids=["source", "addition", "concatenation", "addend"])
def test_quantized_tensors_that_are_constant(text, kernel):
    """Left behind when the nodes before them are folded."""
    values = generator(7)
    constants = {"k": values.integers(-128, 128, (2, 8, 4, 8)).astype(S8), "sa": np.float32(0.03125), "za": zero(S8, 2), "w": values.integers(-80, 80, (8, 8)).astype(S8),
                 "sw": np.full(8, 0.0078125, np.float32), "w4": values.integers(-80, 80, (8, 8, 1, 1)).astype(S8), "sw1": np.float32(0.0078125), "sy": np.float32(0.0625)}
    text = f"a = DequantizeLinear(k, sa, za)\n {text}"
    inputs = {"x": np.ones((2, 8, 4, 8), np.float32)} if "Add(c, x)" in text else {"q": random8(S8, 2, 8, 4, 8)}
    model, feeds = small_graph(text, inputs, {name: value for name, value in constants.items() if re.search(rf"\b{name}\b", text)})
    session = gantry.Session(model, device="CPU", config={"session": {"threads": 1}})
    assert kernel in {node.kernel for node in session.placement.nodes}
    np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 24, 5, 7), (1, 16, 9), (1, 3, 4, 1, 6)])
def test_a_function_whose_result_stands_in_another_order(shape):
    """Its source is channels-last, as the convolution left it; its result leaves the graph."""
    text, inputs, constants = conv_case(channels=(shape[1], 40), kernel=1, behind="e = QuantizeLinear(c, sy, zy)\n f = DequantizeLinear(e, sy, zy)\n d = Sigmoid(f)")
    text = text.replace("QuantizeLinear(d, sy, zy)", "QuantizeLinear(d, sd, zd)")
    constants |= {"sd": np.float32(1 / 256), "zd": zero(U8, 0), "w": constants["w"].reshape(40, shape[1], *[1] * (len(shape) - 2))}
    check(text, {"q": random8(U8, *shape)}, constants, ["x86.conv.int8", "x86.int8_lookup"], 1)


@pytest.mark.parametrize("operator, kernel", [
    ("AveragePool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>", "x86.pool.int8"),
    ("AveragePool<kernel_shape=[2, 2]>", "x86.pool.int8"),
    ("GlobalAveragePool", "x86.pool.int8"),
    ("Sigmoid", "x86.int8_lookup"),
    ("HardSwish", "x86.int8_lookup"),
    ("Elu<alpha=0.7>", "x86.int8_lookup"),
    ("LeakyRelu<alpha=0.2>", "x86.int8_lookup"),
])
@pytest.mark.parametrize("source, target", [(U8, U8), (S8, S8), (S8, U8), (U8, S8)])
def test_of_one_tensor(operator, kernel, source, target):
    constants = {"sx": np.float32(0.04), "zx": zero(source, 101), "sy": np.float32(0.03), "zy": zero(target, 55)}
    model = f"x = DequantizeLinear(q, sx, zx)\n d = {operator}(x)\n y = QuantizeLinear(d, sy, zy)"
    if "Pool" in operator and source != target:
        feeds = {"q": random8(source, 2, 20, 8, 7)}
        session = gantry.Session(small_graph(model, feeds, constants)[0], device="CPU")
        assert not any(node.kernel == kernel for node in session.placement.nodes)  # pooling keeps the element type
        return
    check(model, {"q": random8(source, 2, 20, 8, 7)}, constants, [kernel], 1)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Sum", "Mul"])
@pytest.mark.parametrize("first, second", [(U8, U8), (U8, S8), (S8, S8)])
@pytest.mark.parametrize("other", [(2, 20, 8, 7), (1, 20, 1, 1), (2, 20, 1, 1), (20, 1, 7), (7,), ()])
def test_of_two_tensors(operator, first, second, other):
    constants = {"sx": np.float32(0.04), "zx": zero(first, 101), "sp": np.float32(0.02), "zp": zero(second, 33), "sy": np.float32(0.05),
                 "zy": zero(U8, 140)}
    check(f"x = DequantizeLinear(q, sx, zx)\n r = DequantizeLinear(p, sp, zp)\n c = {operator}(x, r)\n d = Relu(c)\n y = QuantizeLinear(d, sy, zy)",
          {"q": random8(first, 2, 20, 8, 7), "p": random8(second, *other, seed=1)}, constants, ["x86.eltwise.int8+Relu"], 1)


@pytest.mark.parametrize("operator", ["MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>", "GlobalMaxPool"])
def test_largest_numbers(operator):
    constants = {"s": np.float32(0.04), "z": zero(U8, 101)}
    session = check(f"x = DequantizeLinear(q, s, z)\n d = {operator}(x)\n y = QuantizeLinear(d, s, z)", {"q": random8(U8, 2, 20, 9, 9)},
                    constants, ["x86.pool" if "kernel" in operator else "x86.pool.int8"], 0)
    assert len(session.placement.nodes) == (1 if "kernel" in operator else 3)


@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER"])
def test_gaps_in_a_window_of_one_place(mode):
    constants = {"s": np.float32(0.0625), "z": zero(U8, 72), "sy": np.float32(0.015625), "zy": zero(U8, 110)}
    check(f"x = DequantizeLinear(q, s, z)\n c = AveragePool<auto_pad=\"{mode}\", kernel_shape=[1], dilations=[2]>(x)\n y = QuantizeLinear(c, sy, zy)",
          {"q": random8(U8, 1, 12, 1)}, constants, ["x86.pool.int8"], 0)


def test_a_network_stays_in_8_bits():
    """Two convolutions that read one tensor, their results side by side, pooled, flattened and multiplied: no floats in between."""
    rng = generator(5)
    scale = np.float32(0.03)
    constants = {"s": scale, "z": zero(U8, 120), "sw": np.float32(0.01), "shape": np.array([1, -1])}
    for name, shape in {"w1": (32, 16, 3, 3), "w2": (16, 16, 1, 1), "w3": (768, 10)}.items():
        constants[name] = rng.integers(-60, 60, shape).astype(S8)
    lines = ["x0 = QuantizeLinear(x, s, z)", "x1 = DequantizeLinear(x0, s, z)"]
    for i, pads in ((1, "<pads=[1, 1, 1, 1]>"), (2, "")):
        lines += [f"f{i} = DequantizeLinear(w{i}, sw)", f"c{i} = Conv{pads}(x1, f{i})", f"q{i} = QuantizeLinear(c{i}, s, z)",
                  f"d{i} = DequantizeLinear(q{i}, s, z)"]
    lines += ["j = Concat<axis=1>(d1, d2)", "jq = QuantizeLinear(j, s, z)", "jd = DequantizeLinear(jq, s, z)",
              "m = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(jd)", "mq = QuantizeLinear(m, s, z)", "md = DequantizeLinear(mq, s, z)",
              "r = Reshape(md, shape)", "rq = QuantizeLinear(r, s, z)", "rd = DequantizeLinear(rq, s, z)", "f3 = DequantizeLinear(w3, sw)",
              "y = MatMul(rd, f3)"]
    model, feeds = small_graph("\n".join(lines), {"x": rng.standard_normal((1, 16, 8, 8)).astype(np.float32)}, constants)
    session = gantry.Session(model, device="CPU")
    (expected,) = run_oracle(model, feeds)
    np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=0, atol=0.02 * np.abs(expected).max())
    kernels = [node.kernel for node in session.placement.nodes]
    assert not {"DequantizeLinear", "Concat", "MaxPool"} & set(kernels), kernels
    assert kernels.count("x86.concat") == kernels.count("x86.pool") == 1


def test_weights_that_nobody_takes_in_8_bits_are_folded():
    """The convolution's input is in floats: its weights are turned into floats once, and the convolution runs as one of floats."""
    constants = {"w": random8(S8, 8, 4, 3, 3), "sw": np.float32(0.01)}
    model, feeds = small_graph("wf = DequantizeLinear(w, sw)\n y = Conv(x, wf)", {"x": np.ones((1, 4, 5, 5), np.float32)}, constants)
    session = gantry.Session(model, device="CPU")
    assert [node.kernel for node in session.placement.nodes] == ["x86.conv"]
    np.testing.assert_allclose(session.run(feeds)["y"], run_oracle(model, feeds)[0], rtol=1e-4, atol=1e-4)


def concatenation(extents, channels, quantizations, target, made_by_convolutions):
    """Text, inputs and constants of a Concat of tensors of several scales, each behind a convolution of single pixels or as it comes."""
    lines, inputs, constants, parts = [], {}, {"sy": np.float32(target[0]), "zy": target[1]}, []
    for i, (count, (scale, zero_point)) in enumerate(zip(channels, quantizations, strict=True)):
        constants |= {f"s{i}": np.float32(scale), f"z{i}": zero_point}
        inputs[f"q{i}"] = random8(zero_point.dtype.type, 2, count, *extents, seed=i)
        source = f"q{i}"
        if made_by_convolutions:
            constants[f"w{i}"] = generator(i).integers(-100, 100, (count, count, *[1] * len(extents))).astype(S8)
            constants[f"sw{i}"] = np.float32(0.01 / np.sqrt(count))
            lines += [f"x{i} = DequantizeLinear(q{i}, s{i}, z{i})", f"f{i} = DequantizeLinear(w{i}, sw{i})", f"c{i} = Conv(x{i}, f{i})",
                      f"r{i} = QuantizeLinear(c{i}, s{i}, z{i})"]
            source = f"r{i}"
        lines.append(f"p{i} = DequantizeLinear({source}, s{i}, z{i})")
        parts.append(f"p{i}")
    return "\n".join([*lines, f"j = Concat<axis=1>({', '.join(parts)})", "y = QuantizeLinear(j, sy, zy)"]), inputs, constants


@pytest.mark.parametrize("extents, channels", [((9, 7), (5, 70, 1)), ((11,), (64, 3, 65)), ((1, 1), (200, 300, 129))])
@pytest.mark.parametrize("target", [(0.031, zero(U8, 117)), (0.023, zero(S8, -3)), (0.25, zero(U8, 0))], ids=["u8", "s8", "coarse"])
@pytest.mark.parametrize("made_by_convolutions", [False, True])
def test_concatenation_of_several_scales(extents, channels, target, made_by_convolutions):
    """One of them is the target's own scale; the others are numbers of the target's after it, saturated."""
    # A step of a convolution's result is at most one of the target's.
    quantizations = [(0.02, zero(U8, 131)), target, (0.012 if made_by_convolutions else 0.3, zero(S8, -128))]
    text, inputs, constants = concatenation(extents, channels, quantizations, target, made_by_convolutions)
    if made_by_convolutions:
        check(text, inputs, constants, ["x86.conv.int8", "x86.concat.int8"], 1)
        return
    model, feeds = small_graph(text, inputs, constants)
    (expected,) = run_oracle(model, feeds)
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        assert {node.kernel for node in session.placement.nodes} == {"x86.concat.int8"}
        for _ in range(2):
            np.testing.assert_array_equal(session.run(feeds)["y"], expected)


def test_a_concatenation_whose_result_stays_in_floats():
    quantizations = [(0.02, zero(U8, 131)), (0.3, zero(S8, -128))]
    text, inputs, constants = concatenation((4, 5), (3, 6), quantizations, (0.1, zero(U8, 3)), False)
    text, constants = text.rsplit("\n", 1)[0], {name: constants[name] for name in constants if name not in ("sy", "zy")}
    model, feeds = small_graph(text, inputs, constants)
    np.testing.assert_array_equal(gantry.Session(model, device="CPU").run(feeds)["j"], run_oracle(model, feeds)[0])
