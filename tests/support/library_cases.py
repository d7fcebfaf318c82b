# SPDX-License-Identifier: Apache-2.0
"""Models of all families of the provider x86, over broadcasts, layouts and ranks, run while oneDNN prints the implementation of each primitive.

    library_cases.py [THREADS]

Prints `case NAME` before the lines of each model (ONEDNN_VERBOSE=profile_exec writes these), and at the end how many there were. Element-wise results are compared
bit for bit with NumPy's. A process of its own, as the library reads its instruction set once (ONEDNN_MAX_CPU_ISA).
"""

import ctypes
import itertools
import sys

import numpy as np

import gantry
from byte_cases import S8, U8, conv_case, random8, zero
from conv_cases import CONVOLUTIONS
from pool_cases import CEILED, DILATED, WINDOWS
from small_graph import small_graph

BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum, "Min": np.minimum, "Sum": np.add}
ACTIVATIONS = ("Relu(a)", "LeakyRelu<alpha=0.1>(a)", "Sigmoid(a)", "Tanh(a)", "Elu(a)", "HardSigmoid(a)", "HardSwish(a)", "Gelu(a)", 'Gelu<approximate="tanh">(a)', "Mish(a)",
               "Clip(a, low, high)")
BOUNDS = {"low": np.float32(-0.5), "high": np.float32(0.75)}


def normal(*shape, seed=0):
    return np.random.default_rng(seed + 7 * len(shape) + sum(shape)).standard_normal(shape, np.float32)


def broadcasts(rank):
    """Pairs of shapes that broadcast to one of `rank` axes: each axis or group of axes of either operand may have one position."""
    whole = (2, 24, 5, 3, 4)[:rank]
    channels = (1, 24) + (1,) * (rank - 2)
    parts = {
        "whole": whole, "gate": whole[:2] + (1,) * (rank - 2), "channels": channels, "plane": (1, 1) + whole[2:], "planes": (whole[0], 1) + whole[2:], "one": (1,) * rank,
        "batch": whole[:1] + (1,) * (rank - 1), "no batch": (1,) + whole[1:], "row": (1,) * (rank - 1) + whole[-1:], "column": whole[:-1] + (1,),
        "channels and row": channels[:-1] + whole[-1:],
    }
    for name, shape in parts.items():
        yield name, whole, shape
    yield "gate, plane", parts["gate"], parts["plane"]
    yield "channels, planes", parts["channels"], parts["planes"]
    yield "scalar", whole, ()
    yield "last axis", whole, whole[-1:]
    if rank > 3:
        yield "last two axes", whole, whole[-2:]


def channels_last(name, made):
    """Nodes that make `made` of `name`, bit for bit, in channels-last order: a convolution by the unit matrix, and a pool so that nothing is fused into that."""
    window = ",".join(["1"] * (made.ndim - 2))
    text = f"{name}c = Conv({name}i, {name}w)\n {name} = MaxPool<kernel_shape=[{window}]>({name}c)\n"
    return text, np.eye(made.shape[1], dtype=np.float32).reshape(made.shape[1], made.shape[1], *[1] * (made.ndim - 2))


def binary():
    for rank, (op, function) in itertools.product((3, 4, 5), BINARY.items()):
        for (name, *shapes), exchanged, layout, behind in itertools.product(broadcasts(rank), (False, True), ("dense", "first last", "second last", "both last"), ("", "Relu", "Mish")):
            if behind and (rank != 4 or layout == "dense" or op in ("Max", "Min", "Sum")):
                continue
            if exchanged:
                shapes = shapes[::-1]
            operands = [normal(*shapes[0]) + np.float32(0.01), normal(*shapes[1], seed=1) + np.float32(0.02)]
            lines, inputs, constants = "", {}, {}
            for letter, operand, is_last in zip("ab", operands, (layout in ("first last", "both last"), layout in ("second last", "both last"))):
                if is_last and operand.ndim == rank:
                    text, constants[letter + "w"] = channels_last(letter, operand)
                    lines += text
                    inputs[letter + "i"] = operand
                else:
                    inputs[letter] = operand
            with np.errstate(all="ignore"):
                expected = function(*operands)
            text = f"{op}(a, b)"
            # What is alone in dense order is not this provider's.
            text = f"y = {text}" if layout != "dense" and not behind else f"c = {text}\n y = {behind or 'Neg'}(c)"
            yield f"{op} {rank} axes, {name}{' exchanged' * exchanged}, {layout}, {behind}", lines + text, inputs, constants, None if behind == "Mish" else \
                np.maximum(expected, 0) if behind == "Relu" else -expected if layout == "dense" else expected
    for op, exchanged, count in itertools.product(BINARY, (False, True), (1, 24)):
        text, weights = channels_last("a", normal(2, 24, 5, 3))
        k = normal(count, 1, 1, seed=3)
        a = normal(2, 24, 5, 3)
        yield (f"{op} constant of {count}{' first' * exchanged}", f"{text} y = {op}({'k, a' if exchanged else 'a, k'})", {"ai": a}, {"aw": weights, "k": k},
               BINARY[op](k, a) if exchanged else BINARY[op](a, k))


def others_by_element():
    for rank, activation in itertools.product((3, 4, 5), ACTIVATIONS):
        x = normal(*(2, 24, 5, 3, 4)[:rank])
        text, weights = channels_last("a", x)
        constants = {"aw": weights, **(BOUNDS if "Clip" in activation else {})}
        yield f"{activation} {rank} axes", f"{text} y = {activation}", {"ai": x}, constants, None
    for first, second in itertools.product(("Relu", "Elu", "Mish"), ("Mish", "Elu", "Tanh")):
        x = normal(2, 24, 5, 3)
        text, weights = channels_last("a", x)
        yield f"{first} and {second}", f"{text} b = {first}(a)\n y = {second}(b)", {"ai": x}, {"aw": weights}, None
    for channels, behind in itertools.product((7, 24), ("", "Relu", "Mish")):
        x = normal(2, channels, 5, 3)
        text, weights = channels_last("a", x)
        norm = {name: normal(channels, seed=seed) for seed, name in enumerate(("scale", "shift", "mean"))} | {"variance": np.abs(normal(channels)) + np.float32(0.1)}
        yield (f"BatchNormalization of {channels} {behind}", f"{text} b = BatchNormalization(a, scale, shift, mean, variance)\n y = {behind or 'Relu'}(b)", {"ai": x},
               {"aw": weights, **norm}, None)


def attributes_text(attributes):
    return "<" + ", ".join(f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}" for key, value in attributes.items()) + ">" if attributes else ""


def convolutions():
    for (name, (shape, kernel, attributes)), behind in itertools.product(CONVOLUTIONS.items(), ("", "Relu", "HardSwish", "residual")):
        if len(shape) > 5:
            continue  # another provider's
        inputs = {"x": normal(*shape)}
        text = f"c = Conv{attributes_text(attributes)}(x, w)\n"
        if behind == "residual":  # of what the convolution's own input makes, so that its shape fits
            text += f"d = Conv{attributes_text(attributes)}(x, v)\n e = Add(c, d)\n y = Relu(e)"
        else:
            text += f"y = {behind or 'Identity'}(c)"
        constants = {"w": normal(*kernel)} | ({"v": normal(*kernel, seed=5)} if behind == "residual" else {})
        yield f"Conv {name} {behind}", text, inputs, constants, None
    for source, target, weights, groups, kernel, behind in itertools.product((U8, S8), (U8, S8), (S8,), (1, 16), (1, 3), ("", "d = Relu(c)")):
        made = 16 if groups > 1 else 24
        text, inputs, constants = conv_case(source, 131 if source == U8 else 3, target, 117 if target == U8 else 3, weights, groups=groups, channels=(16, made), kernel=kernel, behind=behind)
        yield f"int8 Conv {source.__name__} {target.__name__} {groups} groups, {kernel} {behind}", text, inputs, constants, None
    text, inputs, constants = conv_case(channels=(16, 24), kernel=1, behind="r = DequantizeLinear(q2, sy, zy)\n d = Add(c, r)")
    yield "int8 Conv residual", text, {**inputs, "q2": random8(U8, 2, 24, 9, 9)}, constants, None


def transposed_convolutions():
    for name, (shape, kernel, attributes) in {
        "doubled": ((1, 16, 9, 8), (16, 8, 2, 2), {"strides": [2, 2]}), "overlapping": ((2, 16, 6, 5), (16, 24, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        "dense": ((1, 32, 9, 8), (32, 16, 3, 3), {"pads": [1, 1, 1, 1]}), "uneven": ((1, 16, 6, 5), (16, 16, 3, 4), {"strides": [2, 3], "pads": [0, 1, 0, 1]}),
        "apart": ((1, 16, 4, 5), (16, 16, 1, 2), {"strides": [3, 4]}), "one axis": ((1, 16, 20), (16, 16, 4), {"strides": [2]}), "three axes": ((1, 16, 4, 5, 6), (16, 16, 2, 2, 2), {"strides": [2, 2, 2]}),
    }.items():
        yield f"ConvTranspose {name}", f"c = ConvTranspose{attributes_text(attributes)}(x, w)\n y = Relu(c)", {"x": normal(*shape)}, {"w": normal(*kernel)}, None


def pools():
    for (name, (shape, attributes)), op, layout in itertools.product({**WINDOWS, **CEILED, **DILATED}.items(), ("MaxPool", "AveragePool"), ("dense", "last")):
        if op == "AveragePool" and "ceil_mode" in attributes and name == "ceil_dropped":
            continue
        x = normal(*shape)
        node = f"{op}{attributes_text(attributes)}"
        if layout == "dense":
            yield f"{op} {name}", f"y = {node}(x)", {"x": x}, {}, None
        else:
            text, weights = channels_last("a", x)
            yield f"{op} {name} {layout}", f"{text} y = {node}(a)", {"ai": x}, {"aw": weights}, None
    for op, shape in itertools.product(("GlobalMaxPool", "GlobalAveragePool"), ((1, 2, 7), (2, 24, 9, 9), (1, 1, 30, 30), (1, 8, 4, 5, 6))):
        yield f"{op} {len(shape)} axes", f"y = {op}(x)", {"x": normal(*shape)}, {}, None
        text, weights = channels_last("a", normal(*shape))
        yield f"{op} {len(shape)} axes last", f"{text} y = {op}(a)", {"ai": normal(*shape)}, {"aw": weights}, None
    constants = {"s": np.float32(0.05), "z": zero(U8, 90), "t": np.float32(0.03), "v": zero(U8, 30)}
    for shape, (op, last) in itertools.product(((1, 3, 4, 4), (1, 12, 5), (2, 24, 9, 9), (1, 5, 40, 40)), (("GlobalAveragePool", "y = QuantizeLinear(b, t, v)"), ("MaxPool<kernel_shape={k}>", "y = QuantizeLinear(b, s, z)"),
                                                                                                        ("AveragePool<kernel_shape={k}>", "y = QuantizeLinear(b, t, v)"))):
        node = op.format(k=[2] * (len(shape) - 2))
        chosen = {key: value for key, value in constants.items() if key in "sz" or key in last.split("(b, ")[1]}
        yield f"int8 {node} {shape}", f"a = DequantizeLinear(q, s, z)\n b = {node}(a)\n {last}", {"q": random8(U8, *shape)}, chosen, None


def products():
    for rows, inner, columns in itertools.product((1, 3, 33, 128), (7, 64), (5, 96)):
        x, w, b = normal(rows, inner), normal(inner, columns), normal(columns, seed=4)
        yield f"MatMul {rows} {inner} {columns}", "c = MatMul(x, w)\n d = Add(c, b)\n y = Gelu(d)", {"x": x}, {"w": w, "b": b}, None
        yield f"Gemm {rows} {inner} {columns}", "y = Gemm<transB=1>(x, w, b)", {"x": x}, {"w": np.ascontiguousarray(w.T), "b": b}, None
        yield f"MatMul residual {rows} {inner} {columns}", "c = MatMul(x, w)\n y = Add(c, r)", {"x": x, "r": normal(rows, columns)}, {"w": w}, None
        quantized = {"w": random8(S8, inner, columns), "sx": np.float32(0.02), "zx": zero(U8, 120), "sw": np.float32(0.01), "sy": np.float32(0.1), "zy": zero(U8, 120)}
        yield (f"int8 MatMul {rows} {inner} {columns}", "a = DequantizeLinear(q, sx, zx)\n wf = DequantizeLinear(w, sw)\n c = MatMul(a, wf)\n y = QuantizeLinear(c, sy, zy)",
               {"q": random8(U8, rows, inner)}, quantized, None)
        yield (f"MatMulInteger {rows} {inner} {columns}", "q, s, z = DynamicQuantizeLinear(x)\n c = MatMulInteger(q, w, z)\n d = Cast<to=1>(c)\n e = Mul(s, sw)\n y = Mul(d, e)",
               {"x": x}, {"w": random8(S8, inner, columns), "sw": np.float32(0.01)}, None)
    for batch in ((), (3,), (2, 3)):
        yield f"MatMul of two tensors {batch}", "y = MatMul(x, z)", {"x": normal(*batch, 64, 96), "z": normal(*batch, 96, 128)}, {}, None
    heads = normal(2, 4, 33, 32)
    yield ("attention", "t = Transpose<perm=[0,1,3,2]>(k)\n a = MatMul(q, t)\n b = Mul(a, c)\n p = Softmax<axis=-1>(b)\n y = MatMul(p, v)", {"q": heads, "k": heads + 1, "v": heads - 1},
           {"c": np.float32(0.2)}, None)


def recurrent():
    for (op, gates), batch in itertools.product((("LSTM", 4), ("GRU", 3), ("RNN", 1)), (1, 5)):
        reset = ", linear_before_reset=1" if op == "GRU" else ""
        yield f"{op} batch {batch}", f"y, h = {op}<hidden_size=24{reset}>(x, w, r)", {"x": normal(4, batch, 16)}, {"w": normal(1, gates * 24, 16), "r": normal(1, gates * 24, 24)}, None


def quantized_binary():
    constants = {"s": np.float32(0.05), "z": zero(U8, 90), "t": np.float32(0.03), "v": zero(U8, 30)}
    for op, shapes in itertools.product(("Add", "Sub", "Mul"), (((2, 24, 5, 3), (2, 24, 1, 1)), ((2, 24, 1, 1), (2, 24, 5, 3)), ((2, 24, 5, 3), (1, 1, 5, 3)), ((2, 24, 5, 3),) * 2)):
        yield (f"int8 {op} {shapes}", f"a = DequantizeLinear(p, s, z)\n b = DequantizeLinear(q, s, z)\n c = {op}(a, b)\n y = QuantizeLinear(c, t, v)",
               {"p": random8(U8, *shapes[0]), "q": random8(U8, *shapes[1], seed=2)}, constants, None)


def cases():
    for family in (binary, others_by_element, convolutions, transposed_convolutions, pools, products, recurrent, quantized_binary):
        for name, *rest in family():
            yield f"{family.__name__}: {name}", *rest


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    config = {"session": {"threads": threads}, "providers": {"options": {"x86": {"winograd": "off"}}}}
    libc = ctypes.CDLL(None)
    wrong, count = [], 0
    for name, text, inputs, constants, expected in cases():
        print("case", name, flush=True)
        model, feeds = small_graph(text, inputs, constants)
        session = gantry.Session(model, device="CPU", config=config)
        (found,) = list(session.run(feeds).values())[:1]
        libc.fflush(None)  # the library's lines
        count += 1
        if expected is not None and not np.array_equal(found.view(np.uint32), np.ascontiguousarray(expected, np.float32).view(np.uint32)):
            wrong.append(name)
    print("end", count, flush=True)
    if wrong:
        sys.exit(f"{len(wrong)} element-wise results differ from NumPy's, the first ones: {wrong[:5]}")


if __name__ == "__main__":
    main()
