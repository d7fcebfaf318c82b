# SPDX-License-Identifier: Apache-2.0
"""Cast and CastLike between all pairs of element types, and their rules for 8-bit floats and texts."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import gantry
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle, run_reference

NAMES = [name for name in NUMPY_OF if not name.startswith("complex")]
FLOATS = ["float", "double", "float16", "bfloat16"]


def onnx_type(name):
    return TensorProto.STRING if name == "string" else helper.np_dtype_to_tensor_dtype(np.dtype(NUMPY_OF[name]))


def small_numbers(name):
    """0 to 3 in every type, as far as the type has them."""
    values = np.array([0, 1, 2, 3, 1, 0, 2] * 80, np.float32)[:-3]
    if name == "string":
        return values.astype(np.int32).astype(str).astype(object)
    if name == "bool":
        return values != 0
    if name == "int2":
        return np.minimum(values, 1).astype(np.int8).astype(ml_dtypes.int2)
    if name == "float8e8m0":
        return np.where(values == 2, 2, 1).astype(ml_dtypes.float8_e8m0fnu)
    return values.astype(NUMPY_OF[name])


def expected_of(x, name):
    if name == "string":
        return np.array([f"{int(v)}" for v in x], object)
    values = x.astype(str).astype(np.float64) if x.dtype == object else x.astype(np.float32)
    if name == "bool":
        return values != 0
    if name.startswith(("int", "uint")):
        bits = int("".join(c for c in name if c.isdigit()))
        whole = values.astype(np.int64) & (2**bits - 1 if bits < 64 else -1)
        if name.startswith("int"):
            whole = np.where(whole >= 2 ** (bits - 1), whole - 2**bits, whole) if bits < 64 else whole
        return whole.astype(np.int8).astype(NUMPY_OF[name]) if bits < 8 else whole.astype(NUMPY_OF[name])
    if name == "float8e8m0":
        # 0 becomes the smallest power, 3 rounds up.
        return np.array([{0: 2.0**-127, 3: 4.0}.get(float(v), float(v)) for v in values]).astype(ml_dtypes.float8_e8m0fnu)
    return values.astype(NUMPY_OF[name])


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_every_pair(source, target):
    x = small_numbers(source)
    model, feeds = node_model("Cast", [x], [onnx_type(target)], 28, {"to": onnx_type(target)})
    compare(run_gantry(model, feeds), [expected_of(x, target)])


@pytest.mark.parametrize("source, target", [(s, t) for s in FLOATS for t in FLOATS + ["int32", "int64", "uint8", "bool"]])
def test_floats_against_the_oracle(source, target):
    x = np.random.default_rng(1).uniform(0, 250, (3, 333)).astype(NUMPY_OF[source])
    model, feeds = node_model("Cast", [x], [onnx_type(target)], 21, {"to": onnx_type(target)})
    # ONNX Runtime rounds twice, to f32 first.
    rounds_once = source == "double" and target == "float16"
    expected = [x.astype(np.float16)] if rounds_once else run_oracle(model, feeds)
    compare(run_gantry(model, feeds), expected, rtol=0, atol=0)


def test_double_to_float16_rounds_once():
    # Just above the middle between two float16 numbers, by less than f32 can tell.
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 70000.0, np.nan, -np.inf], np.float64)
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT16], 13, {"to": TensorProto.FLOAT16})
    compare(run_gantry(model, feeds), [x.astype(np.float16)], rtol=0, atol=0)


@pytest.mark.parametrize("source, target", [("int64", "int8"), ("int32", "uint8"), ("int16", "int8"), ("uint32", "int32"),
                                            ("int64", "uint16"), ("int8", "uint64"), ("int64", "int4"), ("int16", "uint2")])
def test_integers_keep_the_low_bits(source, target):
    x = np.arange(-300, 300).astype(NUMPY_OF[source])
    model, feeds = node_model("Cast", [x], [onnx_type(target)], 25, {"to": onnx_type(target)})
    bits = int("".join(c for c in target if c.isdigit()))
    low = [int(v) & (2**bits - 1) for v in x]
    expected = [v - 2**bits if target.startswith("i") and v >= 2 ** (bits - 1) else v for v in low]
    assert [int(v) for v in run_gantry(model, feeds)[0]] == expected


EIGHT_BIT = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]


@pytest.mark.parametrize("source", ["float", "float16", "double"])
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("name", EIGHT_BIT)
def test_float8(name, saturate, source):
    values = np.concatenate([np.random.default_rng(1).normal(size=3000) * 100, np.random.default_rng(2).normal(size=3000) / 100,
                             [0.0, -0.0, 448, 464, 465, 500, -500, 57344, 61439, 61440, 65000, np.inf, -np.inf, np.nan, 240, 248]])
    x = values.astype(NUMPY_OF[source])
    model, feeds = node_model("Cast", [x], [onnx_type(name)], 19, {"to": onnx_type(name), "saturate": saturate})
    actual = run_gantry(model, feeds)[0].astype(np.float32)
    dtype = NUMPY_OF[name]
    largest = float(ml_dtypes.finfo(dtype).max)
    expected = x.astype(np.float64).astype(dtype).astype(np.float32)
    if saturate:
        over = ~np.isnan(x) & ~(np.abs(expected) <= largest)
        expected = np.where(over, np.copysign(largest, x.astype(np.float32)), expected)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", EIGHT_BIT + ["float8e8m0"])
def test_every_float8_to_float(name):
    x = np.arange(256, dtype=np.uint8).view(NUMPY_OF[name])
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT], 24, {"to": TensorProto.FLOAT})
    np.testing.assert_array_equal(run_gantry(model, feeds)[0], x.astype(np.float32))


@pytest.mark.parametrize("round_mode, expected", [
    ("up", [1, 2, 2, 2, 4, 2.0**-127, 2.0**127, 2.0**127]),
    ("down", [1, 1, 1, 1, 2, 2.0**-127, 2.0**127, 2.0**127]),
    ("nearest", [1, 1, 2, 2, 4, 2.0**-127, 2.0**127, 2.0**127]),
])
def test_float8e8m0_rounding(round_mode, expected):
    x = np.array([1, 1.25, 1.5, 1.75, 3, 0, 3e38, np.inf], np.float32)
    attributes = {"to": TensorProto.FLOAT8E8M0, "round_mode": round_mode}
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT8E8M0], 24, attributes)
    assert run_gantry(model, feeds)[0].astype(np.float32).tolist() == expected


def test_float8e8m0_without_saturation():
    x = np.array([0, 2.0**-130, np.inf, 3.3e38, np.nan, 4], np.float32)
    attributes = {"to": TensorProto.FLOAT8E8M0, "round_mode": "nearest", "saturate": 0}
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT8E8M0], 24, attributes)
    np.testing.assert_array_equal(run_gantry(model, feeds)[0].astype(np.float32), [np.nan] * 5 + [4])


def test_float4():
    x = np.array([0, -0.0, 0.2, 0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 5.1, 100, -100, -0.3, 1, np.nan, -np.nan], np.float32)
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT4E2M1], 23, {"to": TensorProto.FLOAT4E2M1})
    np.testing.assert_array_equal(run_gantry(model, feeds)[0].astype(np.float32),
                                  x.astype(ml_dtypes.float4_e2m1fn).astype(np.float32))


SIX_BIT = ["float6e2m3", "float6e3m2"]


@pytest.mark.parametrize("source", ["float", "double", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SIX_BIT)
def test_float6(name, source):
    """Each code, the ties between neighbours, numbers on both sides of them, and what saturates."""
    codes = np.sort(np.arange(32, dtype=np.uint8).view(NUMPY_OF[name]).astype(np.float64))
    ties = (codes[1:] + codes[:-1]) / 2
    values = np.concatenate([codes, ties, ties * 1.01, ties * 0.99, codes[-1:] * [1.03, 1.06, 1.07, 2, 1e4], [np.inf, np.nan]])
    x = np.concatenate([values, -values, np.random.default_rng(1).normal(size=3001) * 4]).astype(NUMPY_OF[source])
    model, feeds = node_model("Cast", [x], [onnx_type(name)], 28, {"to": onnx_type(name)})
    (y,) = run_gantry(model, feeds)
    assert y.dtype == NUMPY_OF[name]
    np.testing.assert_array_equal(y.view(np.uint8), x.astype(np.float64).astype(NUMPY_OF[name]).view(np.uint8))
    np.testing.assert_array_equal(y.view(np.uint8), run_reference(model, feeds)[0].view(np.uint8))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 64, 3 * 64 + 1])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("name", SIX_BIT)
def test_every_float6_to_float(name, constant, count):
    x = np.resize(np.arange(64, dtype=np.uint8), count).view(NUMPY_OF[name])
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT], 28, {"to": TensorProto.FLOAT}, constants=[0] if constant else [])
    (y,) = run_gantry(model, feeds)
    np.testing.assert_array_equal(y, x.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x.astype(np.float32)))


def test_threads_do_not_share_groups_of_float6():
    """Four elements lie in three bytes; parts of the tensor that threads write at once must not cut them."""
    x = np.random.default_rng(3).normal(size=1_000_003).astype(np.float32)
    model, feeds = node_model("Cast", [x], [TensorProto.FLOAT6E3M2], 28, {"to": TensorProto.FLOAT6E3M2})
    expected = x.astype(ml_dtypes.float6_e3m2fn).view(np.uint8)
    for threads in (1, 4):
        (y,) = run_gantry(model, feeds, config={"session": {"threads": threads}})
        np.testing.assert_array_equal(y.view(np.uint8), expected)


@pytest.mark.parametrize("name", SIX_BIT)
def test_float6_in_typed_data(name):
    """int32_data holds a code in each number."""
    codes = np.arange(63, dtype=np.uint8).view(NUMPY_OF[name])
    tensor = helper.make_tensor("x", onnx_type(name), codes.shape, codes.astype(np.float32).tolist())
    assert len(tensor.int32_data) == 63
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [63])], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)])
    np.testing.assert_array_equal(run_gantry(model, {})[0], codes.astype(np.float32))


@pytest.mark.parametrize("name", SIX_BIT)
def test_optional_float6(name):
    x = np.arange(7, dtype=np.uint8).view(NUMPY_OF[name])
    nodes = [helper.make_node("Optional", ["x"], ["o"]), helper.make_node("OptionalGetElement", ["o"], ["y"]),
             helper.make_node("OptionalHasElement", ["o"], ["has"])]
    outputs = [helper.make_tensor_value_info("y", onnx_type(name), [7]), helper.make_tensor_value_info("has", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx_type(name), [7])], outputs)
    y, has = run_gantry(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)]), {"x": x})
    assert has
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.view(np.uint8), x.view(np.uint8))


@pytest.mark.parametrize("text, number", [("3.14", 3.14), ("1e-5", 1e-5), ("1E8", 1e8), ("+INF", np.inf), ("inf", np.inf),
                                          ("-INF", -np.inf), ("NaN", np.nan), (" 7 ", 7), ("+5", 5), ("-0", -0.0),
                                          ("1e400", np.inf), ("18446744073709551615", 2.0**64)])
def test_texts_to_floats(text, number):
    model, feeds = node_model("Cast", [np.array([text], object)], [TensorProto.DOUBLE], 13, {"to": TensorProto.DOUBLE})
    np.testing.assert_array_equal(run_gantry(model, feeds)[0], [number])


def test_texts_to_integers():
    x = np.array(["-7", "100.5", "1e3", "9223372036854775807"], object)
    model, feeds = node_model("Cast", [x], [TensorProto.INT64], 13, {"to": TensorProto.INT64})
    assert run_gantry(model, feeds)[0].tolist() == [-7, 100, 1000, 9223372036854775807]


@pytest.mark.parametrize("text", ["", "Hello", "1.2.3", "5x", "+-5"])
def test_text_that_is_no_number_fails(text):
    model, feeds = node_model("Cast", [np.array([text], object)], [TensorProto.FLOAT], 13, {"to": TensorProto.FLOAT})
    with pytest.raises(gantry.Error, match='Cast "node".*no number'):
        run_gantry(model, feeds)


@pytest.mark.parametrize("name, values, texts", [
    ("float", [1, 0.1, 314.15926, 1e20, np.nan, np.inf, -np.inf], ["1", "0.1", "314.15927", "1e+20", "NaN", "INF", "-INF"]),
    ("double", [1 / 3, -2.5], ["0.3333333333333333", "-2.5"]),
    ("float16", [0.5, 65504], ["0.5", "65504"]),
    ("int8", [-3, 5], ["-3", "5"]),
    ("uint64", [2**64 - 1], ["18446744073709551615"]),
    ("bool", [True, False], ["1", "0"]),
])
def test_numbers_to_texts(name, values, texts):
    x = np.array(values, NUMPY_OF[name])
    model, feeds = node_model("Cast", [x], [TensorProto.STRING], 19, {"to": TensorProto.STRING})
    assert [str(t) for t in run_gantry(model, feeds)[0]] == texts


@pytest.mark.parametrize("version", [6, 9, 13, 19, 21, 23, 24, 25])
def test_versions(version):
    x = np.array([[1.5, -2.5], [0, 9]], np.float32)
    model, feeds = node_model("Cast", [x], [TensorProto.INT32], version, {"to": TensorProto.INT32})
    compare(run_gantry(model, feeds), [x.astype(np.int32)])


def test_version_1_names_the_type():
    x = np.array([1.5, -2.5, 0], np.float32)
    for name, dtype in [("INT64", np.int64), ("BOOL", np.bool_), ("DOUBLE", np.float64), ("FLOAT16", np.float16)]:
        model, feeds = node_model("Cast", [x], [TensorProto.DataType.Value(name)], 1, {"to": name})
        compare(run_gantry(model, feeds), [x.astype(dtype)])


@pytest.mark.parametrize("target", ["double", "int8", "bfloat16", "string", "bool"])
def test_cast_like(target):
    x = small_numbers("float")
    like = small_numbers(target)[:2]
    model, feeds = node_model("CastLike", [x, like], [onnx_type(target)], 15)
    compare(run_gantry(model, feeds), [expected_of(x, target)])


def test_empty_and_scalar():
    for shape in [(0, 3), ()]:
        x = np.zeros(shape, np.float32)
        for target in ("int4", "int32", "string"):
            model, feeds = node_model("Cast", [x], [onnx_type(target)], 21, {"to": onnx_type(target)})
            assert run_gantry(model, feeds)[0].shape == shape
