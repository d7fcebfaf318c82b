# SPDX-License-Identifier: Apache-2.0
"""MatMulNBits on the device: a few rows by GEMV, many by dequantised weights; compared with the definition in numpy."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare
from onnx import TensorProto, helper, numpy_helper


def pack(numbers, bits):
    if bits == 8:
        return numbers.astype(np.uint8)
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), numbers.dtype)], -1)
    return (numbers[..., ::2] | numbers[..., 1::2] << 4).astype(np.uint8)


def product(rows, inner, columns, block, bits, zeros, bias, dtype, x=None):
    """A model of one node, its input (`x`, or random) and the expected result."""
    rng = np.random.default_rng(inner + columns)
    blocks = -(-inner // block)
    numbers = rng.integers(0, 2**bits, (columns, blocks, block)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.02, (columns, blocks)).astype(dtype)
    points = rng.integers(0, 2**bits, (columns, blocks)).astype(np.uint8) if zeros else np.full((columns, blocks), 2 ** (bits - 1), np.uint8)
    x = rng.standard_normal((*rows, inner)).astype(dtype) if x is None else x
    b = rng.standard_normal(columns).astype(dtype)
    constants = {"w": pack(numbers, bits), "s": scales.reshape(-1)}
    if zeros:
        constants["z"] = (pack(points, bits) if zeros == "packed" else points.astype(dtype)).reshape(-1)
    if bias:
        constants["b"] = b
    node = helper.make_node("MatMulNBits", ["x", "w", "s", "z" if zeros else "", *(["", "b"] if bias else [])], ["y"], domain="com.microsoft", K=inner,
                            N=columns, bits=bits, block_size=block)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, x.shape)], [helper.make_tensor_value_info("y", kind, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    matrix = ((numbers.astype(np.float64) - points[..., None]) * scales.astype(np.float64)[..., None]).reshape(columns, -1)[:, :inner]
    return model, {"x": x}, (x.astype(np.float64) @ matrix.T + (b.astype(np.float64) if bias else 0)).astype(dtype)


@pytest.mark.parametrize("rows", [(2,), (3,), (7,)])
@pytest.mark.parametrize("columns", [64, 131])
@pytest.mark.parametrize("bits, zeros", [(4, "packed"), (4, "float"), (8, "packed")])
def test_columns_of_one_warp(cuda, rows, columns, bits, zeros):
    """Columns of a warp share the loads of x; the last warp may have fewer."""
    model, feeds, expected = product(rows, 160, columns, 32, bits, zeros, True, np.float32)
    _, outputs = cuda.run(model, feeds)
    compare(outputs["y"], expected, 1e-4, 1e-4)


@pytest.mark.parametrize("rows", [1, 3, 12, 20])
@pytest.mark.parametrize("kinds", ["alike", "another block", "a bias"])
def test_matrices_that_meet_one_x(both, rows, kinds):
    """MatMulNBits with one x are one claim, and for few rows, if all have the same attributes, one launch."""
    x = np.random.default_rng(rows).standard_normal((rows, 96)).astype(np.float32)
    parts = [product((rows,), 96, columns, 16 if kinds == "another block" and columns == 7 else 32, 4, "packed", kinds == "a bias" and columns != 40,
                     np.float32, x) for columns in (40, 7, 133)]
    graph = helper.make_graph([], "g", parts[0][0].graph.input, [])
    for number, (model, _, _) in enumerate(parts):
        for tensor in model.graph.initializer:
            graph.initializer.add().CopyFrom(tensor)
            graph.initializer[-1].name = f"{tensor.name}{number}"
        node = graph.node.add()
        node.CopyFrom(model.graph.node[0])
        node.input[:] = [f"{name}{number}" if name not in ("", "x") else name for name in node.input]
        node.output[:] = [f"y{number}"]
        graph.output.add().CopyFrom(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, None))
    model = helper.make_model(graph, opset_imports=parts[0][0].opset_import, ir_version=10)
    kernels, outputs = both.run(model, {"x": x}, runs=2)
    assert kernels == ["cuda.MatMulNBits+MatMulNBits+MatMulNBits"] * 3
    for number, (_, _, expected) in enumerate(parts):
        compare(outputs[f"y{number}"], expected, 1e-4, 1e-4)


@pytest.mark.parametrize("rows", [(1,), (2, 5), (20,)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("order", [0, 1])
def test_what_is_added(both, rows, bias, order):
    """A residual Add is fused, for few and for many rows."""
    model, feeds, expected = product(rows, 96, 40, 32, 4, "packed", bias, np.float32)
    added = np.random.default_rng(5).standard_normal((*rows, 40)).astype(np.float32)
    node = model.graph.node[0]
    node.output[0] = "m"
    model.graph.node.append(helper.make_node("Add", ["m", "d"] if order == 0 else ["d", "m"], ["y"]))
    model.graph.input.append(helper.make_tensor_value_info("d", TensorProto.FLOAT, added.shape))
    kernels, outputs = both.run(model, {**feeds, "d": added}, runs=3)
    assert kernels == ["cuda.MatMulNBits+Add"] * 2
    compare(outputs["y"], expected + added, 1e-4, 1e-4)


TOLERANCES = {np.float32: 1e-5, np.float16: 1e-2, ml_dtypes.bfloat16: 6e-2}


@pytest.fixture(params=["cuda", "cuda_blas"])
def both(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("rows", [(1,), (2, 5), (3, 6)])
@pytest.mark.parametrize("inner, columns, block", [(64, 12, 16), (96, 7, 32), (45, 5, 16), (300, 33, 128)])
@pytest.mark.parametrize("bits, zeros, bias", [(4, None, False), (4, "packed", True), (4, "float", False), (8, None, True), (8, "packed", False)])
def test_forms(both, rows, inner, columns, block, bits, zeros, bias):
    model, feeds, expected = product(rows, inner, columns, block, bits, zeros, bias, np.float32)
    kernels, outputs = both.run(model, feeds, runs=2)
    assert kernels == ["MatMulNBits"]
    compare(outputs["y"], expected, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("rows", [(1,), (20,)])
def test_types(both, dtype, rows):
    model, feeds, expected = product(rows, 128, 40, 32, 4, "packed", True, dtype)
    _, outputs = both.run(model, feeds, runs=2)
    compare(outputs["y"], expected, TOLERANCES[dtype], TOLERANCES[dtype])
