# SPDX-License-Identifier: Apache-2.0
"""Small models between DequantizeLinear and QuantizeLinear, and their check against ONNX Runtime to within one step."""

import numpy as np

import gantry
from oracle import run_oracle
from small_graph import small_graph

U8, S8 = np.uint8, np.int8


def generator(seed=0):
    return np.random.default_rng(seed)


def random8(dtype, *shape, seed=0):
    low, high = (0, 256) if dtype == U8 else (-128, 128)
    return generator(seed + sum(shape)).integers(low, high, shape).astype(dtype)


def zero(dtype, value):
    return np.array(value, dtype)


def check(text, inputs, constants, kernels, step, opset=21):
    """Runs on one and two threads, twice each; equal to the oracle but for one step; the kernels are those that are named."""
    model, feeds = small_graph(text, inputs, constants, opset)
    expected = run_oracle(model, feeds)
    for threads in (1, 2):
        session = gantry.Session(model, device="CPU", config={"session": {"threads": threads}})
        for _ in range(2):
            for found, wanted in zip(session.run(feeds).values(), expected, strict=True):
                assert found.dtype == wanted.dtype and found.shape == wanted.shape
                difference = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
                assert difference.max() <= step, (difference.max(), threads)
                assert (difference > step / 2).sum() <= max(1, 0.02 * difference.size)  # a step apart is the exception
    assert sorted({node.kernel for node in session.placement.nodes}) == sorted(kernels), session.placement
    return session


def conv_case(source=U8, source_zero=131, target=U8, target_zero=117, weights=S8, per_channel=True, bias="i32", groups=1, channels=(16, 24),
              kernel=3, attributes="", extent=9, behind="", target_scale=0.05):
    """Text, inputs and constants of a quantized convolution; `behind`: nodes from c to d."""
    count, made = channels
    rng = generator(3)
    scales = (rng.uniform(0.002, 0.01, made) if per_channel else np.array(0.005)).astype(np.float32)
    w = rng.integers(-100, 100, (made, count // groups, kernel, kernel))
    constants = {
        "sx": np.float32(0.02), "zx": zero(source, source_zero), "sy": np.float32(target_scale), "zy": zero(target, target_zero),
        "w": (w + (128 if weights == U8 else 0)).astype(weights), "sw": scales,
        "zw": np.full(scales.shape, 128 if weights == U8 else 0, weights),
    }
    axis = "<axis=0>" if per_channel else ""
    lines = ["x = DequantizeLinear(q, sx, zx)", f"wf = DequantizeLinear{axis}(w, sw, zw)"]
    arguments = "x, wf"
    if bias:
        values = rng.integers(-3000, 3000, made)
        arguments += ", b"
        constants["b" if bias == "f32" else "bq"] = values.astype(np.int32) if bias == "i32" else (values * 0.0002).astype(np.float32)
        if bias == "i32":
            constants["sb"] = (scales * np.float32(0.02)).astype(np.float32)
            lines.append(f"b = DequantizeLinear{axis}(bq, sb)")
    attributes = f"<group={groups}{', ' + attributes if attributes else ''}>"
    lines += [f"c = Conv{attributes}({arguments})", behind or "d = Identity(c)", "y = QuantizeLinear(d, sy, zy)"]
    return "\n".join(lines), {"q": random8(source, 2, count, extent, extent)}, constants
