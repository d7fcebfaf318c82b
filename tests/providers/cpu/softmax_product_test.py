# SPDX-License-Identifier: Apache-2.0
"""Softmax and the product that reads it, in 16 bits, as one kernel: rounded once, so that it is nearer to what f64 gives than two kernels are.

Without the pass that computes models of 16 bits in f32, which leaves nothing to round."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from oracle import element_type

import gantry

SMALL = {"f16": (np.float16, 2.0**-11), "bf16": (ml_dtypes.bfloat16, 2.0**-8)}  # and what rounding to the nearest may change, relatively
SET = "Softmax+MatMul"


def draw(shape, seed, dtype, spread=1.0):
    return (spread * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def model_of(nodes, feeds, result_rank, constants=(), also=(), opset=18):
    """A model of `nodes` that makes "y"; `also`: inner values that leave it too."""
    inputs = [helper.make_tensor_value_info(name, element_type(x), x.shape) for name, x in feeds.items()]
    outputs = [helper.make_tensor_value_info("y", element_type(feeds["v"]), [None] * result_rank)]
    outputs += [helper.make_value_info(name, helper.make_tensor_type_proto(element_type(feeds["v"]), [None] * feeds["s"].ndim)) for name in also]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def N(op_type, inputs, output, **attributes):
    return helper.make_node(op_type, inputs, [output], name=output, **attributes)


PRODUCT = [N("Softmax", ["s"], "p"), N("MatMul", ["p", "v"], "y")]


def cast_nodes(dtype):
    """As exporters write a Softmax in f32 between tensors of 16 bits."""
    small = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return [N("Cast", ["s"], "w", to=TensorProto.FLOAT), N("Softmax", ["w"], "q"), N("Cast", ["q"], "p", to=small), N("MatMul", ["p", "v"], "y")]


def exact(s, v, hidden=None):
    """In f64, from the same numbers."""
    s, v = s.astype(np.float64), v.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(s - s.max(-1, keepdims=True, initial=-np.inf))
        p = powers / powers.sum(-1, keepdims=True)
    return np.matmul(p if hidden is None else np.where(hidden, 0, p), v)


def run(model, feeds, threads=1):
    session = gantry.Session(model, device="CPU", config={"session": {"threads": threads, "disable_passes": ["wider_floats"]}})
    return session.run(feeds), [node.kernel for node in session.placement.nodes]


def assert_rounded_once(found, expected, half):
    """Within half a unit in the last place, but for what sums in f32 are off."""
    error = np.abs(found.astype(np.float64) - expected)
    assert found.shape == expected.shape
    assert (error <= half * np.abs(expected) + 2e-6 * np.abs(expected).max(initial=0) + 2.0**-25).all(), error.max(initial=0)


SHAPES = [
    ((2, 3, 4, 6), (2, 3, 6, 8)),
    ((2, 3, 130, 70), (2, 3, 70, 33)),
    ((1, 8, 1, 300), (1, 8, 300, 64)),
    ((1, 700), (700, 2000)),
    ((3, 900), (900, 1000)),
    ((5, 40, 30), (30, 20)),
    ((5, 1, 40, 30), (4, 30, 20)),
    ((40, 30), (6, 30, 20)),
    ((30,), (30, 20)),
    ((30,), (3, 30, 20)),
    ((30,), (30,)),
    ((4, 9, 30), (30,)),
    ((3, 1), (1, 5)),
    ((2, 3, 0), (2, 0, 5)),
    ((0, 4), (4, 5)),
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("s, v", SHAPES)
def test_is_rounded_once(s, v, kind, threads):
    dtype, half = SMALL[kind]
    feeds = {"s": draw(s, 1, dtype, 2), "v": draw(v, 2, dtype)}
    expected = exact(feeds["s"], feeds["v"])
    results, kernels = run(model_of(PRODUCT, feeds, expected.ndim), feeds, threads)
    assert kernels == [SET, SET]
    assert_rounded_once(results["y"], expected, half)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("scores", ["16 bits", "f32"])
def test_softmax_in_f32(kind, scores):
    dtype, half = SMALL[kind]
    feeds = {"s": draw((2, 70, 90), 3, dtype if scores == "16 bits" else np.float32, 3), "v": draw((2, 90, 40), 4, dtype)}
    nodes = cast_nodes(dtype)
    if scores == "f32":
        nodes = [N("Softmax", ["s"], "q"), *nodes[2:]]
    results, kernels = run(model_of(nodes, feeds, 3), feeds)
    assert kernels == [SET] * len(nodes)
    assert_rounded_once(results["y"], exact(feeds["s"], feeds["v"]), half)


@pytest.mark.parametrize("kind", SMALL)
def test_is_nearer_than_two_kernels(kind):
    dtype, _ = SMALL[kind]
    feeds = {"s": draw((4, 64, 128), 5, dtype, 2), "v": draw((4, 128, 64), 6, dtype)}
    expected = exact(feeds["s"], feeds["v"])
    together, kernels = run(model_of(PRODUCT, feeds, 3), feeds)
    apart, others = run(model_of(PRODUCT, feeds, 3, also=["p"]), feeds)
    assert kernels == [SET, SET] and others == ["Softmax", "MatMul"]
    errors = [np.abs(results["y"].astype(np.float64) - expected).mean() for results in (together, apart)]
    assert errors[0] < 0.95 * errors[1], errors


def hidden_model(feeds, condition_shape, zero=0.0, order=("c", "zero", "p")):
    dtype = feeds["v"].dtype
    nodes = [PRODUCT[0], N("Where", list(order), "h"), N("MatMul", ["h", "v"], "y")]
    rank = max(len(condition_shape), feeds["s"].ndim)
    return model_of(nodes, feeds, rank, [numpy_helper.from_array(np.array([zero], dtype), "zero")])


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("shape", [(), (1,), (7, 1), (1, 1, 1), (2, 1, 7, 1), (3, 1, 1), (2, 3, 7, 1)])
def test_rows_that_see_nothing_are_zero(shape, kind):
    dtype, half = SMALL[kind]
    feeds = {"s": draw((2, 3, 7, 9), 7, dtype), "v": draw((2, 3, 9, 5), 8, dtype), "c": np.random.default_rng(9).random(shape) < 0.5}
    feeds["c"] = np.asarray(feeds["c"])
    expected = exact(feeds["s"], feeds["v"], feeds["c"])
    feeds["s"][np.broadcast_to(feeds["c"], feeds["s"].shape)] = -np.inf  # whose Softmax is not a number
    results, kernels = run(hidden_model(feeds, shape), feeds)
    assert kernels == [SET] * 3
    assert_rounded_once(results["y"], expected, half)


def test_what_is_not_finite_comes_out_as_of_two_kernels():
    feeds = {"s": draw((5, 40), 10, np.float16), "v": draw((40, 6), 11, np.float16)}
    feeds["s"][1, 3] = np.inf
    feeds["s"][2] = -np.inf
    feeds["s"][3, :20] = -np.inf
    feeds["s"][4, 0] = np.nan
    together, kernels = run(model_of(PRODUCT, feeds, 2), feeds)
    apart, _ = run(model_of(PRODUCT, feeds, 2, also=["p"]), feeds)
    assert kernels == [SET, SET]
    assert np.isnan(together["y"]).all(axis=1).tolist() == [False, True, True, False, True]
    np.testing.assert_allclose(together["y"], apart["y"], rtol=2e-3, atol=1e-3)


F16 = {"s": draw((3, 4, 4), 1, np.float16), "v": draw((3, 4, 4), 2, np.float16)}
LEFT_ALONE = {
    "another axis": (model_of([N("Softmax", ["s"], "p", axis=1), PRODUCT[1]], F16, 3), F16),
    "all axes from the second on": (model_of(PRODUCT, F16, 3, opset=11), F16),
    "the right factor": (model_of([PRODUCT[0], N("MatMul", ["v", "p"], "y")], F16, 3), F16),
    "both factors": (model_of([PRODUCT[0], N("MatMul", ["p", "p"], "y")], F16, 3), F16),
    "a Where of something": (hidden_model(feeds := {**F16, "c": np.ones((4, 1), bool)}, (4, 1), 1.0), feeds),
    "a Where the other way round": (hidden_model(feeds, (4, 1), 0.0, ("c", "p", "zero")), feeds),
    "a Where of elements": (hidden_model(feeds := {**F16, "c": np.eye(4) > 0}, (4, 4)), feeds),
    "a Where that makes more of it": (hidden_model(feeds := {**F16, "c": np.ones((2, 1, 1, 1), bool)}, (2, 1, 1, 1)), feeds),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_no_such_set_is_left_alone(name):
    model, feeds = LEFT_ALONE[name]
    _, kernels = run(model, feeds)
    assert SET not in kernels


def test_old_versions_with_the_last_axis():
    results, kernels = run(model_of([N("Softmax", ["s"], "p", axis=2), PRODUCT[1]], F16, 3, opset=11), F16)
    assert kernels == [SET, SET]
    assert_rounded_once(results["y"], exact(F16["s"], F16["v"]), SMALL["f16"][1])


def test_a_cast_that_others_read_stays():
    feeds = {"s": draw((6, 7), 1, np.float16), "v": draw((7, 5), 2, np.float16)}
    model = model_of([*cast_nodes(np.float16), N("Neg", ["w"], "n"), N("Cast", ["n"], "o", to=TensorProto.FLOAT16)], feeds, 2, also=["o"])
    results, kernels = run(model, feeds)
    assert kernels.count(SET) == 3
    assert_rounded_once(results["y"], exact(feeds["s"], feeds["v"]), SMALL["f16"][1])
    np.testing.assert_array_equal(results["o"], -feeds["s"])


def test_what_does_not_fit_is_said():
    model = model_of(PRODUCT, F16, 3)
    for value in (*model.graph.input, *model.graph.output):
        del value.type.tensor_type.shape.dim[:]
        for _ in range(2):
            value.type.tensor_type.shape.dim.add()
    with pytest.raises(gantry.Error, match='MatMul "y": the inner extents of .3, 4. and .5, 6. differ'):
        run(model, {"s": np.ones((3, 4), np.float16), "v": np.ones((5, 6), np.float16)})


def test_no_tensor_is_read_for_its_type_alone():
    """A CastLike of what the Softmax makes is no other reader of it, and a Cast to the type that is there is none either."""
    feeds = {"s": draw((6, 7), 1, np.float16), "v": draw((7, 5), 2, np.float16)}
    one = numpy_helper.from_array(np.float32([0]), "one")
    nodes = [PRODUCT[0], N("CastLike", ["one", "p"], "zero"), N("Cast", ["p"], "same", to=TensorProto.FLOAT16), N("Where", ["c", "zero", "same"], "h"), N("MatMul", ["h", "v"], "y")]
    feeds["c"] = np.arange(6).reshape(6, 1) % 2 == 0
    results, kernels = run(model_of(nodes, feeds, 2, [one]), feeds)
    assert kernels == [SET] * 3
    assert_rounded_once(results["y"], exact(feeds["s"], feeds["v"], feeds["c"]), SMALL["f16"][1])
