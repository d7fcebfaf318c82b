# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators: every version and every element type of their schemas, against the oracle."""

import ml_dtypes
import numpy as np
import onnx.defs
import pytest

import gantry
from oracle import NUMPY_OF, compare, element_type, node_model, run_gantry, run_oracle
from onnx import TensorProto

UNARY = """Abs Neg Ceil Floor Round Sqrt Reciprocal Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf
    Sigmoid Relu LeakyRelu Elu Selu Celu Softplus Softsign HardSigmoid HardSwish ThresholdedRelu Gelu Mish Swish Sign Not
    BitwiseNot IsNaN IsInf Identity""".split()
BINARY = """Add Sub Mul Div Pow Mod BitShift BitwiseAnd BitwiseOr BitwiseXor And Or Xor Equal Less Greater LessOrEqual
    GreaterOrEqual PRelu""".split()
VARIADIC = "Sum Max Min Mean".split()

ATTRIBUTES = {
    "BitShift": [{"direction": "LEFT"}, {"direction": "RIGHT"}],
    "Mod": [{"fmod": 1}, {"fmod": 0}],
    "LeakyRelu": [{}, {"alpha": 0.3}],
    "Elu": [{}, {"alpha": 0.7}],
    "Celu": [{}, {"alpha": 2.0}],
    "Selu": [{}, {"alpha": 1.5, "gamma": 1.1}],
    "HardSigmoid": [{}, {"alpha": 0.4, "beta": 0.3}],
    "ThresholdedRelu": [{}, {"alpha": 0.2}],
    "Gelu": [{}, {"approximate": "tanh"}],
    "Swish": [{}, {"alpha": 1.7}],
    "IsInf": [{}, {"detect_negative": 0}, {"detect_positive": 0}],
}
DOMAIN = {
    "Sqrt": (0.0, 4.0), "Log": (0.01, 4.0), "Asin": (-1.0, 1.0), "Acos": (-1.0, 1.0), "Atanh": (-0.9, 0.9),
    "Acosh": (1.0, 5.0), "Tan": (-1.4, 1.4), "Reciprocal": (0.2, 3.0),
}


def schemas_of(op):
    history = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and s.name == op]
    return sorted(history, key=lambda s: s.since_version)


def types_of(schema, parameter):
    """Plain names of the tensor types that a type parameter allows."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            names = [t[len("tensor("):-1] for t in constraint.allowed_type_strs if t.startswith("tensor(")]
            return sorted(names)
    return []


def cases_of(ops):
    return list(all_cases_of(ops))


def all_cases_of(ops):
    for op in ops:
        for schema in schemas_of(op):
            for name in types_of(schema, schema.inputs[0].type_str):
                for attributes in ATTRIBUTES.get(op, [{}]):
                    yield pytest.param(op, schema.since_version, name, attributes,
                                       id=f"{op}-{schema.since_version}-{name}-{len(attributes)}")


def sample(name, shape, seed, low=-3.0, high=3.0):
    """Seeded values of an element type, integers small and of both signs where the type has one."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(NUMPY_OF[name])
    if name == "string":
        return generator.choice(np.array(["", "a", "b", "ä", "longer text"], object), shape)
    if name == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if name.startswith("complex"):
        return (generator.normal(size=shape) + 1j * generator.normal(size=shape)).astype(dtype)
    if dtype.kind in "iu" or name in ("int4", "uint4", "int2", "uint2"):
        unsigned = name.startswith("u")
        top = 2 if name.endswith("t2") else 8
        return generator.integers(0 if unsigned else -top, top, shape).astype(dtype)
    return generator.uniform(low, high, shape).astype(np.float32).astype(dtype)


def widened(arrays):
    """16-bit and 8-bit floats as f32."""
    small = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
    return [None if x is None else x.astype(np.float32) if x.dtype in small or x.dtype.itemsize == 1 and x.dtype.kind == "V"
            or str(x.dtype).startswith("float8") else x for x in arrays]


def check(op, inputs, output_types, version, attributes=None, rtol=None):
    """Gantry against the oracle; where no oracle takes the type, against the oracle in f32, rounded."""
    model, feeds = node_model(op, inputs, output_types, version, attributes)
    actual = run_gantry(model, feeds)
    try:
        expected = run_oracle(model, feeds)
    except Exception:
        wide = widened(inputs)
        wide_types = [element_type(wide[0]) if t == element_type(inputs[0]) else t for t in output_types]
        expected = run_oracle(*node_model(op, wide, wide_types, max(version, 13), attributes))
        expected = [e.astype(a.dtype) for e, a in zip(expected, actual)]
    expected = [np.asarray(e).astype(a.dtype) if np.asarray(e).dtype != a.dtype and a.dtype.kind != "O" else e
                for e, a in zip(expected, actual)]
    compare(actual, expected, rtol)
    return actual


@pytest.mark.parametrize("op, version, name, attributes", cases_of(UNARY))
def test_unary(op, version, name, attributes):
    low, high = DOMAIN.get(op, (-3.0, 3.0))
    x = sample(name, (3, 5, 7), seed=1, low=low, high=high)
    if op in ("IsNaN", "IsInf") and name != "float8e8m0":
        x.flat[:3] = np.array([np.nan, np.inf, -np.inf], np.float32).astype(x.dtype)
    output = TensorProto.BOOL if op in ("IsNaN", "IsInf") else element_type(x)
    if op == "Selu" and version == 1 and not attributes:  # the oracle takes the defaults of version 6
        attributes = {"alpha": 1.6732, "gamma": 1.0507}
    # For these the oracle computes in f64 with constants of f32.
    rtol = 1e-5 if name == "double" and op in ("Gelu", "HardSwish") else None
    check(op, [x], [output], version, attributes, rtol)


def test_selu_of_version_1_has_its_own_defaults():
    x = sample("float", (50,), 1)
    results = [run_gantry(*node_model("Selu", [x], [1], version)) for version in (1, 6)]
    wanted = [run_gantry(*node_model("Selu", [x], [1], 6, {"alpha": a, "gamma": g}))
              for a, g in [(1.6732, 1.0507), (1.67326319217681884765625, 1.05070102214813232421875)]]
    compare(results, wanted, rtol=1e-7, atol=0)
    assert not np.array_equal(results[0][0], results[1][0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("bias", [2.0**-9, 1e-5, 0.6])
def test_shrink_of_small_integers_is_computed_in_floats(dtype, bias):
    """A tiny bias is rounded away where a float has no room for it, and only there."""
    info = np.iinfo(dtype)
    x = np.unique(np.linspace(info.min, info.max, 999).astype(dtype))
    model, feeds = node_model("Shrink", [x], [element_type(x)], 9, {"bias": bias, "lambd": 1.0})
    compare(run_gantry(model, feeds), run_oracle(model, feeds), rtol=0, atol=0)


@pytest.mark.parametrize("op, version, name, attributes", cases_of(BINARY))
def test_binary(op, version, name, attributes):
    a = sample(name, (3, 5, 7), seed=1, low=0.2 if op == "Pow" else -3.0)
    b = sample(name, (3, 5, 7), seed=2)
    if name.startswith(("int", "uint")):
        b[b == 0] = 3
        if op == "BitShift":
            b = np.abs(b).astype(b.dtype)
        if op == "Pow":
            b = np.abs(b).astype(b.dtype) % 4
    if op == "Pow" and name == "bfloat16" and version < 15:
        b = b.astype(np.float32)
    if op == "Mod" and "fmod" in attributes and attributes["fmod"] == 0 and "float" in name and version < 28:
        pytest.skip("floats need fmod=1 before version 28")
    if op in ("Equal", "LessOrEqual", "GreaterOrEqual"):
        b.flat[::3] = a.flat[::3]
    compares = op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
    check(op, [a, b], [TensorProto.BOOL if compares else element_type(a)], version, attributes)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("op, version, name, attributes", cases_of(VARIADIC))
def test_variadic(op, version, name, attributes, count):
    if count > 1 and version >= 8:
        shapes = [(3, 1, 7), (5, 1), (3, 5, 7), (1,), (7,)]
    else:
        shapes = [(3, 5, 7)] * 5
    inputs = [sample(name, shapes[i], seed=i) for i in range(count)]
    if op != "Mean":
        check(op, inputs, [element_type(inputs[0])], version)
        return
    # Neither oracle has Mean in all types with broadcasting.
    model, feeds = node_model(op, inputs, [element_type(inputs[0])], version)
    mean = sum(x.astype(np.float64) for x in inputs) / count
    compare(run_gantry(model, feeds), [mean.astype(inputs[0].dtype)])


def test_variadic_same_input_twice_keeps_it_intact():
    """Sum(x, x, x) may not be computed over x."""
    x = sample("float", (2000,), 1)
    node = onnx.helper.make_node("Sum", ["t", "t", "t"], ["y"])
    twice = onnx.helper.make_node("Mul", ["x", "x"], ["t"])
    graph = onnx.helper.make_graph([twice, node], "g", [onnx.helper.make_tensor_value_info("x", 1, [2000])],
                                   [onnx.helper.make_tensor_value_info("y", 1, [2000])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    compare(run_gantry(model, {"x": x}), [3 * x * x])


BROADCASTS = [
    ((), ()), ((4,), ()), ((), (3, 2)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((1, 4), (3, 1)), ((2, 3, 4), (3, 1)),
    ((2, 1, 4), (1, 3, 1)), ((5, 1, 3, 1), (1, 2, 1, 4)), ((0, 3), (1, 3)), ((0,), (1,)), ((2, 0, 3), (1, 1)),
    ((1, 2, 1, 2, 1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1, 2, 1)), ((64, 17), (17,)), ((17, 64), (17, 1)),
    ((2, 3, 50, 40), (3, 1, 1)), ((3, 1, 1), (2, 3, 50, 40)), ((1, 1), (70000,)), ((300, 300), (300, 300)),
]


@pytest.mark.parametrize("a, b", BROADCASTS)
@pytest.mark.parametrize("op, name", [("Add", "float"), ("Sub", "int32"), ("Mul", "float16"), ("Div", "double"),
                                      ("Less", "float"), ("And", "bool"), ("Equal", "string"), ("Pow", "float"),
                                      ("Max", "float"), ("Mod", "int64")])
def test_broadcasting(op, name, a, b):
    x = sample(name, a, 1, low=0.5)
    y = sample(name, b, 2, low=0.5)
    if op == "Mod":
        y = np.where(y == 0, 5, y)
    output = TensorProto.BOOL if op in ("Less", "And", "Equal") else element_type(x)
    check(op, [x, y], [output], 19, {})


@pytest.mark.parametrize("op, expression", [("Add", lambda a, b: a + b), ("Div", lambda a, b: a / b),
                                            ("Pow", lambda a, b: a ** b), ("Greater", lambda a, b: a > b)])
@pytest.mark.parametrize("shape, attributes, aligned", [
    ((3, 4, 5), {}, (3, 4, 5)),
    ((5,), {"broadcast": 1}, (1, 1, 5)),
    ((4, 5), {"broadcast": 1}, (1, 4, 5)),
    ((3, 4), {"broadcast": 1, "axis": 0}, (3, 4, 1)),
    ((4,), {"broadcast": 1, "axis": 1}, (1, 4, 1)),
    ((1,), {"broadcast": 1}, (1, 1, 1)),
    ((), {"broadcast": 1}, (1, 1, 1)),
])
def test_broadcasting_by_axis_below_version_7(op, expression, shape, attributes, aligned):
    a = sample("float", (3, 4, 5), 1, low=0.5)
    b = sample("float", shape, 2, low=0.5)
    model, feeds = node_model(op, [a, b], [TensorProto.BOOL if op == "Greater" else 1], 6, attributes)
    compare(run_gantry(model, feeds), [expression(a, b.reshape(aligned))])


def test_prelu_channels_below_version_7():
    x = sample("float", (2, 3, 4, 5), 1)
    slope = sample("float", (3,), 2)
    model, feeds = node_model("PRelu", [x, slope], [1], 6)
    compare(run_gantry(model, feeds), [np.where(x < 0, x * slope.reshape(3, 1, 1), x)])


@pytest.mark.parametrize("op, a, b, attributes", [
    ("Add", (3, 4), (5,), {}), ("Where", (2,), (3,), {}), ("Max", (3,), (4,), {}),
])
def test_shapes_that_do_not_fit_fail(op, a, b, attributes):
    inputs = [sample("float", a, 1), sample("float", b, 2)]
    if op == "Where":
        inputs = [sample("bool", a, 3), sample("float", b, 1), sample("float", b, 1)]
    model, feeds = node_model(op, inputs, [1], 13, attributes)
    for value in [*model.graph.input, *model.graph.output]:  # the extents are met only at the run
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    with pytest.raises(gantry.Error, match=f'{op} "node".*broadcast'):
        run_gantry(model, feeds)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-30, 3e38, -3e38, 88.5, -88.5, 89.5,
                    -104.5, 0.5, 1.5, 2.5, -0.5, -2.5, 20.0, -20.0, 0.624, 0.626, 4.0, 17.0, 1e7], np.float32)


@pytest.mark.parametrize("op, function", [
    ("Exp", np.exp), ("Log", np.log), ("Tanh", np.tanh), ("Sqrt", np.sqrt), ("Abs", np.abs), ("Floor", np.floor),
    ("Ceil", np.ceil), ("Round", np.rint), ("Relu", lambda x: np.where(x < 0, 0, x)), ("Reciprocal", np.reciprocal),
    ("Sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("Softplus", lambda x: np.logaddexp(0, x)),
    ("Elu", lambda x: np.where(x < 0, np.expm1(x), x)), ("Sign", np.sign),
    ("Softsign", lambda x: x / (1 + np.abs(x))), ("Atan", np.arctan), ("Sin", np.sin), ("Asinh", np.arcsinh),
    ("ThresholdedRelu", lambda x: np.where(x > 1, x, 0)),
])
@pytest.mark.parametrize("name", ["float", "double"])
def test_special_values(op, function, name):
    x = SPECIAL.astype(NUMPY_OF[name])
    model, feeds = node_model(op, [x], [element_type(x)], 21)
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64)).astype(x.dtype)
    compare(run_gantry(model, feeds), [expected], rtol=1e-6, atol=0)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 1000, 100003])
@pytest.mark.parametrize("op", ["Relu", "Exp", "Erf", "Gelu", "Neg"])
def test_lengths(op, count):
    check(op, [sample("float", (count,), count)], [1], 20)


def test_integers_wrap_and_divide_by_zero_to_zero():
    a = np.array([np.iinfo(np.int32).min, 7, -7, 5, np.iinfo(np.int32).max], np.int32)
    b = np.array([-1, 0, 2, -3, 1], np.int32)
    for op, expected in [("Div", [np.iinfo(np.int32).min, 0, -3, -1, np.iinfo(np.int32).max]),
                         ("Mod", [0, 0, 1, -1, 0]), ("Add", [np.iinfo(np.int32).max, 7, -5, 2, np.iinfo(np.int32).min])]:
        model, feeds = node_model(op, [a, b], [TensorProto.INT32], 14)
        compare(run_gantry(model, feeds), [np.array(expected, np.int32)])


@pytest.mark.parametrize("x, y", [(x, y) for x in ("float", "int32", "int64", "double", "float16", "bfloat16")
                                  for y in ("float", "int8", "uint16", "int32", "int64", "double", "uint64", "bfloat16")])
def test_pow_of_two_types(x, y):
    base = np.abs(sample(x, (4, 5), 1)) + np.ones((), NUMPY_OF[x])
    exponent = np.abs(sample(y, (4, 1), 2)) // np.asarray(2, NUMPY_OF[y])
    model, feeds = node_model("Pow", [base, exponent], [element_type(base)], 15)
    expected = (base.astype(np.float64) ** exponent.astype(np.float64)).astype(base.dtype)
    compare(run_gantry(model, feeds), [expected])


@pytest.mark.parametrize("exponent", [np.int32(2**24 + 1), np.int64(-(2**31) - 1), np.uint64(2**40 + 1), np.float64(2**30 + 1), np.float64(2**25 + 0.5)])
@pytest.mark.parametrize("name", ["float", "double"])
def test_pow_by_what_a_float_would_round(name, exponent):
    """Odd from even, and whole numbers from others."""
    base = np.array([-1.0, -2.0, -0.5, -np.inf, -0.0, 1.0, -1.0000001], NUMPY_OF[name])
    model, feeds = node_model("Pow", [base, np.array(exponent)], [element_type(base)], 15)
    with np.errstate(all="ignore"):
        expected = np.power(base.astype(np.float64), np.float64(exponent)).astype(base.dtype)
    (y,) = run_gantry(model, feeds)
    np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(expected[~np.isnan(expected)]))
    compare([y], [expected])


@pytest.mark.parametrize("exponent", [2.0, 0.5, 3.0, -1.0, 0.0])
def test_pow_by_scalar(exponent):
    check("Pow", [sample("float", (5, 33), 1, low=0.1), np.array(exponent, np.float32)], [1], 13)


@pytest.mark.parametrize("exponent", [2.0, 0.5, 3.0, -1.0])
def test_pow_by_scalar_of_unusual_numbers(exponent):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -4.0, -0.3, 1e-40, 3e38, 1e30, 1e-30], np.float32)
    model, feeds = node_model("Pow", [np.tile(x, 3), np.array(exponent, np.float32)], [TensorProto.FLOAT], 13)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), exponent).astype(np.float32)
    if exponent == 0.5:  # NumPy takes the square root, which differs for two numbers
        expected[[1, 3]] = [0, np.inf]
    expected = np.tile(expected, 3)
    (y,) = run_gantry(model, feeds)
    np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(expected[~np.isnan(expected)]))
    compare([y], [expected], 3e-7, 0)


@pytest.mark.parametrize("name", ["uint8", "uint32", "uint64", "int8", "int64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bit_shift_too_far(name, direction):
    if name.startswith("int"):
        x = np.array([-5, -1, 5, 127, -128], NUMPY_OF[name])
        y = np.array([100, -1, 64, 7, 3], NUMPY_OF[name])
    else:
        x = np.array([5, 255, 1, 127, 128], NUMPY_OF[name])
        y = np.array([100, 64, 200, 7, 3], NUMPY_OF[name])
    bits = 8 * x.dtype.itemsize
    expected = []
    for a, b in zip(x.tolist(), y.tolist()):
        if b < 0 or b >= bits:
            expected.append(-1 if direction == "RIGHT" and a < 0 else 0)
        else:
            shifted = a >> b if direction == "RIGHT" else (a << b) & (2 ** bits - 1)
            expected.append(shifted - 2 ** bits if x.dtype.kind == "i" and shifted >= 2 ** (bits - 1) else shifted)
    model, feeds = node_model("BitShift", [x, y], [element_type(x)], 28, {"direction": direction})
    compare(run_gantry(model, feeds), [np.array(expected, x.dtype)])


@pytest.mark.parametrize("version, attributes", [(1, {}), (1, {"min": -1.0}), (6, {}), (6, {"min": -1.0, "max": 0.5})])
@pytest.mark.parametrize("name", ["float", "double", "float16"])
def test_clip_by_attributes(version, attributes, name):
    x = sample(name, (4, 9), 1)
    model, feeds = node_model("Clip", [x], [element_type(x)], version, attributes)
    expected = np.clip(x, attributes.get("min", -np.inf), attributes.get("max", np.inf)).astype(x.dtype)
    compare(run_gantry(model, feeds), [expected])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("low, high", [(np.nan, None), (np.nan, 1), (None, np.nan), (-1, np.nan)])
def test_clip_by_a_bound_that_is_nan(dtype, low, high):
    """The standard makes Clip of Min and Max, where NaN wins; ONNX Runtime takes such a bound for none."""
    x = np.linspace(-3, 3, 37).astype(dtype)
    model, feeds = node_model("Clip", [x, *(None if bound is None else np.array(bound, dtype) for bound in (low, high))], [element_type(x)], 13)
    assert np.isnan(run_gantry(model, feeds)[0].astype(np.float64)).all()


@pytest.mark.parametrize("low, high", [(None, None), (-1, None), (None, 1), (-1, 2), (2, -1)])
@pytest.mark.parametrize("version, name", [(s.since_version, n) for s in schemas_of("Clip") if s.since_version >= 11
                                           for n in types_of(s, "T")])
def test_clip_by_inputs(version, name, low, high):
    if name.startswith("u"):
        low, high = (None if v is None else v + 2 for v in (low, high))
    x = sample(name, (4, 9), 1)
    bounds = [None if v is None else np.array(v, x.dtype) for v in (low, high)]
    expected = x
    if low is not None:
        expected = np.maximum(expected, bounds[0])
    if high is not None:
        expected = np.minimum(expected, bounds[1])
    model, feeds = node_model("Clip", [x, *bounds], [element_type(x)], version)
    compare(run_gantry(model, feeds), [expected.astype(x.dtype)])


@pytest.mark.parametrize("version, name", [(s.since_version, n) for s in schemas_of("Where") for n in types_of(s, "T")])
@pytest.mark.parametrize("shapes", [((3, 1, 5), (4, 1), (3, 4, 5)), ((), (33,), (33,)), ((2, 70), (1,), (2, 70)),
                                    ((64,), (64,), (64,)), ((1, 1), (0,), (1,))])
def test_where(version, name, shapes):
    c = sample("bool", shapes[0], 3)
    x = sample(name, shapes[1], 1)
    y = sample(name, shapes[2], 2)
    model, feeds = node_model("Where", [c, x, y], [element_type(x)], version)
    compare(run_gantry(model, feeds), [np.where(c, x, y)])


def test_identity_of_a_sequence_and_an_optional():
    from onnx import helper
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), helper.make_node("Identity", ["s"], ["t"]),
             helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [3])],
                              [helper.make_tensor_value_info("y", 1, [6])],
                              value_info=[helper.make_value_info("t", sequence)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    x = sample("float", (3,), 1)
    compare(run_gantry(model, {"x": x}), [np.concatenate([x, x])])


@pytest.mark.parametrize("version", [1, 6, 7, 10, 12, 13, 22])
@pytest.mark.parametrize("name", ["float", "double", "float16"])
def test_dropout_outside_training(version, name):
    x = sample(name, (4, 9), 1)
    attributes = {"is_test": 1} if version < 7 else {}
    mask = TensorProto.BOOL if version >= 10 else element_type(x)
    inputs = [x] if version < 12 else [x, np.array(0.3, np.float32)]
    model, feeds = node_model("Dropout", inputs, [element_type(x), mask], version, attributes)
    expected = np.ones(x.shape, bool if version >= 10 else x.dtype)
    compare(run_gantry(model, feeds), [x, expected])


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", ["float", "double", "float16", "bfloat16"])
def test_dropout_in_training_draws_like_the_reference(name, ratio):
    x = sample(name, (40, 9), 1)
    inputs = [x, np.array(ratio, np.float32), np.array(True)]
    model, feeds = node_model("Dropout", inputs, [element_type(x), TensorProto.BOOL], 22 if name == "bfloat16" else 13,
                              {"seed": 7})
    kept = np.random.RandomState(7).uniform(0, 1, x.shape) >= ratio
    scale = 0.0 if ratio == 1 else 1 / (1 - np.float64(np.float32(ratio)))
    expected = np.where(kept, x.astype(np.float64) * scale, 0).astype(x.dtype)
    compare(run_gantry(model, feeds), [expected, kept])


def test_dropout_in_training_without_seed_differs_between_runs():
    x = np.ones((1000,), np.float32)
    model, feeds = node_model("Dropout", [x, np.array(0.5, np.float32), np.array(True)], [1, TensorProto.BOOL], 13)
    session = gantry.Session(model, device="CPU")
    first, second = (session.run(feeds)["y0"] for _ in range(2))
    assert 300 < np.count_nonzero(first) < 700
    assert not np.array_equal(first, second)


def test_dropout_ratio_outside_its_range_fails():
    x = np.ones((3,), np.float32)
    model, feeds = node_model("Dropout", [x, np.array(1.5, np.float32), np.array(True)], [1], 13)
    with pytest.raises(gantry.Error, match='Dropout "node".*ratio'):
        run_gantry(model, feeds)


def test_attributes_that_are_wrong_fail():
    x = np.ones((3,), np.float32)
    for op, inputs, attributes in [("Gelu", [x], {"approximate": "cubic"}),
                                   ("BitShift", [x.astype(np.uint8)] * 2, {"direction": "UP"})]:
        model, feeds = node_model(op, inputs, [element_type(inputs[0])], 20, attributes)
        with pytest.raises(gantry.Error, match=f'{op} "node"'):
            run_gantry(model, feeds)
