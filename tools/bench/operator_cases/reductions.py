# SPDX-License-Identifier: Apache-2.0
"""Operators that join the elements along axes: reductions, arg, cumulative, softmax, normalisations, sorting."""

import numpy as np

from operator_cases.case import F64, Case, flags, integers, ints, normal, uniform, value

REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
AXES = (("last axis", (1024, 1024), ints(1)), ("first axis", (1024, 1024), ints(0)), ("planes", (64, 128, 128), ints(1, 2)), ("middle", (64, 128, 128), ints(1)),
        ("all", (64, 128, 128), None))
IMAGE = (1, 64, 112, 112)


def reduce():
    for op in REDUCTIONS:
        for variant, shape, axes in AXES:
            data = uniform(0.9, 1.1, *shape)
            yield Case(op, f"f32 {variant}", (data,) if axes is None else (data, axes), constants=(1,))
    for op in ("ReduceSum", "ReduceMax", "ReduceMean"):
        yield Case(op, "i64 last axis" if op != "ReduceMean" else "f64 last axis",
                   (integers(0, 9, 1024, 1024) if op != "ReduceMean" else normal(1024, 1024, dtype=F64), ints(1)), constants=(1,))
    yield Case("ReduceMax", "i8 planes", (integers(-99, 99, 64, 128, 128, dtype=np.int8), ints(1, 2)), constants=(1,))
    yield Case("ReduceSum", "f32 first and last", (normal(64, 128, 128), ints(0, 2)), constants=(1,))
    for op in ("ArgMax", "ArgMin"):
        yield Case(op, "f32 last axis", (normal(1024, 1024),), attributes={"axis": 1})
        yield Case(op, "f32 first axis", (normal(1024, 1024),), attributes={"axis": 0})
        yield Case(op, "i32 last axis", (integers(0, 999999, 1024, 1024, dtype=np.int32),), attributes={"axis": 1})
    yield Case("ArgMax", "f32 classes of a picture", (normal(1, 21, 256, 256),), attributes={"axis": 1})
    for op, version in (("CumSum", 14), ("CumProd", 26)):
        for variant, axis in (("last axis", 1), ("first axis", 0)):
            yield Case(op, f"f32 {variant}", (uniform(0.99, 1.01, 1024, 1024), value(axis, np.int64)), opset=version)
    yield Case("CumSum", "i64 last axis", (integers(0, 9, 1024, 1024), value(1, np.int64)), opset=14)


def along_an_axis():
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        yield Case(op, "f32 last axis", (normal(1024, 1024),), attributes={"axis": -1})
        yield Case(op, "f32 rows of 64", (normal(16384, 64),), attributes={"axis": -1})
        yield Case(op, "f32 classes of a picture", (normal(1, 21, 256, 256),), attributes={"axis": 1})
    yield Case("Softmax", "f64 last axis", (normal(1024, 1024, dtype=F64),), attributes={"axis": -1})
    for variant, shape, k, axis in (("10 of 1000, last axis", (1024, 1000), 10, -1), ("100 of 100,000", (8, 100000), 100, -1), ("all of 1000", (512, 1000), 1000, -1),
                                    ("1 of 1000", (1024, 1000), 1, -1), ("10, first axis", (1000, 1024), 10, 0)):
        yield Case("TopK", f"f32 {variant}", (normal(*shape), ints(k)), outputs=2, attributes={"axis": axis}, constants=(1,))
    yield Case("TopK", "i64 10 of 1000", (integers(0, 1 << 40, 1024, 1000), ints(10)), outputs=2, constants=(1,))
    yield Case("Unique", "i64 sorted", (integers(0, 1000, 1 << 18),), outputs=4, attributes={"sorted": 1})
    yield Case("NonZero", "f32", (lambda generator: (generator.random((1024, 1024)) < 0.1).astype(np.float32),))
    yield Case("NonZero", "bool", (flags(1024, 1024),))
    for p in (1, 2):
        yield Case("LpNormalization", f"f32 last axis, p {p}", (normal(1024, 1024),), attributes={"p": p, "axis": -1})
    yield Case("LpNormalization", "f32 channels of a picture", (normal(1, 64, 112, 112),), attributes={"axis": 1})


def normalizations():
    per = lambda count: (uniform(0.5, 1.5, count), normal(count))  # noqa: E731
    yield Case("BatchNormalization", "f32", (normal(*IMAGE), *per(64), normal(64), uniform(0.5, 1.5, 64)), opset=15)
    yield Case("BatchNormalization", "f32 training", (normal(*IMAGE), *per(64), normal(64), uniform(0.5, 1.5, 64)), outputs=3, attributes={"training_mode": 1}, opset=15)
    yield Case("InstanceNormalization", "f32", (normal(*IMAGE), *per(64)))
    yield Case("GroupNormalization", "f32, 8 groups", (normal(*IMAGE), *per(64)), attributes={"num_groups": 8})
    yield Case("LayerNormalization", "f32 rows of 768", (normal(1024, 768), *per(768)), opset=17)
    yield Case("LayerNormalization", "f32 rows of 64", (normal(16384, 64), *per(64)), opset=17)
    yield Case("RMSNormalization", "f32 rows of 768", (normal(1024, 768), uniform(0.5, 1.5, 768)), opset=23)
    yield Case("LRN", "f32, 5 channels", (normal(*IMAGE),), attributes={"size": 5})
    yield Case("MeanVarianceNormalization", "f32", (normal(4, 64, 64, 64),), opset=13)


def losses():
    labels = integers(0, 1000, 1024)
    yield Case("SoftmaxCrossEntropyLoss", "f32 1024 x 1000", (normal(1024, 1000), labels))
    yield Case("NegativeLogLikelihoodLoss", "f32 1024 x 1000", (normal(1024, 1000), labels))
    yield Case("NegativeLogLikelihoodLoss", "f32 picture", (normal(1, 21, 256, 256), integers(0, 21, 1, 256, 256)))


CASES = (*reduce(), *along_an_axis(), *normalizations(), *losses())
