# SPDX-License-Identifier: Apache-2.0
"""Gradient of single operators in their forms, against differences of the operator's own values in f64."""

import numpy as np
import pytest
from gradient_models import N, assert_slopes, constant, feeds_of, gradient_of, model_of, number, total_session
from onnx import TensorProto, helper, numpy_helper
from oracle import run_gantry

import gantry


def numbers(name, *shape):
    """Numbers between 0 and 1, in no order."""
    return numpy_helper.from_array(np.random.default_rng(9).random(shape), name)


def weighted(*nodes):
    """The value "p" of the nodes, each element squared and times a number of its own, as "y"."""
    return [*nodes, N("Mul", ["p", "p"], "q"), N("Mul", ["q", "b"], "y")]


def pool(op_type, shape, out, **attributes):
    return weighted(N(op_type, ["a"], "p", **attributes)), shape, out, []


WINDOWS = {
    "max pool": pool("MaxPool", (2, 3, 6, 5), (2, 3, 3, 3), kernel_shape=[2, 3], strides=[2, 1]),
    "max pool of windows that overlap, with pads": pool("MaxPool", (1, 2, 7, 5), (1, 2, 4, 3), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "max pool, dilated": pool("MaxPool", (1, 2, 9), (1, 2, 5), kernel_shape=[3], dilations=[2]),
    "max pool, ceil": pool("MaxPool", (1, 1, 6), (1, 1, 3), kernel_shape=[3], strides=[2], ceil_mode=1),
    "max pool, same": pool("MaxPool", (1, 1, 6), (1, 1, 3), kernel_shape=[3], strides=[2], auto_pad="SAME_UPPER"),
    "average pool": pool("AveragePool", (2, 3, 6, 5), (2, 3, 3, 3), kernel_shape=[2, 3], strides=[2, 1]),
    "average pool with pads": pool("AveragePool", (1, 2, 7, 5), (1, 2, 4, 3), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "average pool that counts pads": pool("AveragePool", (1, 2, 7, 5), (1, 2, 4, 4), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 2], count_include_pad=1),
    "average pool, ceil": pool("AveragePool", (1, 1, 6), (1, 1, 3), kernel_shape=[3], strides=[2], ceil_mode=1),
    "average pool that counts pads, ceil": pool("AveragePool", (1, 1, 6), (1, 1, 3), kernel_shape=[4], strides=[2], pads=[1, 0], ceil_mode=1, count_include_pad=1),
    "average pool, same lower": pool("AveragePool", (1, 1, 6, 4), (1, 1, 3, 4), kernel_shape=[3, 2], strides=[2, 1], auto_pad="SAME_LOWER"),
    "average pool, valid": pool("AveragePool", (1, 1, 6), (1, 1, 2), kernel_shape=[3], strides=[2], auto_pad="VALID"),
    "average pool, windows apart": pool("AveragePool", (1, 1, 8), (1, 1, 3), kernel_shape=[2], strides=[3]),
    "norm pool": pool("LpPool", (2, 2, 6), (2, 2, 3), kernel_shape=[3], strides=[2], pads=[1, 1]),
    "norm pool, p 3": pool("LpPool", (1, 1, 5, 5), (1, 1, 4, 4), kernel_shape=[2, 2], p=3),
    "norm pool, p 1": pool("LpPool", (1, 1, 5), (1, 1, 4), kernel_shape=[2], p=1),
    "average of all": pool("GlobalAveragePool", (2, 3, 4, 2), (2, 3, 1, 1)),
    "largest of all": pool("GlobalMaxPool", (2, 3, 4, 2), (2, 3, 1, 1)),
    "norm of all": pool("GlobalLpPool", (2, 3, 4, 2), (2, 3, 1, 1), p=3),
}


def conv(shape, weights, op_type="Conv", **attributes):
    return [N(op_type, ["a", "b"], "c", **attributes), N("Mul", ["c", "c"], "y")], shape, weights, []


CONVOLUTIONS = {
    "groups": conv((2, 6, 5, 4), (4, 3, 2, 3), group=2, pads=[1, 0, 0, 1], strides=[2, 1]),
    "each channel by itself": conv((2, 3, 7), (3, 1, 3), group=3, dilations=[2], pads=[1, 2]),
    "each channel to two": conv((1, 3, 5, 5), (6, 1, 3, 3), group=3, strides=[2, 2]),
    "same upper": conv((1, 2, 6, 5), (3, 2, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    "same lower": conv((1, 2, 6), (3, 2, 4), auto_pad="SAME_LOWER"),
    "valid": conv((1, 2, 6), (3, 2, 4), auto_pad="VALID"),
    "transposed": conv((2, 3, 4, 3), (3, 2, 3, 2), "ConvTranspose", strides=[2, 1], pads=[1, 0, 0, 1], output_padding=[1, 0]),
    "transposed, in groups": conv((2, 4, 4), (4, 3, 3), "ConvTranspose", strides=[2], group=2, dilations=[2]),
    "transposed, to a shape": conv((1, 2, 4), (2, 3, 3), "ConvTranspose", strides=[2], output_shape=[8]),
    "transposed, same upper": conv((1, 2, 4), (2, 3, 3), "ConvTranspose", strides=[2], auto_pad="SAME_UPPER"),
    "transposed, much padding": conv((1, 2, 4), (2, 3, 3), "ConvTranspose", strides=[2], dilations=[4], output_padding=[3]),
}


def moved(node, shape, out, *constants):
    return weighted(node), shape, out, constants


MOVEMENTS = {
    "slice": moved(N("Slice", ["a", "s", "e", "x", "t"], "p"), (5, 6, 2), (2, 3, 2), constant("s", [1, 5]), constant("e", [4, -7]), constant("x", [0, 1]), constant("t", [2, -2])),
    "slice of all": moved(N("Slice", ["a", "s", "e"], "p"), (5,), (2,), constant("s", [-3]), constant("e", [-1])),
    "pad": moved(N("Pad", ["a", "w"], "p"), (2, 3), (3, 6), constant("w", [1, 2, 0, 1])),
    "pad that cuts": moved(N("Pad", ["a", "w"], "p"), (4, 3), (2, 5), constant("w", [-1, 2, -1, 0])),
    "pad with a number": moved(N("Pad", ["a", "w", "n", "x"], "p"), (2, 3), (2, 6), constant("w", [1, 2]), number("n", 3.5), constant("x", [-1])),
    "pad, reflected": moved(N("Pad", ["a", "w"], "p", mode="reflect"), (3, 4), (5, 7), constant("w", [1, 2, 1, 1])),
    "pad, edge": moved(N("Pad", ["a", "w"], "p", mode="edge"), (3, 2), (6, 3), constant("w", [1, 0, 2, 1])),
    "tile": moved(N("Tile", ["a", "n"], "p"), (2, 3), (4, 9), constant("n", [2, 3])),
    "gather along an inner axis": moved(N("Gather", ["a", "i"], "p", axis=1), (2, 3, 2), (2, 2, 2, 2), numpy_helper.from_array(np.int64([[0, 2], [2, -1]]), "i")),
    "gather elements": moved(N("GatherElements", ["a", "i"], "p", axis=1), (2, 3), (2, 4), numpy_helper.from_array(np.int64([[0, 0, 1, -1], [2, 1, 1, 1]]), "i")),
    "gather by places": moved(N("GatherND", ["a", "i"], "p", batch_dims=1), (2, 3, 2), (2, 2), numpy_helper.from_array(np.int64([[2], [0]]), "i")),
    "depth to space": moved(N("DepthToSpace", ["a"], "p", blocksize=2, mode="CRD"), (1, 8, 2, 1), (1, 2, 4, 2)),
    "space to depth": moved(N("SpaceToDepth", ["a"], "p", blocksize=2), (1, 2, 4, 2), (1, 8, 2, 1)),
    "compress": ([N("Compress", ["a", "c"], "p", axis=1), N("Mul", ["p", "p"], "q"), N("ReduceSum", ["q"], "r", keepdims=0), N("Mul", ["r", "b"], "y")], (2, 3), (2,), [numpy_helper.from_array(np.array([True, False, True]), "c")]),
    "reverse": moved(N("ReverseSequence", ["a", "n"], "p", batch_axis=1, time_axis=0), (4, 3), (4, 3), constant("n", [4, 1, 3])),
    "largest": moved(helper.make_node("TopK", ["a", "k"], ["p", "i"], axis=0), (4, 3), (2, 3), constant("k", [2])),
    "sums so far": moved(N("CumSum", ["a", "x"], "p", exclusive=1), (4, 3), (4, 3), numpy_helper.from_array(np.int64(0), "x")),
    "sums from here": moved(N("CumSum", ["a", "x"], "p", reverse=1), (4, 3), (4, 3), numpy_helper.from_array(np.int64(-1), "x")),
    "triangle": moved(N("Trilu", ["a", "k"], "p", upper=0), (2, 3, 4), (3, 4), numpy_helper.from_array(np.int64(1), "k")),
    "nearest": moved(N("Resize", ["a", "", "", "n"], "p", mode="nearest"), (1, 1, 2, 3), (1, 1, 5, 4), constant("n", [1, 1, 5, 4])),
    "scatter elements": ([N("ScatterElements", ["a", "i", "b"], "s", axis=1), N("Mul", ["s", "s"], "y")], (2, 4), (2, 2), [numpy_helper.from_array(np.int64([[0, 3], [2, 1]]), "i")]),
    "scatter elements, added": ([N("ScatterElements", ["a", "i", "b"], "s", reduction="add"), N("Mul", ["s", "s"], "y")], (4, 2), (2, 2), [numpy_helper.from_array(np.int64([[0, 3], [0, 3]]), "i")]),
    "scatter rows": ([N("ScatterND", ["a", "i", "b"], "s"), N("Mul", ["s", "s"], "y")], (4, 3), (2, 3), [numpy_helper.from_array(np.int64([[3], [1]]), "i")]),
}

def resized(shape, out, *inputs, **attributes):
    """A Resize to the sizes `inputs`, or of other inputs by name: scales "s", regions "r"."""
    names = [x.name for x in inputs]
    slots = ["a", *(name if name in names else "" for name in "rs"), *(["n"] if "n" in names else [])]
    return moved(N("Resize", slots, "p", **attributes), shape, out, *inputs)


def single_numbers(name, values):
    return numpy_helper.from_array(np.float32(values), name)


BETWEEN = {
    "linear": resized((1, 2, 3, 4), (1, 2, 5, 7), constant("n", [1, 2, 5, 7]), mode="linear"),
    "linear, smaller, without aliases": resized((1, 2, 8, 7), (1, 2, 3, 4), constant("n", [1, 2, 3, 4]), mode="linear", antialias=1),
    "linear, corners": resized((2, 3, 4), (2, 3, 9), single_numbers("s", [1, 1, 2.25]), mode="linear", coordinate_transformation_mode="align_corners"),
    "linear, by a scale that leaves the size": resized((2, 4), (2, 4), single_numbers("s", [1, 1.2]), mode="linear", coordinate_transformation_mode="asymmetric"),
    "linear, the first axis": resized((3, 2), (5, 2), constant("n", [5]), mode="linear", axes=[0]),
    "cubic": resized((1, 1, 4, 3), (1, 1, 7, 8), single_numbers("s", [1, 1, 1.75, 2.7]), mode="cubic", cubic_coeff_a=-0.5),
    "cubic, smaller, inside only": resized((1, 1, 7, 6), (1, 1, 4, 5), constant("n", [5, 4]), mode="cubic", exclude_outside=1, axes=[-1, 2], coordinate_transformation_mode="pytorch_half_pixel"),
    "cubic, a region": resized((1, 1, 4, 5), (1, 1, 6, 3), number("r", [0.2, -0.3, 0.9, 1.2]), constant("n", [6, 3]), mode="cubic", axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0),
    "nearest, a region": resized((1, 1, 4, 5), (1, 1, 6, 3), number("r", [0.2, -0.3, 0.9, 1.2]), constant("n", [6, 3]), mode="nearest", axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize"),
}


PRODUCTS = {
    "of all": ([N("ReduceProd", ["a"], "c", keepdims=0), N("Mul", ["c", "b"], "y")], (2, 3), (3,), []),
    "of an axis": ([N("ReduceProd", ["a", "x"], "c", keepdims=1), N("Mul", ["c", "b"], "y")], (2, 5, 3), (2, 1, 1), [constant("x", [1])]),
    "of some axes": ([N("ReduceProd", ["a", "x"], "c", keepdims=0), N("Mul", ["c", "b"], "y")], (2, 5, 3), (5,), [constant("x", [-1, 0])]),
    "of an axis that only 1 keeps": ([N("ReduceProd", ["a", "x"], "c", keepdims=2), N("Mul", ["c", "b"], "y")], (2, 5, 3), (2, 3), [constant("x", [1])]),
    "of no axes": ([N("ReduceProd", ["a", "x"], "c", noop_with_empty_axes=1), N("Mul", ["c", "b"], "y")], (2, 3), (3,), [constant("x", [])]),

    "row": ([N("MatMul", ["a", "b"], "c"), N("Mul", ["c", "c"], "y")], (3,), (2, 3, 4), []),
    "column": ([N("MatMul", ["a", "b"], "c"), N("Mul", ["c", "c"], "y")], (5, 2, 3), (3,), []),
    "row and column": ([N("MatMul", ["a", "b"], "c"), N("Mul", ["c", "c"], "y")], (3,), (3,), []),
    "einsum": ([N("Einsum", ["a", "b"], "c", equation="bij, bjk -> kb"), N("Mul", ["c", "c"], "y")], (2, 3, 4), (2, 4, 3), []),
    "einsum without an output": ([N("Einsum", ["a", "b"], "c", equation="ji,jk"), N("Mul", ["c", "c"], "y")], (2, 3), (2, 4), []),
    "einsum that sums": ([N("Einsum", ["a", "b"], "c", equation="ijk,k->i"), N("Mul", ["c", "c"], "y")], (2, 3, 4), (4,), []),
}

NORMS = {
    "channels near by": ([N("LRN", ["a"], "n", size=3, alpha=0.5, beta=0.6, bias=0.8), N("Mul", ["n", "b"], "y")], (2, 5, 3, 2), (5, 1, 1), []),
    "channels near by, more behind": ([N("LRN", ["a"], "n", size=4, alpha=0.7), N("Mul", ["n", "b"], "y")], (2, 6, 3), (6, 1), []),
    "batch": ([N("BatchNormalization", ["a", "b", "b", "m", "v"], "n", epsilon=0.01), N("Mul", ["n", "n"], "y")], (2, 3, 4), (3,), [numbers("m", 3), numbers("v", 3)]),
    "batch, of the statistics": ([N("BatchNormalization", ["a", "s", "m", "b", "b"], "n"), N("Mul", ["n", "n"], "y")], (2, 3), (3,), [numbers("m", 3), numbers("s", 3)]),
    "batch, in training": ([helper.make_node("BatchNormalization", ["a", "b", "b", "m", "v"], ["n", "rm", "rv"], training_mode=1), N("Mul", ["n", "a"], "y")], (4, 3, 2), (3,), [numbers("m", 3), numbers("v", 3)]),
    "instance": ([N("InstanceNormalization", ["a", "b", "b"], "n", epsilon=0.01), N("Mul", ["n", "a"], "y")], (2, 3, 4, 2), (3,), []),
    "softplus and slopes": ([N("Sub", ["a", "one"], "x"), N("PRelu", ["x", "b"], "p"), N("Mul", ["p", "p"], "y")], (4, 3), (3,), [number("one", 1)]),
    "logarithm of sums": ([N("ReduceLogSum", ["a", "x"], "l", keepdims=0), N("Mul", ["l", "b"], "y")], (2, 3), (2,), [constant("x", [1])]),
    "dropout at rest": ([N("Dropout", ["a"], "p"), N("Mul", ["p", "b"], "y")], (2, 3), (3,), []),
}

# Operators that have no rule, but a body of such that have.
BODIES = {
    "losses": ([helper.make_node("SoftmaxCrossEntropyLoss", ["a", "labels", "b"], ["l"]), N("Mul", ["l", "l"], "y")], (4, 3), (3,), [constant("labels", [0, 2, 1, 2])]),
    "likelihood": ([N("NegativeLogLikelihoodLoss", ["a", "labels"], "l", reduction="none"), N("Mul", ["l", "b"], "y")], (4, 3), (4,), [constant("labels", [0, 2, 1, 2])]),
    "mish": ([N("Mish", ["a"], "m"), N("Mul", ["m", "b"], "y")], (2, 3), (3,), []),
    "thresholds": ([N("ThresholdedRelu", ["a"], "t", alpha=1.1), N("Shrink", ["b"], "s", lambd=1.2, bias=0.3), N("Mul", ["t", "s"], "y")], (4, 3), (3,), []),
}
# The standard does not infer the shape of a GroupNormalization.
NEWER = {
    "swish": ([N("Swish", ["a"], "m", alpha=1.5), N("Mul", ["m", "b"], "y")], (2, 3), (3,), []),
    "root mean square": ([N("RMSNormalization", ["a", "b"], "n", epsilon=0.01), N("Mul", ["n", "a"], "y")], (2, 4), (4,), []),
    "group normalization": ([N("GroupNormalization", ["a", "b", "b"], "n", num_groups=2, epsilon=0.01), N("Reshape", ["n", "shape"], "r"), N("Mul", ["r", "a"], "y")], (2, 4, 3), (4,), [constant("shape", [2, 4, 3])]),
}

# Whose body, or whose schema, has single numbers only.
SINGLE_BODIES = {
    "celu": ([N("Sub", ["x", "z"], "d"), N("Celu", ["d"], "c", alpha=0.7), N("Mul", ["c", "c"], "w")], (4, 3), (3,), []),
    "mean and variance": ([N("MeanVarianceNormalization", ["x"], "n", axes=[0, 2]), N("Mul", ["n", "z"], "w")], (2, 3, 4), (4,), []),
}

ALL = {**WINDOWS, **CONVOLUTIONS, **MOVEMENTS, **BETWEEN, **PRODUCTS, **NORMS, **BODIES}


def check(part, opset, rtol=1e-6, atol=1e-7, step=1e-5):
    nodes, shape_a, shape_b, constants = part
    feeds = feeds_of(shape_a, shape_b, 1)
    model = model_of(nodes, shape_a, shape_b, constants, gradient_of(["a", "b"], ["da", "db"], "y"), ["da", "db"], opset=opset)
    found = dict(zip("ab", run_gantry(model, feeds), strict=True))
    assert_slopes(total_session(nodes, shape_a, shape_b, constants, "y", opset), feeds, found, rtol, atol, step)


@pytest.mark.parametrize("name", ALL)
def test_first_derivatives(name):
    check(ALL[name], 18)


@pytest.mark.parametrize("name", NEWER)
def test_first_derivatives_of_newer_operators(name):
    check(NEWER[name], 24)


@pytest.mark.parametrize("name", SINGLE_BODIES)
def test_first_derivatives_in_single_numbers(name):
    nodes, shape_a, shape_b, constants = SINGLE_BODIES[name]
    casts = [N("Cast", ["a"], "x", to=TensorProto.FLOAT), N("Cast", ["b"], "z", to=TensorProto.FLOAT)]
    check(([*casts, *nodes, N("Cast", ["w"], "y", to=TensorProto.DOUBLE)], shape_a, shape_b, constants), 18, rtol=1e-2, atol=2e-3, step=3e-3)


@pytest.mark.parametrize("name", ["max pool", "average pool with pads", "groups", "transposed", "slice", "pad", "nearest", "scatter elements", "row", "einsum", "instance", "likelihood", "mish",
                                  "cubic", "of some axes", "channels near by"])
def test_second_derivatives(name):
    nodes, shape_a, shape_b, constants = ALL[name]
    feeds = feeds_of(shape_a, shape_b, 2)
    nodes = [*nodes, gradient_of(["a"], ["first"], "y"), N("Mul", ["first", "first"], "z")]
    model = model_of(nodes, shape_a, shape_b, constants, gradient_of(["a", "b"], ["da", "db"], "z"), ["da", "db"])
    found = dict(zip("ab", run_gantry(model, feeds), strict=True))
    assert_slopes(total_session(nodes, shape_a, shape_b, constants, "z"), feeds, found, rtol=1e-5, atol=1e-5)


def test_what_is_dropped_has_no_derivative():
    """In training, with the mask that the gradient's own pass draws."""
    nodes = [N("Dropout", ["a", "r", "t"], "p", seed=3), N("Mul", ["p", "b"], "y")]
    constants = [number("r", 0.75), numpy_helper.from_array(np.array(True), "t")]
    model = model_of(nodes, (40, 10), (10,), constants, gradient_of(["a", "b"], ["da", "db"], "y"), ["da", "db"])
    feeds = feeds_of((40, 10), (10,), 1)
    by_a, by_b = run_gantry(model, feeds)
    kept = by_a != 0
    assert 50 < kept.sum() < 150
    np.testing.assert_allclose(by_a, np.where(kept, 4 * feeds["b"], 0))
    np.testing.assert_allclose(by_b, (np.where(kept, 4, 0) * feeds["a"]).sum(axis=0))


def test_16_bits():
    """What a rule multiplies with is written in bfloat16 too: 1 / 2 in windows of two."""
    nodes = [N("Cast", ["a"], "x", to=TensorProto.BFLOAT16), N("AveragePool", ["x"], "m", kernel_shape=[2]), N("LeakyRelu", ["m"], "l", alpha=0.25), N("Cast", ["l"], "y", to=TensorProto.DOUBLE)]
    model = model_of(nodes, (1, 1, 4), (1,), [], gradient_of(["a"], ["da"], "y"), ["da"], inputs=("a",), opset=22)
    found = run_gantry(model, {"a": np.array([[[1.0, 1, -3, -3]]])})[0]
    np.testing.assert_array_equal(found, [[[0.5, 0.625, 0.25, 0.125]]])


@pytest.mark.parametrize(
    "node, shape, message",
    [
        (N("Resize", ["a", "", "", "b"], "y", mode="linear", keep_aspect_ratio_policy="not_larger"), (1, 1, 2, 2), "Resize between elements that keeps the aspect ratio"),
        (N("ScatterElements", ["a", "b", "a"], "y", reduction="mul"), (4,), 'with reduction "mul" has no rule'),
        (N("Einsum", ["a"], "y", equation="ii->i"), (3, 3), 'an Einsum "ii->i"'),
    ],
)
def test_forms_without_a_rule_are_said(node, shape, message):
    places = constant("b", [1, 1, 4, 4] if node.op_type == "Resize" else [0, 1, 2, 3])
    model = model_of([node], shape, (4,), [places], gradient_of(["a"], ["da"], "y"), ["da"], inputs=("a",))
    with pytest.raises(gantry.UnsupportedError, match=message):
        run_gantry(model, {"a": np.ones(shape)})


@pytest.mark.parametrize("zeros", [1, 2])
def test_a_product_with_zeros(zeros):
    """First and second derivatives are sums of products of others, none of them a quotient."""
    nodes, shape_a, shape_b, constants = PRODUCTS["of an axis"]
    feeds = feeds_of(shape_a, shape_b, 1)
    feeds["a"][:, :zeros] = 0
    nodes = [*nodes, gradient_of(["a"], ["first"], "y"), N("Mul", ["first", "first"], "z")]
    for target in ("y", "z"):
        model = model_of(nodes, shape_a, shape_b, constants, gradient_of(["a", "b"], ["da", "db"], target), ["da", "db"])
        found = dict(zip("ab", run_gantry(model, feeds), strict=True))
        assert np.isfinite(found["a"]).all() and (found["a"] != 0).any() == (zeros == 1)
        assert_slopes(total_session(nodes, shape_a, shape_b, constants, target), feeds, found, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("op_type", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_layers_have_no_derivative(op_type, gates):
    weights = [numpy_helper.from_array(np.zeros((1, gates * 3, 2)), "w"), numpy_helper.from_array(np.zeros((1, gates * 3, 3)), "r")]
    model = model_of([N(op_type, ["a", "w", "r"], "y", hidden_size=3)], (3, 2, 2), (), weights, gradient_of(["a"], ["da"], "y"), ["da"], inputs=("a",))
    with pytest.raises(gantry.UnsupportedError, match=f"the derivative of {op_type} has no rule"):
        run_gantry(model, {"a": np.zeros((3, 2, 2))})
