# SPDX-License-Identifier: Apache-2.0
"""The same operator otherwise: operands exchanged, each way to broadcast, other ranks and axes, channels-last order (behind a convolution), extents that the model
leaves open, and operands that are one value. What is fast in one of them can be slow in the next: each is a row."""

import itertools

import numpy as np

from operator_cases.case import Case, bytes_of, ints, normal, uniform, value

ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Max", "Min")
WHOLE = (2, 64, 56, 56)
BROADCASTS = {
    "gate": (2, 64, 1, 1), "channels": (1, 64, 1, 1), "plane": (1, 1, 56, 56), "planes": (2, 1, 56, 56), "row": (56,), "column": (2, 64, 56, 1), "batch": (2, 1, 1, 1),
    "no batch": (1, 64, 56, 56), "one": (1, 1, 1, 1), "scalar": (),
}
RANKS = {2: (4096, 128), 3: (32, 128, 128), 5: (2, 16, 16, 32, 32), 6: (2, 4, 4, 16, 32, 32)}


def positive(*shape):
    return uniform(1, 2, *shape)


def type_text(shape):
    return f"float[{', '.join(map(str, shape))}]"


def graph(inputs, body, output="float[a, b, c, d] y"):
    """`inputs`: by position, the extents as they are written, open ones by name."""
    return f"g ({', '.join(f'{type_text(shape)} x{i}' for i, shape in enumerate(inputs))}) => ({output}) {{ {body} }}"


def orders():
    """In dense order: which operand is broadcast, and how."""
    for op, (name, shape) in itertools.product(ARITHMETIC, BROADCASTS.items()):
        yield Case(op, f"f32 whole, {name}", (positive(*WHOLE), positive(*shape)))
        yield Case(op, f"f32 {name}, whole", (positive(*shape), positive(*WHOLE)))
    for op in ARITHMETIC:
        yield Case(op, "f32 gate, planes", (positive(2, 64, 1, 1), positive(2, 1, 56, 56)))
        yield Case(op, "f32 scalar constant first", (value(1.5), positive(*WHOLE)), constants=(0,))
        yield Case(op, "f32 channel constant first", (positive(1, 64, 1, 1), positive(*WHOLE)), constants=(0,))
        yield Case(op, "f32 one tensor twice", (positive(*WHOLE),), text=graph([WHOLE], f"y = {op}(x0, x0)"))
    for op, (rank, shape) in itertools.product(ARITHMETIC[:4], RANKS.items()):
        middle = tuple(1 if axis % 2 else extent for axis, extent in enumerate(shape))
        yield Case(op, f"f32 {rank} axes, whole", (positive(*shape), positive(*shape)))
        yield Case(op, f"f32 {rank} axes, every other one", (positive(*shape), positive(*middle)))
        yield Case(op, f"f32 {rank} axes, every other one first", (positive(*middle), positive(*shape)))


def channels_last():
    """Behind a convolution and a pool, which leave channels innermost, and before a convolution, which reads them so."""
    shapes = BROADCASTS | {"whole": WHOLE}
    around = "a = Conv(x0, x1) p = MaxPool<kernel_shape = [1, 1]>(a) {body} y = Conv(b, x2)"
    weights = (positive(2, 8, 56, 56), positive(64, 8, 1, 1), normal(8, 64, 1, 1))  # so that nothing is divided by what is near 0
    inputs = [(2, 8, 56, 56), (64, 8, 1, 1), (8, 64, 1, 1)]

    def case(op, variant, body, *more, constants=()):
        given = [np.shape(x(np.random.default_rng(0))) for x in more]
        return Case(op, f"f32 channels last, {variant}", (*weights, *more), text=graph([*inputs, *given], around.format(body=body)), constants=(1, 2, *constants))

    for op, (name, shape) in itertools.product(ARITHMETIC[:4], shapes.items()):
        yield case(op, f"whole, {name}", f"b = {op}(p, x3)", positive(*shape))
        if name != "whole":
            yield case(op, f"{name}, whole", f"b = {op}(x3, p)", positive(*shape))
    for op in ARITHMETIC:
        yield case(op, "one tensor twice", f"b = {op}(p, p)")
    for activation in ("Relu", "HardSwish", "Sigmoid", "Mish"):
        yield case(activation, "behind a gate", f"c = Mul(x3, p) b = {activation}(c)", positive(2, 64, 1, 1))
    yield case("Concat", "one tensor twice", "c = Concat<axis = 1>(p, p) b = Conv(c, x3)", normal(64, 128, 1, 1), constants=(3,))
    squeeze = "s = GlobalAveragePool(p) h = Conv(s, x3) r = Relu(h) e = Conv(r, x4) g = {gate}(e) b = Mul({operands})"
    for gate, operands in itertools.product(("Sigmoid", "HardSigmoid"), ("g, p", "p, g")):
        yield Case("Mul", f"f32 squeeze and excite by {gate}, {'gate' if operands[0] == 'g' else 'tensor'} first", (*weights, normal(16, 64, 1, 1), normal(64, 16, 1, 1)), covers=("GlobalAveragePool",),
                   text=graph([*inputs, (16, 64, 1, 1), (64, 16, 1, 1)], around.format(body=squeeze.format(gate=gate, operands=operands))), constants=(1, 2, 3, 4), is_dense=True)


def pools():
    for op in ("MaxPool", "AveragePool"):
        for variant, shape, attributes in (("dilated", (1, 64, 56, 56), {"kernel_shape": [3, 3], "dilations": [2, 2]}), ("3 channels", (1, 3, 224, 224), {"kernel_shape": [3, 3], "strides": [2, 2]}),
                                           ("one channel", (1, 1, 512, 512), {"kernel_shape": [2, 2], "strides": [2, 2]}), ("one axis", (1, 64, 4096), {"kernel_shape": [4], "strides": [2]}),
                                           ("three axes", (1, 16, 32, 32, 32), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}), ("padded", (1, 64, 56, 56), {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]})):
            yield Case(op, f"f32 {variant}", (normal(*shape),), attributes=attributes, opset=19)
        for variant, attributes in (("", "kernel_shape = [3, 3], strides = [2, 2]"), (" dilated", "kernel_shape = [3, 3], dilations = [2, 2]")):
            yield Case(op, f"f32 channels last{variant}", (normal(1, 8, 56, 56), normal(64, 8, 1, 1)), constants=(1,),
                       text=graph([(1, 8, 56, 56), (64, 8, 1, 1)], f"a = Conv(x0, x1) y = {op}<{attributes}>(a)"))


def axes():
    for op, shape, axis in itertools.product(("Softmax", "LogSoftmax"), ((4096, 128), (8, 128, 512), (1, 64, 56, 56), (2, 8, 8, 16, 64)), (-1, 1)):
        if axis == 1 and len(shape) == 2:
            continue
        yield Case(op, f"f32 {' x '.join(map(str, shape))}, axis {axis}", (normal(*shape),), attributes={"axis": axis})
    for op, kept in itertools.product(("ReduceMean", "ReduceMax", "ReduceSum"), ((0,), (1,), (1, 2), (2, 3), (0, 2, 3), (0, 1, 2, 3))):
        yield Case(op, f"f32 over {', '.join(map(str, kept))} of 4 axes", (normal(*WHOLE), ints(*kept)), constants=(1,))
    for variant, axis in (("last two axes", -2), ("all but the first", 1)):
        shape = (32, 64, 16, 16)
        yield Case("LayerNormalization", f"f32 {variant}", (normal(*shape), normal(*shape[axis:]), normal(*shape[axis:])), attributes={"axis": axis}, constants=(1, 2))
    yield Case("LayerNormalization", "f32 one vector for scale and shift", (normal(512, 768), normal(768)), constants=(1,),
               text=graph([(512, 768), (768,)], "y = LayerNormalization(x0, x1, x1)", "float[a, b] y"))


def open_extents():
    """The model says names where it said numbers; a run says the numbers."""
    image = (2, 64, 56, 56)
    for op, first in itertools.product(ARITHMETIC[:4], (True, False)):
        shapes = [("n", 64, 1, 1), ("n", 64, "h", "w")]
        yield Case(op, f"f32 {'gate, whole' if first else 'whole, gate'}, open", tuple(positive(*(image if shape[2] == "h" else image[:2] + (1, 1))) for shape in shapes),
                   text=graph(shapes, f"y = {op}({'x0, x1' if first else 'x1, x0'})"))
    body = "a = Conv(x0, x2) p = MaxPool<kernel_shape = [1, 1]>(a) b = Mul(x1, p) y = Conv(b, x3)"
    yield Case("Mul", "f32 channels last, gate, whole, open", (normal(2, 8, 56, 56), positive(2, 64, 1, 1), normal(64, 8, 1, 1), normal(8, 64, 1, 1)), constants=(2, 3),
               text=graph([("n", 8, "h", "w"), ("n", 64, 1, 1), (64, 8, 1, 1), (8, 64, 1, 1)], body))
    yield Case("Softmax", "f32 open", (normal(8, 128, 512),), text=graph([("n", "l", "c")], "y = Softmax<axis = -1>(x0)", "float[a, b, c] y"))
    yield Case("LayerNormalization", "f32 open", (normal(4, 128, 768), normal(768), normal(768)), constants=(1, 2),
               text=graph([("n", "l", 768), (768,), (768,)], "y = LayerNormalization(x0, x1, x2)", "float[a, b, c] y"))
    yield Case("ReduceMean", "f32 open", (normal(*image), ints(2, 3)), constants=(1,),
               text="g (float[n, c, h, w] x0, int64[2] x1) => (float[a, b, c, d] y) { y = ReduceMean(x0, x1) }")
    yield Case("MatMul", "f32 open rows", (normal(4, 128, 768), normal(768, 768)), constants=(1,), is_dense=True,
               text=graph([("n", "l", 768), (768, 768)], "y = MatMul(x0, x1)", "float[a, b, c] y"))
    yield Case("MatMul", "f32 open, two tensors", (normal(12, 128, 64), normal(12, 64, 128)), is_dense=True,
               text=graph([("n", "l", 64), ("n", 64, "m")], "y = MatMul(x0, x1)", "float[a, b, c] y"))
    for variant, shape, kernel, attributes in (("3 x 3", (1, 64, 56, 56), (64, 64, 3, 3), "pads = [1, 1, 1, 1]"), ("depthwise", (1, 64, 56, 56), (64, 1, 3, 3), "pads = [1, 1, 1, 1], group = 64")):
        yield Case("Conv", f"f32 {variant}, open", (normal(*shape), normal(*kernel)), constants=(1,), is_dense=True,
                   text=graph([("n", shape[1], "h", "w"), kernel], f"y = Conv<{attributes}>(x0, x1)"))
    yield Case("MaxPool", "f32 open", (normal(*image),), text=graph([("n", 64, "h", "w")], "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(x0)"))
    yield Case("Transpose", "f32 open", (normal(8, 128, 512),), text=graph([("n", "l", "c")], "y = Transpose<perm = [0, 2, 1]>(x0)", "float[a, b, c] y"))
    yield Case("Concat", "f32 open", (normal(8, 128, 256), normal(8, 128, 256)), text=graph([("n", "l", 256), ("n", "l", 256)], "y = Concat<axis = -1>(x0, x1)", "float[a, b, c] y"))


def shared_operands():
    square = (256, 256)
    for variant, body in (("matrix by itself", "y = MatMul(x0, x0)"), ("matrix by its transpose", "t = Transpose<perm = [1, 0]>(x0) y = MatMul(x0, t)")):
        yield Case("MatMul", f"f32 {variant}", (normal(*square),), text=graph([square], body, "float[a, b] y"), is_dense=True)
    yield Case("Gemm", "f32 one matrix for all", (normal(*square),), text=graph([square], "y = Gemm(x0, x0, x0)", "float[a, b] y"), is_dense=True)
    yield Case("Attention", "f32 one tensor for all", (normal(1, 12, 128, 64),), text=graph([(1, 12, 128, 64)], "y = Attention(x0, x0, x0)"), opset=23)
    yield Case("Clip", "f32 bound that is an operand too", (normal(*WHOLE), value(0), value(1)), text=graph([WHOLE, (), ()], "c = Clip(x0, x1, x2) y = Sub(x2, c)"), constants=(1, 2))
    yield Case("Where", "f32 one tensor twice", (normal(*WHOLE), value(0)), text=graph([WHOLE, ()], "m = Greater(x0, x1) y = Where(m, x0, x0)"), constants=(1,))
    yield Case("Concat", "f32 one tensor twice", (normal(*WHOLE),), text=graph([WHOLE], "y = Concat<axis = 1>(x0, x0)"))


def quantized():
    scales = (value(0.05), value(100, np.uint8))
    for op, (first, second) in itertools.product(("Add", "Sub", "Mul"), (("whole", "gate"), ("gate", "whole"), ("whole", "plane"), ("whole", "whole"))):
        shapes = [WHOLE if name == "whole" else BROADCASTS[name] for name in (first, second)]
        given = ", ".join(f"uint8[{', '.join(map(str, shape))}] x{i}" for i, shape in enumerate(shapes))
        yield Case(op, f"u8 {first}, {second}", (*(bytes_of(*shape) for shape in shapes), *scales), constants=(2, 3),
                   text=f"g ({given}, float x2, uint8 x3) => (uint8[a, b, c, d] y) {{ a = DequantizeLinear(x0, x2, x3) b = DequantizeLinear(x1, x2, x3) c = {op}(a, b) y = QuantizeLinear(c, x2, x3) }}")


def convolutions():
    for variant, shape, kernel, attributes in (("one axis", (1, 64, 1024), (64, 64, 3), {}), ("three axes", (1, 16, 16, 28, 28), (32, 16, 3, 3, 3), {}), ("grouped", (1, 64, 56, 56), (64, 16, 3, 3), {"group": 4}),
                                               ("dilated", (1, 64, 56, 56), (64, 64, 3, 3), {"dilations": [2, 2]}), ("image", (1, 3, 224, 224), (32, 3, 3, 3), {"strides": [2, 2]}),
                                               ("odd channels", (1, 37, 28, 28), (53, 37, 3, 3), {}), ("padding beyond the window", (1, 32, 28, 28), (32, 32, 3, 3), {"pads": [4, 4, 4, 4]})):
        yield Case("Conv", f"f32 {variant}", (normal(*shape), normal(*kernel)), attributes=attributes, constants=(1,), is_dense=True)


CASES = (*orders(), *channels_last(), *pools(), *axes(), *open_extents(), *shared_operands(), *quantized(), *convolutions())
