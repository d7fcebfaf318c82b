#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the standard's light_* models weights: what ConstantOfShape makes of one number becomes seeded random initializers.

    fill_weights.py MODEL [FILLED] [--seed N]

As shipped, all weights of such a model are one number, which hides almost any mistake and makes a file of a few kB. Filled ones are
what to measure. FILLED is build/models/filled/<name of MODEL> if not given. Activations stay finite and the scores apart: weights
are scaled by their fan-in, variances are positive.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import numpy_helper

FILLED = pathlib.Path(__file__).resolve().parents[2] / "build" / "models" / "filled"

# Of the inputs of BatchNormalization: scale, shift, mean, variance.
NORMALIZATION_RANGES = {1: (0.3, 0.6), 2: (-0.2, 0.2), 3: (-0.1, 0.1), 4: (0.5, 1.5)}


def first_users(graph):
    """Value name -> (operator, position) of the node that reads it, looking through Unsqueeze."""
    users = {}
    for node in reversed(graph.node):
        for position, name in enumerate(node.input):
            same = node.op_type == "Unsqueeze" and node.output[0] in users
            users[name] = users[node.output[0]] if same else (node.op_type, position)
    return users


def random_weight(generator, shape, op_type, position):
    if op_type == "BatchNormalization":
        return generator.uniform(*NORMALIZATION_RANGES[position], shape).astype(np.float32)
    if op_type == "Mul":
        return generator.uniform(0.5, 1.0, shape).astype(np.float32)
    if op_type in ("Conv", "Gemm") and position == 1:
        # A classifier's last layers get half of what keeps activations level, or the softmax would give one class everything.
        variance = 2 / np.prod(shape[1:]) if op_type == "Conv" else 0.5 / max(shape)
        return generator.standard_normal(shape, np.float32) * np.float32(np.sqrt(variance))
    return generator.uniform(-0.1, 0.1, shape).astype(np.float32)


def fill_weights(model, seed=0):
    """The model with every ConstantOfShape of a constant shape replaced by an initializer; changes `model`."""
    graph = model.graph
    generator = np.random.default_rng(seed)
    users = first_users(graph)
    initializers = {initializer.name: initializer for initializer in graph.initializer}
    kept, shapes = [], []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in initializers:
            kept.append(node)
            continue
        shapes.append(initializers[node.input[0]])
        shape = tuple(numpy_helper.to_array(initializers[node.input[0]]))
        weight = random_weight(generator, shape, *users.get(node.output[0], ("", 0)))
        graph.initializer.add(name=node.output[0], data_type=onnx.TensorProto.FLOAT, dims=shape, raw_data=weight.tobytes())
    assert len(kept) < len(graph.node), "the model has no ConstantOfShape of a constant shape"
    del graph.node[:]
    graph.node.extend(kept)
    for shape in shapes:
        graph.initializer.remove(shape)
    inputs = [value for value in graph.input if value.name not in initializers]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)  # from there on an initializer need not be an input
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="light_*.onnx")
    parser.add_argument("filled", type=pathlib.Path, nargs="?", help="the file to write; default: build/models/filled/<name>")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    target = arguments.filled or FILLED / arguments.model.name
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(fill_weights(onnx.load(arguments.model), arguments.seed), target)
    print(target)


if __name__ == "__main__":
    main()
