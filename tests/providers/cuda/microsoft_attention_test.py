# SPDX-License-Identifier: Apache-2.0
"""com.microsoft's attention as kernels: its forms, as the CPU's bodies have them, which are compared with ONNX Runtime elsewhere."""

import ml_dtypes
import numpy as np
import pytest
from cuda_worker import compare, compare_all
from microsoft_models import CACHED, F16, F32, FLOAT, GROUPED, I32, JOINT, MULTI_HEAD, B, N, S, W, caches, grouped, model_of, random, seen
from onnx import TensorProto, helper

import gantry

BF16 = ml_dtypes.bfloat16
KINDS = {**FLOAT, BF16: TensorProto.BFLOAT16}


@pytest.fixture(params=["cuda", "cuda_blas"])
def both(request):
    return request.getfixturevalue(request.param)




def multi_head(more, length=S, dtype=F32):
    inputs = {"query": random(B, length, N * W), "key": random(B, length, N * W, seed=1), "value": random(B, length, N * W, seed=2)}
    for name in ("bias", "key_padding_mask", "attention_bias", "past_key", "past_value"):
        inputs[name] = more.get(name)
    return {name: value.astype(dtype) if value is not None and value.dtype == F32 else value for name, value in inputs.items()}


@pytest.mark.parametrize("case", MULTI_HEAD)
@pytest.mark.parametrize("attributes", [{}, {"unidirectional": 1}, {"scale": 0.2, "mask_filter_value": -50.0}])
def test_multi_head(cuda, case, attributes):
    outputs = {"y": TensorProto.FLOAT} | ({"pk": TensorProto.FLOAT, "pv": TensorProto.FLOAT} if "past" in case else {})
    kernels = compare_all(cuda, *model_of("MultiHeadAttention", multi_head(MULTI_HEAD[case]), outputs, num_heads=N, **attributes), rtol=1e-4, atol=1e-5)
    assert kernels == ["MultiHeadAttention"]


MANY = 18  # queries, of which products are made where cuBLASLt is
MANY_CASES = {
    "plain": {}, "bias": MULTI_HEAD["bias"], "lengths": MULTI_HEAD["lengths"],
    "by_query": {"key_padding_mask": np.random.default_rng(0).integers(0, 2, (B, MANY, MANY)).astype(I32)},
    "past": MULTI_HEAD["past"], "scores": {"attention_bias": random(1, N, MANY, MANY), "key_padding_mask": np.array([MANY, 7], I32)},
}


@pytest.mark.parametrize("case", MANY_CASES)
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_many_queries(both, case, dtype):
    outputs = {"y": KINDS[dtype]} | ({"pk": KINDS[dtype], "pv": KINDS[dtype]} if case == "past" else {})
    model, feeds = model_of("MultiHeadAttention", multi_head(MANY_CASES[case], MANY, dtype), outputs, num_heads=N, unidirectional=1)
    tolerance = {F32: 1e-4, F16: 5e-3, BF16: 3e-2}[dtype]
    assert compare_all(both, model, feeds, rtol=tolerance, atol=tolerance) == ["MultiHeadAttention"]


def test_a_past_that_nobody_wants_to_go_on_with(cuda):
    """A past is read in place."""
    compare_all(cuda, *model_of("MultiHeadAttention", multi_head(MULTI_HEAD["past_and_mask"]), {"y": TensorProto.FLOAT}, num_heads=N), rtol=1e-4, atol=1e-5)


PACKED = {
    "all": {"query": random(B, S, N, 3, W)},
    "keys_and_values": {"query": random(B, S, N * W), "key": random(B, 7, N, 2, W)},
    "another_sequence": {"query": random(B, S, N * W), "key": random(B, N, 7, W), "value": random(B, N, 7, W, seed=2)},
    "values_of_another_width": {"query": random(B, S, N * W), "key": random(B, 7, N * W), "value": random(B, 7, N * 3, seed=2),
                                "bias": random(2 * N * W + 3 * N)},
}


@pytest.mark.parametrize("case", PACKED)
def test_layouts_of_heads(cuda, case):
    model, feeds = model_of("MultiHeadAttention", PACKED[case], {"y": TensorProto.FLOAT}, num_heads=N)
    assert compare_all(cuda, model, feeds, rtol=1e-4, atol=1e-5) == ["MultiHeadAttention"]


@pytest.mark.parametrize("case", JOINT)
@pytest.mark.parametrize("attributes", [{}, {"unidirectional": 1, "scale": 0.2}])
@pytest.mark.parametrize("with_bias", [True, False])
def test_queries_keys_and_values_by_one_matmul(both, case, attributes, with_bias):
    inputs = {"x": random(B, S, 12), "w": random(12, 3 * N * W) / 3, "b": random(3 * N * W, seed=1) if with_bias else None}
    for name in ("mask_index", "past", "attention_bias"):
        inputs[name] = JOINT[case].get(name)
    outputs = {"y": TensorProto.FLOAT} | ({"present": TensorProto.FLOAT} if case == "past" else {})
    model, feeds = model_of("Attention", inputs, outputs, {"w", "b"} if with_bias else {"w"}, num_heads=N, **attributes)
    assert compare_all(both, model, feeds, rtol=1e-4, atol=1e-5) == ["Attention"]


def test_values_of_another_width_by_one_matmul(cuda):
    inputs = {"x": random(B, S, 12), "w": random(12, 2 * N * W + N * 3) / 3, "b": random(2 * N * W + N * 3, seed=1)}
    compare_all(cuda, *model_of("Attention", inputs, {"y": TensorProto.FLOAT}, {"w", "b"}, num_heads=N, qkv_hidden_sizes=[N * W, N * W, N * 3]),
                rtol=1e-4, atol=1e-5)


def group_model(inputs, is_of_one_length=False, dtype=F32, **attributes):
    """`is_of_one_length`: the model says that present and past have the same length."""
    turned = inputs["cos"] is not None
    model, feeds = model_of("GroupQueryAttention", inputs, dict.fromkeys(CACHED, KINDS[dtype]), {"cos", "sin"} if turned else {}, num_heads=4,
                            kv_num_heads=inputs["past_key"].shape[1], do_rotary=int(turned), **attributes)
    if is_of_one_length:
        for value in list(model.graph.output)[1:]:
            value.CopyFrom(helper.make_tensor_value_info(value.name, KINDS[dtype], inputs["past_key"].shape))
    return model, feeds


def check_groups(worker, inputs, model, feeds, tolerance=1e-4):
    expected = gantry.Session(model, device="CPU").run(feeds)
    kernels, outputs = worker.run(model, feeds, runs=3)
    assert kernels == ["GroupQueryAttention"]
    is_prompt = inputs["query"].shape[1] == inputs["total_sequence_length"][0]
    ends = inputs["seqlens_k"] + 1 if is_prompt else [inputs["query"].shape[1]] * len(inputs["seqlens_k"])
    for row, end in enumerate(ends):
        compare(outputs["y"][row, :end], expected["y"][row, :end], tolerance, tolerance)
    for name in ("pk", "pv"):
        assert outputs[name].shape == expected[name].shape
        compare(seen(inputs, outputs[name]), seen(inputs, expected[name]), tolerance, tolerance)


@pytest.mark.parametrize("case", GROUPED)
@pytest.mark.parametrize("attributes", [{}, {"local_window_size": 4}, {"softcap": 3.0, "scale": 0.3}, {"rotary_interleaved": 1}])
def test_groups(cuda, case, attributes):
    check_groups(cuda, GROUPED[case], *group_model(GROUPED[case], **attributes))


IN_PLACE = {
    "next": grouped(7, 1, [8, 6], room=16), "prompt": grouped(0, 6, [6], room=16), "prompts": grouped(0, 6, [6, 4], room=16),
    "full": grouped(7, 1, [8, 8], room=8), "several": grouped(7, 3, [10, 10], room=12, packed=True),
    "many": grouped(0, 20, [20, 11], room=40), "many_more": grouped(7, 20, [27], room=40),
}


@pytest.mark.parametrize("case", IN_PLACE)
@pytest.mark.parametrize("causal", [1, 0])
@pytest.mark.parametrize("is_of_one_length", [True, False])
def test_caches_with_room(both, case, causal, is_of_one_length):
    check_groups(both, IN_PLACE[case], *group_model(IN_PLACE[case], is_of_one_length, causal=causal))


@pytest.mark.parametrize("length", [1, 20])
@pytest.mark.parametrize("is_of_one_length", [True, False])
def test_memory_behind_the_keys_may_be_anything(both, length, is_of_one_length):
    """Memory that was not written yet may be NaN."""
    inputs = grouped(7, length, [7 + length, 5 + length], room=40)
    expected = gantry.Session(group_model(inputs)[0], device="CPU").run(group_model(inputs)[1])["y"]
    for name in ("past_key", "past_value"):
        inputs[name] = inputs[name].copy()
        inputs[name][0, :, 7 + length:] = np.nan
        inputs[name][1, :, 5 + length:] = np.nan
    _, outputs = both.run(*group_model(inputs, is_of_one_length))
    compare(outputs["y"], expected, 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("case", ["next", "many"])
def test_groups_of_16_bits(both, dtype, case):
    lengths = {"next": (7, 1, [8, 5]), "many": (0, 20, [20, 20])}[case]
    inputs = grouped(*lengths, room=32, dtype=dtype)
    check_groups(both, inputs, *group_model(inputs, True, dtype), tolerance=5e-3 if dtype == F16 else 4e-2)


@pytest.mark.parametrize("is_of_one_length", [True, False])
def test_a_row_grows_in_one_plan(cuda, is_of_one_length):
    """One session, caches with free capacity, several steps: the plan of the first step is right for all, captured or not."""
    room = 24
    inputs = grouped(0, 1, [1, 1], room=room)
    model, _ = group_model(inputs, is_of_one_length)
    here = gantry.Session(model, device="CPU")
    steps, expected, past = [], [], {"past_key": inputs["past_key"], "past_value": inputs["past_value"]}
    for step in range(1, 7):
        given = grouped(step - 1, 1, [step, max(step - 1, 1)], room=room)
        steps.append({name: value for name, value in given.items() if value is not None and name not in ("cos", "sin")} | past)
        outputs = here.run(steps[-1])
        expected.append(outputs["y"])
        past = {"past_key": outputs["pk"], "past_value": outputs["pv"]}
    for found, value in zip(cuda.run_steps(model, steps), expected):
        compare(found["y"], value, 1e-4, 1e-5)


def test_what_the_kernels_refuse_runs_in_parts(cuda):
    masked = {**multi_head({}), "bias": None, "key_padding_mask": np.arange(3 * B + 2, dtype=I32)}
    for operator, (model, feeds) in (("GroupQueryAttention", group_model(grouped(7, 1, [8, 8]), smooth_softmax=1)),
                                     ("MultiHeadAttention", model_of("MultiHeadAttention", masked, {"y": TensorProto.FLOAT}, num_heads=N))):
        assert operator not in compare_all(cuda, model, feeds, rtol=1e-4, atol=1e-4)


def test_what_is_refused(cuda):
    model, feeds = group_model(grouped(7, 1, [8, 8]), sliding_window_cache=1)
    with pytest.raises(RuntimeError, match="a cache that slides"):
        cuda.run(model, feeds)


def test_heads_that_are_too_wide_run_in_parts(cuda):
    inputs = {"query": random(1, 2, 520), "key": random(1, 2, 520, seed=1), "value": random(1, 2, 520, seed=2)}
    kernels = compare_all(cuda, *model_of("MultiHeadAttention", inputs, {"y": TensorProto.FLOAT}, num_heads=1), rtol=1e-4, atol=1e-4)
    assert "MultiHeadAttention" not in kernels
