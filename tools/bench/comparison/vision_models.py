# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 as exporters write it: normalisations folded into the convolutions, ReLU6 as Clip."""

import numpy as np
from onnx import TensorProto

from comparison.graph_writer import GraphWriter

# Expansion, output channels, repeats, stride of the first: the published table of MobileNetV2 at width 1.
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
CLASSES = 1000


def convolution(graph, x, inputs, outputs, kernel=1, stride=1, groups=1, has_clip=True):
    fan_in = inputs // groups * kernel * kernel
    deviation = np.sqrt((2 if has_clip else 1) / fan_in)
    weight = graph.normal((outputs, inputs // groups, kernel, kernel), deviation)
    bias = graph.uniform((outputs,), -0.1, 0.1)
    y = graph.node("Conv", [x, weight, bias], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)
    if not has_clip:
        return y
    return graph.node("Clip", [y, graph.constant(0, np.float32), graph.constant(6, np.float32)])


def bottleneck(graph, x, inputs, outputs, expansion, stride):
    hidden = inputs * expansion
    y = x if expansion == 1 else convolution(graph, x, inputs, hidden)
    y = convolution(graph, y, hidden, hidden, kernel=3, stride=stride, groups=hidden)
    y = convolution(graph, y, hidden, outputs, has_clip=False)
    return graph.node("Add", [x, y]) if stride == 1 and inputs == outputs else y


def mobilenet_v2():
    """x: [1, 3, 224, 224] -> scores: [1, 1000]."""
    graph = GraphWriter("mobilenet_v2")
    y = convolution(graph, graph.input("x", TensorProto.FLOAT, [1, 3, 224, 224]), 3, 32, kernel=3, stride=2)
    channels = 32
    for expansion, outputs, repeats, stride in BLOCKS:
        for i in range(repeats):
            y = bottleneck(graph, y, channels, outputs, expansion, stride if i == 0 else 1)
            channels = outputs
    y = convolution(graph, y, channels, 1280)
    y = graph.node("Flatten", [graph.node("GlobalAveragePool", [y])], axis=1)
    weight, bias = graph.normal((CLASSES, 1280), 0.05), graph.uniform((CLASSES,), -0.1, 0.1)
    graph.node("Gemm", [y, weight, bias], ["scores"], transB=1)
    graph.output("scores", [1, CLASSES])
    return graph.model()
