# SPDX-License-Identifier: Apache-2.0
"""Single operators of com.microsoft over their attributes and types, against ONNX Runtime run live."""

import pathlib
import re

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.support.microsoft_models import caches, grouped, model_of, random

import gantry
from oracle import run_exact_ort
from small_graph import small_graph

F32, F64, F16, I8, U8, I16, I32, I64 = np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64
T = {np.dtype(kind): helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for kind in (F32, F64, F16, I8, U8, I16, np.uint16, I32, I64, np.uint32, np.uint64, bool)}


def generator(seed=0):
    return np.random.default_rng(seed)


def bytes_of(dtype, *shape, seed=0):
    info = np.iinfo(dtype)
    return generator(seed).integers(info.min, int(info.max) + 1, shape).astype(dtype)


def compare(op_type, inputs, outputs, opset=21, rtol=1e-5, atol=1e-5, constants=(), of_largest=False, **attributes):
    """`outputs`: types by numpy's names, None: absent. Every output of both runtimes is the same; `of_largest`: but for that part of its largest number."""
    kinds = {f"out{i}" if kind is not None else f"?{i}": T[np.dtype(kind)] if kind is not None else None for i, kind in enumerate(outputs)}
    names = {name if kind is not None else "": kind for name, kind in kinds.items()}
    model, feeds = model_of(op_type, inputs, names, {name: None for name in constants}, opset=opset, **attributes)
    expected = run_exact_ort(model, feeds)
    found = gantry.Session(model, device="CPU").run(feeds)
    for name, wanted in zip((name for name in names if name), expected):
        assert found[name].dtype == wanted.dtype and found[name].shape == wanted.shape, name
        if wanted.dtype.kind in "fiu" and wanted.size:
            step = atol * np.abs(wanted).max() if of_largest else atol
            np.testing.assert_allclose(found[name].astype(F64), wanted.astype(F64), rtol=rtol, atol=step, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], wanted)
    return found


@pytest.mark.parametrize("dtype", [F32, F64, I64])
@pytest.mark.parametrize("upper, k", [(1, None), (0, None), (1, 1), (0, -2)])
def test_triangles(dtype, upper, k):
    compare("Trilu", {"x": (random(2, 4, 5) * 9).astype(dtype), "k": None if k is None else np.array(k, I64)}, [dtype], upper=upper)


@pytest.mark.parametrize("dtype", [F32, I8, bool])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_more_axis(dtype, axis):
    compare("ExpandDims", {"x": (random(2, 3) * 9).astype(dtype), "axis": np.array(axis, I32)}, [dtype], opset=13, constants=["axis"])


@pytest.mark.parametrize("pads", [np.array([0, 1, 2, 0], I64), np.array([[1, 0, 0, 2]], I64), np.array([0, -1, 1, 0], I64)])
@pytest.mark.parametrize("mode, value", [("constant", None), ("constant", np.array([2.5], F32)), ("edge", None), ("reflect", None)])
def test_pads(pads, mode, value):
    compare("Pad", {"x": random(4, 5), "pads": pads, "value": value}, [F32], opset=17, mode=mode)


@pytest.mark.parametrize("dtype", [F32, F64, I16, I32, I64])
@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("delta", [None, 2, -1])
def test_ranges(dtype, shape, delta):
    first, last = (8, 1) if delta == -1 else (1, 8)
    compare("Range", {"start": np.full(shape, first, dtype), "limit": np.full(shape, last, dtype), "delta": None if delta is None else np.full(shape, delta, dtype)}, [dtype])


def test_unique():
    compare("Unique", {"x": np.array([3, 1, 3, 2, 1, 1], F32)}, [F32, I64, I64])


@pytest.mark.parametrize("index", [I32, I64])
@pytest.mark.parametrize("dtype", [F32, U8])
def test_slices_by_positions(index, dtype):
    compare("GatherND", {"data": (random(3, 4, 5) * 9).astype(dtype), "indices": np.array([[0, 1], [2, 3], [1, 0]], index)}, [dtype])


@pytest.mark.parametrize("opset", [16, 21])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_samples_at_a_grid(opset, mode, padding, aligned):
    compare("GridSample", {"x": random(2, 3, 5, 6), "grid": random(2, 4, 3, 2)}, [F32], opset=opset, mode=mode, padding_mode=padding, align_corners=aligned, atol=1e-4)


@pytest.mark.parametrize("dtype", [F32, I64, F64])
@pytest.mark.parametrize("dim, size, step", [(-1, 3, 1), (0, 2, 2), (1, 4, 1), (1, 3, 2)])
def test_windows_of_an_axis(dtype, dim, size, step):
    compare("UnfoldTensor", {"x": (random(3, 4, 7) * 9).astype(dtype)}, [dtype], dim=dim, size=size, step=step)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_distances(dtype, metric):
    compare("CDist", {"a": random(5, 7).astype(dtype), "b": random(4, 7).astype(dtype)}, [dtype], metric=metric, atol=1e-4)


def test_products_of_shorts():
    compare("MatMulInteger16", {"a": bytes_of(I16, 2, 3, 4), "b": bytes_of(I16, 4, 5, seed=1)}, [I32], opset=17)


def test_echo():
    compare("SampleOp", {"x": random(3, 4)}, [F32])


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 2, 1]])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_transposed_convolution_with_pads_of_the_run(pads, strides):
    compare("ConvTransposeWithDynamicPads", {"x": random(1, 4, 5, 6), "w": random(4, 2, 3, 3), "pads": np.array(pads, I64), "b": random(2)},
            [F32], strides=strides, kernel_shape=[3, 3])


@pytest.mark.parametrize("a, b", [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 6, 3, 4), (2, 6, 4, 5))])
@pytest.mark.parametrize("turns", [(), ("transA",), ("transB",), ("transA", "transB"), ("transBatchA",), ("transBatchB",), ("transBatchA", "transBatchB", "transA"), ("transBatchB", "transB")])
def test_products_of_transposed_tensors(a, b, turns):
    if "transBatchA" in turns or "transBatchB" in turns:
        if len(a) == 2:
            pytest.skip("ONNX Runtime wants a batch there")

    def stored(shape, side):
        order = list(shape)
        if f"trans{side}" in turns:
            order[-1], order[-2] = order[-2], order[-1]
        if f"transBatch{side}" in turns:
            order = [order[-2], *order[:-2], order[-1]]
        return order

    inputs = {"a": random(*stored(a, "A")), "b": random(*stored(b, "B"), seed=1)}
    compare("FusedMatMul", inputs, [F32], alpha=0.5, **{name: 1 for name in turns})
    if not any("Batch" in name for name in turns):
        compare("TransposeMatMul", inputs, [F32], **{name: 1 for name in turns})


@pytest.mark.parametrize("dtype", [I8, U8])
def test_choice_of_bytes(dtype):
    scale, zero = (lambda x: np.array(x, F32)), (lambda x: np.array(x, dtype))
    compare("QLinearWhere", {"c": generator().integers(0, 2, (3, 1)).astype(bool), "x": bytes_of(dtype, 3, 4), "xs": scale(0.02), "xz": zero(3), "y": bytes_of(dtype, 1, 4, seed=1),
                             "ys": scale(0.03), "yz": zero(5), "zs": scale(0.025), "zz": zero(2)}, [dtype], atol=1, constants=["xs", "xz", "ys", "yz", "zs", "zz"])


@pytest.mark.parametrize("x, w", [(U8, U8), (U8, I8), (I8, I8)])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("attributes", [{}, {"pads": [1, 1, 1, 1], "strides": [2, 2]}, {"group": 2}, {"auto_pad": "SAME_UPPER"}])
def test_convolution_of_bytes(x, w, last, bias, attributes):
    channels = 4 // attributes.get("group", 1)
    image = bytes_of(x, 1, 4, 6, 7)
    # Of 7 bits, whose products ONNX Runtime sums exactly on CPUs without VNNI too; its entry for exact sums does not reach this operator.
    weights = bytes_of(w, 6, channels, 3, 3, seed=1) // 2
    compare("QLinearConv", {"x": np.moveaxis(image, 1, -1).copy() if last else image, "xs": np.float32(0.02), "xz": np.array(4, x), "w": weights,
                            "ws": np.float32(0.01), "wz": np.array(0, w), "ys": np.float32(0.2), "yz": np.array(7, x), "b": np.arange(6, dtype=I32) * 100 if bias else None},
            [x], channels_last=last, atol=1, constants=["xs", "xz", "w", "ws", "wz", "ys", "yz"], **attributes)


@pytest.mark.parametrize("dtype", [I8, U8])
@pytest.mark.parametrize("attributes", [{}, {"pads": [1, 1, 1, 1], "strides": [2, 2]}, {"ceil_mode": 1, "strides": [2, 3]}, {"dilations": [2, 1]}])
def test_pools_of_bytes_with_channels_last(dtype, attributes):
    compare("NhwcMaxPool", {"x": bytes_of(dtype, 2, 7, 8, 5)}, [dtype], kernel_shape=[3, 2], **attributes)


@pytest.mark.parametrize("dtype", [I8, U8])
@pytest.mark.parametrize("op_type, attributes", [("QLinearAveragePool", {"kernel_shape": [3, 2], "strides": [2, 2]}), ("QLinearAveragePool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1}),
                                                 ("QLinearGlobalAveragePool", {})])
def test_means_of_bytes_with_channels_last(dtype, op_type, attributes):
    compare(op_type, {"x": bytes_of(dtype, 2, 7, 8, 5), "xs": np.float32(0.02), "xz": np.array(4, dtype), "ys": np.float32(0.01), "yz": np.array(7, dtype)}, [dtype], channels_last=1,
            atol=1, constants=["xs", "xz", "ys", "yz"], **attributes)


@pytest.mark.parametrize("dtype", [U8, I8])
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_embeddings_of_bytes(dtype, segments, mask):
    step, zero = np.float32(0.02), np.array(3, dtype)
    table = lambda rows, seed: bytes_of(dtype, rows, 8, seed=seed)
    kept = lambda value: value if segments else None
    compare("QEmbedLayerNormalization", {
        "ids": generator().integers(0, 9, (2, 4)).astype(I32), "sids": kept(generator(1).integers(0, 2, (2, 4)).astype(I32)), "w": table(9, 0), "p": table(6, 1), "s": kept(table(2, 2)),
        "g": bytes_of(dtype, 8, seed=3), "b": bytes_of(dtype, 8, seed=4), "mask": np.array([[1, 1, 1, 0], [1, 0, 0, 0]], I32) if mask else None, "ws": step, "ps": step, "ss": kept(step), "gs": step, "bs": step,
        "wz": zero, "pz": zero, "sz": kept(zero), "gz": zero, "bz": zero}, [F32, I32],
        constants=["w", "p", "g", "b", "ws", "ps", "gs", "bs", "wz", "pz", "gz", "bz"] + (["s", "ss", "sz"] if segments else []), epsilon=1e-6, atol=1e-4)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("activation", ["silu", "swish", "sigmoid"])
@pytest.mark.parametrize("groups", [1, 3])
def test_gated_norms(dtype, activation, groups):
    compare("GatedRMSNorm", {"x": random(2, 4, 8 * groups, dtype=dtype), "scale": random(8, dtype=dtype), "gate": random(2, 4, 8 * groups, dtype=dtype, seed=1)}, [dtype],
            activation=activation, epsilon=1e-4, atol=2e-3 if dtype == F16 else 1e-5)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_small_gates(dtype):
    atol = 2e-3 if dtype == F16 else 1e-5
    compare("GatedAdd", {"x": random(2, 3, 8, dtype=dtype), "y": random(2, 3, 8, dtype=dtype, seed=1), "gate": random(2, 3, 1, dtype=dtype)}, [dtype], atol=atol)
    compare("ScaledSiLU", {"x": random(2, 3, 8, dtype=dtype)}, [dtype], alpha=0.7, atol=atol)
    compare("ScaledSiLU", {"x": random(2, 3, 8, dtype=dtype), "scale": np.array(1.3, F32)}, [dtype], alpha=0.7, atol=atol)
    compare("LinearAttentionGate", {"a": random(2, 3, 4, dtype=dtype), "bias": random(4), "decay": -random(4) ** 2, "b": random(2, 3, 4, dtype=dtype, seed=1)}, [dtype, dtype], atol=atol)
    compare("LinearAttentionGate", {"a": random(2, 3, 4, dtype=dtype), "bias": random(4), "decay": -random(4) ** 2}, [dtype], atol=atol)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("x, branches", [((2, 5, 3, 8), 0), ((2, 5, 24), 3)])
@pytest.mark.parametrize("scale", [None, (24,), (3, 8), (8,)])
def test_norms_of_branches(dtype, x, branches, scale):
    compare("BranchwiseRMSNorm", {"x": random(*x, dtype=dtype), "scale": None if scale is None else random(*scale)}, [dtype], num_branches=branches, atol=4e-3 if dtype == F16 else 1e-5)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("x, branches, mix", [((2, 5, 3, 8), 0, (2, 5, 3)), ((2, 5, 3, 8), 0, (2, 5, 3, 1)), ((2, 5, 3, 8), 0, (2, 5, 3, 8)), ((2, 5, 24), 3, (2, 5, 3)), ((2, 5, 24), 3, (2, 5, 24))])
def test_hyper_connections(dtype, x, branches, mix):
    atol = 4e-3 if dtype == F16 else 1e-5
    compare("HyperConnectionPreMix", {"x": random(*x, dtype=dtype), "mix": random(*mix)}, [dtype], num_branches=branches, reduction_scale=0.5, atol=atol)
    if mix[-1] == 24:
        return
    for stream_mix in (None, random(2, 5, 3, 3)):
        compare("HyperConnectionPostMix", {"x": random(*x, dtype=dtype), "block": random(2, 5, 8, dtype=dtype), "mix": random(*mix), "streams": stream_mix}, [dtype], num_branches=branches, atol=atol)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("normed", [False, True])
def test_engram_gates(dtype, normed):
    inputs = {"k": random(2, 3, 4, 8, dtype=dtype), "q": random(2, 3, 4, 8, dtype=dtype, seed=1), "v": random(2, 3, 8, dtype=dtype), "ks": random(4, 8, dtype=dtype), "qs": random(4, 8, dtype=dtype, seed=1)}
    if normed:
        inputs["cs"] = random(4, 8, dtype=dtype, seed=2)
    compare("EngramGate", inputs, [dtype, dtype] if normed else [dtype], atol=4e-3 if dtype == F16 else 1e-5)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("index", [I32, I64])
def test_rows_of_few_bits(bits, zeros, dtype, index):
    rows, width, block = 6, 48, 16
    data = bytes_of(U8, rows, width * bits // 8)
    points = bytes_of(U8, rows, -(-3 * bits // 8), seed=1) if zeros else None
    compare("GatherBlockQuantized", {"data": data, "indices": np.array([[0, -1, 5], [2, 2, -6]], index), "scales": np.abs(random(rows, 3, dtype=dtype)), "zeros": points}, [dtype],
            constants=["data", "scales"] + (["zeros"] if zeros else []), bits=bits, block_size=block, quantize_axis=1, gather_axis=0, atol=1e-3)


@pytest.mark.parametrize("kind", [ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("gather, block_axis", [(0, 1), (1, 0), (0, 2), (-1, 1), (1, 1)])
def test_elements_of_4_bits_along_any_axes(kind, zeros, gather, block_axis):
    low = -8 if kind == ml_dtypes.int4 else 0
    shape = [5, 34, 18]
    blocks = list(shape)
    blocks[block_axis] = -(-shape[block_axis] // 16)
    data, points = (generator(seed).integers(low, low + 16, extents).astype(kind) for seed, extents in enumerate((shape, blocks)))
    compare("GatherBlockQuantized", {"data": data, "indices": np.array([[0, 2], [-1, 4]], I64), "scales": random(*blocks), "zeros": points if zeros else None}, [F32],
            constants=["data", "scales"] + (["zeros"] if zeros else []), block_size=16, quantize_axis=block_axis, gather_axis=gather)


@pytest.mark.parametrize("kind", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz])
@pytest.mark.parametrize("block, scales", [(16, (4, 2)), (16, (1, 2)), (0, (4, 1)), (0, (1, 1))])
def test_rows_of_8_bit_floats(kind, block, scales):
    compare("GatherBlockQuantized", {"data": random(4, 32).astype(kind), "indices": np.array([3, 0, -2], I64), "scales": random(*scales)}, [F32], constants=["data", "scales"],
            block_size=block, quantize_axis=1, gather_axis=0)


@pytest.mark.parametrize("opset", [13, 19, 21])
@pytest.mark.parametrize("index", [np.array(2, I64), np.array([2, 0], I64)])
def test_rows_of_4_bits_in_any_opset(opset, index):
    data = generator().integers(-8, 8, (6, 16)).astype(ml_dtypes.int4)
    compare("GatherBlockQuantized", {"data": data, "indices": index, "scales": np.abs(random(6, 1))}, [F32], opset=opset, constants=["data", "scales"], gather_axis=0,
            quantize_axis=1, block_size=16)


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("kind", [I16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("by_axis", [False, True])
def test_what_quantizers_write_for_4_and_16_bits(opset, kind, by_axis):
    """Into models of opsets whose own operators have no such types."""
    info = ml_dtypes.iinfo(kind) if kind in (ml_dtypes.int4, ml_dtypes.uint4) else np.iinfo(kind)
    scale = np.array([0.1, 0.3], F32) if by_axis else F32(0.1)
    zero = np.full(np.shape(scale), 1, kind)
    data = generator().integers(info.min, int(info.max) + 1, (2, 6)).astype(kind)
    attributes = {"axis": 0} if by_axis else {}
    compare("DequantizeLinear", {"x": data, "scale": scale, "zero": zero}, [F32], opset=opset, constants=["x", "scale", "zero"], **attributes)
    if kind in (I16, np.uint16):
        compare("QuantizeLinear", {"x": random(2, 6) * 9000, "scale": scale, "zero": zero}, [kind], opset=opset, constants=["scale", "zero"], **attributes)


@pytest.mark.parametrize("opset", [13, 19, 21])
def test_scales_in_16_bit_floats(opset):
    compare("DequantizeLinear", {"x": bytes_of(I8, 2, 6), "scale": F16(0.1), "zero": I8(3)}, [F16], opset=opset, constants=["scale", "zero"])


@pytest.mark.parametrize("dtype", [I8, U8])
@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
def test_results_without_a_zero_point_are_of_the_operands_type(op_type, dtype):
    operands = {"a": bytes_of(dtype, 3, 4), "a_scale": F32(0.1), "a_zero": dtype(3), "b": bytes_of(dtype, 3, 4, seed=1), "b_scale": F32(0.05), "b_zero": dtype(5), "c_scale": F32(0.2)}
    compare(op_type, operands, [dtype], constants=[name for name in operands if name not in "ab"])


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("has_past", [False, True])
def test_causal_convolution_begins_with_zeros(dtype, has_past):
    compare("CausalConvWithState", {"x": random(1, 4, 5, dtype=dtype), "w": random(4, 1, 3, dtype=dtype), "bias": None, "past": random(1, 4, 2, dtype=dtype) if has_past else None},
            [dtype, dtype], constants=["w"], rtol=1e-2, atol=1e-2)


def test_rows_out_of_range_are_zeros():
    found = compare("GatherBlockQuantized", {"data": bytes_of(U8, 4, 16), "indices": np.array([3, 4, -5, 10**12], I64), "scales": random(4, 1)}, [F32], constants=["data", "scales"],
                    bits=8, block_size=16)
    assert not found["out0"][1:].any()


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("rows, inner, block", [(5, 32, 16), (3, 21, 16), (8, 64, 64)])
@pytest.mark.parametrize("left", [(3,), (2, 4)])
def test_products_with_blocks_of_4_bit_floats(kind, rows, inner, block, left):
    count = rows * inner
    compare("MatMulBnb4", {"a": random(*left, inner), "b": bytes_of(U8, (count + 1) // 2), "s": np.abs(random(-(-count // block)))}, [F32], constants=["b", "s"], N=rows, K=inner,
            block_size=block, quant_type=kind, atol=1e-4)


CACHES = [F32, F32, F32]


@pytest.mark.parametrize("opset", [17, 23])
@pytest.mark.parametrize("attributes", [{}, {"softcap": 2.0}, {"local_window_size": 3, "qk_output": 2}, {"qk_output": 1, "softcap": 0.5}])
@pytest.mark.parametrize("sink", ["none", "smooth", "by_head"])
@pytest.mark.parametrize("case", ["prompt", "next", "packed", "several"])
def test_grouped_attention_with_sinks_and_scores(opset, attributes, sink, case):
    inputs = {"prompt": lambda: grouped(0, 6, [6, 6], rotary=False), "next": lambda: grouped(7, 1, [8, 5], rotary=False), "packed": lambda: grouped(7, 1, [8, 8], packed=True, rotary=False),
              "several": lambda: grouped(7, 3, [10], rotary=False)}[case]()
    inputs["head_sink"] = random(4) if sink == "by_head" else None
    more = {"smooth_softmax": 1} if sink == "smooth" else {}
    scores = [F32] if "qk_output" in attributes else []
    if case == "next":  # what stands behind the last key of a row may be anything
        inputs["seqlens_k"][:] = 7
    compare("GroupQueryAttention", inputs, CACHES + scores, opset=opset, num_heads=4, kv_num_heads=2, atol=1e-4, **attributes, **more)


@pytest.mark.parametrize("attributes", [{}, {"unidirectional": 1}])
@pytest.mark.parametrize("mask", [None, np.array([[1] * 5, [1, 1, 1, 0, 0]], I32)])
def test_scores_of_multi_head_attention(attributes, mask):
    inputs = {"q": random(2, 5, 32), "k": random(2, 5, 32, seed=1), "v": random(2, 5, 32, seed=2), "bias": None, "mask": mask}
    compare("MultiHeadAttention", inputs, CACHES + [F32], num_heads=4, **attributes)


@pytest.mark.parametrize("mask", [np.array([5, 2], I32), np.array([5, 2, 0, 1], I32)])
@pytest.mark.parametrize("open_mask", [False, True])
def test_masks_of_one_axis(mask, open_mask):
    model, feeds = model_of("Attention", {"x": random(2, 5, 32), "w": random(32, 96), "b": random(96), "m": mask}, {"y": TensorProto.FLOAT}, {"w": 0, "b": 0}, num_heads=4)
    if open_mask:  # another name than the batch has
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "M"
    expected = run_exact_ort(model, feeds)[0]
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("w", [U8, I8])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("case", ["plain", "mask", "lengths", "past", "causal"])
def test_attention_of_bytes(w, by_column, case):
    extent = (96,) if by_column else ()
    inputs = {"x": bytes_of(U8, 2, 5, 32), "w": bytes_of(w, 32, 96), "b": random(96), "xs": np.float32(0.01), "ws": np.full(extent, 0.01, F32),
              "m": {"mask": np.array([[1] * 5, [1, 1, 1, 0, 0]], I32), "lengths": np.array([5, 2], I32)}.get(case), "xz": np.array(128, U8), "wz": np.full(extent, 3, w),
              "past": random(2, 2, 4, 3, 8) if case == "past" else None}
    compare("QAttention", inputs, [F32, F32] if case == "past" else [F32], constants=["w", "b", "xs", "ws", "xz", "wz"], num_heads=4, unidirectional=int(case == "causal"), atol=1e-4)


@pytest.mark.parametrize("attributes", [{"scale": 0.5}, {"is_packed_batching": 1}])
def test_rotations_whose_attributes_nobody_reads(attributes):
    cos, sin = caches(8)
    compare("RotaryEmbedding", {"x": random(2, 3, 16), "p": np.array([[0, 1, 2], [3, 4, 5]], I64), "c": cos, "s": sin}, [F32], **attributes)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [None, "packed", "float"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("order", [False, True])
def test_products_with_blocks_of_2_bits_and_orders(bits, zeros, bias, order):
    """Of orders ONNX Runtime takes 4 bits alone and, with packed zero points, reads those of the first 8 rows of a block for all."""
    rows, inner, block = 6, 64, 16
    data = bytes_of(U8, rows, inner // block, block * bits // 8)
    points = generator(1).integers(0, 2**bits, (rows, 4)).astype(U8)
    packed = sum((points[:, i::8 // bits].astype(I32) << (bits * i) for i in range(8 // bits)), np.zeros((), I32)).astype(U8)
    scales, groups, a, more = np.abs(random(rows, 4)) * 0.1, generator(3).integers(0, 4, inner).astype(I32), random(3, inner), random(rows)
    inputs = {"a": a, "b": data, "s": scales.reshape(-1), "z": {None: None, "packed": packed.reshape(-1), "float": points.astype(F32).reshape(-1)}[zeros],
              "g": groups if order else None, "bias": more if bias else None}
    constants = {name: None for name in ("b", "s", "z", "g", "bias") if inputs[name] is not None}
    attributes = {"K": inner, "N": rows, "bits": bits, "block_size": block}
    model, feeds = model_of("MatMulNBits", inputs, {"y": TensorProto.FLOAT}, constants, opset=21, **attributes)
    by_row = groups if order else np.arange(inner) // block
    codes = np.stack([data >> (bits * i) & (2**bits - 1) for i in range(8 // bits)], -1).reshape(rows, inner).astype(F32)
    centers = points.astype(F32) if zeros else np.full((rows, 4), 2 ** (bits - 1), F32)
    expected = a @ ((codes - centers[:, by_row]) * scales[:, by_row]).T + (more if bias else 0)
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], expected, rtol=1e-3, atol=1e-3)
    if (bits == 4 and zeros != "packed") if order else (bits, zeros) != (8, "float"):
        compare("MatMulNBits", inputs, [F32], constants=constants, rtol=1e-3, atol=2e-2, **attributes)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity", "swiglu"])
@pytest.mark.parametrize("normal", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("axes", [2, 3])
def test_experts(activation, normal, bias, axes):
    swiglu = {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0} if activation == "swiglu" else {}
    features = 32 * (2 if swiglu else 1)
    inputs = {"x": random(*([2, 3, 16] if axes == 3 else [6, 16])), "r": random(6, 4) * 2, "w1": random(4, features, 16), "b1": random(4, features) if bias else None, "w2": random(4, 16, 32), "b2": random(4, 16) if bias else None}
    compare("MoE", inputs, [F32], constants=[name for name in ("w1", "b1", "w2", "b2") if inputs[name] is not None], k=2, activation_type=activation, normalize_routing_weights=normal, atol=1e-4, **swiglu)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("activation", ["silu", "swiglu"])
@pytest.mark.parametrize("routes", [False, True])
def test_experts_of_few_bits(bits, block, zeros, activation, routes):
    swiglu = {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0} if activation == "swiglu" else {}
    features = 32 * (2 if swiglu else 1)
    blocks = {"block_size": block} if block else {}

    def scales(rows, inner, seed):
        return np.abs(random(4, rows, *([inner // block] if block else []), seed=seed)) * 0.05

    def points(rows, inner, seed):
        last = [rows, -(-(inner // block) * bits // 8)] if block else [-(-rows * bits // 8)]
        return bytes_of(U8, 4, *last, seed=seed) if zeros else None

    inputs = {"x": random(6, 32), "r": random(6, 4) * 2, "w1": bytes_of(U8, 4, features, 32 * bits // 8), "s1": scales(features, 32, 1), "b1": None, "w2": bytes_of(U8, 4, 32, 32 * bits // 8, seed=2),
              "s2": scales(32, 32, 2), "b2": random(4, 32), "w3": None, "s3": None, "b3": None, "z1": points(features, 32, 3), "z2": points(32, 32, 4), "z3": None, "rw": np.abs(random(6, 4, seed=9)) if routes else None}
    constants = [name for name in ("w1", "s1", "w2", "s2", "b2", "z1", "z2") if inputs[name] is not None]
    # Where ONNX Runtime rounds the tokens to bytes, it is a hundredth of the largest number that counts.
    step = 1e-2 if bits == 8 and block else 1e-4
    compare("QMoE", inputs, [F32], constants=constants, k=2, activation_type=activation, expert_weight_bits=bits, atol=step, rtol=step, of_largest=True, **blocks, **swiglu)


def conv_inputs(length, dilation, taps, last=0, bias=True, past=True, channels=6):
    before = (taps - 1) * dilation
    return {"x": random(*([2, length, channels] if last else [2, channels, length])), "w": random(channels, 1, taps), "b": random(channels) if bias else None,
            "past": random(*([2, before, channels] if last else [2, channels, before])) if past else None}


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize("bias, past", [(False, False), (True, True), (False, True)])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("dilation, taps", [(1, 4), (2, 3), (1, 1)])
@pytest.mark.parametrize("length", [1, 6])
def test_causal_convolutions(activation, bias, past, last, dilation, taps, length):
    compare("CausalConvWithState", conv_inputs(length, dilation, taps, last, bias, past), [F32, F32], constants=["w"], activation=activation, channels_last=last, dilation=dilation, ndim=1)


def linear_inputs(rule, heads, past, length, wide):
    q_heads, kv_heads = heads
    decay = -np.abs(random(2, length, kv_heads * (8 if wide else 1)))
    beta = np.abs(random(2, length, kv_heads if wide else 1))
    return {"q": random(2, length, q_heads * 8), "k": random(2, length, kv_heads * 8, seed=1) * 0.3, "v": random(2, length, kv_heads * 4, seed=2), "past": random(2, kv_heads, 8, 4) if past else None,
            "g": decay if "gated" in rule else None, "b": beta if "delta" in rule else None}


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("heads", [(2, 2), (4, 2), (2, 4)])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("wide", [False, True])
def test_linear_attention(rule, heads, past, length, wide):
    compare("LinearAttention", linear_inputs(rule, heads, past, length, wide), [F32, F32], update_rule=rule, q_num_heads=heads[0], kv_num_heads=heads[1], scale=0.0 if wide else 0.7, atol=1e-4)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("heads", [(2, 4), (1, 3)])
def test_linear_attention_of_keys_that_heads_share(rule, heads):
    """Keys of as many heads as the queries, fewer than the values have, as the builder of text models writes it for Qwen 3.5."""
    inputs = linear_inputs(rule, heads, True, 5, False)
    compare("LinearAttention", inputs | {"k": inputs["k"][..., :heads[0] * 8]}, [F32, F32], update_rule=rule, q_num_heads=heads[0], kv_num_heads=heads[1], atol=1e-4)


@pytest.mark.parametrize("window", [1, 3, 8])
def test_windows_of_states_are_the_states_of_prefixes(window):
    """Which ONNX Runtime's CPU lacks: slot j has the state after all but the last window - 1 - j positions, and zeros where there is none."""
    length = 5
    cases = {"CausalConvWithState": (conv_inputs(length, 2, 3), {"dilation": 2, "ndim": 1}, ["w"], {"x": 2}),
             "LinearAttention": (linear_inputs("gated_delta", (2, 2), True, length, True), {"q_num_heads": 2, "kv_num_heads": 2}, [], {"q": 1, "k": 1, "v": 1, "g": 1, "b": 1})}
    for op_type, (inputs, attributes, constants, axes) in cases.items():
        def states(given, **more):
            model, feeds = model_of(op_type, given, {"y": TensorProto.FLOAT, "s": TensorProto.FLOAT}, {name: None for name in constants}, opset=21, **attributes, **more)
            return gantry.Session(model, device="CPU").run(feeds)["s"]
        found = states({name: np.stack([value] * window) if name == "past" else value for name, value in inputs.items()}, state_window=window)
        assert found.shape[0] == window
        for slot in range(window):
            count = length - (window - 1 - slot)
            if count < 1:
                assert not found[slot].any()
                continue
            prefix = {name: np.take(value, range(count), axes[name]) if name in axes else value for name, value in inputs.items()}
            np.testing.assert_allclose(found[slot], states(prefix), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [I32, np.uint32, I64, np.uint64, F32, F64])
@pytest.mark.parametrize("positive, seed", [(1, 0), (0, 0), (1, 42)])
def test_hashes(dtype, positive, seed):
    compare("MurmurHash3", {"x": (np.abs(random(3, 4)) * 1e6).astype(dtype)}, [np.uint32 if positive else I32], positive=positive, seed=seed)


def test_hashes_of_texts():
    """Known values of the function, of every length of the tail."""
    texts = np.array(["", "a", "bc", "def", "ghij", "klmno", "a longer text of words", "é€😀"])
    node = helper.make_node("MurmurHash3", ["x"], ["y"], domain="com.microsoft", positive=1)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, texts.shape)], [helper.make_tensor_value_info("y", TensorProto.UINT32, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    feeds = {"x": texts.astype(object)}
    expected = run_exact_ort(model, feeds)[0]
    np.testing.assert_array_equal(gantry.Session(model, device="CPU").run(feeds)["y"], expected)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_n_grams_that_would_repeat(size):
    ids = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [0, 1, 2, 3, 4]], I64)
    compare("NGramRepeatBlock", {"ids": ids, "scores": random(3, 6)}, [F32], ngram_size=size)


@pytest.mark.parametrize("predicted", [None, [3, 9, 5, 6, 7], [3, 4, 5, 6, 7]])
@pytest.mark.parametrize("current", [[1], [8, 2, 3], [3, 4]])
def test_bifurcations(predicted, current):
    source = np.array([1, 2, 3, 4, 5, 3], I64)
    inputs = {"s": source, "c": np.array(current, I64), "p": np.array([2], I64), "t": None if predicted is None else np.array(predicted, I64)}
    compare("BifurcationDetector", inputs, [I64, I64], min_ngram_size=1, max_ngram_size=3)


@pytest.mark.parametrize("shape", [(4, 7), (1, 5, 3), (1, 1), (6, 1)])
def test_paths_through_costs(shape):
    compare("DynamicTimeWarping", {"x": np.abs(random(*shape))}, [I32])


@pytest.mark.parametrize("dtype", [F32, F64, F16])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 3, 1, 1), (1, 8, 8)])
def test_inverses(dtype, shape):
    x = random(*shape) + 2 * np.eye(shape[-1], dtype=F32)
    compare("Inverse", {"x": x.astype(dtype)}, [dtype], rtol=1e-2 if dtype == F16 else 1e-4, atol=1e-2 if dtype == F16 else 1e-4)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 1), (7, 2)])
def test_crops(mode, size):
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [-0.5, 0.3, 1.2, 0.6], [0.9, 0.9, 0.1, 0.1]], F32)
    compare("CropAndResize", {"x": random(2, 3, 6, 5), "boxes": boxes, "images": np.array([0, 1, 1, 0], I32), "size": np.array(size, I32)}, [F32], mode=mode, extrapolation_value=-3.0)


BAD = {
    "Trilu": ({"x": random(3), "k": None}, {}),
    "ExpandDims": ({"x": random(3, 4), "axis": np.array(9, I32)}, {}),
    "Pad": ({"x": random(3, 4), "pads": np.array([1, 2, 3], I64)}, {}),
    "Range": ({"start": random(2), "limit": random(2)}, {}),
    "GatherND": ({"data": random(3, 4), "indices": np.array([[3]], I64)}, {}),
    "UnfoldTensor": ({"x": random(3)}, {"size": 7}),
    "CDist": ({"a": random(3, 4), "b": random(3, 5)}, {}),
    "GatherBlockQuantized": ({"data": bytes_of(U8, 4, 8), "indices": np.array([0], I64), "scales": random(2, 1)}, {"bits": 8, "block_size": 16}),
    "MatMulBnb4": ({"a": random(2, 8), "b": bytes_of(U8, 3), "s": random(1)}, {"N": 4, "K": 8, "block_size": 16, "quant_type": 0}),
    "HyperConnectionPreMix": ({"x": random(2, 9), "mix": random(2, 2)}, {"num_branches": 2}),
    "NGramRepeatBlock": ({"ids": np.array([[7, 1, 7]], I64), "scores": random(1, 1)}, {"ngram_size": 2}),
    "BifurcationDetector": ({"s": np.arange(4), "c": np.arange(2), "p": np.array([9]), "t": np.arange(3)}, {}),
    "DynamicTimeWarping": ({"x": random(2, 3, 4)}, {}),
    "Inverse": ({"x": random(3, 4)}, {}),
    "CropAndResize": ({"x": random(1, 2, 3, 4), "boxes": random(1, 4), "images": np.array([5], I32), "size": np.array([2, 2], I32)}, {}),
    "GatedRMSNorm": ({"x": random(2, 9), "scale": random(4), "gate": random(2, 9)}, {}),
}


@pytest.mark.parametrize("op_type", BAD)
def test_inputs_that_do_not_fit_are_errors(op_type):
    inputs, attributes = BAD[op_type]
    model, feeds = model_of(op_type, inputs, {"y": TensorProto.FLOAT}, opset=21, **attributes)
    with pytest.raises(gantry.Error):
        gantry.Session(model, device="CPU").run(feeds)


def test_every_operator_that_onnx_runtime_has_is_in_the_table():
    from onnxruntime.capi import onnxruntime_pybind11_state as state
    domain = "com.microsoft"
    known = {(kernel.domain + "." + kernel.op_name).removeprefix(domain + ".") for kernel in state.get_all_opkernel_def() if kernel.domain.startswith(domain) and kernel.provider == "CPUExecutionProvider"}
    known = {name if not name.startswith("nchwc") else f"{domain}.{name}" for name in known}
    page = (pathlib.Path(__file__).parents[2] / "docs/operators-com-microsoft.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")][1:]
    assert {row[0] for row in rows} == known
    running = [row for row in rows if row[1] != "refused"]
    assert f"gantry runs {len(running)}." in page
    for name, how, reason in rows:
        if how == "refused":
            with pytest.raises(gantry.UnsupportedError) as refusal:
                gantry.Session(small_graph(f"y = com.microsoft.{name} (x)", {"x": np.float32([1])})[0], device="CPU")
            assert f"{name} is not supported: {reason}" in str(refusal.value)


@pytest.mark.parametrize("line, told", [
    ('y = com.microsoft.CDist<metric="cosine">(x, x)', 'metric: expected sqeuclidean or euclidean, found "cosine"'),
    ("y = com.microsoft.MatMulNBits<N=2, K=2, bits=3, block_size=16>(x, b, x)", "bits: expected 2, 4 or 8, found 3"),
    ('y = com.microsoft.FusedGemm<activation="Cube">(x, x)', 'activation "Cube" is unknown'),
    ("y = com.microsoft.MultiHeadAttention<num_heads=1>(x)", "expected a query of known rank 3 with key and value, or of rank 5"),
    ("y, mean = com.microsoft.SkipLayerNormalization(x, x, x)", "the mean and the deviation as outputs are not supported"),
])
def test_a_refused_body_says_why(line, told):
    model, _ = small_graph(line, {"x": np.eye(2, dtype=np.float32)}, {"b": np.zeros((2, 1, 8), np.uint8)})
    with pytest.raises(gantry.UnsupportedError, match=re.escape("; no function body: " + told)):
        gantry.Session(model, device="CPU")


CHAINS = {  # a link from {x} to {y}, of which the body asks how many axes there are
    "NhwcMaxPool": "{y} = com.microsoft.NhwcMaxPool<kernel_shape=[1, 1]>({x})",
    "FusedMatMul": "t{y} = com.microsoft.FusedMatMul<transA=1>(w, {x})\n {y} = Mul(t{y}, one)",
    "UnfoldTensor": "t{y} = com.microsoft.UnfoldTensor<dim=1, size=1, step=1>({x})\n {y} = ReduceSum<keepdims=0>(t{y}, last)",
}


@pytest.mark.parametrize("op_type", CHAINS)
def test_long_chains(op_type):
    """Of the last one nothing is known before all bodies behind it stand there; nor do functions call each other."""
    links = 45
    dtype = np.uint8 if op_type == "NhwcMaxPool" else np.float32
    x = np.arange(48).reshape(2, 2, 4, 3).astype(dtype) if op_type == "NhwcMaxPool" else random(3, 3)
    text = "\n ".join(CHAINS[op_type].format(x="x" if i == 0 else f"y{i - 1}", y=f"y{i}") for i in range(links))
    constants = {"FusedMatMul": {"w": np.eye(3, dtype=np.float32), "one": np.float32(1)}, "UnfoldTensor": {"last": np.array([-1])}}.get(op_type, {})
    model, feeds = small_graph(text, {"x": (x, [f"n{i}" for i in range(x.ndim)])}, constants, opset=17)
    (found,) = gantry.Session(model, device="CPU").run(feeds).values()
    np.testing.assert_allclose(found, x, rtol=1e-6)
