# SPDX-License-Identifier: Apache-2.0
"""com.microsoft's operators as ONNX Runtime's quantizers and optimizers write them, against ONNX Runtime run live."""

import logging

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

import gantry
from oracle import run_exact_ort

U8, S8 = np.uint8, np.int8


def model_of(op_type, inputs, constants=None, attributes=None, output=TensorProto.FLOAT, opset=17):
    """A model of one node of com.microsoft; inputs and constants by name, in the node's order where their names say so: None is absent."""
    constants = constants or {}
    names = [name if value is not None else "" for name, value in {**inputs, **constants}.items()]
    names = sorted(names, key=lambda name: list(ORDER.get(op_type, names)).index(name)) if op_type in ORDER else names
    node = helper.make_node(op_type, names, ["y"], domain="com.microsoft", **(attributes or {}))
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("y", output, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if value is not None])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


ORDER = {
    "QLinearAdd": ["a", "as", "az", "b", "bs", "bz", "ys", "yz"],
    "QLinearMul": ["a", "as", "az", "b", "bs", "bz", "ys", "yz"],
}


def oracle(model, feeds):
    return run_exact_ort(model, feeds)[0]


def random8(dtype, *shape, seed=0):
    low, high = (0, 256) if dtype == U8 else (-128, 128)
    return np.random.default_rng(seed + sum(shape)).integers(low, high, shape).astype(dtype)


def check(model, feeds, step=0.0, rtol=1e-5):
    found = gantry.Session(model, device="CPU").run(feeds)["y"]
    expected = oracle(model, feeds)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=step or 1e-5)


@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [U8, S8])
def test_of_two_tensors(op_type, dtype):
    zero = np.array(3, dtype)
    model = model_of(op_type, {"a": random8(dtype, 2, 8, 5, 5), "b": random8(dtype, 2, 8, 5, 5, seed=1)},
                     {"as": np.float32(0.02), "az": zero, "bs": np.float32(0.03), "bz": zero, "ys": np.float32(0.05), "yz": zero},
                     output=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    check(model, {"a": random8(dtype, 2, 8, 5, 5), "b": random8(dtype, 2, 8, 5, 5, seed=1)}, step=1)


@pytest.mark.parametrize("op_type, attributes", [
    ("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.2}), ("QLinearLeakyRelu", {}), ("QLinearGlobalAveragePool", {"channels_last": 0}),
    ("QLinearAveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    *(("QLinearSoftmax", {"axis": axis, "opset": opset}) for axis in (0, 1, 2, -1) for opset in (11, 12, 13)), ("QLinearSoftmax", {"opset": 12}),
])
def test_of_one_tensor(op_type, attributes):
    x = random8(U8, 2, 8, 6, 6)
    model = model_of(op_type, {"x": x}, {"xs": np.float32(0.02), "xz": np.array(120, U8), "ys": np.float32(0.01), "yz": np.array(3, U8)}, attributes,
                     TensorProto.UINT8)
    check(model, {"x": x}, step=1)


def test_parts_side_by_side():
    a, b = random8(U8, 2, 8, 5, 5), random8(U8, 2, 4, 5, 5)
    scale, zero = (lambda x: np.array(x, np.float32)), (lambda x: np.array(x, U8))
    node = helper.make_node("QLinearConcat", ["ys", "yz", "a", "as", "az", "b", "bs", "bz"], ["y"], domain="com.microsoft", axis=1)
    values = {"ys": scale(0.05), "yz": zero(100), "as": scale(0.04), "az": zero(90), "bs": scale(0.06), "bz": zero(110)}
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(name, TensorProto.UINT8, value.shape) for name, value in (("a", a), ("b", b))],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, None)], [numpy_helper.from_array(value, name) for name, value in values.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    check(model, {"a": a, "b": b}, step=1)


@pytest.mark.parametrize("op_type, second", [("Gelu", False), ("BiasGelu", True), ("FastGelu", False), ("FastGelu", True), ("QuickGelu", False)])
def test_functions_of_optimizers(op_type, second):
    x = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
    constants = {"b": np.random.default_rng(1).standard_normal(16).astype(np.float32)} if second else {}
    model = model_of(op_type, {"x": x}, constants)
    check(model, {"x": x}, step=1e-6)
    if "Quick" not in op_type:
        kinds = [node.op_type for node in gantry.Session(model, device="CPU").placement.nodes]
        assert kinds[-1] == "Gelu", kinds  # one node again


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op_type, second", [("Gelu", False), ("BiasGelu", True), ("FastGelu", True), ("QuickGelu", False)])
def test_functions_of_optimizers_in_16_bits(op_type, second, dtype):
    values = {name: np.random.default_rng(seed).standard_normal(shape).astype(dtype) for seed, (name, shape) in enumerate({"x": (4, 16), **({"b": (16,)} if second else {})}.items())}
    constants = {"b": values["b"]} if second else {}
    model = model_of(op_type, {"x": values["x"]}, constants, output=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    wide = model_of(op_type, {"x": values["x"].astype(np.float32)}, {name: value.astype(np.float32) for name, value in constants.items()})
    found = gantry.Session(model, device="CPU").run({"x": values["x"]})["y"]
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float32), oracle(wide, {"x": values["x"].astype(np.float32)}), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_blocks_of_few_bits_as_their_body_says_in_the_oldest_opset(dtype):
    rng = np.random.default_rng(5)
    constants = {"w": rng.integers(0, 256, (7, 2, 16)).astype(U8), "s": rng.uniform(0.01, 0.02, (7, 2)).astype(dtype)}
    x = rng.standard_normal((3, 64)).astype(dtype)
    attributes = {"K": 64, "N": 7, "bits": 4, "block_size": 32}
    model = model_of("MatMulNBits", {"x": x}, constants, attributes, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), opset=13)
    found = gantry.Session(model, device="CPU", config={"providers": {"disable": ["x86"]}}).run({"x": x})["y"]
    wide = model_of("MatMulNBits", {"x": x.astype(np.float32)}, {**constants, "s": constants["s"].astype(np.float32)}, attributes)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float32), oracle(wide, {"x": x.astype(np.float32)}), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("scales", [(), (33,)])
def test_products_of_integers(bias, scales):
    x = np.random.default_rng(0).standard_normal((7, 40)).astype(np.float32)
    constants = {"w": random8(S8, 40, 33), "ws": np.random.default_rng(1).uniform(0.01, 0.02, scales).astype(np.float32),
                 "wz": np.zeros(scales, S8)}
    if bias:
        constants["bias"] = np.random.default_rng(2).standard_normal(33).astype(np.float32)
    model = model_of("DynamicQuantizeMatMul", {"x": x}, constants)
    check(model, {"x": x}, step=1e-3)
    kernels = [node.kernel for node in gantry.Session(model, device="CPU").placement.nodes]
    assert any(kernel.startswith("x86.matmul_integer+Cast+Mul") for kernel in kernels), kernels


def pack(numbers, bits):
    """Numbers of 4 bits, two a byte, the first in the low half; of 8 bits as they are."""
    if bits == 8:
        return numbers.astype(U8)
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), numbers.dtype)], -1)
    return (numbers[..., ::2] | numbers[..., 1::2] << 4).astype(U8)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("inner, columns, block", [(64, 12, 16), (96, 7, 32), (40, 5, 16), (300, 33, 128)])
@pytest.mark.parametrize("zeros", [None, "packed", "float"])
@pytest.mark.parametrize("left", [(1,), (2, 5)])
def test_products_with_blocks_of_few_bits(bits, inner, columns, block, zeros, left):
    rng = np.random.default_rng(inner + columns)
    blocks = -(-inner // block)
    numbers = rng.integers(0, 2**bits, (columns, blocks, block)).astype(U8)
    scales = rng.uniform(0.01, 0.02, (columns, blocks)).astype(np.float32)
    points = rng.integers(0, 2**bits, (columns, blocks)).astype(U8) if zeros else np.full((columns, blocks), 2 ** (bits - 1), U8)
    constants = {"w": pack(numbers, bits), "s": scales.reshape(-1)}
    if zeros == "packed":
        constants["z"] = pack(points, bits).reshape(-1)
    elif zeros == "float":
        constants["z"] = points.astype(np.float32).reshape(-1)
    x = rng.standard_normal((*left, inner)).astype(np.float32)
    model = model_of("MatMulNBits", {"x": x}, constants, {"K": inner, "N": columns, "bits": bits, "block_size": block})
    matrix = ((numbers.astype(np.float32) - points[..., None]) * scales[..., None]).reshape(columns, -1)[:, :inner]
    found = gantry.Session(model, device="CPU").run({"x": x})["y"]
    np.testing.assert_allclose(found, x @ matrix.T, rtol=1e-4, atol=1e-4)
    if zeros != "float":
        np.testing.assert_allclose(found, oracle(model, {"x": x}), rtol=1e-3, atol=2e-2)  # which rounds the left matrix in places


def test_numbers_of_3_bits_are_refused():
    x = np.ones((1, 32), np.float32)
    model = model_of("MatMulNBits", {"x": x}, {"w": np.zeros((4, 1, 16), U8), "s": np.ones(4, np.float32), "z": np.zeros(4, U8)},
                     {"K": 32, "N": 4, "bits": 3, "block_size": 32})
    with pytest.raises(gantry.UnsupportedError, match="MatMulNBits"):
        gantry.Session(model, device="CPU")


class Noise(CalibrationDataReader):
    def __init__(self, feeds):
        self._samples = iter(feeds)

    def get_next(self):
        return next(self._samples, None)


@pytest.mark.parametrize("layout", [QuantFormat.QOperator, QuantFormat.QDQ])
def test_a_network_by_the_static_quantizer(tmp_path, layout):
    rng = np.random.default_rng(0)
    nodes = onnx.parser.parse_graph("""g () => () {
        a = Conv<pads=[1, 1, 1, 1]>(x, w1)
        b = Relu(a)
        c = Conv(b, w2)
        d = Add(c, b)
        e = LeakyRelu(d)
        f = GlobalAveragePool(e)
        h = Flatten(f)
        y = Gemm<transB=1>(h, w3, b3)
    }""").node
    arrays = {"w1": rng.standard_normal((16, 3, 3, 3)) * 0.3, "w2": rng.standard_normal((16, 16, 1, 1)) * 0.3, "w3": rng.standard_normal((10, 16)),
              "b3": rng.standard_normal(10)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 12, 12])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
                              [numpy_helper.from_array(value.astype(np.float32), name) for name, value in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), tmp_path / "plain.onnx")
    samples = [{"x": rng.standard_normal((1, 3, 12, 12)).astype(np.float32)} for _ in range(4)]
    logging.getLogger().setLevel(logging.ERROR)
    quantize_static(tmp_path / "plain.onnx", tmp_path / "int8.onnx", Noise(samples), quant_format=layout, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    quantized = onnx.load(tmp_path / "int8.onnx")
    if layout == QuantFormat.QOperator:
        assert {"QLinearConv", "QLinearAdd", "QGemm", "QLinearGlobalAveragePool"} <= {node.op_type for node in quantized.graph.node}
    session = gantry.Session(quantized, device="CPU")
    expected = oracle(quantized, samples[0])
    np.testing.assert_allclose(session.run(samples[0])["y"], expected, atol=0.04 * np.abs(expected).max())
    kernels = [node.kernel for node in session.placement.nodes]
    assert sum(kernel.startswith("x86.conv.int8") for kernel in kernels) >= 2 and any("matmul.int8" in kernel for kernel in kernels), kernels


def test_the_dynamic_quantizer_of_a_model_in_floats(tmp_path):
    rng = np.random.default_rng(4)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [9, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(rng.standard_normal((64, 32)).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), tmp_path / "plain.onnx")
    logging.getLogger().setLevel(logging.ERROR)
    quantize_dynamic(tmp_path / "plain.onnx", tmp_path / "int8.onnx", per_channel=True, weight_type=QuantType.QInt8)
    check(onnx.load(tmp_path / "int8.onnx"), {"x": rng.standard_normal((9, 64)).astype(np.float32)}, step=1e-3)
