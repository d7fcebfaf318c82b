# SPDX-License-Identifier: Apache-2.0
"""com.microsoft's operators of transformers on the CPU, against ONNX Runtime run live: attention in its forms, caches, rotations, norms with a sum."""

import numpy as np
import onnxruntime
import pytest
from microsoft_models import (CACHED, F16, F32, FLOAT, GROUPED, I32, I64, JOINT, MULTI_HEAD, B, N, S, W, caches, grouped, model_of, random, seen)
from onnx import TensorProto, helper

import gantry
import gantry.onnxruntime


def check(model, feeds, rtol=1e-4, atol=1e-5, only=None):
    """Equal to ONNX Runtime; `only`: by output, which part of it is said to be anything at all."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds)))
    found = gantry.Session(model, device="CPU").run(feeds)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape, (name, found[name].shape, value.shape)
        part = (only or {}).get(name, lambda whole: whole)
        np.testing.assert_allclose(part(found[name]).astype(F32), part(value).astype(F32), rtol=rtol, atol=atol, err_msg=name)
    return found


# Opset 17 says it in parts, 23 by its own operator.
OPSETS = pytest.mark.parametrize("opset", [14, 17, 23])


@OPSETS
@pytest.mark.parametrize("case", MULTI_HEAD)
@pytest.mark.parametrize("attributes", [{}, {"unidirectional": 1}, {"scale": 0.2, "mask_filter_value": -50.0}])
def test_multi_head(case, attributes, opset):
    more = MULTI_HEAD[case]
    inputs = {"query": random(B, S, N * W), "key": random(B, S, N * W, seed=1), "value": random(B, S, N * W, seed=2)}
    for name in ("bias", "key_padding_mask", "attention_bias", "past_key", "past_value"):
        inputs[name] = more.get(name)
    outputs = {"y": TensorProto.FLOAT} | ({"pk": TensorProto.FLOAT, "pv": TensorProto.FLOAT} if "past" in case else {})
    check(*model_of("MultiHeadAttention", inputs, outputs, opset=opset, num_heads=N, **attributes))


@OPSETS
def test_multi_head_over_another_sequence(opset):
    inputs = {"query": random(B, S, N * W), "key": random(B, N, 7, W), "value": random(B, N, 7, W, seed=2)}
    check(*model_of("MultiHeadAttention", inputs, {"y": TensorProto.FLOAT}, opset=opset, num_heads=N))
    inputs["bias"] = random(3 * N * W)  # that of keys and values is in them
    check(*model_of("MultiHeadAttention", inputs, {"y": TensorProto.FLOAT}, opset=opset, num_heads=N))
    inputs = {"query": random(B, S, N * W), "key": random(B, 7, N * W), "value": random(B, 7, N * 3, seed=2), "bias": random(2 * N * W + 3 * N)}
    check(*model_of("MultiHeadAttention", inputs, {"y": TensorProto.FLOAT}, opset=opset, num_heads=N))


MASKED = {
    "plain": {},
    "bias": {"bias": random(3 * N * W, seed=8)},
    "mask": {"mask_index": np.array([[1, 0, 1, 1, 1], [1, 1, 1, 1, 0], [1] * 5, [0, 1, 1, 0, 1]], I32)},
    "attention_bias": {"attention_bias": random(1, N, 1, 5, seed=9)},
    "scale": {"scale": 0.3},
    "scores": {"output_qk": 1, "mask_index": np.array([[1, 0, 1, 1, 1]] * 4, I32), "mask_filter_value": -20.0},
}
CAPACITY, ROWS = 8, 4


def masked(case, past=4, beams=None, **given):
    """One token of each row after `past` others; `beams`: the rows are of so many beams each."""
    more = {**MASKED[case], **given}
    inputs = {"query": random(ROWS, 1, N * W), "key": random(ROWS, 1, N * W, seed=1), "value": random(ROWS, 1, N * W, seed=2), "mask_index": more.pop("mask_index", None),
              "attention_bias": more.pop("attention_bias", None), "past_key": random(ROWS, N, CAPACITY, W, seed=3), "past_value": random(ROWS, N, CAPACITY, W, seed=4),
              "past_sequence_length": np.array([past], I32), "beam_width": None, "cache_indirection": None, "bias": more.pop("bias", None)}
    if beams:
        inputs |= {"beam_width": np.array([beams], I32),
                   "cache_indirection": np.random.default_rng(5).integers(0, beams, (ROWS // beams, beams, CAPACITY)).astype(I32)}
    outputs = {"y": TensorProto.FLOAT, "present_key": TensorProto.FLOAT, "present_value": TensorProto.FLOAT} | ({"qk": TensorProto.FLOAT} if "output_qk" in more else {})
    return inputs, outputs, {"num_heads": N, "past_present_share_buffer": 1, **more}


@OPSETS
@pytest.mark.parametrize("beams", [None, 1, 2])
@pytest.mark.parametrize("case", MASKED)
def test_one_token_over_a_cache_with_room(case, beams, opset):
    inputs, outputs, attributes = masked(case, beams=beams)
    check(*model_of("DecoderMaskedMultiHeadAttention", inputs, outputs, opset=opset, **attributes))


@pytest.mark.parametrize("beams", [None, 2])
@pytest.mark.parametrize("past", [0, CAPACITY - 1])
def test_one_token_at_the_ends_of_a_cache(past, beams):
    inputs, outputs, attributes = masked("plain", past=past, beams=beams)
    check(*model_of("DecoderMaskedMultiHeadAttention", inputs, outputs, **attributes))
    check(*model_of("DecoderMaskedMultiHeadAttention", inputs, outputs, open_batch=True, **attributes))


@OPSETS
@pytest.mark.parametrize("more", [{}, {"mask_index": np.array([[1, 0, 1, 1, 1, 0, 1]] * B, I32)}, {"bias": random(3 * N * W, seed=8)}], ids=["plain", "mask", "bias"])
def test_one_token_over_another_sequence(more, opset):
    inputs = {"query": random(B, 1, N * W), "key": random(B, N, 7, W), "value": random(B, N, 7, W, seed=2), "mask_index": more.get("mask_index"), "attention_bias": None,
              "past_key": None, "past_value": None, "past_sequence_length": None, "beam_width": None, "cache_indirection": None, "bias": more.get("bias")}
    check(*model_of("DecoderMaskedMultiHeadAttention", inputs, {"y": TensorProto.FLOAT}, opset=opset, num_heads=N))


@pytest.mark.parametrize("change, told", [
    ({"past_present_share_buffer": 0}, "expected past_present_share_buffer 1 and a past_sequence_length"),
    ({"key": None, "value": None}, "expected a query of known rank 3 with key and value"),
    ({"past_key": None, "past_value": None}, "expected either past_key and past_value, or keys of another sequence"),
    ({"output_qk": 0}, "output qk: expected output_qk 1"),
], ids=str)
def test_one_token_that_is_refused(change, told):
    inputs, outputs, attributes = masked("scores" if "output_qk" in change else "plain")
    inputs |= {name: value for name, value in change.items() if name in inputs}
    attributes |= {name: value for name, value in change.items() if name not in inputs}
    model, _ = model_of("DecoderMaskedMultiHeadAttention", inputs, outputs, **attributes)
    with pytest.raises(gantry.UnsupportedError, match=told):
        gantry.Session(model, device="CPU")


@OPSETS
@pytest.mark.parametrize("case", JOINT)
@pytest.mark.parametrize("attributes", [{}, {"unidirectional": 1, "scale": 0.2}])
def test_queries_keys_and_values_by_one_product(case, attributes, opset):
    inputs = {"x": random(B, S, 12), "w": random(12, 3 * N * W) / 3, "b": random(3 * N * W, seed=1)}
    for name in ("mask_index", "past", "attention_bias"):
        inputs[name] = JOINT[case].get(name)
    outputs = {"y": TensorProto.FLOAT} | ({"present": TensorProto.FLOAT} if case == "past" else {})
    check(*model_of("Attention", inputs, outputs, {"w", "b"}, opset=opset, num_heads=N, **attributes))


def test_values_of_another_width():
    inputs = {"x": random(B, S, 12), "w": random(12, 2 * N * W + N * 3) / 3, "b": random(2 * N * W + N * 3, seed=1)}
    check(*model_of("Attention", inputs, {"y": TensorProto.FLOAT}, {"w", "b"}, num_heads=N, qkv_hidden_sizes=[N * W, N * W, N * 3]))


@OPSETS
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("form", ["flat", "flat_heads", "by_head", "part", "offset"])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_rotations(interleaved, form, dtype, opset):
    x = random(B, N, S, W, dtype=dtype) if form == "by_head" else random(B, S, N * W, dtype=dtype)
    places = np.array([9], I64) if form == "offset" else np.random.default_rng(0).integers(0, 64, (B, S))
    cosines, sines = caches(4 if form == "part" else W, dtype=dtype)
    attributes = {"part": {"num_heads": N, "rotary_embedding_dim": 4}, "flat_heads": {"num_heads": N}}.get(form, {})
    inputs = {"x": x, "places": places, "cos": cosines, "sin": sines}
    check(*model_of("RotaryEmbedding", inputs, {"y": FLOAT[dtype]}, {"cos", "sin"}, opset=opset, interleaved=interleaved, **attributes),
          rtol=2e-3 if dtype == F16 else 1e-4, atol=2e-3 if dtype == F16 else 1e-5)


STREAMS = {  # columns of times, heights and widths of a head of 16, and how they lie
    "sections": {"mrope_section": [2, 3, 3]}, "mixed": {"mrope_section": [3, 3, 2], "mrope_layout": 1}, "few_heights": {"mrope_section": [6, 1, 1], "mrope_layout": 1},
    "of_times_alone": {"mrope_section": [8, 0, 0]},
}


@OPSETS
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("form", ["flat", "by_head", "part"])
@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_rotations_by_three_positions(interleaved, form, streams, dtype, opset):
    """As the language models of Qwen that see pictures have them."""
    width = 20 if form == "part" else 16
    x = random(B, N, S, width, dtype=dtype) if form == "by_head" else random(B, S, N * width, dtype=dtype)
    places = np.random.default_rng(0).integers(0, 64, (3, B, S))
    cosines, sines = caches(16, dtype=dtype)
    attributes = STREAMS[streams] | ({} if form == "by_head" else {"num_heads": N}) | ({"rotary_embedding_dim": 16} if form == "part" else {})
    check(*model_of("MRotaryEmbedding", {"x": x, "places": places, "cos": cosines, "sin": sines}, {"y": FLOAT[dtype]}, {"cos", "sin"}, opset=opset,
                    interleaved=interleaved, **attributes), rtol=2e-3 if dtype == F16 else 1e-4, atol=2e-3 if dtype == F16 else 1e-5)


@OPSETS
@pytest.mark.parametrize("case", GROUPED)
@pytest.mark.parametrize("attributes", [{}, {"local_window_size": 4}, {"softcap": 3.0, "scale": 0.3}, {"rotary_interleaved": 1}])
def test_grouped(case, attributes, opset):
    inputs = dict(GROUPED[case])
    if inputs["cos"] is None and "rotary_interleaved" in attributes:
        pytest.skip("nothing is turned")
    kv_heads = inputs["past_key"].shape[1]
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"} if inputs["cos"] is not None else {}, opset=opset, num_heads=4,
                            kv_num_heads=kv_heads, do_rotary=int(inputs["cos"] is not None), **attributes)
    length = inputs["query"].shape[1]
    is_prompt = length == inputs["total_sequence_length"][0]

    def queries(whole):
        ends = inputs["seqlens_k"] + 1 if is_prompt else np.full(len(whole), length)
        return np.concatenate([whole[row, :end].reshape(-1) for row, end in enumerate(ends)])

    check(model, feeds, only={"y": queries, "pk": lambda whole: seen(inputs, whole), "pv": lambda whole: seen(inputs, whole)})


def test_grouped_in_halves():
    inputs = grouped(7, 1, [8, 5], dtype=F16)
    check(*model_of("GroupQueryAttention", inputs, {"y": TensorProto.FLOAT16, "pk": TensorProto.FLOAT16, "pv": TensorProto.FLOAT16}, {"cos", "sin"},
                    num_heads=4, kv_num_heads=2, do_rotary=1), rtol=5e-3, atol=5e-3, only={name: lambda whole: seen(inputs, whole) for name in ("pk", "pv")})


def test_grouped_of_open_extents():
    inputs = grouped(7, 1, [8, 5])
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, open_batch=True, num_heads=4, kv_num_heads=2, do_rotary=1)
    check(model, feeds, only={name: lambda whole: seen(inputs, whole) for name in ("pk", "pv")})


def test_the_kernel_of_groups_says_what_does_not_fit():
    inputs = grouped(7, 1, [8, 5], room=8)
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1)
    session = gantry.Session(model, device="CPU")
    assert [(node.provider, node.kernel) for node in session.placement.nodes] == [("cpu", "GroupQueryAttention")]
    with pytest.raises(gantry.InvalidArgumentError, match="sequence 1 at 8 to 8, outside a cache of 8 tokens"):
        session.run(feeds | {"seqlens_k": np.array([7, 8], I32)})
    with pytest.raises(gantry.InvalidArgumentError, match="position -3 is outside cos_cache of 64 positions"):
        session.run(feeds | {"seqlens_k": np.array([-3, 4], I32)})
    with pytest.raises(gantry.InvalidArgumentError, match="total_sequence_length is -1, needs 0 or more"):
        session.run(feeds | {"total_sequence_length": np.array([-1], I32)})
    session.run(feeds)
    more = {"attention_bias": random(2, 4, 1, 7), "head_sink": None}
    with pytest.raises(gantry.InvalidArgumentError, match=r"attention_bias has shape \[2, 4, 1, 7\], needs \[2 or 1, 4 or 1, 1, 8\]"):
        run_grouped(inputs | more)
    with pytest.raises(gantry.InvalidArgumentError, match=r"head_sink has shape \[3\], needs \[4\]"):
        run_grouped(inputs | {"head_sink": random(3)})


def run_grouped(inputs):
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1)
    return gantry.Session(model, device="CPU").run(feeds)


@pytest.mark.parametrize("batch, heads", [(2, 4), (1, 1), (2, 1), (1, 4)])
@pytest.mark.parametrize("case", [(0, 70, [70, 50]), (7, 3, [10]), (7, 1, [8, 8]), (200, 1, [201, 201])], ids=["prompt", "several", "next", "next_of_many"])
@pytest.mark.parametrize("more", [{}, {"local_window_size": 4, "softcap": 2.0}])
@pytest.mark.parametrize("sink", ["none", "smooth", "by_head"])
def test_biases_and_sinks_of_groups(case, batch, heads, more, sink):
    """In the kernel of `cpu`, by heads and by rows or for all."""
    past, length, lengths = case
    inputs = grouped(past, length, lengths)
    inputs["attention_bias"] = random(min(batch, len(lengths)), heads, length, max(lengths), seed=8)
    inputs["head_sink"] = random(4, seed=9) if sink == "by_head" else None
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1,
                            smooth_softmax=int(sink == "smooth"), **more)
    session = gantry.Session(model, device="CPU")
    assert [(node.provider, node.kernel) for node in session.placement.nodes] == [("cpu", "GroupQueryAttention")]
    ends = inputs["seqlens_k"] + 1 if past == 0 else np.full(len(lengths), length)
    check(model, feeds, only={"y": lambda whole: np.concatenate([whole[row, :end].reshape(-1) for row, end in enumerate(ends)]),
                              "pk": lambda whole: seen(inputs, whole), "pv": lambda whole: seen(inputs, whole)})


WINDOWS = {  # of the caches: rows, and how many tokens a query sees
    "prompt_in_room": (grouped(0, 3, [3, 3], room=4), 4),
    "prompt_as_long": (grouped(0, 4, [4], room=4), 4),
    "prompt_of_more": (grouped(0, 9, [9, 9], room=4), 4),
    "prompt_with_slack": (grouped(0, 9, [9], room=6), 4),
    "next_in_room": (grouped(3, 1, [4, 3], room=6), 4),
    "next": (grouped(7, 1, [8, 8], room=4), 4),
    "next_of_lengths": (grouped(7, 1, [8, 5, 12], room=6), 4),
    "several": (grouped(7, 3, [10], room=5), 4),
    "several_that_evict": (grouped(7, 9, [16], room=5), 4),
    "itself_alone": (grouped(7, 2, [9], room=3), 1),
    "packed": (grouped(7, 1, [8, 8], room=4, packed=True), 4),
    "sinks": (grouped(7, 1, [8, 8], room=6), 4),
}


def quantized(inputs, bits, kind):
    """The caches in codes, with their scales; and the attributes that say so."""
    heads, width = inputs["past_key"].shape[1::2]
    inputs = inputs | {"head_sink": inputs.get("head_sink")}
    for name in ("key", "value"):
        shape = (1, heads, 1, width) if kind == "PER_CHANNEL" else (1,)
        inputs[f"{name}_scale"] = np.random.default_rng(len(name)).uniform(0.01, 0.02, shape).astype(F32) * (16 if bits == 4 else 1)
        codes = np.random.default_rng(len(name)).integers(-100, 100, inputs[f"past_{name}"].shape)
        inputs[f"past_{name}"] = codes.astype(np.int8) if bits == 8 else codes[..., ::2].astype(np.uint8)
    return inputs, {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits}


def check_grouped(inputs, counts, dtype=TensorProto.FLOAT, opset=17, atol=1e-5, **attributes):
    """`counts`: how many rows of the caches mean anything, for each row of the batch."""
    kinds = {"y": dtype} | {name: helper.np_dtype_to_tensor_dtype(inputs["past_key"].dtype) for name in ("pk", "pv")}
    model, feeds = model_of("GroupQueryAttention", inputs, kinds, {"cos", "sin"}, opset=opset, num_heads=4, kv_num_heads=2, do_rotary=1, **attributes)
    known = {name: lambda whole: np.concatenate([whole[row, :, :count].reshape(-1) for row, count in enumerate(counts)]) for name in ("pk", "pv")}
    return check(model, feeds, atol=atol, only=known)


@OPSETS
@pytest.mark.parametrize("bits", [0, 8])
@pytest.mark.parametrize("case", WINDOWS)
def test_grouped_over_the_last_tokens(case, bits, opset):
    """Caches of a window, from which the oldest tokens are evicted, several at a time if there is slack."""
    inputs, window = WINDOWS[case]
    inputs, more = inputs | ({"head_sink": random(4)} if case == "sinks" else {}), {}
    if bits:
        inputs, more = quantized(inputs, bits, "PER_CHANNEL")
    room, ends = inputs["past_key"].shape[2], inputs["seqlens_k"] + 1
    gap = room - window + 1
    counts = [end if end <= room else end - gap * -(-(end - room) // gap) for end in ends]
    check_grouped(inputs, counts, opset=opset, sliding_window_cache=1, local_window_size=window, **more)


@OPSETS
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
@pytest.mark.parametrize("case", ["prompt", "next", "next_of_lengths", "several", "in_place", "packed", "scores"])
def test_grouped_over_quantized_caches(case, kind, bits, opset):
    inputs, more = quantized(GROUPED[case], bits, kind)
    check_grouped(inputs, inputs["seqlens_k"] + 1, opset=opset, **more)


def test_grouped_in_halves_over_quantized_caches():
    inputs, more = quantized(grouped(7, 1, [8, 5], dtype=F16), 8, "PER_TENSOR")
    check_grouped(inputs, [8, 5], TensorProto.FLOAT16, atol=5e-3, **more)


@OPSETS
@pytest.mark.parametrize("op_type, more", [
    ("SkipLayerNormalization", {"beta": random(16, seed=2), "bias": None}),
    ("SkipLayerNormalization", {"beta": random(16, seed=2), "bias": random(16, seed=3)}),
    ("SkipLayerNormalization", {}), ("SkipSimplifiedLayerNormalization", {}), ("SkipSimplifiedLayerNormalization", {"bias": random(16, seed=3)}),
])
@pytest.mark.parametrize("skip", [(2, 3, 16), (1, 3, 16), (3, 16)])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_norms_of_a_sum(op_type, more, skip, dtype, opset):
    inputs = {"x": random(2, 3, 16), "skip": random(*skip, seed=1), "gamma": random(16), **more}
    inputs = {name: None if value is None else value.astype(dtype) for name, value in inputs.items()}
    for outputs in ({"y": FLOAT[dtype]}, {"y": FLOAT[dtype], "": 0, "sum": FLOAT[dtype]}):
        names = ["y"] if len(outputs) == 1 else ["y", "", "", "sum"]
        model, feeds = model_of(op_type, inputs, {"y": FLOAT[dtype]}, opset=opset, epsilon=1e-5)
        del model.graph.node[0].output[:]
        model.graph.node[0].output.extend(names)
        if "sum" in names:
            model.graph.output.append(helper.make_tensor_value_info("sum", FLOAT[dtype], None))
        check(model, feeds, rtol=5e-3 if dtype == F16 else 1e-4, atol=5e-3 if dtype == F16 else 1e-5)


@OPSETS
def test_norm_without_a_mean(opset):
    inputs = {"x": random(2, 3, 16), "scale": random(16)}
    check(*model_of("SimplifiedLayerNormalization", inputs, {"y": TensorProto.FLOAT}, {"scale"}, domain="", opset=opset, axis=-1, epsilon=1e-5))


@OPSETS
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_embeddings(segments, mask, opset):
    rng = np.random.default_rng(0)
    inputs = {"ids": rng.integers(0, 20, (2, 6)).astype(I32), "segments": rng.integers(0, 2, (2, 6)).astype(I32) if segments else None,
              "words": random(20, 16), "rows": random(12, 16), "kinds": random(2, 16) if segments else None, "gamma": random(16), "beta": random(16, seed=1),
              "mask": np.array([[1] * 6, [1] * 4 + [0] * 2], I32) if mask else None}
    check(*model_of("EmbedLayerNormalization", inputs, {"y": TensorProto.FLOAT, "counts": TensorProto.INT32}, {"words", "rows", "gamma", "beta"},
                    opset=opset, epsilon=1e-5))


def layouts_of(count, blocks):
    """Rows and columns of blocks, for each of `count` layouts: the last two blocks, and every third, counted from another one in each."""
    rows, columns = [], []
    for layout in range(count):
        own = [[column for column in range(row + 1) if row - column < 2 or (column + layout) % 3 == 0] for row in range(blocks)]
        rows.append(np.cumsum([0, *map(len, own)]))
        columns.append(np.concatenate(own))
    most = max(map(len, columns))
    return np.array(rows, I32), np.array([np.pad(one, (0, most - len(one)), constant_values=-1) for one in columns], I32)


def run_in_place(model, feeds, pairs, runtime=onnxruntime):
    """Of ONNX Runtime or gantry in its place, with present caches in the memory of the past ones."""
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: runtime.OrtValue.ortvalue_from_numpy(value.copy()) for name, value in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    names = [output.name for output in session.get_outputs()]
    for name in names:
        if name in pairs:
            binding.bind_ortvalue_output(name, values[pairs[name]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.copy_outputs_to_cpu()))


def test_caches_of_groups_hold_zeros_where_no_token_is():
    """Nothing of the process's memory may come out of a cache that grows."""
    inputs = grouped(3, 1, [4, 2, 9])
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1)
    session = gantry.Session(model, device="CPU")
    for _ in range(3):  # the memory of earlier runs is used again
        found = session.run(feeds)
        for name in ("pk", "pv"):
            assert found[name].shape[2] == 9 and not found[name][:2, :, 4:].any() and not found[name][2, :, 3:8].any()


def test_new_tokens_of_groups_before_a_cache_are_refused():
    inputs = grouped(7, 1, [8, 5], room=8, rotary=False)
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, num_heads=4, kv_num_heads=2)
    with pytest.raises(gantry.InvalidArgumentError, match="sequence 0 at -3 to -3, outside a cache of 8 tokens"):
        gantry.Session(model, device="CPU").run(feeds | {"seqlens_k": np.array([-3, 4], I32)})


def test_one_tensor_is_the_past_of_keys_and_of_values():
    """It dies with the node, so that one of the two caches may stand in its memory."""
    inputs = grouped(7, 1, [8, 6], room=16)
    model, feeds = model_of("GroupQueryAttention", inputs | {"past_value": inputs["past_key"]}, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2,
                            do_rotary=1)
    (node,) = model.graph.node
    past = list(node.input[3:5])
    node.input[3] = node.input[4] = "both"
    model.graph.node.insert(0, helper.make_node("Neg", [past[0]], ["both"]))
    del model.graph.input[[one.name for one in model.graph.input].index(past[1])]
    del feeds[past[1]]
    check(model, feeds, only={name: lambda whole: seen(inputs, whole) for name in ("pk", "pv")})


def test_caches_of_groups_that_the_model_makes_are_updated_in_place():
    """A past that dies with the node is the memory of the present: the two caches are all that the session holds."""
    inputs = grouped(7, 1, [8], room=4096)
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1)
    (node,) = model.graph.node
    for slot in (3, 4):
        model.graph.node.insert(0, helper.make_node("Neg", [node.input[slot]], [f"old_{slot}"]))
    node = model.graph.node[-1]
    for slot in (3, 4):
        node.input[slot] = f"old_{slot}"
    for slot in (1, 2):
        made, node.output[slot] = node.output[slot], f"new_{slot}"
        model.graph.node.append(helper.make_node("Neg", [f"new_{slot}"], [made]))
    session = gantry.Session(model, device="CPU")
    for _ in range(3):
        session.run(feeds)
    caches_bytes = 2 * inputs["past_key"].nbytes
    assert caches_bytes <= session.memory.arena < 1.1 * caches_bytes


@pytest.mark.parametrize("length, total", [(1, 0), (2, 0), (3, 1)])
def test_groups_of_which_queries_see_no_keys(length, total):
    """A total length that is less than a sequence says: nothing is read beyond it, and what sees nothing is 0."""
    inputs = grouped(0, length, [length], room=8) | {"total_sequence_length": np.array([total], I32)}
    model, feeds = model_of("GroupQueryAttention", inputs, CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1)
    found = gantry.Session(model, device="CPU").run(feeds)["y"]
    assert np.isfinite(found).all() and (total > 0 or not found.any())


@pytest.mark.parametrize("case", ["in_place", "prompt_in_place"])
def test_caches_of_groups_are_updated_in_place(case):
    model, feeds = model_of("GroupQueryAttention", GROUPED[case], CACHED, {"cos", "sin"}, num_heads=4, kv_num_heads=2, do_rotary=1)
    expected, found = (run_in_place(model, feeds, {"pk": "past_key", "pv": "past_value"}, runtime) for runtime in (onnxruntime, gantry.onnxruntime))
    for name, value in expected.items():
        part = (lambda whole: whole) if name == "y" else lambda whole: seen(GROUPED[case], whole)
        np.testing.assert_allclose(part(found[name]), part(value), rtol=1e-4, atol=1e-5, err_msg=name)


SPARSE = {
    "prompt": grouped(0, 60, [60, 60], room=80), "prompts_of_lengths": grouped(0, 60, [60, 37], room=80), "next": grouped(70, 1, [71, 71], room=80),
    "next_of_lengths": grouped(70, 1, [71, 40], room=80), "packed": grouped(70, 1, [71], room=80, packed=True),
    "without_rotation": grouped(0, 60, [60], room=80, rotary=False),
}


@OPSETS
@pytest.mark.parametrize("case", SPARSE)
@pytest.mark.parametrize("layouts", [1, 2, 4])
def test_grouped_over_some_blocks(case, layouts, opset):
    """Each row against itself alone: of the shorter rows of a batch, ONNX Runtime 1.31.1 takes the weights from the wrong places."""
    given = SPARSE[case]
    rows, columns = layouts_of(layouts, 5)
    cosines, sines = (None, None) if given["cos"] is None else caches(16, 80)

    def sparse(batch, length, lengths):
        inputs = {name: given[name] if given[name] is None else given[name][batch, :length] for name in ("query", "key", "value")}
        inputs |= {"past_key": given["past_key"][batch], "past_value": given["past_value"][batch], "rows": rows, "columns": columns,
                   "total": np.array([max(lengths)], I32), "lengths": lengths, "cos": cosines, "sin": sines}
        constants = {name for name in ("rows", "columns", "cos", "sin") if inputs[name] is not None}
        return model_of("SparseAttention", inputs, CACHED, constants, opset=opset, num_heads=4, kv_num_heads=2, sparse_block_size=16,
                        do_rotary=int(cosines is not None))

    lengths = given["seqlens_k"] + 1
    model, feeds = sparse(slice(None), None, lengths)
    found = gantry.Session(model, device="CPU").run(feeds)
    for row, end in enumerate(lengths):
        length = min(given["query"].shape[1], end)
        expected = run_in_place(*sparse(slice(row, row + 1), length, lengths[row : row + 1]), {"pk": "past_key", "pv": "past_value"})
        np.testing.assert_allclose(found["y"][row, :length], expected["y"][0], rtol=1e-4, atol=1e-5)
        for name in ("pk", "pv"):
            np.testing.assert_allclose(found[name][row, :, :end], expected[name][0, :, :end], rtol=1e-4, atol=1e-5)


BY_TENSOR = {"k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR"}
SCALES = {"sink": None, "ks": np.ones(1, F32), "vs": np.ones(1, F32)}


@pytest.mark.parametrize("more, attributes", [
    ({}, {"sliding_window_cache": 1}), ({"attention_bias": random(1, 4, 1, 8)}, {"sliding_window_cache": 1, "local_window_size": 4}),
    ({"past_key": None, "past_value": None}, {"sliding_window_cache": 1, "local_window_size": 4}),
    ({}, {"k_quant_type": "PER_TENSOR", "kv_cache_bit_width": 8}), ({}, {"kv_cache_bit_width": 4}), ({}, {**BY_TENSOR, "kv_cache_bit_width": 8}),
    (SCALES, {**BY_TENSOR, "kv_cache_bit_width": 2}), (SCALES, {**BY_TENSOR, "kv_cache_bit_width": 8}),
    ({"sink": None, "ks": None, "vs": None, "qn": np.ones(16, F32), "kn": np.ones(16, F32)}, {}),
])
def test_caches_that_have_no_body_are_refused(more, attributes):
    heads = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    model, _ = model_of("GroupQueryAttention", grouped(7, 1, [8, 8]) | more, {"y": TensorProto.FLOAT}, {"cos", "sin"}, **heads, **attributes)
    with pytest.raises(gantry.UnsupportedError, match="GroupQueryAttention"):
        gantry.Session(model, device="CPU")


def test_what_has_no_body_is_refused():
    inputs = {"query": random(B, S, N * W), "key": random(B, S, N * W), "value": random(B, S, N * W)}
    inputs |= {name: None for name in ("bias", "mask", "scores")} | {"pk": random(B, N, 9, W), "pv": random(B, N, 9, W), "pl": np.array([3], I32)}
    model, _ = model_of("MultiHeadAttention", inputs, {"y": TensorProto.FLOAT}, num_heads=N)
    with pytest.raises(gantry.UnsupportedError, match="MultiHeadAttention"):
        gantry.Session(model, device="CPU")
