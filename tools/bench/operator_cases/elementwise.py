# SPDX-License-Identifier: Apache-2.0
"""Operators that go element by element."""

import numpy as np

from operator_cases.case import F16, F64, Case, flags, integers, ints, normal, uniform, value

SHAPE = (64, 128, 128)  # 1 M elements, 4 MB of f32
ROW, CHANNEL = (128,), (64, 1, 1)

UNARY = ("Abs", "Acosh", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN",
         "LeakyRelu", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign",
         "Tan", "Tanh", "ThresholdedRelu", "Gelu")
WITHIN_ONE = ("Acos", "Asin", "Atanh")
POSITIVE = ("Log", "Sqrt")
ARITHMETIC = ("Add", "Sub", "Mul", "Div")
COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


def unary():
    for op in UNARY:
        yield Case(op, "f32", (uniform(1, 20, *SHAPE) if op == "Acosh" else normal(*SHAPE),))
    for op in WITHIN_ONE:
        yield Case(op, "f32", (uniform(-1, 1, *SHAPE),))
    for op in POSITIVE:
        yield Case(op, "f32", (uniform(0.1, 20, *SHAPE),))
    yield Case("Gelu", "f32 by tanh", (normal(*SHAPE),), attributes={"approximate": "tanh"})
    yield Case("Swish", "f32", (normal(*SHAPE),), opset=24)
    for op in ("Abs", "Neg", "Exp", "Sqrt", "Relu", "Sigmoid", "Tanh", "Floor"):
        yield Case(op, "f64", (uniform(0.1, 5, *SHAPE, dtype=F64),))
    for op in ("Abs", "Neg", "Sign"):
        yield Case(op, "i64", (integers(-9, 9, *SHAPE),))
    for op in ("Abs", "Relu"):
        yield Case(op, "i8", (integers(-9, 9, *SHAPE, dtype=np.int8),), opset=14)
    yield Case("Relu", "f16", (normal(*SHAPE, dtype=F16),))
    yield Case("Gelu", "f16", (normal(*SHAPE, dtype=F16),))
    yield Case("Not", "bool", (flags(*SHAPE),))
    yield Case("BitwiseNot", "i32", (integers(-9, 9, *SHAPE, dtype=np.int32),))
    yield Case("Clip", "f32", (normal(*SHAPE), value(-1), value(1)))
    yield Case("Clip", "i8", (integers(-99, 99, *SHAPE, dtype=np.int8), value(-9, np.int8), value(9, np.int8)))
    yield Case("Clip", "i64", (integers(-99, 99, *SHAPE), value(-9, np.int64), value(9, np.int64)))
    yield Case("Dropout", "f32 inference", (normal(*SHAPE),))
    yield Case("Dropout", "f32 training", (normal(*SHAPE), value(0.5), value(True, bool)), outputs=2, attributes={"seed": 1}, is_random=True)


def binary():
    pairs = (("f32 same shape", normal(*SHAPE), uniform(1, 2, *SHAPE)), ("f32 scalar", normal(*SHAPE), value(1.5)),
             ("f32 row", normal(*SHAPE), uniform(1, 2, *ROW)), ("f32 channel", normal(*SHAPE), uniform(1, 2, *CHANNEL)),
             ("f32 column and row", uniform(1, 2, 1024, 1), uniform(1, 2, 1, 1024)),
             ("i64 same shape", integers(1, 99, *SHAPE), integers(1, 99, *SHAPE)),
             ("i32 scalar", integers(1, 99, *SHAPE, dtype=np.int32), value(3, np.int32)))
    for op in ARITHMETIC:
        for variant, a, b in pairs:
            yield Case(op, variant, (a, b))
    for op in COMPARISONS:
        for variant, a, b in pairs[:4]:
            yield Case(op, variant, (a, b))
        yield Case(op, "i64 same shape", (integers(0, 5, *SHAPE), integers(0, 5, *SHAPE)))
    for op in ("And", "Or", "Xor"):
        yield Case(op, "bool same shape", (flags(*SHAPE), flags(*SHAPE)))
        yield Case(op, "bool row", (flags(*SHAPE), flags(*ROW)))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        yield Case(op, "i32", (integers(0, 99, *SHAPE, dtype=np.int32), integers(0, 99, *SHAPE, dtype=np.int32)))
    yield Case("BitShift", "u32 left", (integers(0, 99, *SHAPE, dtype=np.uint32), integers(0, 8, *SHAPE, dtype=np.uint32)), attributes={"direction": "LEFT"})
    for variant, exponent in (("2", 2), ("3", 3), ("0.5", 0.5), ("-1", -1), ("1.7", 1.7)):
        yield Case("Pow", f"f32 to the {variant}", (uniform(0.1, 4, *SHAPE), value(exponent)))
    yield Case("Pow", "f32 same shape", (uniform(0.1, 4, *SHAPE), uniform(-2, 2, *SHAPE)))
    yield Case("PRelu", "f32 channel", (normal(*SHAPE), uniform(0, 1, *CHANNEL)))
    yield Case("PRelu", "f32 same shape", (normal(*SHAPE), uniform(0, 1, *SHAPE)))
    yield Case("Mod", "i64", (integers(0, 999, *SHAPE), integers(1, 99, *SHAPE)))
    yield Case("Mod", "i32 scalar", (integers(0, 999, *SHAPE, dtype=np.int32), value(7, np.int32)))
    yield Case("Mod", "f32 fmod", (uniform(0, 99, *SHAPE), uniform(1, 9, *SHAPE)), attributes={"fmod": 1})


def several():
    for op in ("Max", "Min", "Sum", "Mean"):
        yield Case(op, "two f32", (normal(*SHAPE), normal(*SHAPE)))
        yield Case(op, "three f32", (normal(*SHAPE), normal(*SHAPE), normal(*SHAPE)))
        yield Case(op, "f32 and row", (normal(*SHAPE), normal(*ROW)))
    for op in ("Max", "Min"):
        yield Case(op, "two i64", (integers(0, 99, *SHAPE), integers(0, 99, *SHAPE)))
    for variant, a, b in (("f32 same shape", normal(*SHAPE), normal(*SHAPE)), ("f32 scalars", value(1), value(2)),
                          ("i64 same shape", integers(0, 9, *SHAPE), integers(0, 9, *SHAPE)), ("f32 and scalar", normal(*SHAPE), value(0))):
        yield Case("Where", variant, (flags(*SHAPE), a, b))
    yield Case("Where", "f32 mask over heads", (flags(1, 1, 256, 256), normal(1, 16, 256, 256), value(-1e4)))


def casts():
    types = {"f32": (1, normal(*SHAPE)), "f16": (10, normal(*SHAPE, dtype=F16)), "f64": (11, normal(*SHAPE, dtype=F64)),
             "i64": (7, integers(-99, 99, *SHAPE)), "i32": (6, integers(-99, 99, *SHAPE, dtype=np.int32)),
             "u8": (2, integers(0, 99, *SHAPE, dtype=np.uint8)), "i8": (3, integers(-99, 99, *SHAPE, dtype=np.int8)), "bool": (9, flags(*SHAPE))}
    pairs = ("f32 f16", "f16 f32", "f32 i64", "i64 f32", "f32 i32", "i32 f32", "f32 u8", "u8 f32", "f32 i8", "i8 f32", "f32 bool", "bool f32", "i64 i32", "i32 i64",
             "f32 f64", "f64 f32", "bool i64", "i64 bool", "f32 f32", "u8 i32")
    for pair in pairs:
        source, target = pair.split()
        yield Case("Cast", f"{source} to {target}", (types[source][1],), attributes={"to": types[target][0]})
    yield Case("Cast", "f32 to bf16 and back", (normal(*SHAPE),), text="g (float[64, 128, 128] x0) => (float[64, 128, 128] y) { b = Cast<to = 16>(x0) y = Cast<to = 1>(b) }")
    yield Case("Cast", "f32 to f8e4m3", (normal(*SHAPE),), attributes={"to": 17})
    yield Case("Cast", "f32 to text", (normal(64, 256),), attributes={"to": 8})
    yield Case("CastLike", "i64 to f32", (types["i64"][1], value(0)))
    yield Case("BitCast", "f32 to i32", (normal(*SHAPE),), attributes={"to": 6}, opset=26)


def makers():
    yield Case("ConstantOfShape", "f32", (ints(*SHAPE),))
    yield Case("EyeLike", "f32", (normal(1024, 1024),))
    yield Case("Range", "i64", (value(0, np.int64), value(1 << 20, np.int64), value(1, np.int64)))
    yield Case("Range", "f32", (value(0), value(1 << 20), value(1)))
    yield Case("RandomNormal", "f32", attributes={"shape": SHAPE, "seed": 1.0}, is_random=True)
    yield Case("RandomUniform", "f32", attributes={"shape": SHAPE, "seed": 1.0}, is_random=True)
    yield Case("RandomNormalLike", "f32", (normal(*SHAPE),), attributes={"seed": 1.0}, is_random=True)
    yield Case("RandomUniformLike", "f32", (normal(*SHAPE),), attributes={"seed": 1.0}, is_random=True)
    yield Case("Bernoulli", "f32", (uniform(0, 1, *SHAPE),), attributes={"seed": 1.0}, is_random=True)
    yield Case("Multinomial", "64 x 1000, 100 samples", (normal(64, 1000),), attributes={"sample_size": 100, "seed": 1.0}, is_random=True)


CASES = (*unary(), *binary(), *several(), *casts(), *makers())
