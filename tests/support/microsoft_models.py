# SPDX-License-Identifier: Apache-2.0
"""Models of one of com.microsoft's operators of transformers, and the cases of attention that several tests have."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, F16, I32, I64 = np.float32, np.float16, np.int32, np.int64
B, S, N, W = 2, 5, 4, 8  # batch, queries, heads, width


def random(*shape, dtype=F32, seed=0):
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * 0.7).astype(dtype)


def model_of(op_type, inputs, outputs, constants=None, domain="com.microsoft", opset=17, open_batch=False, **attributes):
    """One node with `inputs` in its order (None: absent) and the types of its outputs by name ("": absent)."""
    constants = constants or {}
    names = [name if value is not None else "" for name, value in inputs.items()]
    node = helper.make_node(op_type, names, list(outputs), domain=domain, **attributes)
    given = {name: value for name, value in inputs.items() if value is not None}

    def shape(value):
        return [f"d{axis}_{extent}" if open_batch and axis < 2 else extent for axis, extent in enumerate(value.shape)]

    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape(value))
                      for name, value in given.items() if name not in constants],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items() if name],
        [numpy_helper.from_array(given[name], name) for name in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    return model, {name: value for name, value in given.items() if name not in constants}


FLOAT = {F32: TensorProto.FLOAT, F16: TensorProto.FLOAT16}
MULTI_HEAD = {
    "plain": {},
    "bias": {"bias": random(3 * N * W)},
    "kept": {"key_padding_mask": np.array([[1] * 5, [1, 1, 1, 0, 0]], I32)},
    "lengths": {"key_padding_mask": np.array([5, 2], I32)},
    "by_query": {"key_padding_mask": np.random.default_rng(0).integers(0, 2, (B, S, S)).astype(I32)},
    "scores": {"attention_bias": random(1, N, S, S)},
    "scores_for_all": {"attention_bias": random(B, 1, S, S)},
    "past": {"past_key": random(B, N, 3, W), "past_value": random(B, N, 3, W, seed=1)},
    "past_and_mask": {"past_key": random(B, N, 3, W), "past_value": random(B, N, 3, W, seed=1),
                      "key_padding_mask": np.array([[1] * 8, [0, 0, 1, 1, 1, 1, 1, 1]], I32)},
}

JOINT = {
    "plain": {},
    "kept": {"mask_index": np.array([[1] * 5, [1, 1, 1, 0, 0]], I32)},
    "lengths": {"mask_index": np.array([5, 2], I32)},
    "past": {"past": random(2, B, N, 3, W)},
    "scores": {"attention_bias": random(B, N, S, S)},
}


def caches(width, positions=64, dtype=F32):
    angles = np.arange(positions)[:, None] / 10000 ** (np.arange(width // 2) / (width // 2))
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


G = 16  # width of the heads of groups, of which ONNX Runtime takes multiples of 16 alone


def grouped(past, length, lengths, heads=4, kv_heads=2, room=None, packed=False, rotary=True, dtype=F32, bias=False, places=None):
    """Inputs of GroupQueryAttention: `past` keys in the cache, `length` new ones, `lengths` the keys of each row when they are in."""
    batch, total = len(lengths), max(lengths)
    parts = [random(batch, length, count * G, dtype=dtype, seed=seed) for seed, count in enumerate((heads, kv_heads, kv_heads))]
    inputs = dict(zip(("query", "key", "value"), [np.concatenate(parts, -1), None, None] if packed else parts))
    room = past if room is None else room
    inputs["past_key"], inputs["past_value"] = (random(batch, kv_heads, room, G, dtype=dtype, seed=seed) for seed in (3, 4))
    inputs["seqlens_k"], inputs["total_sequence_length"] = np.array(lengths, I32) - 1, np.array([total], I32)
    inputs["cos"], inputs["sin"] = caches(G, max(64, total), dtype) if rotary else (None, None)
    inputs["position_ids"] = places
    inputs["attention_bias"] = random(1, heads, length, total, dtype=dtype) if bias else None
    return inputs


GROUPED = {
    "prompt": grouped(0, 6, [6, 6]),
    "prompts_of_lengths": grouped(0, 6, [6, 4]),
    "next": grouped(7, 1, [8, 8]),
    "next_of_lengths": grouped(7, 1, [8, 5]),
    "several": grouped(7, 3, [10]),
    "in_place": grouped(7, 1, [8, 6], room=16),
    "prompt_in_place": grouped(0, 6, [6], room=16),
    "packed": grouped(7, 1, [8, 8], packed=True),
    "without_rotation": grouped(7, 1, [8, 5], rotary=False),
    "one_head_for_all": grouped(7, 1, [8, 8], kv_heads=1),
    "scores": grouped(7, 2, [9], bias=True),
    "long_prompts": grouped(0, 150, [150, 90]),
    "many": grouped(30, 70, [100]),
    "next_of_many": grouped(299, 1, [300, 200], heads=4, kv_heads=4),
    "places": grouped(7, 2, [9], places=np.array([[3, 5]], I64)),
}


CACHED = {"y": TensorProto.FLOAT, "pk": TensorProto.FLOAT, "pv": TensorProto.FLOAT}


def seen(inputs, whole):
    """The keys that the rows have: what stands behind them may be anything."""
    ends = inputs["seqlens_k"] + 1
    return np.concatenate([whole[row, :, :end].reshape(-1) for row, end in enumerate(ends)])


def layer_of(opset):
    """A layer of BERT as ONNX Runtime optimizes one, between nodes of the model's own opset: axes that are attributes."""
    nodes = [helper.make_node("Unsqueeze", ["mask"], ["mask_rows"], axes=[1]), helper.make_node("Squeeze", ["mask_rows"], ["mask_again"], axes=[1]),
             helper.make_node("Attention", ["x", "W", "b", "mask_again"], ["a"], domain="com.microsoft", num_heads=N),
             helper.make_node("SkipLayerNormalization", ["a", "x", "gamma", "beta"], ["n"], domain="com.microsoft"),
             helper.make_node("MatMul", ["n", "W_up"], ["u"]), helper.make_node("BiasGelu", ["u", "b_up"], ["g"], domain="com.microsoft"),
             helper.make_node("MatMul", ["g", "W_down"], ["d"]), helper.make_node("ReduceSum", ["d"], ["s"], axes=[1], keepdims=0),
             helper.make_node("Softmax", ["s"], ["y"], axis=1)]
    weights = {"W": random(N * W, 3 * N * W), "b": random(3 * N * W), "gamma": random(N * W), "beta": random(N * W), "W_up": random(N * W, 64), "b_up": random(64),
               "W_down": random(64, N * W)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", N * W]),
                                           helper.make_tensor_value_info("mask", TensorProto.INT32, ["batch", "length"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=6)
