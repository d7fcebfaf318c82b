# SPDX-License-Identifier: Apache-2.0
"""BERT-base and a decoding step of GPT-2 (124 M parameters), node by node as exporters write them: no fused operators."""

import numpy as np
from onnx import TensorProto

from comparison.graph_writer import GraphWriter

HIDDEN, HEADS, LAYERS = 768, 12, 12
HEAD = HIDDEN // HEADS
DEVIATION = 0.02  # of weights, as both models are initialised


def ints(graph, *values):
    return graph.constant(values, np.int64)


def scalar(graph, value):
    return graph.constant(value, np.float32)


def linear(graph, x, inputs, outputs):
    """x: [..., inputs] -> [..., outputs], as MatMul and Add."""
    product = graph.node("MatMul", [x, graph.normal((inputs, outputs), DEVIATION)])
    return graph.node("Add", [graph.uniform((outputs,), -0.05, 0.05), product])


def layer_norm(graph, x):
    scale, bias = graph.uniform((HIDDEN,), 0.8, 1.2), graph.uniform((HIDDEN,), -0.1, 0.1)
    return graph.node("LayerNormalization", [x, scale, bias], axis=-1, epsilon=1e-5)


def attend(graph, query, key, value, mask=None):
    """query: [1, 12, n, 64]; key, value: [1, 12, m, 64]; mask added to the scores -> [1, n, 768]."""
    scores = graph.node("MatMul", [query, graph.node("Transpose", [key], perm=[0, 1, 3, 2])])
    scores = graph.node("Div", [scores, scalar(graph, np.sqrt(HEAD))])
    if mask:
        scores = graph.node("Add", [scores, mask])
    mixed = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])
    return graph.node("Reshape", [graph.node("Transpose", [mixed], perm=[0, 2, 1, 3]), ints(graph, 1, -1, HIDDEN)])


def split_heads(graph, x):
    """[1, n, 768] -> [1, 12, n, 64]."""
    return graph.node("Transpose", [graph.node("Reshape", [x, ints(graph, 1, -1, HEADS, HEAD)])], perm=[0, 2, 1, 3])


def bert_layer(graph, x, mask):
    query, key, value = (split_heads(graph, linear(graph, x, HIDDEN, HIDDEN)) for _ in range(3))
    y = linear(graph, attend(graph, query, key, value, mask), HIDDEN, HIDDEN)
    x = layer_norm(graph, graph.node("Add", [y, x]))
    y = linear(graph, x, HIDDEN, 4 * HIDDEN)
    error_function = graph.node("Erf", [graph.node("Div", [y, scalar(graph, np.sqrt(2))])])
    y = graph.node("Mul", [graph.node("Mul", [y, graph.node("Add", [error_function, scalar(graph, 1)])]), scalar(graph, 0.5)])
    return layer_norm(graph, graph.node("Add", [linear(graph, y, 4 * HIDDEN, HIDDEN), x]))


def bert_base(tokens=128, vocabulary=30522):
    """input_ids, attention_mask, token_type_ids: int64 [1, tokens] -> last_hidden_state [1, tokens, 768], pooler_output [1, 768]."""
    graph = GraphWriter("bert_base")
    words, mask, types = (graph.input(name, TensorProto.INT64, [1, tokens]) for name in ("input_ids", "attention_mask", "token_type_ids"))
    x = graph.node("Gather", [graph.normal((vocabulary, HIDDEN), DEVIATION), words])
    x = graph.node("Add", [x, graph.node("Gather", [graph.normal((2, HIDDEN), DEVIATION), types])])
    x = layer_norm(graph, graph.node("Add", [x, graph.normal((1, tokens, HIDDEN), DEVIATION)]))
    mask = graph.node("Cast", [graph.node("Unsqueeze", [mask, ints(graph, 1, 2)])], to=TensorProto.FLOAT)
    mask = graph.node("Mul", [graph.node("Sub", [scalar(graph, 1), mask]), scalar(graph, -10000)])
    for _ in range(LAYERS):
        x = bert_layer(graph, x, mask)
    graph.node("Identity", [x], ["last_hidden_state"])
    first = graph.node("Gather", [x, graph.constant(0, np.int64)], axis=1)
    graph.node("Tanh", [linear(graph, first, HIDDEN, HIDDEN)], ["pooler_output"])
    graph.output("last_hidden_state", [1, tokens, HIDDEN])
    graph.output("pooler_output", [1, HIDDEN])
    return graph.model()


def gemm(graph, x, inputs, outputs):
    """x: [1, 1, inputs] -> [1, 1, outputs], as Gemm between two Reshape."""
    weight, bias = graph.normal((inputs, outputs), DEVIATION), graph.uniform((outputs,), -0.05, 0.05)
    product = graph.node("Gemm", [graph.node("Reshape", [x, ints(graph, -1, inputs)]), weight, bias])
    return graph.node("Reshape", [product, ints(graph, 1, -1, outputs)])


def gelu_by_tanh(graph, x):
    cube = graph.node("Pow", [x, scalar(graph, 3)])
    inner = graph.node("Add", [x, graph.node("Mul", [cube, scalar(graph, 0.044715)])])
    bent = graph.node("Tanh", [graph.node("Mul", [inner, scalar(graph, np.sqrt(2 / np.pi))])])
    return graph.node("Mul", [graph.node("Mul", [x, scalar(graph, 0.5)]), graph.node("Add", [bent, scalar(graph, 1)])])


def gpt2_layer(graph, x, layer, past):
    parts = graph.node("Split", [gemm(graph, layer_norm(graph, x), HIDDEN, 3 * HIDDEN), ints(graph, HIDDEN, HIDDEN, HIDDEN)], outputs=3, axis=2)
    query, *new = (split_heads(graph, part) for part in parts)
    caches = []
    for kind, value in zip(("key", "value"), new, strict=True):
        cache = graph.input(f"past_{kind}_{layer}", TensorProto.FLOAT, [1, HEADS, past, HEAD])
        caches.append(graph.node("Concat", [cache, value], [f"present_{kind}_{layer}"], axis=2))
        graph.output(caches[-1], [1, HEADS, past + 1, HEAD])
    x = graph.node("Add", [gemm(graph, attend(graph, query, *caches), HIDDEN, HIDDEN), x])
    y = gelu_by_tanh(graph, gemm(graph, layer_norm(graph, x), HIDDEN, 4 * HIDDEN))
    return graph.node("Add", [x, gemm(graph, y, 4 * HIDDEN, HIDDEN)])


def gpt2_decode(past=256, vocabulary=50257, positions=1024):
    """input_ids, position_ids: int64 [1, 1], past_{key,value}_N: [1, 12, past, 64] -> logits [1, vocabulary], present_{key,value}_N."""
    graph = GraphWriter("gpt2_decode")
    word, position = (graph.input(name, TensorProto.INT64, [1, 1]) for name in ("input_ids", "position_ids"))
    table = graph.normal((vocabulary, HIDDEN), DEVIATION)
    graph.output("logits", [1, vocabulary])
    x = graph.node("Add", [graph.node("Gather", [table, word]), graph.node("Gather", [graph.normal((positions, HIDDEN), DEVIATION), position])])
    for layer in range(LAYERS):
        x = gpt2_layer(graph, x, layer, past)
    last = graph.node("Reshape", [layer_norm(graph, x), ints(graph, -1, HIDDEN)])
    graph.node("Gemm", [last, table], ["logits"], transB=1)
    return graph.model()
