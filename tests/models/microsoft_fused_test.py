# SPDX-License-Identifier: Apache-2.0
"""Models that ONNX Runtime's optimizer saved, and LSTMs by its dynamic quantizer, against ONNX Runtime run live."""

import logging

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

import gantry
from oracle import run_exact_ort

F32 = np.float32
CPU = ["CPUExecutionProvider"]
RNG = np.random.default_rng(0)


def random(*shape):
    return (RNG.standard_normal(shape) * 0.5).astype(F32)


def save(file, text, constants, opset=17):
    """A model by ONNX's text form and arrays by name."""
    graph = onnx.parser.parse_graph(text)
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), file)


def optimized(plain, file):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(file)
    onnxruntime.InferenceSession(str(plain), options, providers=CPU)
    return onnx.load(file)


def agree(model, feeds, **tolerance):
    expected = run_exact_ort(model, feeds)
    found = list(gantry.Session(model, device="CPU").run(feeds).values())
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, **tolerance)


ACTIVATIONS = ["Relu(c)", "Tanh(c)", "Sigmoid(c)", "LeakyRelu<alpha=0.2>(c)", "HardSigmoid<alpha=0.3, beta=0.4>(c)", "Clip(c, low, high)"]


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_convolutions_with_activations(activation, opset, tmp_path):
    save(tmp_path / "plain.onnx", f"""g (float[1,3,9,9] x) => (float[N,C,H,W] y) {{
        c = Conv<pads=[1, 1, 1, 1], strides=[2, 2]>(x, w, b)
        y = {activation}
    }}""", {"w": random(5, 3, 3, 3), "b": random(5), "low": np.array(-0.25, F32), "high": np.array(0.5, F32)}, opset)
    model = optimized(tmp_path / "plain.onnx", tmp_path / "fused.onnx")
    assert [node.op_type for node in model.graph.node] == ["FusedConv"]
    agree(model, {"x": random(1, 3, 9, 9)}, rtol=1e-5, atol=1e-5)


def fused_conv(opset, inputs, constants, **attributes):
    node = helper.make_node("FusedConv", ["x", *constants], ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=5)


def test_a_convolution_with_a_sum():
    model = fused_conv(17, [1, 4, 6, 6], {"w": random(4, 4, 1, 1), "b": random(4), "z": random(1, 4, 6, 6)}, activation="Relu")
    agree(model, {"x": random(1, 4, 6, 6)}, rtol=1e-5, atol=1e-5)


def test_a_clip_of_an_old_opset():
    """Its limits were attributes before they became inputs."""
    model = fused_conv(10, [1, 2, 4, 4], {"w": random(3, 2, 1, 1)}, activation="Clip", activation_params=[0.0, 0.5])
    agree(model, {"x": random(1, 2, 4, 4)}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ["Relu(c)", "LeakyRelu<alpha=0.3>(c)", "HardSigmoid<alpha=0.3, beta=0.4>(c)"])
def test_a_product_with_its_activation(activation, tmp_path):
    save(tmp_path / "plain.onnx", f"""g (float[3,7] x) => (float[N,M] y) {{
        c = Gemm<transB=1, alpha=0.5, beta=2.0>(x, w, b)
        y = {activation}
    }}""", {"w": random(5, 7), "b": random(5)})
    model = optimized(tmp_path / "plain.onnx", tmp_path / "fused.onnx")
    assert [node.op_type for node in model.graph.node] == ["FusedGemm"]
    agree(model, {"x": random(3, 7)}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inputs, product", [("float[2,6,5] a, float[2,6,5] b", "MatMul(t, b)"), ("float[2,5,6] b, float[2,5,6] a", "MatMul(b, t)")])
def test_a_product_of_what_is_turned_and_scaled(inputs, product, tmp_path):
    save(tmp_path / "plain.onnx", f"""g ({inputs}) => (float[N,H,W] y) {{
        t = Transpose<perm=[0, 2, 1]>(a)
        p = {product}
        y = Mul(p, half)
    }}""", {"half": np.array(0.5, F32)})
    model = optimized(tmp_path / "plain.onnx", tmp_path / "fused.onnx")
    assert [node.op_type for node in model.graph.node] == ["FusedMatMul"]
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    agree(model, {"a": random(*shape), "b": random(*shape)}, rtol=1e-5, atol=1e-6)


def test_what_has_no_body_is_refused():
    with pytest.raises(gantry.UnsupportedError, match="FusedConv"):
        gantry.Session(fused_conv(17, [1, 2, 4, 4], {"w": random(3, 2, 1, 1)}, activation="Mystery"))


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_recurrent_layers_by_the_dynamic_quantizer(per_channel, direction, tmp_path):
    directions = 2 if direction == "bidirectional" else 1
    width, hidden = 6, 8
    save(tmp_path / "plain.onnx", f"""g (float[T,2,{width}] x, float[{directions},2,{hidden}] h, float[{directions},2,{hidden}] c)
            => (float[T,D,N,H] y, float[D,N,H] yh, float[D,N,H] yc) {{
        y, yh, yc = LSTM<hidden_size={hidden}, direction="{direction}">(x, w, r, b, , h, c)
    }}""", {"w": random(directions, 4 * hidden, width), "r": random(directions, 4 * hidden, hidden), "b": random(directions, 8 * hidden)})
    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(tmp_path / "plain.onnx", tmp_path / "int8.onnx", per_channel=per_channel, weight_type=QuantType.QInt8)
    model = onnx.load(tmp_path / "int8.onnx")
    assert "DynamicQuantizeLSTM" in {node.op_type for node in model.graph.node}
    feeds = {"x": random(7, 2, width), "h": random(directions, 2, hidden), "c": random(directions, 2, hidden)}
    session = gantry.Session(model, device="CPU")
    assert "x86.dynamic_quantize_lstm" in [node.kernel for node in session.placement.nodes]
    # On one thread ONNX Runtime rounds all states of a step by one scale, as x86's kernel does on any number.
    peer = run_exact_ort(model, feeds, threads=1)
    for one, other in zip(session.run(feeds).values(), peer, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3)
    # The function body does not round them: it is as far from the layer in floats as the matrices are.
    exact = onnxruntime.InferenceSession(str(tmp_path / "plain.onnx"), providers=CPU).run(None, feeds)
    found = list(gantry.Session(model, device="CPU", config={"providers": {"disable": ["x86"]}}).run(feeds).values())
    for one, other in zip(found, peer, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=0.02)
    assert sum(np.abs(one - right).sum() for one, right in zip(found, exact, strict=True)) < sum(
        np.abs(one - right).sum() for one, right in zip(peer, exact, strict=True))


@pytest.mark.parametrize("op_type, weights", [("SkipLayerNormalization", ["s", "w"]), ("SkipSimplifiedLayerNormalization", ["s"])])
@pytest.mark.parametrize("others", [["m"], ["m", "v"], ["m", "v", "sum"], ["", "", "sum"]])
def test_named_outputs_that_nobody_reads(op_type, weights, others):
    node = helper.make_node(op_type, ["x", "x", *weights], ["y", *others], domain="com.microsoft")
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 3]) for name in ["y", "sum"] if name in node.output]
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3])], outputs,
                              [numpy_helper.from_array(random(3), name) for name in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    agree(model, {"x": random(1, 2, 3)}, rtol=1e-5, atol=1e-5)
