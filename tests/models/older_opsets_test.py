# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft in models of old opsets, as optimized models of their time have them, against ONNX Runtime run live."""

import numpy as np
import onnxruntime
import pytest
from microsoft_models import F32, I32, I64, JOINT, MULTI_HEAD, N, W, layer_of, model_of, random
from onnx import TensorProto

import gantry

OPSETS = [7, 9, 11, 12, 13, 16]  # of ai.onnx
HIDDEN = N * W
TOKENS = np.arange(10, dtype=I32).reshape(2, 5)

# By name: operator, inputs, attributes, number of outputs.
CASES = {
    **{f"attention_{name}": ("Attention", {"x": random(2, 5, HIDDEN), "weights": random(HIDDEN, 3 * HIDDEN), "bias": random(3 * HIDDEN),
                                           "mask_index": None, "past": None, "attention_bias": None, **more}, {"num_heads": N}, 2 if "past" in more else 1)
       for name, more in JOINT.items()},
    **{f"multi_head_{name}": ("MultiHeadAttention", {"query": random(2, 5, HIDDEN), "key": random(2, 5, HIDDEN), "value": random(2, 5, HIDDEN),
                                                     "bias": None, "key_padding_mask": None, "attention_bias": None, "past_key": None, "past_value": None, **more},
                              {"num_heads": N}, 3 if "past_key" in more else 1) for name, more in MULTI_HEAD.items()},
    "embedding": ("EmbedLayerNormalization", {"ids": TOKENS, "segments": None, "words": random(10, 8), "places": random(6, 8), "kinds": None, "gamma": random(8), "beta": random(8),
                                              "mask": np.ones((2, 5), I32)}, {}, 2),
    "skip": ("SkipLayerNormalization", {"x": random(2, 5, 8), "skip": random(2, 5, 8, seed=1), "gamma": random(8), "beta": random(8), "bias": random(8, seed=1)}, {}, 1),
    "gelu": ("BiasGelu", {"x": random(2, 8), "bias": random(8)}, {}, 1),
    "fast_gelu": ("FastGelu", {"x": random(2, 8), "bias": random(8)}, {}, 1),
    "matmul": ("FusedMatMul", {"a": random(2, 8, 3), "b": random(2, 8, 4)}, {"transA": 1, "alpha": 0.5}, 1),
    "conv": ("FusedConv", {"x": random(1, 3, 8, 8), "w": random(4, 3, 3, 3), "b": random(4)}, {"activation": "Relu"}, 1),
    "triangle": ("Trilu", {"x": random(2, 4, 5)}, {"upper": 0}, 1),
    "grid": ("GridSample", {"x": random(1, 2, 4, 5), "grid": random(1, 3, 3, 2)}, {"mode": "bilinear"}, 1),
    "gather": ("GatherND", {"x": random(3, 4), "at": np.array([[1, 2], [0, 3]], I64)}, {}, 1),
    "rotary": ("RotaryEmbedding", {"x": random(2, N, 5, W), "at": np.arange(5, dtype=I64)[None].repeat(2, 0), "cos": random(8, W // 2), "sin": random(8, W // 2)}, {}, 1),
    "nbits": ("MatMulNBits", {"x": random(3, 32), "w": np.random.default_rng(0).integers(0, 256, (8, 2, 8), np.uint8), "scales": random(16)},
              {"K": 32, "N": 8, "bits": 4, "block_size": 16}, 1),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", CASES)
def test_operators(case, opset):
    op_type, inputs, attributes, count = CASES[case]
    outputs = {f"y{i}": TensorProto.INT32 if op_type.startswith("Embed") and i else TensorProto.FLOAT for i in range(count)}
    model, feeds = model_of(op_type, inputs, outputs, opset=opset, **attributes)
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = gantry.Session(model, device="CPU").run(feeds)
    for name, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("opset", [11, 12])
def test_a_layer_beside_nodes_of_its_opset(opset):
    model = layer_of(opset)
    session = gantry.Session(model, device="CPU")
    feeds = {"x": random(2, 5, HIDDEN), "mask": np.array([[1] * 5, [1, 1, 0, 0, 0]], I32)}
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    np.testing.assert_allclose(session.run(feeds)["y"], expected, rtol=1e-4, atol=1e-5)
    assert expected.dtype == F32


def test_a_model_that_imports_com_microsoft_alone():
    model, feeds = model_of("SkipLayerNormalization", *CASES["skip"][1:2], {"y": TensorProto.FLOAT})
    del model.opset_import[0]
    assert [item.domain for item in model.opset_import] == ["com.microsoft"]
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    np.testing.assert_allclose(gantry.Session(model, device="CPU").run(feeds)["y"], expected, rtol=1e-5, atol=1e-5)
