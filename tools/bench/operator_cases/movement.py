# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements without computing: layouts, pieces, gathering, scattering."""

import numpy as np

from operator_cases.case import Case, bytes_of, flags, integers, ints, normal, value

IMAGE = (1, 64, 128, 128)


def layouts():
    for variant, shape, perm in (("matrix", (1024, 1024), (1, 0)), ("NCHW to NHWC", IMAGE, (0, 2, 3, 1)), ("NHWC to NCHW", (1, 128, 128, 64), (0, 3, 1, 2)),
                                 ("heads", (8, 128, 16, 64), (0, 2, 1, 3)), ("heads of keys", (8, 128, 16, 64), (0, 2, 3, 1)), ("reversed", (64, 128, 128), (2, 1, 0)),
                                 ("batch of matrices", (16, 256, 256), (0, 2, 1)), ("pixel shuffle", (1, 4, 4, 16, 64, 64), (0, 3, 4, 1, 5, 2))):
        yield Case("Transpose", f"f32 {variant}", (normal(*shape),), attributes={"perm": perm})
    yield Case("Transpose", "u8 NHWC to NCHW", (bytes_of(1, 512, 512, 3),), attributes={"perm": (0, 3, 1, 2)})
    yield Case("Transpose", "i64 matrix", (integers(0, 9, 1024, 512),), attributes={"perm": (1, 0)})
    yield Case("DepthToSpace", "f32 DCR", (normal(1, 64, 128, 128),), attributes={"blocksize": 2, "mode": "DCR"})
    yield Case("DepthToSpace", "f32 CRD", (normal(1, 64, 128, 128),), attributes={"blocksize": 2, "mode": "CRD"})
    yield Case("SpaceToDepth", "f32", (normal(1, 16, 256, 256),), attributes={"blocksize": 2})
    yield Case("Reshape", "f32", (normal(*IMAGE), ints(64, -1)), constants=(1,))
    yield Case("Flatten", "f32", (normal(*IMAGE),))
    yield Case("Squeeze", "f32", (normal(*IMAGE), ints(0)), constants=(1,))
    yield Case("Unsqueeze", "f32", (normal(1024, 1024), ints(0)), constants=(1,))
    yield Case("Shape", "f32", (normal(*IMAGE),))
    yield Case("Size", "f32", (normal(*IMAGE),))
    yield Case("Col2Im", "f32 3 x 3", (normal(1, 32 * 9, 62 * 62), ints(64, 64), ints(3, 3)), constants=(1, 2), opset=18)


def pieces():
    for variant, shapes, axis in (("two, first axis", [(512, 1024)] * 2, 0), ("two, last axis", [(1024, 512)] * 2, 1), ("channels", [(1, 32, 128, 128)] * 2, 1),
                                  ("rows of 64", [(8192, 64)] * 2, 1), ("three of 8 channels last", [(16384, 8)] * 3, 1), ("cache and one", [(12, 1024, 64), (12, 1, 64)], 1)):
        yield Case("Concat", f"f32 {variant}", tuple(normal(*shape) for shape in shapes), attributes={"axis": axis})
    yield Case("Concat", "i64 two, last axis", (integers(0, 9, 1024, 256), integers(0, 9, 1024, 256)), attributes={"axis": 1})
    for variant, shape, axis in (("first axis", (1024, 1024), 0), ("last axis", (1024, 1024), 1), ("channels", IMAGE, 1)):
        yield Case("Split", f"f32 four, {variant}", (normal(*shape),), outputs=4, attributes={"axis": axis, "num_outputs": 4})
    for variant, begin, end, axes, step in (("half, first axis", 256, 768, 0, 1), ("half, last axis", 256, 768, 1, 1), ("every second, last axis", 0, 1024, 1, 2),
                                            ("every second, first axis", 0, 1024, 0, 2), ("backwards", -1, -(1 << 40), 1, -1)):
        yield Case("Slice", f"f32 {variant}", (normal(1024, 1024), ints(begin), ints(end), ints(axes), ints(step)), constants=(1, 2, 3, 4))
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield Case("Pad", f"f32 {mode}", (normal(*IMAGE), ints(0, 0, 2, 2, 0, 0, 2, 2)), attributes={"mode": mode}, constants=(1,))
    yield Case("Pad", "f32 channels", (normal(*IMAGE), ints(0, 0, 0, 0, 0, 8, 0, 0)), constants=(1,))
    yield Case("CenterCropPad", "f32", (normal(*IMAGE), ints(112, 140)), attributes={"axes": [2, 3]}, constants=(1,), opset=18)
    for variant, shape, target in (("row", (1, 1024), (1024, 1024)), ("column", (1024, 1), (1024, 1024)), ("middle", (64, 1, 128), (64, 128, 128)), ("scalar", (1,), (1024, 1024))):
        yield Case("Expand", f"f32 {variant}", (normal(*shape), ints(*target)), constants=(1,))
    yield Case("Tile", "f32 rows", (normal(64, 1024), ints(16, 1)), constants=(1,))
    yield Case("Tile", "f32 columns", (normal(1024, 64), ints(1, 16)), constants=(1,))
    yield Case("Trilu", "f32 lower", (normal(16, 256, 256),), attributes={"upper": 0})
    yield Case("ReverseSequence", "f32", (normal(128, 64, 128), integers(1, 128, 64)), attributes={"time_axis": 0, "batch_axis": 1})
    yield Case("Compress", "f32 rows", (normal(1024, 1024), flags(1024)), attributes={"axis": 0})
    yield Case("Compress", "f32 columns", (normal(1024, 1024), flags(1024)), attributes={"axis": 1})
    yield Case("Compress", "f32 flat", (normal(1024, 1024), flags(1 << 20)))


def gathering():
    yield Case("Gather", "f32 embedding", (normal(30000, 768), integers(0, 30000, 1, 512)))
    yield Case("Gather", "f32 columns", (normal(1024, 1024), integers(0, 1024, 512)), attributes={"axis": 1})
    yield Case("Gather", "f32 rows of 64, second axis", (normal(32, 512, 64), integers(0, 512, 400)), attributes={"axis": 1})
    yield Case("Gather", "i64 scalars", (integers(0, 9, 1 << 16), integers(0, 1 << 16, 1 << 18)))
    for axis in (0, 1):
        yield Case("GatherElements", f"f32 axis {axis}", (normal(1024, 1024), integers(0, 1024, 1024, 1024)), attributes={"axis": axis})
    yield Case("GatherND", "f32 elements", (normal(1024, 1024), integers(0, 1024, 1 << 17, 2)))
    yield Case("GatherND", "f32 rows", (normal(1024, 768), integers(0, 1024, 1024, 1)))
    for reduction in ("none", "add", "max"):
        yield Case("ScatterElements", f"f32 {reduction}", (normal(1024, 1024), permutation_rows(512, 1024), normal(512, 1024)),
                   attributes={"axis": 0, "reduction": reduction}, opset=18)
        yield Case("ScatterND", f"f32 rows {reduction}", (normal(1024, 768), permutation(1024, 1), normal(1024, 768)), attributes={"reduction": reduction}, opset=18)
    yield Case("ScatterND", "f32 elements", (normal(1024, 1024), pairs(1 << 16), normal(1 << 16)), opset=18)
    yield Case("Scatter", "f32", (normal(1024, 1024), permutation_rows(512, 1024), normal(512, 1024)), opset=10)
    yield Case("OneHot", "f32 of 1000", (integers(0, 1000, 1024), value(1000, np.int64), np.float32([0, 1])), constants=(1, 2))
    yield Case("TensorScatter", "f32", (normal(8, 12, 256, 64), normal(8, 12, 1, 64), integers(0, 255, 8)), opset=24)


def permutation(*shape):
    return lambda generator: generator.permutation(int(np.prod(shape))).reshape(shape).astype(np.int64)


def permutation_rows(rows, columns):
    """Indices of rows, each once in a column."""
    return lambda generator: np.argsort(generator.random((rows, columns)), axis=0).astype(np.int64)


def pairs(count):
    """Places of a 1024 x 1024 matrix, each once."""
    return lambda generator: np.stack(np.divmod(generator.permutation(1 << 20)[:count], 1024), axis=1).astype(np.int64)


CASES = (*layouts(), *pieces(), *gathering())
