# SPDX-License-Identifier: Apache-2.0
"""Pictures by networks of other kinds than those that are tuned for, after their published tables, with random weights. x: [n, 3, h, w]."""

import numpy as np
from onnx import TensorProto

from comparison.graph_writer import GraphWriter


def ints(graph, *values):
    return graph.constant(values, np.int64)


def scalar(graph, value):
    return graph.constant(value, np.float32)


def picture(graph, *shape):
    return graph.input("x", TensorProto.FLOAT, list(shape))


def silu(graph, x):
    return graph.node("Mul", [x, graph.node("Sigmoid", [x])])


def relu(graph, x):
    return graph.node("Relu", [x])


def hard_swish(graph, x):
    return graph.node("HardSwish", [x])


def gelu(graph, x):
    """By the error function, as exporters write it."""
    bent = graph.node("Erf", [graph.node("Div", [x, scalar(graph, np.sqrt(2))])])
    return graph.node("Mul", [graph.node("Mul", [x, graph.node("Add", [bent, scalar(graph, 1)])]), scalar(graph, 0.5)])


def convolution(graph, x, inputs, outputs, kernel=1, stride=1, groups=1, activation=None, pads=None, dilation=1):
    fan_in = inputs // groups * kernel * kernel
    weight = graph.normal((outputs, inputs // groups, kernel, kernel), np.sqrt((2 if activation else 1) / fan_in))
    pad = dilation * (kernel - 1) // 2 if pads is None else pads
    y = graph.node("Conv", [x, weight, graph.uniform((outputs,), -0.1, 0.1)], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups,
                   dilations=[dilation] * 2)
    return activation(graph, y) if activation else y


def linear(graph, x, inputs, outputs):
    product = graph.node("MatMul", [x, graph.normal((inputs, outputs), 1 / np.sqrt(inputs))])
    return graph.node("Add", [product, graph.uniform((outputs,), -0.05, 0.05)])


def layer_norm(graph, x, width):
    return graph.node("LayerNormalization", [x, graph.uniform((width,), 0.8, 1.2), graph.uniform((width,), -0.1, 0.1)], axis=-1, epsilon=1e-6)


def classified(graph, pooled, channels, shape):
    """pooled: [n, channels, 1, 1] -> the model, whose output is scores: [n, 1000]."""
    flat = graph.node("Flatten", [pooled], axis=1)
    graph.node("Gemm", [flat, graph.normal((1000, channels), 0.05), graph.uniform((1000,), -0.1, 0.1)], ["scores"], transB=1)
    graph.output("scores", [shape[0], 1000])
    return graph.model()


def pooled(graph, x):
    return graph.node("GlobalAveragePool", [x])


def squeeze_and_excite(graph, x, channels, squeezed, inner, gate):
    y = convolution(graph, pooled(graph, x), channels, squeezed, activation=inner)
    return graph.node("Mul", [x, graph.node(gate, [convolution(graph, y, squeezed, channels)])])


def inverted_bottleneck(graph, x, inputs, outputs, hidden, kernel, stride, activation, excite=None):
    """excite: (channels within, activation, gate) or None."""
    y = x if hidden == inputs else convolution(graph, x, inputs, hidden, activation=activation)
    y = convolution(graph, y, hidden, hidden, kernel, stride, hidden, activation)
    if excite:
        y = squeeze_and_excite(graph, y, hidden, *excite)
    y = convolution(graph, y, hidden, outputs)
    return graph.node("Add", [x, y]) if stride == 1 and inputs == outputs else y


def efficientnet_b0(batch=1):
    graph, shape, channels = GraphWriter("efficientnet_b0"), (batch, 3, 224, 224), 32
    y = convolution(graph, picture(graph, *shape), 3, 32, 3, 2, activation=silu)
    for expansion, outputs, repeats, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                                                        (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for i in range(repeats):
            y = inverted_bottleneck(graph, y, channels, outputs, channels * expansion, kernel, stride if i == 0 else 1, silu, (channels // 4, silu, "Sigmoid"))
            channels = outputs
    return classified(graph, pooled(graph, convolution(graph, y, channels, 1280, activation=silu)), 1280, shape)


def mobilenet_v3():
    graph, shape, channels = GraphWriter("mobilenet_v3"), (1, 3, 224, 224), 16
    y = convolution(graph, picture(graph, *shape), 3, 16, 3, 2, activation=hard_swish)
    for kernel, hidden, outputs, excited, activation, stride in (
            (3, 16, 16, 0, relu, 1), (3, 64, 24, 0, relu, 2), (3, 72, 24, 0, relu, 1), (5, 72, 40, 24, relu, 2), (5, 120, 40, 32, relu, 1),
            (5, 120, 40, 32, relu, 1), (3, 240, 80, 0, hard_swish, 2), (3, 200, 80, 0, hard_swish, 1), (3, 184, 80, 0, hard_swish, 1),
            (3, 184, 80, 0, hard_swish, 1), (3, 480, 112, 120, hard_swish, 1), (3, 672, 112, 168, hard_swish, 1), (5, 672, 160, 168, hard_swish, 2),
            (5, 960, 160, 240, hard_swish, 1), (5, 960, 160, 240, hard_swish, 1)):
        y = inverted_bottleneck(graph, y, channels, outputs, hidden, kernel, stride, activation, (excited, relu, "HardSigmoid") if excited else None)
        channels = outputs
    y = convolution(graph, pooled(graph, convolution(graph, y, channels, 960, activation=hard_swish)), 960, 1280, activation=hard_swish)
    return classified(graph, y, 1280, shape)


def mobilenet_v1():
    graph, shape, channels = GraphWriter("mobilenet_v1"), (1, 3, 224, 224), 32
    y = convolution(graph, picture(graph, *shape), 3, 32, 3, 2, activation=relu)
    for outputs, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        y = convolution(graph, y, channels, channels, 3, stride, channels, relu)
        y, channels = convolution(graph, y, channels, outputs, activation=relu), outputs
    return classified(graph, pooled(graph, y), channels, shape)


def regnet_x():
    """RegNetX-1.6GF: groups of 24 channels."""
    graph, shape, channels = GraphWriter("regnet_x"), (1, 3, 224, 224), 32
    y = convolution(graph, picture(graph, *shape), 3, 32, 3, 2, activation=relu)
    for width, depth in ((72, 2), (168, 4), (408, 10), (912, 2)):
        for i in range(depth):
            stride = 2 if i == 0 else 1
            z = convolution(graph, y, channels, width, activation=relu)
            z = convolution(graph, convolution(graph, z, width, width, 3, stride, width // 24, relu), width, width)
            y = graph.node("Relu", [graph.node("Add", [convolution(graph, y, channels, width, stride=stride) if i == 0 else y, z])])
            channels = width
    return classified(graph, pooled(graph, y), channels, shape)


def convnext_t():
    graph, shape, channels = GraphWriter("convnext_t"), (1, 3, 224, 224), 96

    def norm_of_channels(x, width):
        y = layer_norm(graph, graph.node("Transpose", [x], perm=[0, 2, 3, 1]), width)
        return graph.node("Transpose", [y], perm=[0, 3, 1, 2])

    y = norm_of_channels(convolution(graph, picture(graph, *shape), 3, 96, 4, 4, pads=0), 96)
    for width, depth in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if width != channels:
            y, channels = convolution(graph, norm_of_channels(y, channels), channels, width, 2, 2, pads=0), width
        for _ in range(depth):
            z = graph.node("Transpose", [convolution(graph, y, width, width, 7, groups=width)], perm=[0, 2, 3, 1])
            z = linear(graph, gelu(graph, linear(graph, layer_norm(graph, z, width), width, 4 * width)), 4 * width, width)
            z = graph.node("Mul", [z, graph.uniform((width,), 0.1, 0.3)])
            y = graph.node("Add", [y, graph.node("Transpose", [z], perm=[0, 3, 1, 2])])
    flat = graph.node("Transpose", [pooled(graph, y)], perm=[0, 2, 3, 1])
    return classified(graph, graph.node("Transpose", [layer_norm(graph, flat, 768)], perm=[0, 3, 1, 2]), 768, shape)


def u_net():
    graph, depths = GraphWriter("u_net"), (32, 64, 128, 256, 512)
    y, channels, skips = picture(graph, 1, 3, 256, 256), 3, []
    for width in depths:
        if skips:
            y = graph.node("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2])
        for _ in range(2):
            y, channels = convolution(graph, y, channels, width, 3, activation=relu), width
        skips.append(y)
    for width, skip in zip(depths[-2::-1], skips[-2::-1], strict=True):
        up = graph.node("ConvTranspose", [y, graph.normal((channels, width, 2, 2), np.sqrt(1 / channels)), graph.uniform((width,), -0.1, 0.1)],
                        kernel_shape=[2, 2], strides=[2, 2])
        y, channels = graph.node("Concat", [skip, up], axis=1), 2 * width
        for _ in range(2):
            y, channels = convolution(graph, y, channels, width, 3, activation=relu), width
    graph.node("Sigmoid", [convolution(graph, y, channels, 1)], ["mask"])
    graph.output("mask", [1, 1, 256, 256])
    return graph.model()


def yolo():
    """After YOLOv8n: its backbone, both ways of its neck, and its six heads, without decoding boxes."""
    graph = GraphWriter("yolo")

    def conv(x, inputs, outputs, kernel=3, stride=1):
        return convolution(graph, x, inputs, outputs, kernel, stride, activation=silu)

    def c2f(x, inputs, outputs, repeats, has_shortcut):
        half = outputs // 2
        parts = graph.node("Split", [conv(x, inputs, outputs, 1), ints(graph, half, half)], outputs=2, axis=1)
        for _ in range(repeats):
            y = conv(conv(parts[-1], half, half), half, half)
            parts.append(graph.node("Add", [parts[-1], y]) if has_shortcut else y)
        return conv(graph.node("Concat", parts, axis=1), half * len(parts), outputs, 1)

    def upscaled(x):
        return graph.node("Resize", [x, "", graph.constant([1, 1, 2, 2], np.float32)], mode="nearest", coordinate_transformation_mode="asymmetric",
                          nearest_mode="floor")

    y = conv(conv(picture(graph, 1, 3, 320, 320), 3, 16, 3, 2), 16, 32, 3, 2)
    y = c2f(y, 32, 32, 1, True)
    p3 = c2f(conv(y, 32, 64, 3, 2), 64, 64, 2, True)
    p4 = c2f(conv(p3, 64, 128, 3, 2), 128, 128, 2, True)
    y = conv(c2f(conv(p4, 128, 256, 3, 2), 256, 256, 1, True), 256, 128, 1)
    pools = [y]
    for _ in range(3):
        pools.append(graph.node("MaxPool", [pools[-1]], kernel_shape=[5, 5], pads=[2] * 4))
    p5 = conv(graph.node("Concat", pools, axis=1), 512, 256, 1)
    n4 = c2f(graph.node("Concat", [upscaled(p5), p4], axis=1), 384, 128, 1, False)
    n3 = c2f(graph.node("Concat", [upscaled(n4), p3], axis=1), 192, 64, 1, False)
    n4 = c2f(graph.node("Concat", [conv(n3, 64, 64, 3, 2), n4], axis=1), 192, 128, 1, False)
    n5 = c2f(graph.node("Concat", [conv(n4, 128, 128, 3, 2), p5], axis=1), 384, 256, 1, False)
    flat = []
    for level, channels in ((n3, 64), (n4, 128), (n5, 256)):
        boxes = convolution(graph, conv(conv(level, channels, 64), 64, 64), 64, 64)
        classes = convolution(graph, conv(conv(level, channels, 80), 80, 80), 80, 80)
        flat.append(graph.node("Reshape", [graph.node("Concat", [boxes, classes], axis=1), ints(graph, 1, 144, -1)]))
    graph.node("Concat", flat, ["found"], axis=2)
    graph.output("found", [1, 144, 2100])
    return graph.model()


def attended(graph, x, rows, width, heads, bias=None):
    """Self-attention: x: [n, rows, width] -> the same, without its last projection. bias: added to the scores."""
    head = width // heads
    split = graph.node("Reshape", [linear(graph, x, width, 3 * width), ints(graph, -1, rows, 3, heads, head)])
    parts = graph.node("Transpose", [split], perm=[2, 0, 3, 1, 4])
    query, key, value = (graph.node("Gather", [parts, graph.constant(i, np.int64)], axis=0) for i in range(3))
    scores = graph.node("MatMul", [graph.node("Mul", [query, scalar(graph, head ** -0.5)]), graph.node("Transpose", [key], perm=[0, 1, 3, 2])])
    if bias:
        scores = graph.node("Add", [scores, bias])
    mixed = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])
    return graph.node("Reshape", [graph.node("Transpose", [mixed], perm=[0, 2, 1, 3]), ints(graph, -1, rows, width)])


def perceptron(graph, x, width):
    return linear(graph, gelu(graph, linear(graph, x, width, 4 * width)), 4 * width, width)


def vit_s():
    graph, width, rows = GraphWriter("vit_s"), 384, 197
    y = convolution(graph, picture(graph, 1, 3, 224, 224), 3, width, 16, 16, pads=0)
    y = graph.node("Transpose", [graph.node("Reshape", [y, ints(graph, 1, width, 196)])], perm=[0, 2, 1])
    y = graph.node("Add", [graph.node("Concat", [graph.normal((1, 1, width), 0.02), y], axis=1), graph.normal((1, rows, width), 0.02)])
    for _ in range(12):
        y = graph.node("Add", [y, linear(graph, attended(graph, layer_norm(graph, y, width), rows, width, 6), width, width)])
        y = graph.node("Add", [y, perceptron(graph, layer_norm(graph, y, width), width)])
    first = graph.node("Gather", [layer_norm(graph, y, width), graph.constant(0, np.int64)], axis=1)
    graph.node("Gemm", [first, graph.normal((1000, width), 0.05), graph.uniform((1000,), -0.1, 0.1)], ["scores"], transB=1)
    graph.output("scores", [1, 1000])
    return graph.model()


def swin_t():
    """Windows of 7 x 7, every other block shifted by 3, as slices and concatenations."""
    graph, channels, side = GraphWriter("swin_t"), 96, 56
    y = convolution(graph, picture(graph, 1, 3, 224, 224), 3, 96, 4, 4, pads=0)
    y = layer_norm(graph, graph.node("Transpose", [y], perm=[0, 2, 3, 1]), 96)

    def rolled(x, by, axis):
        far = graph.node("Slice", [x, ints(graph, by), ints(graph, 2**31 - 1), ints(graph, axis)])
        near = graph.node("Slice", [x, ints(graph, 0), ints(graph, by), ints(graph, axis)])
        return graph.node("Concat", [far, near], axis=axis)

    def windowed(x, side, width):
        cut = graph.node("Reshape", [x, ints(graph, 1, side // 7, 7, side // 7, 7, width)])
        return graph.node("Reshape", [graph.node("Transpose", [cut], perm=[0, 1, 3, 2, 4, 5]), ints(graph, -1, 49, width)])

    def whole(x, side, width):
        cut = graph.node("Reshape", [x, ints(graph, 1, side // 7, side // 7, 7, 7, width)])
        return graph.node("Reshape", [graph.node("Transpose", [cut], perm=[0, 1, 3, 2, 4, 5]), ints(graph, 1, side, side, width)])

    for heads, depth in ((3, 2), (6, 2), (12, 6), (24, 2)):
        for i in range(depth):
            z, shift = layer_norm(graph, y, channels), 3 if i % 2 and side > 7 else 0
            if shift:
                z = rolled(rolled(z, shift, 1), shift, 2)
            z = attended(graph, windowed(z, side, channels), 49, channels, heads, graph.normal((1, heads, 49, 49), 0.02))
            z = whole(linear(graph, z, channels, channels), side, channels)
            if shift:
                z = rolled(rolled(z, side - shift, 1), side - shift, 2)
            y = graph.node("Add", [y, z])
            y = graph.node("Add", [y, perceptron(graph, layer_norm(graph, y, channels), channels)])
        if heads < 24:
            corners = [graph.node("Slice", [y, ints(graph, row, column), ints(graph, side, side), ints(graph, 1, 2), ints(graph, 2, 2)])
                       for column in (0, 1) for row in (0, 1)]
            merged = layer_norm(graph, graph.node("Concat", corners, axis=3), 4 * channels)
            y = graph.node("MatMul", [merged, graph.normal((4 * channels, 2 * channels), 0.05)])
            channels, side = 2 * channels, side // 2
    mean = graph.node("ReduceMean", [layer_norm(graph, y, channels)], axes=[1, 2], keepdims=0)
    graph.node("Gemm", [mean, graph.normal((1000, channels), 0.05), graph.uniform((1000,), -0.1, 0.1)], ["scores"], transB=1)
    graph.output("scores", [1, 1000])
    return graph.model()


def resnet_50_like(groups=1, excites=False):
    """ResNet-50 with twice as wide convolutions in groups (ResNeXt's 32), or with gates by channel at the end of each block."""
    graph, shape, channels = GraphWriter("resnet_50_like"), (1, 3, 224, 224), 64
    y = convolution(graph, picture(graph, *shape), 3, 64, 7, 2, activation=relu)
    y = graph.node("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for width, depth in ((256, 3), (512, 4), (1024, 6), (2048, 3)):
        inner = width // (4 if groups == 1 else 2)
        for i in range(depth):
            stride = 2 if i == 0 and width > 256 else 1
            z = convolution(graph, convolution(graph, y, channels, inner, activation=relu), inner, inner, 3, stride, groups, relu)
            z = convolution(graph, z, inner, width)
            if excites:
                z = squeeze_and_excite(graph, z, width, width // 16, relu, "Sigmoid")
            y = graph.node("Relu", [graph.node("Add", [convolution(graph, y, channels, width, stride=stride) if i == 0 else y, z])])
            channels = width
    return classified(graph, pooled(graph, y), channels, shape)


def dcgan():
    """A generator of transposed convolutions. x: [1, 100, 1, 1] -> y: [1, 3, 64, 64]."""
    graph, channels = GraphWriter("dcgan"), 100
    y = picture(graph, 1, 100, 1, 1)
    for width, stride, pad in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1), (3, 2, 1)):
        weight = graph.normal((channels, width, 4, 4), np.sqrt(1 / channels / 4))
        y = graph.node("ConvTranspose", [y, weight, graph.uniform((width,), -0.1, 0.1)], kernel_shape=[4, 4], strides=[stride] * 2, pads=[pad] * 4)
        y, channels = graph.node("Relu" if width > 3 else "Tanh", [y]), width
    graph.node("Identity", [y], ["y"])
    graph.output("y", [1, 3, 64, 64])
    return graph.model()


def keyword_spotter():
    """A depthwise network on 49 frames of 10 numbers. x: [1, 1, 49, 10] -> scores: [1, 12]."""
    graph = GraphWriter("keyword_spotter")
    y = graph.node("Conv", [picture(graph, 1, 1, 49, 10), graph.normal((64, 1, 10, 4), 0.2), graph.uniform((64,), -0.1, 0.1)], kernel_shape=[10, 4],
                   strides=[2, 2], pads=[4, 1, 5, 2])
    y = relu(graph, y)
    for _ in range(4):
        y = convolution(graph, convolution(graph, y, 64, 64, 3, groups=64, activation=relu), 64, 64, activation=relu)
    flat = graph.node("Flatten", [pooled(graph, y)], axis=1)
    graph.node("Gemm", [flat, graph.normal((12, 64), 0.1), graph.uniform((12,), -0.1, 0.1)], ["scores"], transB=1)
    graph.output("scores", [1, 12])
    return graph.model()
