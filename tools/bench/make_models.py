#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models that the benchmarks measure.

    make_models.py FOLDER

one_node.onnx       an Add of 16 floats
chained_adds.onnx   1,000 of them, one after the other
resnet50.onnx       ONNX's light ResNet-50 with random numbers in place of its repeated one: 97 MB of weights
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
ELEMENTS = 16


def chained_adds(count: int) -> onnx.ModelProto:
    """x + x + ... in nodes of 16 floats each."""
    names = ["x", *(f"sum_{i}" for i in range(1, count)), "y"]
    nodes = [helper.make_node("Add", [names[i], "x"], [names[i + 1]], name=f"add_{i}") for i in range(count)]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ELEMENTS]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chained_adds", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def random_weight(name: str, shape: list, generator: np.random.Generator) -> np.ndarray:
    """Numbers that keep activations near one: small for sums of many products, positive for variances."""
    if len(shape) > 1:
        return generator.standard_normal(shape, np.float32) * np.float32((2 / np.prod(shape[1:])) ** 0.5)
    if name.endswith("_s_0"):  # scales of batch normalizations, below one as residual blocks add up
        return generator.uniform(0.2, 0.6, shape).astype(np.float32)
    if name.endswith("_riv_0"):  # their variances
        return generator.uniform(0.5, 1.5, shape).astype(np.float32)
    return generator.uniform(-0.1, 0.1, shape).astype(np.float32)


def with_random_weights(model: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """The model with an initializer of random numbers in place of each ConstantOfShape with a constant shape."""
    generator = np.random.default_rng(seed)
    model.ir_version = max(model.ir_version, 4)  # before, initializers had to be inputs too
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            weight = random_weight(node.output[0], shapes[node.input[0]].tolist(), generator)
            model.graph.initializer.append(numpy_helper.from_array(weight, node.output[0]))
        else:
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    for field in (model.graph.initializer, model.graph.input):
        kept = [item for item in field if item.name in used]
        del field[:]
        field.extend(kept)
    return model


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make_models.py FOLDER", file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(chained_adds(1), folder / "one_node.onnx")
    onnx.save(chained_adds(1000), folder / "chained_adds.onnx")
    onnx.save(with_random_weights(onnx.load(LIGHT / "light_resnet50.onnx")), folder / "resnet50.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
