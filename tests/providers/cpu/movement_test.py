# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, in every element type: numpy says what comes where, and moving is exact."""

import numpy as np
import onnx.defs
import pytest
from onnx import TensorProto, helper, numpy_helper
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_ort

NEWEST = 25


def every_type(op_type):
    """Runs a test with every element type that the operator's newest schema allows its first input."""
    schema = onnx.defs.get_schema(op_type, NEWEST)
    allowed = schema.inputs[0].types
    return pytest.mark.parametrize("type_name", [name for name in sorted(NUMPY_OF) if f"tensor({name})" in allowed])


def elements(type_name, shape, seed=0):
    """Elements of a type that differ as much as the type allows."""
    rng = np.random.default_rng(seed)
    dtype = NUMPY_OF[type_name]
    if type_name == "string":
        words = [f"w{i}" * int(rng.integers(0, 4)) + "\u00e9" for i in range(int(np.prod(shape)))]
        return np.array(words, dtype=object).reshape(shape)
    if type_name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if type_name.startswith("complex"):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if type_name in ("int2", "uint2", "int4", "uint4"):
        low, high = {"int2": (-2, 2), "uint2": (0, 4), "int4": (-8, 8), "uint4": (0, 16)}[type_name]
        return rng.integers(low, high, shape).astype(np.int8).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.choice(np.array([0.5, 1, 2, 4], dtype=np.float32), shape).astype(dtype)


def ints(*values):
    return np.array(values, dtype=np.int64)


def check(op_type, inputs, expected, opset=NEWEST, attributes=None, constants=()):
    expected = expected if isinstance(expected, list) else [expected]
    model, feeds = node_model(op_type, inputs, [element_type(e) for e in expected], opset, attributes, "", constants)
    compare(run_gantry(model, feeds), expected, 0, 0)


X = (2, 3, 4)


class TestEveryType:
    @every_type("Reshape")
    def test_reshape(self, type_name):
        x = elements(type_name, X)
        check("Reshape", [x, ints(0, -1)], x.reshape(2, 12), constants=(1,))

    @every_type("Flatten")
    def test_flatten(self, type_name):
        x = elements(type_name, X)
        check("Flatten", [x], x.reshape(6, 4), attributes={"axis": -1})

    @every_type("Squeeze")
    def test_squeeze_and_unsqueeze(self, type_name):
        x = elements(type_name, (1, 3, 1))
        check("Squeeze", [x, ints(-1)], x.reshape(1, 3))
        check("Squeeze", [x], x.reshape(3))
        check("Unsqueeze", [x, ints(0, -1)], x.reshape(1, 1, 3, 1, 1))

    @every_type("Shape")
    def test_shape_and_size(self, type_name):
        x = elements(type_name, X)
        check("Shape", [x], ints(3), attributes={"start": -2, "end": -1})
        check("Size", [x], np.array(24, dtype=np.int64))

    @every_type("Transpose")
    def test_transpose(self, type_name):
        x = elements(type_name, (3, 5, 7))
        check("Transpose", [x], x.transpose())
        check("Transpose", [x], x.transpose(1, 0, 2), attributes={"perm": [1, 0, 2]})
        check("Transpose", [x], x.transpose(0, 2, 1), attributes={"perm": [0, 2, 1]})

    @every_type("Concat")
    def test_concat_and_split(self, type_name):
        a, b = elements(type_name, (2, 3, 3), 1), elements(type_name, (2, 1, 3), 2)
        joined = np.concatenate([a, b], axis=1)
        check("Concat", [a, b], joined, attributes={"axis": -2})
        check("Split", [joined, ints(3, 1)], [a, b], attributes={"axis": 1})
        first, second = joined[:, :, :2], joined[:, :, 2:]
        check("Split", [joined], [first, second], attributes={"axis": 2, "num_outputs": 2})

    @every_type("Slice")
    def test_slice(self, type_name):
        x = elements(type_name, (4, 5, 3))
        check("Slice", [x, ints(1, -1), ints(9, -9), ints(0, 1), ints(2, -2)], x[1::2, ::-2])

    @every_type("Tile")
    def test_expand_and_tile(self, type_name):
        x = elements(type_name, (3, 1, 2))
        check("Expand", [x, ints(2, 1, 4, 1)], np.broadcast_to(x, (2, 3, 4, 2)))
        check("Tile", [x, ints(2, 3, 2)], np.tile(x, (2, 3, 2)))

    @every_type("Gather")
    def test_gather(self, type_name):
        x = elements(type_name, X)
        check("Gather", [x, np.array([[2, -3], [1, 1]], dtype=np.int32)], x[:, [[2, 0], [1, 1]]], attributes={"axis": 1})
        index = np.array([[[3, 0, -1, 2]], [[1, 1, 1, 0]]], dtype=np.int64)
        check("GatherElements", [x, index], np.take_along_axis(x[:, :1], index, 2), attributes={"axis": 2})
        check("GatherND", [x, ints(1, -1).reshape(1, 2)], x[1, -1][None])
        check("GatherND", [x, ints(2, 0).reshape(2, 1)], np.stack([x[0, 2], x[1, 0]]), attributes={"batch_dims": 1})

    @every_type("Pad")
    def test_pad(self, type_name):
        x = elements(type_name, (3, 4))
        fill = elements(type_name, (), 5)
        wide = np.empty((4, 7), dtype=x.dtype)
        wide[...] = fill
        wide[1:, 2:6] = x
        check("Pad", [x, ints(1, 2, 0, 1), fill], wide)
        check("Pad", [x, ints(-1, 0), None, ints(0)], x[1:])
        rows = np.pad(np.arange(3), (2, 1), "reflect")
        check("Pad", [x, ints(2, 1), None, ints(-2)], x[rows], attributes={"mode": "reflect"})
        columns = np.pad(np.arange(4), (0, 3), "edge")
        check("Pad", [x, ints(0, 0, 0, 3)], x[:, columns], attributes={"mode": "edge"})
        columns = np.pad(np.arange(4), (5, 3), "wrap")
        check("Pad", [x, ints(0, 5, 0, 3)], x[:, columns], attributes={"mode": "wrap"})

    @every_type("DepthToSpace")
    def test_blocks(self, type_name):
        x = elements(type_name, (1, 8, 2, 3))
        dcr = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
        crd = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
        check("DepthToSpace", [x], dcr, attributes={"blocksize": 2})
        check("DepthToSpace", [x], crd, attributes={"blocksize": 2, "mode": "CRD"})
        check("SpaceToDepth", [dcr], x, attributes={"blocksize": 2})


class TestShapes:
    """Corners that are the same for all types."""

    def test_reshape_allows_zero(self):
        x = np.zeros((0, 3), dtype=np.float32)
        check("Reshape", [x, ints(3, 0)], x.reshape(3, 0), attributes={"allowzero": 1})

    def test_reshape_of_opset_1(self):
        x = elements("float", X)
        check("Reshape", [x], x.reshape(2, 12), 1, {"shape": [0, -1], "consumed_inputs": [0]})

    def test_squeeze_and_unsqueeze_by_attribute(self):
        x = elements("float", (1, 3, 1))
        for opset in (1, 7, 11, 12):
            check("Squeeze", [x], x.reshape(1, 3), opset, {"axes": [2]})
            check("Unsqueeze", [x], x.reshape(1, 1, 3, 1, 1), opset, {"axes": [0, 4]})

    def test_concat_of_opset_1_joins_axis_1(self):
        a, b = elements("float", (2, 3)), elements("float", (2, 2))
        check("Concat", [a, b], np.concatenate([a, b], 1), 1)

    def test_concat_of_empty_parts(self):
        a, b = np.zeros((0, 3), np.float32), elements("float", (2, 3))
        check("Concat", [a, b, a], b, attributes={"axis": 0})

    def test_split_by_attribute(self):
        x = elements("float", (5, 2))
        check("Split", [x], [x[:1], x[1:]], 2, {"split": [1, 4]})
        check("Split", [x], [x[:, :1], x[:, 1:]], 11, {"axis": -1})
        check("Split", [x, np.array([1, 4], np.float32)], [x[:1], x[1:]], 1)

    def test_split_into_unequal_parts(self):
        x = elements("float", (7,))
        check("Split", [x], [x[:3], x[3:6], x[6:]], 18, {"num_outputs": 3})

    def test_slice_by_attribute(self):
        x = elements("float", (4, 5))
        for opset in (1, 9):
            check("Slice", [x], x[1:3, :-1], opset, {"starts": [1, 0], "ends": [3, -1]})
            check("Slice", [x], x[:, 2:], opset, {"starts": [2], "ends": [2**31], "axes": [1]})

    @pytest.mark.parametrize("limits", [(5, -(2**63), -1), (-(2**63), 2**63 - 1, 2**62), (3, 1, 1), (9, 9, -3)])
    def test_slice_limits(self, limits):
        x = elements("float", (5, 2))
        start, end, step = limits
        expected = x[slice(start, None if end < -(2**60) else end, step)]
        check("Slice", [x, ints(start), ints(end), ints(0), ints(step)], expected)

    def test_tile_of_opset_1(self):
        x = elements("float", (2, 3))
        check("Tile", [x, np.float32(3)[()].reshape(()), np.array(1, np.float32)], np.tile(x, (1, 3)), 1)

    def test_pad_by_attribute(self):
        x = elements("float", (2, 3))
        expected = np.pad(x, ((0, 1), (2, 0)), constant_values=np.float32(1.5))
        check("Pad", [x], expected, 1, {"paddings": [0, 2, 1, 0], "value": 1.5})
        check("Pad", [x], expected, 2, {"pads": [0, 2, 1, 0], "value": 1.5})

    def test_pad_reflects_more_than_once(self):
        x = elements("float", (3,))
        check("Pad", [x, ints(7, 6)], np.pad(x, (7, 6), "reflect"), attributes={"mode": "reflect"})

    def test_pad_of_all_axes(self):
        x = elements("float", (2, 3, 4, 5))
        expected = np.pad(x, ((1, 0), (0, 0), (0, 2), (0, 0)))
        check("Pad", [x, ints(1, 0, 0, 0, 0, 0, 2, 0)], expected)
        check("Pad", [x, ints(0, -1, 0, 1, 0, 1, 0, -2)], np.pad(x, ((0, 0), (0, 1), (0, 0), (1, 0)))[:, 1:, :, :-2])

    def test_center_crop_pad(self):
        x = elements("float", (5, 2))
        check("CenterCropPad", [x, ints(2, 5)], np.pad(x[1:3], ((0, 0), (1, 2))))
        check("CenterCropPad", [x, ints(3)], np.pad(x, ((0, 0), (0, 1))), attributes={"axes": [-1]})

    def test_high_rank(self):
        x = elements("float", (2, 1, 2, 1, 2, 1, 2, 1, 2, 2))
        check("Transpose", [x], x.transpose())
        check("Tile", [x, ints(*[1, 2] * 5)], np.tile(x, [1, 2] * 5))

    @pytest.mark.parametrize("shape", [(64, 48), (3, 130, 70), (1, 33, 31, 5)])
    @pytest.mark.parametrize("type_name", ["float", "uint8", "double", "float16", "complex128"])
    def test_large_transpositions(self, shape, type_name):
        x = elements(type_name, shape)
        check("Transpose", [x], x.transpose())
        swapped = list(range(len(shape)))
        swapped[-1], swapped[-2] = swapped[-2], swapped[-1]
        check("Transpose", [x], x.transpose(swapped), attributes={"perm": swapped})


class TestConstants:
    @pytest.mark.parametrize("type_name", [t for t in sorted(NUMPY_OF) if t != "string" and "complex" not in t and "float6" not in t])
    def test_constant_of_shape(self, type_name):
        value = elements(type_name, (1,), 3)
        full = np.empty((2, 3), dtype=value.dtype)
        full[...] = value
        check("ConstantOfShape", [ints(2, 3)], full, attributes={"value": numpy_helper.from_array(value)})

    def test_constant_of_shape_without_value(self):
        check("ConstantOfShape", [ints()], np.array(0, np.float32))
        check("ConstantOfShape", [ints(2, 0)], np.zeros((2, 0), np.float32))

    @pytest.mark.parametrize("type_name", ["float", "double", "int16", "int32", "int64"])
    @pytest.mark.parametrize("limits", [(1, 10, 3), (10, 1, -4), (3, 3, 1), (0, 5, -1)])
    def test_range(self, type_name, limits):
        dtype = NUMPY_OF[type_name]
        inputs = [np.array(limit, dtype) for limit in limits]
        check("Range", inputs, np.arange(*limits).astype(dtype), 11)

    @pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
    @pytest.mark.parametrize("count", [7, 8, 9, 33, 1023, 1025, 40000])
    def test_long_ranges(self, dtype, count):
        """Past what vectors and threads take at once, upwards and down."""
        step = 1 if dtype == np.int16 and count > 10000 else 3
        if dtype == np.int16 and count > 20000:
            count = 20000
        for start, delta in ((-5, step), (7, -step)):
            inputs = [np.array(v, dtype) for v in (start, start + delta * count, delta)]
            check("Range", inputs, np.arange(start, start + delta * count, delta).astype(dtype), 11)

    def test_range_of_16_bit_floats(self):
        for type_name in ("float16", "bfloat16"):
            dtype = NUMPY_OF[type_name]
            model, feeds = node_model(
                "Range", [np.array(v, dtype) for v in (0, 3, 0.5)], [helper.np_dtype_to_tensor_dtype(np.dtype(dtype))], 27
            )
            compare(run_gantry(model, feeds), [np.arange(0, 3, 0.5).astype(dtype)], 0, 0)

    def test_integer_range_over_all_numbers(self):
        limits = [np.array(v, np.int64) for v in (-(2**63), 2**63 - 1, 2**62)]
        check("Range", limits, ints(-(2**63), -(2**62), 0, 2**62))

    @pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
    def test_eye_like(self, diagonal):
        x = np.zeros((3, 4), np.int32)
        check("EyeLike", [x], np.eye(3, 4, diagonal, dtype=np.int32), attributes={"k": diagonal})
        check(
            "EyeLike", [x], np.eye(3, 4, diagonal, dtype=np.float64), attributes={"k": diagonal, "dtype": TensorProto.DOUBLE}
        )


class TestErrors:
    """What a model or its input gets wrong is one sentence, not a crash."""

    @pytest.mark.parametrize(
        "op_type, inputs, attributes, words",
        [
            ("Reshape", [elements("float", X), ints(5, -1)], {}, "shape"),
            ("Reshape", [elements("float", X), ints(-1, -1)], {}, "-1"),
            ("Reshape", [elements("float", X), ints(2**62, 8)], {}, "shape"),
            ("Squeeze", [elements("float", X), ints(1)], {}, "axis 1"),
            ("Unsqueeze", [elements("float", X), ints(1, 1)], {}, "twice"),
            ("Expand", [elements("float", X), ints(2**62, 1, 1, 1)], {}, "elements"),
            ("Expand", [elements("float", X), ints(5)], {}, "broadcast"),
            ("Tile", [elements("float", X), ints(2**62, 2**62, 1)], {}, ""),
            ("Tile", [elements("float", X), ints(-1, 1, 1)], {}, ""),
            ("Slice", [elements("float", X), ints(0), ints(1), ints(7)], {}, "axis 7"),
            ("Slice", [elements("float", X), ints(0), ints(1), ints(0), ints(0)], {}, "step"),
            ("Split", [elements("float", X), ints(3, -1)], {}, "parts"),
            ("Pad", [elements("float", X), ints(1, 2)], {}, "pads"),
            ("Pad", [elements("float", X), ints(-9, 0, 0, 0, 0, 0)], {}, "padded"),
            ("Pad", [elements("float", X), ints(2**62, 0, 0, 0, 0, 0)], {}, ""),
            ("Gather", [elements("float", X), ints(2)], {}, "index 2"),
            ("Gather", [elements("float", X), ints(-(2**63))], {}, "index"),
            ("GatherElements", [elements("float", (3,)), ints(3)], {}, "index 3"),
            ("GatherND", [elements("float", X), ints(0, 0, 0, 0)], {}, ""),
            ("GatherND", [elements("float", X), ints(0, 9)], {}, "index 9"),
            ("ConstantOfShape", [ints(2**62, 4)], {}, ""),
            ("ConstantOfShape", [ints(-1)], {}, ""),
            ("Range", [ints(0).reshape(()), ints(5).reshape(()), ints(0).reshape(())], {}, "delta"),
        ],
    )
    def test_is_reported(self, op_type, inputs, attributes, words):
        import gantry

        outputs = [TensorProto.FLOAT] * (2 if op_type == "Split" else 1)
        if op_type == "Range":
            outputs = [TensorProto.INT64]
        model, feeds = node_model(op_type, inputs, outputs, NEWEST, attributes)
        with pytest.raises(gantry.Error) as caught:
            run_gantry(model, feeds)
        assert words in str(caught.value)


def test_onnxruntime_agrees_on_old_versions():
    """The versions that ONNX Runtime still runs, against it."""
    x = elements("float", (2, 3, 4))
    cases = [
        ("Reshape", [x, ints(-1, 4)], 5, {}),
        ("Flatten", [x], 1, {"axis": 0}),
        ("Flatten", [x], 9, {"axis": 2}),
        ("Tile", [x, ints(1, 2, 3)], 6, {}),
        ("Expand", [x, ints(2, 1, 3, 4)], 8, {}),
        ("Transpose", [x], 1, {"perm": [1, 2, 0]}),
        ("Pad", [x, ints(0, 1, 0, 0, 0, 2), np.array(7, np.float32)], 11, {}),
        ("Gather", [x, ints(1, 0)], 1, {"axis": 2}),
    ]
    for op_type, inputs, opset, attributes in cases:
        model, feeds = node_model(op_type, inputs, [TensorProto.FLOAT], opset, attributes)
        compare(run_gantry(model, feeds), run_ort(model, feeds), 0, 0)
