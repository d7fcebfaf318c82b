# SPDX-License-Identifier: Apache-2.0
"""Sound and language by networks of other kinds than those that are tuned for, with random weights."""

import numpy as np
from onnx import TensorProto

from comparison.graph_writer import GraphWriter
from comparison.other_vision_models import attended, gelu, ints, layer_norm, linear, perceptron, relu, scalar, silu


def line_convolution(graph, x, inputs, outputs, kernel, stride=1, pads=None, dilation=1, groups=1, activation=None):
    """x: [n, inputs, steps]."""
    weight = graph.normal((outputs, inputs // groups, kernel), np.sqrt((2 if activation else 1) / (inputs // groups * kernel)))
    pad = dilation * (kernel - 1) // 2 if pads is None else pads
    y = graph.node("Conv", [x, weight, graph.uniform((outputs,), -0.1, 0.1)], kernel_shape=[kernel], strides=[stride], pads=[pad, pad], dilations=[dilation],
                   group=groups)
    return activation(graph, y) if activation else y


def encoder(graph, x, rows, width, heads, layers):
    for _ in range(layers):
        x = graph.node("Add", [x, linear(graph, attended(graph, layer_norm(graph, x, width), rows, width, heads), width, width)])
        x = graph.node("Add", [x, perceptron(graph, layer_norm(graph, x, width), width)])
    return layer_norm(graph, x, width)


def whisper_encoder():
    """Whisper tiny's. mel: [1, 80, 3000] -> states: [1, 1500, 384]."""
    graph = GraphWriter("whisper_encoder")
    y = line_convolution(graph, graph.input("mel", TensorProto.FLOAT, [1, 80, 3000]), 80, 384, 3, activation=gelu)
    y = graph.node("Transpose", [line_convolution(graph, y, 384, 384, 3, 2, activation=gelu)], perm=[0, 2, 1])
    y = encoder(graph, graph.node("Add", [y, graph.normal((1, 1500, 384), 0.02)]), 1500, 384, 6, 4)
    graph.node("Identity", [y], ["states"])
    graph.output("states", [1, 1500, 384])
    return graph.model()


def wav2vec():
    """Its seven convolutions and two layers of its encoder. sound: [1, 1, 16000] -> states: [1, 49, 768]."""
    graph = GraphWriter("wav2vec")
    y, channels = graph.input("sound", TensorProto.FLOAT, [1, 1, 16000]), 1
    for kernel, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)):
        y, channels = line_convolution(graph, y, channels, 512, kernel, stride, pads=0, activation=gelu), 512
    y = linear(graph, layer_norm(graph, graph.node("Transpose", [y], perm=[0, 2, 1]), 512), 512, 768)
    graph.node("Identity", [encoder(graph, y, 49, 768, 12, 2)], ["states"])
    graph.output("states", [1, 49, 768])
    return graph.model()


def conv_tasnet():
    """sound: [1, 1, 16000] -> masks: [1, 512, 1999]: a dozen blocks with gaps that double."""
    graph = GraphWriter("conv_tasnet")
    y = line_convolution(graph, graph.input("sound", TensorProto.FLOAT, [1, 1, 16000]), 1, 256, 16, 8, pads=0, activation=relu)
    for i in range(12):
        z = graph.node("PRelu", [line_convolution(graph, y, 256, 512, 1), graph.constant([0.25], np.float32)])
        z = line_convolution(graph, z, 512, 512, 3, dilation=2 ** (i % 6), groups=512)
        z = line_convolution(graph, graph.node("PRelu", [z, graph.constant([0.25], np.float32)]), 512, 256, 1)
        y = graph.node("Add", [y, z])
    graph.node("Sigmoid", [line_convolution(graph, y, 256, 512, 1)], ["masks"])
    graph.output("masks", [1, 512, 1999])
    return graph.model()


def recurrent(op_type, gates):
    """Two bidirectional layers of 256 over 100 steps. x: [100, 1, 128] -> y: [100, 1, 512]."""
    def write():
        graph = GraphWriter(op_type.lower())
        y, width = graph.input("x", TensorProto.FLOAT, [100, 1, 128]), 128
        for _ in range(2):
            weights = [graph.uniform((2, gates * 256, columns), -0.06, 0.06) for columns in (width, 256)]
            y = graph.node(op_type, [y, *weights, graph.uniform((2, 2 * gates * 256), -0.06, 0.06)], direction="bidirectional", hidden_size=256)
            y = graph.node("Reshape", [graph.node("Transpose", [y], perm=[0, 2, 1, 3]), ints(graph, 100, 1, 512)])
            width = 512
        graph.node("Identity", [y], ["y"])
        graph.output("y", [100, 1, 512])
        return graph.model()
    return write


def t5_encoder():
    """T5-small's encoder of 128 tokens. x: [1, 128, 512] -> states."""
    graph, width, rows = GraphWriter("t5_encoder"), 512, 128

    def norm(x):
        mean = graph.node("ReduceMean", [graph.node("Pow", [x, scalar(graph, 2)])], axes=[-1])
        scaled = graph.node("Div", [x, graph.node("Sqrt", [graph.node("Add", [mean, scalar(graph, 1e-6)])])])
        return graph.node("Mul", [graph.uniform((width,), 0.8, 1.2), scaled])

    def product(x, inputs, outputs):
        return graph.node("MatMul", [x, graph.normal((inputs, outputs), 1 / np.sqrt(inputs))])

    def heads_of(x):
        return graph.node("Transpose", [graph.node("Reshape", [product(x, width, width), ints(graph, 1, -1, 8, 64)])], perm=[0, 2, 1, 3])

    y, bias = graph.input("x", TensorProto.FLOAT, [1, rows, width]), graph.normal((1, 8, rows, rows), 0.5)
    for _ in range(6):
        z = norm(y)
        query, key, value = heads_of(z), heads_of(z), heads_of(z)
        scores = graph.node("Add", [graph.node("MatMul", [query, graph.node("Transpose", [key], perm=[0, 1, 3, 2])]), bias])
        mixed = graph.node("Transpose", [graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])], perm=[0, 2, 1, 3])
        y = graph.node("Add", [y, product(graph.node("Reshape", [mixed, ints(graph, 1, -1, width)]), width, width)])
        y = graph.node("Add", [y, product(relu(graph, product(norm(y), width, 2048)), 2048, width)])
    graph.node("Identity", [norm(y)], ["states"])
    graph.output("states", [1, rows, width])
    return graph.model()


def conformer():
    """Eight layers of 144 over 200 frames. x: [1, 200, 144] -> states."""
    graph, width, rows = GraphWriter("conformer"), 144, 200
    y = graph.input("x", TensorProto.FLOAT, [1, rows, width])

    def half(x):
        z = linear(graph, silu(graph, linear(graph, layer_norm(graph, x, width), width, 4 * width)), 4 * width, width)
        return graph.node("Add", [x, graph.node("Mul", [z, scalar(graph, 0.5)])])

    for _ in range(8):
        y = half(y)
        y = graph.node("Add", [y, linear(graph, attended(graph, layer_norm(graph, y, width), rows, width, 4), width, width)])
        z = line_convolution(graph, graph.node("Transpose", [layer_norm(graph, y, width)], perm=[0, 2, 1]), width, 2 * width, 1)
        value, gate = graph.node("Split", [z, ints(graph, width, width)], outputs=2, axis=1)
        z = graph.node("Mul", [value, graph.node("Sigmoid", [gate])])
        z = line_convolution(graph, line_convolution(graph, z, width, width, 31, groups=width, activation=silu), width, width, 1)
        y = layer_norm(graph, half(graph.node("Add", [y, graph.node("Transpose", [z], perm=[0, 2, 1])])), width)
    graph.node("Identity", [y], ["states"])
    graph.output("states", [1, rows, width])
    return graph.model()


def decoder(new, past, layers=4, width=1024, heads=16, groups=4, hidden=2816, vocabulary=8192):
    """A Llama-like decoder as exporters write it: `new` tokens behind `past`. x: [1, new, width], cos, sin: [1, 1, new, 64] -> logits, caches."""
    graph, head = GraphWriter(f"decoder_{new}"), width // heads
    y = graph.input("x", TensorProto.FLOAT, [1, new, width])
    cos, sin = (graph.input(name, TensorProto.FLOAT, [1, 1, new, head]) for name in ("cos", "sin"))

    def norm(x):
        mean = graph.node("ReduceMean", [graph.node("Pow", [x, scalar(graph, 2)])], axes=[-1])
        root = graph.node("Sqrt", [graph.node("Add", [mean, scalar(graph, 1e-5)])])
        return graph.node("Mul", [graph.uniform((width,), 0.8, 1.2), graph.node("Mul", [x, graph.node("Div", [scalar(graph, 1), root])])])

    def product(x, inputs, outputs):
        return graph.node("MatMul", [x, graph.normal((inputs, outputs), 1 / np.sqrt(inputs))])

    def heads_of(x, count):
        cut = graph.node("Reshape", [product(x, width, count * head), ints(graph, 1, -1, count, head)])
        return graph.node("Transpose", [cut], perm=[0, 2, 1, 3])

    def rotated(x):
        near = graph.node("Slice", [x, ints(graph, 0), ints(graph, head // 2), ints(graph, 3)])
        far = graph.node("Slice", [x, ints(graph, head // 2), ints(graph, 2**62), ints(graph, 3)])
        turned = graph.node("Concat", [graph.node("Neg", [far]), near], axis=3)
        return graph.node("Add", [graph.node("Mul", [x, cos]), graph.node("Mul", [turned, sin])])

    def repeated(x):
        wide = graph.node("Expand", [graph.node("Unsqueeze", [x, ints(graph, 2)]), ints(graph, 1, groups, heads // groups, past + new, head)])
        return graph.node("Reshape", [wide, ints(graph, 1, heads, past + new, head)])

    for layer in range(layers):
        z, caches = norm(y), []
        query, key, value = rotated(heads_of(z, heads)), rotated(heads_of(z, groups)), heads_of(z, groups)
        for kind, fresh in (("key", key), ("value", value)):
            if past:
                cache = graph.input(f"past_{kind}_{layer}", TensorProto.FLOAT, [1, groups, past, head])
                fresh = graph.node("Concat", [cache, fresh], [f"present_{kind}_{layer}"], axis=2)
                graph.output(fresh, [1, groups, past + new, head])
            caches.append(repeated(fresh))
        scores = graph.node("MatMul", [query, graph.node("Transpose", [caches[0]], perm=[0, 1, 3, 2])])
        scores = graph.node("Mul", [scores, scalar(graph, head ** -0.5)])
        if new > 1:
            scores = graph.node("Add", [scores, graph.constant(np.triu(np.full((1, 1, new, past + new), -1e9, np.float32), past + 1), np.float32)])
        mixed = graph.node("Transpose", [graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), caches[1]])], perm=[0, 2, 1, 3])
        y = graph.node("Add", [y, product(graph.node("Reshape", [mixed, ints(graph, 1, -1, width)]), width, width)])
        z = norm(y)
        y = graph.node("Add", [y, product(graph.node("Mul", [silu(graph, product(z, width, hidden)), product(z, width, hidden)]), hidden, width)])
    graph.node("MatMul", [norm(y), graph.normal((width, vocabulary), 0.03)], ["logits"])
    graph.output("logits", [1, new, vocabulary])
    return graph.model()


def minilm(batch=1, tokens=64, layers=6, width=384, heads=12, vocabulary=8192):
    """A small encoder of sentences. input_ids, attention_mask: int64 [batch, tokens] -> states: [batch, tokens, width]."""
    graph, head = GraphWriter("minilm"), width // heads
    words, mask = (graph.input(name, TensorProto.INT64, [batch, tokens]) for name in ("input_ids", "attention_mask"))
    x = graph.node("Add", [graph.node("Gather", [graph.normal((vocabulary, width), 0.5), words]), graph.normal((1, tokens, width), 0.5)])
    x = layer_norm(graph, x, width)
    mask = graph.node("Cast", [graph.node("Unsqueeze", [mask, ints(graph, 1, 2)])], to=TensorProto.FLOAT)
    mask = graph.node("Mul", [graph.node("Sub", [scalar(graph, 1), mask]), scalar(graph, -10000)])

    def heads_of(x):
        return graph.node("Transpose", [graph.node("Reshape", [linear(graph, x, width, width), ints(graph, batch, -1, heads, head)])], perm=[0, 2, 1, 3])

    for _ in range(layers):
        query, key, value = heads_of(x), heads_of(x), heads_of(x)
        scores = graph.node("MatMul", [query, graph.node("Transpose", [key], perm=[0, 1, 3, 2])])
        scores = graph.node("Add", [graph.node("Div", [scores, scalar(graph, np.sqrt(head))]), mask])
        mixed = graph.node("Transpose", [graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])], perm=[0, 2, 1, 3])
        y = linear(graph, graph.node("Reshape", [mixed, ints(graph, batch, -1, width)]), width, width)
        x = layer_norm(graph, graph.node("Add", [y, x]), width)
        x = layer_norm(graph, graph.node("Add", [perceptron(graph, x, width), x]), width)
    graph.node("Identity", [x], ["states"])
    graph.output("states", [batch, tokens, width])
    return graph.model()
