# SPDX-License-Identifier: Apache-2.0
"""Operators as opsets 1 to 6 meant them: attributes that became inputs, broadcasting along `axis`, outputs that are gone.

What is expected is written in numpy, and is what ONNX Runtime gives too where it still runs the version.
"""

import math

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper
from oracle import ORT_LACKS_IT, compare, element_type, node_model, run_gantry, run_ort

import gantry

LEGACY = {"consumed_inputs": [0]}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def check(op_type, version, inputs, expected, attributes=None, constants=()):
    """Runs the node in a model of that opset, which is the version of its schema."""
    model, feeds = node_model(op_type, inputs, [element_type(y) for y in expected], version, attributes, constants=constants)
    for output, y in zip(model.graph.output, expected, strict=True):  # of old versions inference knows little
        output.type.CopyFrom(helper.make_tensor_type_proto(element_type(y), [None] * y.ndim))
    compare(run_gantry(model, feeds), expected)
    try:
        theirs = run_ort(model, feeds)
    except ORT_LACKS_IT:
        return
    compare(theirs, expected)


def aligned(x, y, axis=None):
    """`y` with extents of 1 behind it, so that its first axis is `axis` of `x`; without `axis` its last is x's last."""
    if y.size == 1:
        return y.reshape(())
    return y if axis is None else y.reshape(y.shape + (1,) * (x.ndim - axis - y.ndim))


SHAPES = [((), None), ((1,), None), ((1, 1), None), ((5,), None), ((4, 5), None), ((3, 4), 1), ((2,), 0), ((3,), 1), ((2, 3, 4, 5), None)]
ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
COMPARISONS = {"Equal": np.equal, "Greater": np.greater, "Less": np.less}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


class TestBroadcastingAlongAnAxis:
    """The second operand is one element, or its shape a part of the first's that begins at `axis`, else ends where the first's ends."""

    @pytest.mark.parametrize("shape, axis", SHAPES)
    @pytest.mark.parametrize("version", [1, 6])
    @pytest.mark.parametrize("op_type", ARITHMETIC)
    def test_arithmetic(self, op_type, version, shape, axis):
        x, y = draw(2, 3, 4, 5), np.asarray(draw(*shape, seed=1) + 3)
        attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis}) | (LEGACY if version == 1 else {})
        check(op_type, version, [x, y], [ARITHMETIC[op_type](x, aligned(x, y, axis))], attributes)

    @pytest.mark.parametrize("shape, axis", SHAPES)
    @pytest.mark.parametrize("op_type", [*COMPARISONS, *LOGIC, "Pow"])
    def test_others(self, op_type, shape, axis):
        attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
        rng = np.random.default_rng(2)
        if op_type == "Pow":
            x, y = np.abs(draw(2, 3, 4, 5)) + 0.5, np.asarray(draw(*shape, seed=1))
            return check(op_type, 1, [x, y], [np.power(x, aligned(x, y, axis))], attributes)
        if op_type in LOGIC:
            x, y = rng.random((2, 3, 4, 5)) < 0.5, np.asarray(rng.random(shape) < 0.5)
            return check(op_type, 1, [x, y], [LOGIC[op_type](x, aligned(x, y, axis))], attributes)
        dtype = np.int32 if op_type == "Equal" else np.float32
        x, y = rng.integers(0, 3, (2, 3, 4, 5)).astype(dtype), np.asarray(rng.integers(0, 3, shape).astype(dtype))
        return check(op_type, 1, [x, y], [COMPARISONS[op_type](x, aligned(x, y, axis))], attributes)

    @pytest.mark.parametrize("op_type", ARITHMETIC)
    def test_without_broadcasting(self, op_type):
        x, y = draw(3, 4), draw(3, 4, seed=1) + 3
        check(op_type, 6, [x, y], [ARITHMETIC[op_type](x, y)])

    @pytest.mark.parametrize("version", [1, 6])
    @pytest.mark.parametrize("shape", [(1,), (3,)])
    def test_prelu_has_a_slope_for_each_channel(self, version, shape):
        x, slope = draw(2, 3, 4, 5), draw(*shape, seed=1)
        expected = np.where(x < 0, x * slope.reshape(-1, 1, 1), x)
        check("PRelu", version, [x, slope], [expected], LEGACY if version == 1 else {})

    @pytest.mark.parametrize("version", [1, 6])
    @pytest.mark.parametrize("shape", [(5,), (1,), (1, 5), (3, 1), (3, 5)])
    def test_gemm(self, version, shape):
        a, b, c = draw(4, 3), draw(5, 4, seed=1), draw(*shape, seed=2)
        attributes = {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0, "broadcast": int(shape != (3, 5))}
        check("Gemm", version, [a, b, c], [0.5 * (a.T @ b.T) + 2 * c + np.zeros((3, 5), np.float32)], attributes)


UNARY = {
    "Abs": np.abs, "Ceil": np.ceil, "Exp": np.exp, "Floor": np.floor, "Log": lambda x: np.log(np.abs(x)), "Neg": np.negative,
    "Reciprocal": lambda x: 1 / x, "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sqrt": lambda x: np.sqrt(np.abs(x)), "Tanh": np.tanh,
}  # fmt: skip


class TestElementwise:
    @pytest.mark.parametrize("op_type", UNARY)
    def test_unary_with_a_legacy_attribute(self, op_type):
        x = draw(3, 50)
        check(op_type, 1, [np.abs(x) if op_type in ("Log", "Sqrt") else x], [UNARY[op_type](x)], LEGACY)

    @pytest.mark.parametrize("version", [1, 6])
    @pytest.mark.parametrize("op_type, attributes, function", [
        ("Elu", {}, lambda x: np.where(x < 0, np.expm1(x), x)),
        ("Elu", {"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.expm1(x), x)),
        ("LeakyRelu", {}, lambda x: np.where(x < 0, np.float32(0.01) * x, x)),
        ("HardSigmoid", {}, lambda x: np.clip(np.float32(0.2) * x + np.float32(0.5), 0, 1)),
        ("HardSigmoid", {"alpha": 0.5, "beta": 0.6}, lambda x: np.clip(np.float32(0.5) * x + np.float32(0.6), 0, 1)),
        ("Clip", {"min": -0.5, "max": 0.25}, lambda x: np.clip(x, -0.5, 0.25)),
        ("Clip", {"min": 0.5}, lambda x: np.maximum(x, 0.5)),
        ("Clip", {"max": 0.5}, lambda x: np.minimum(x, 0.5)),
        ("Clip", {}, lambda x: x),
    ])  # fmt: skip
    def test_parameters(self, op_type, version, attributes, function):
        x = draw(3, 50)
        check(op_type, version, [x], [function(x).astype(np.float32)], attributes | (LEGACY if version == 1 else {}))

    @pytest.mark.parametrize("version, alpha, gamma", [(1, 1.6732, 1.0507), (6, 1.67326319217681884765625, 1.05070102214813232421875)])
    def test_selu_has_other_constants(self, version, alpha, gamma):
        x = draw(200) - 2
        expected = np.where(x > 0, gamma * x.astype(np.float64), gamma * alpha * np.expm1(x.astype(np.float64)))
        check("Selu", version, [x], [expected.astype(np.float32)])

    @pytest.mark.parametrize("version", [1, 6])
    @pytest.mark.parametrize("op_type, function", [("Max", np.max), ("Min", np.min), ("Mean", np.mean), ("Sum", np.sum)])
    @pytest.mark.parametrize("count", [1, 2, 4])
    def test_of_several_of_one_shape(self, op_type, function, version, count):
        inputs = [draw(3, 7, seed=seed) for seed in range(count)]
        check(op_type, version, inputs, [function(np.stack(inputs), axis=0)], LEGACY if version == 1 else {})


class TestShapes:
    @pytest.mark.parametrize("shape, result", [([4, 6], (4, 6)), ([0, -1], (2, 12)), ([-1], (24,)), ([2, 0, 2, 2], (2, 3, 2, 2))])
    def test_reshape_by_attribute(self, shape, result):
        x = draw(2, 3, 4)
        check("Reshape", 1, [x], [x.reshape(result)], {"shape": shape} | LEGACY)

    def test_reshape_to_a_scalar(self):
        model, feeds = node_model("Reshape", [draw(1, 1)], [TensorProto.FLOAT], 1)
        model.graph.node[0].attribute.append(helper.make_attribute("shape", [], attr_type=AttributeProto.INTS))
        model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        compare(run_gantry(model, feeds), [draw(1, 1).reshape(())])

    def test_concat_along_axis_1_by_default(self):
        x, y = draw(2, 3, 4), draw(2, 5, 4, seed=1)
        check("Concat", 1, [x, y], [np.concatenate([x, y], 1)])
        check("Concat", 4, [x, y], [np.concatenate([x, y], 1)], {"axis": 1})

    @pytest.mark.parametrize("attributes, result", [
        ({"starts": [1, -3], "ends": [3, -1]}, np.s_[1:3, -3:-1]),
        ({"axes": [1], "starts": [2], "ends": [1000]}, np.s_[:, 2:]),
        ({"axes": [2, 0], "starts": [0, -1], "ends": [2, 4]}, np.s_[-1:, :, :2]),
    ])
    def test_slice_by_attributes(self, attributes, result):
        x = draw(4, 5, 3)
        check("Slice", 1, [x], [x[result]], attributes)

    @pytest.mark.parametrize("version", [1, 2])
    def test_split(self, version):
        x = draw(4, 6)
        check("Split", version, [x], np.split(x, 2, 0), {"axis": 0})
        check("Split", version, [x], np.split(x, [1, 3], 1), {"axis": 1, "split": [1, 2, 3]})

    def test_split_by_an_input(self):
        x = draw(4, 6)
        check("Split", 1, [x, np.array([1, 2, 3], np.float32)], np.split(x, [1, 3], 1), {"axis": 1})

    def test_squeeze_and_unsqueeze(self):
        x = draw(1, 3, 1)
        check("Squeeze", 1, [x], [x[0]], {"axes": [0]})
        check("Squeeze", 1, [x], [x.reshape(3)])
        check("Unsqueeze", 1, [x], [x.reshape(1, 1, 3, 1, 1)], {"axes": [0, 3]})

    @pytest.mark.parametrize("constants", [(), (1, 2)])
    def test_tile_along_an_axis(self, constants):
        x = draw(2, 3)
        check("Tile", 1, [x, np.float32([3]), np.float32([1])], [np.tile(x, (1, 3))], constants=constants)

    @pytest.mark.parametrize("version, name", [(1, "paddings"), (2, "pads")])
    @pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
    def test_pad_by_attribute(self, version, name, mode):
        x = draw(3, 4)
        values = {"constant_values": 1.5} if mode == "constant" else {}
        attributes = {name: [1, 0, 2, 3], "mode": mode} | ({"value": 1.5} if mode == "constant" else {})
        check("Pad", version, [x], [np.pad(x, ((1, 2), (0, 3)), mode, **values)], attributes)

    def test_pad_2_crops_too(self):
        x = draw(4, 5)
        check("Pad", 2, [x], [np.pad(x[1:, :-2], ((0, 1), (2, 0)))], {"pads": [-1, 2, 1, -2]})

    @pytest.mark.parametrize("axis", [0, 1, 2, 3])
    def test_flatten(self, axis):
        x = draw(2, 3, 4)
        check("Flatten", 1, [x], [x.reshape(math.prod(x.shape[:axis]), -1)], {"axis": axis})

    def test_gather(self):
        x, indices = draw(4, 5), np.array([[0, 3], [1, 1]])
        check("Gather", 1, [x, indices], [x[:, indices]], {"axis": 1})

    def test_depth_to_space_and_back(self):
        x = draw(1, 8, 2, 3)
        spread = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
        check("DepthToSpace", 1, [x], [spread], {"blocksize": 2})
        check("SpaceToDepth", 1, [spread], [x], {"blocksize": 2})


class TestUpsample:
    @pytest.mark.parametrize("vertical, horizontal", [(2.0, 2.0), (1.0, 3.0), (2.0, 1.5)])
    def test_nearest(self, vertical, horizontal):
        x = draw(1, 2, 3, 4)
        rows = np.floor(np.arange(math.floor(3 * vertical)) / vertical).astype(int)
        columns = np.floor(np.arange(math.floor(4 * horizontal)) / horizontal).astype(int)
        expected = x[:, :, rows][:, :, :, columns]
        check("Upsample", 1, [x], [expected], {"height_scale": vertical, "width_scale": horizontal})
        check("Upsample", 7, [x], [expected], {"scales": [1.0, 1.0, vertical, horizontal]})
        check("Upsample", 9, [x, np.float32([1, 1, vertical, horizontal])], [expected], constants=(1,))

    def test_bilinear(self):
        x = np.float32([1, 2, 3, 4]).reshape(1, 1, 2, 2)
        along = np.float32([[1, 0], [0.5, 0.5], [0, 1], [0, 1]])  # weights of the two neighbours
        expected = (along @ x[0, 0] @ along.T).reshape(1, 1, 4, 4)
        check("Upsample", 1, [x], [expected], {"height_scale": 2.0, "width_scale": 2.0, "mode": "bilinear"})
        check("Upsample", 7, [x], [expected], {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "linear"})


class TestSoftmax:
    """Before version 13 all axes from `axis` on, 1 by default, are one."""

    @pytest.mark.parametrize("axis", [None, 0, 1, 2])
    @pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
    def test_over_all_axes_behind(self, op_type, axis):
        x = draw(3, 4, 5)
        rows = x.reshape(math.prod(x.shape[: 1 if axis is None else axis]), -1)
        powers = np.exp(rows - rows.max(1, keepdims=True))
        soft = powers / powers.sum(1, keepdims=True)
        hard = (np.arange(rows.shape[1]) == rows.argmax(1)[:, None]).astype(np.float32)
        expected = {"Softmax": soft, "LogSoftmax": np.log(soft), "Hardmax": hard}[op_type]
        for version in (1, 11):
            check(op_type, version, [x], [expected.reshape(x.shape)], {} if axis is None else {"axis": axis})


class TestNormalization:
    @pytest.mark.parametrize("version", [1, 6])
    def test_batch_in_test_mode(self, version):
        x, scale, bias, mean, variance = draw(2, 3, 4, 5), draw(3, seed=1), draw(3, seed=2), draw(3, seed=3), draw(3, seed=4) ** 2
        column = lambda v: v.reshape(3, 1, 1)
        expected = (x - column(mean)) / np.sqrt(column(variance) + 1e-3) * column(scale) + column(bias)
        legacy = {"consumed_inputs": [0, 0, 0, 1, 1]} if version == 1 else {}
        check("BatchNormalization", version, [x, scale, bias, mean, variance], [expected], {"is_test": 1, "epsilon": 1e-3} | legacy)

    @pytest.mark.parametrize("version", [1, 6])
    def test_batch_in_training_gives_five_outputs(self, version):
        x, scale, bias, mean, variance = draw(4, 3, 4, 5), draw(3, seed=1), draw(3, seed=2), draw(3, seed=3), draw(3, seed=4) ** 2
        column = lambda v: v.reshape(3, 1, 1)
        batch_mean, batch_variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        y = (x - column(batch_mean)) / np.sqrt(column(batch_variance) + 1e-5) * column(scale) + column(bias)
        expected = [y, 0.8 * mean + 0.2 * batch_mean, 0.8 * variance + 0.2 * batch_variance, batch_mean, batch_variance]
        legacy = {"consumed_inputs": [0, 0, 0, 1, 1]} if version == 1 else {}
        check("BatchNormalization", version, [x, scale, bias, mean, variance], [e.astype(np.float32) for e in expected], {"momentum": 0.8} | legacy)

    @pytest.mark.parametrize("version", [1, 6])
    def test_instance(self, version):
        x, scale, bias = draw(2, 3, 4, 5), draw(3, seed=1), draw(3, seed=2)
        normal = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
        expected = normal * scale.reshape(3, 1, 1) + bias.reshape(3, 1, 1)
        check("InstanceNormalization", version, [x, scale, bias], [expected], LEGACY if version == 1 else {})

    @pytest.mark.parametrize("version", [1, 2])
    def test_lp_pools(self, version):
        x = draw(1, 2, 4, 6)
        p = 3.0 if version == 1 else 3  # a FLOAT first, then an INT
        whole = (np.abs(x) ** 3).sum((2, 3), keepdims=True) ** (1 / 3)
        check("GlobalLpPool", version, [x], [whole], {"p": p})
        blocks = (np.abs(x.reshape(1, 2, 2, 2, 3, 2)) ** 3).sum((3, 5)) ** (1 / 3)
        check("LpPool", version, [x], [blocks], {"p": p, "kernel_shape": [2, 2], "strides": [2, 2]})


class TestDropout:
    @pytest.mark.parametrize("version", [1, 6])
    def test_in_test_mode_copies(self, version):
        x = draw(3, 4)
        check("Dropout", version, [x], [x], {"is_test": 1, "ratio": 0.9} | (LEGACY if version == 1 else {}))

    @pytest.mark.parametrize("version", [1, 6])
    def test_in_training_drops_and_scales(self, version):
        x = np.full((100, 100), 3, np.float32)
        model, feeds = node_model("Dropout", [x], [TensorProto.FLOAT, TensorProto.FLOAT], version, {"ratio": 0.75})
        y, mask = run_gantry(model, feeds)
        assert set(np.unique(y)) == {0, 12}
        np.testing.assert_array_equal(mask != 0, y != 0)
        assert 0.2 < np.mean(y != 0) < 0.3


class TestRecurrent:
    @pytest.mark.parametrize("version", [1, 3])
    def test_gru_without_direction(self, version):
        """Version 1 misspells the default of `direction` in its schema."""
        x, w, r = draw(5, 2, 3), draw(1, 12, 3, seed=1), draw(1, 12, 4, seed=2)
        h = np.zeros((2, 4), np.float64)
        sigmoid = lambda v: 1 / (1 + np.exp(-v))
        steps = []
        for step in x:
            update, reset, hidden = np.split(step @ w[0].T, 3, 1)
            update_h, reset_h, _ = np.split(h @ r[0].T, 3, 1)
            update, reset = sigmoid(update + update_h), sigmoid(reset + reset_h)
            h = (1 - update) * np.tanh(hidden + (reset * h) @ r[0, 8:].T) + update * h
            steps.append(h)
        expected = [np.stack(steps)[:, None].astype(np.float32), h[None].astype(np.float32)]
        check("GRU", version, [x, w, r], expected, {"hidden_size": 4, "output_sequence": 1})

    def test_rnn_and_lstm_name_their_outputs_optional(self):
        x, w, r = draw(5, 2, 3), draw(1, 4, 3, seed=1), draw(1, 4, 4, seed=2)
        h = np.zeros((2, 4), np.float32)
        for step in x:
            h = np.tanh(step @ w[0].T + h @ r[0].T)
        model, feeds = node_model("RNN", [x, w, r], [None, TensorProto.FLOAT], 1, {"hidden_size": 4})
        compare(run_gantry(model, feeds), [h[None]])
        w, r = np.tile(w, (1, 4, 1)), np.tile(r, (1, 4, 1))
        model, feeds = node_model("LSTM", [x, w, r], [None, TensorProto.FLOAT, TensorProto.FLOAT], 1, {"hidden_size": 4})
        new, new_feeds = node_model("LSTM", [x, w, r], [None, TensorProto.FLOAT, TensorProto.FLOAT], 14, {"hidden_size": 4})
        compare(run_gantry(model, feeds), run_ort(new, new_feeds))


class TestSelection:
    def test_top_k_by_attribute(self):
        x = draw(3, 8)
        order = np.argsort(-x, 1)[:, :3]
        check("TopK", 1, [x], [np.take_along_axis(x, order, 1), order], {"k": 3, "axis": 1})

    @pytest.mark.parametrize("op_type, function", [("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceProd", np.prod)])
    @pytest.mark.parametrize("keepdims", [0, 1])
    def test_reductions_by_attribute(self, op_type, function, keepdims):
        x = draw(2, 3, 4)
        check(op_type, 1, [x], [function(x, axis=(0, 2), keepdims=bool(keepdims))], {"axes": [0, 2], "keepdims": keepdims})
        check(op_type, 1, [x], [np.asarray(function(x, keepdims=bool(keepdims)))], {"keepdims": keepdims})

    @pytest.mark.parametrize("op_type, function", [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
    def test_arg_reductions(self, op_type, function):
        x = draw(2, 3, 4)
        check(op_type, 1, [x], [function(x, 1, keepdims=True)], {"axis": 1})

    def test_pools_count_no_padding(self):
        x = draw(1, 1, 4, 4)
        attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        cells = [[x[0, 0, max(i - 1, 0):i + 2, max(j - 1, 0):j + 2] for j in range(4)] for i in range(4)]
        of_cells = lambda function: np.float32([[function(cell) for cell in row] for row in cells])[None, None]
        check("AveragePool", 1, [x], [of_cells(np.mean)], attributes)
        check("MaxPool", 1, [x], [of_cells(np.max)], attributes)


def test_control_flow():
    then = helper.make_graph([helper.make_node("Add", ["x", "b"], ["t"], broadcast=1, axis=0)], "then", [],
                             [helper.make_tensor_value_info("t", TensorProto.FLOAT, [2, 3])])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, [2, 3])])
    body = helper.make_graph(
        [helper.make_node("If", ["go"], ["next"], then_branch=then, else_branch=other), helper.make_node("Identity", ["go"], ["go_on"]),
         helper.make_node("Identity", ["next"], ["seen"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 3]),
         helper.make_tensor_value_info("seen", TensorProto.FLOAT, [2, 3])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "go", "x0"], ["x", "all"], body=body)],
        "g",
        [helper.make_tensor_value_info("n", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("x0", TensorProto.FLOAT, [2, 3]), helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]), helper.make_tensor_value_info("all", TensorProto.FLOAT, [None, 2, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 1)], ir_version=3)
    x, b = draw(2, 3), np.float32([10, 20])
    steps = np.stack([x + k * b[:, None] for k in (1, 2, 3)])
    compare(run_gantry(model, {"n": np.array(3), "go": np.array(True), "x0": x, "b": b}), [steps[-1], steps])


def test_a_part_that_does_not_fit_is_said():
    model, feeds = node_model("Add", [draw(2, 3, 4), draw(4)], [TensorProto.FLOAT], 6, {"broadcast": 1, "axis": 1})
    with pytest.raises(gantry.Error, match="Add"):
        run_gantry(model, feeds)
